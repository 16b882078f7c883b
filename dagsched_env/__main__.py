"""Entry point of ``dagsched`` and of ``python -m dagsched_env``.

The command line is imported after Ctrl-C has been seen to: it leaves no traceback.
"""

import signal
import sys

from dagsched_env.kernels.interrupts import EXIT_INTERRUPTED, leaving_at_once


def main() -> int:
    """Run the command line; returns the exit code."""
    with leaving_at_once():
        from dagsched_env import cli
    try:
        return cli.main()
    except KeyboardInterrupt:  # a second one, while the first is being dealt with
        return EXIT_INTERRUPTED
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the interpreter only tidies up


if __name__ == "__main__":
    sys.exit(main())

"""Entry point of ``dagsched`` and of ``python -m dagsched_env``.

The command line is imported after Ctrl-C has been seen to: it leaves no traceback from here on.
"""

import os
import signal
import sys
from types import FrameType

__all__ = ["main"]

EXIT_INTERRUPTED = 130


def main() -> int:
    """Run the command line; returns the exit code."""
    listening = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not after a "&"
    if listening:
        signal.signal(signal.SIGINT, _leave)
    from dagsched_env import cli

    if listening:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return cli.main()
    except KeyboardInterrupt:  # a second one, while the first is being dealt with
        return EXIT_INTERRUPTED
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the interpreter only tidies up


def _leave(_signal: int, _frame: FrameType | None) -> None:
    """End at once: there is nothing to tidy up while modules are imported."""
    os._exit(EXIT_INTERRUPTED)


if __name__ == "__main__":
    sys.exit(main())

"""Entry point of ``aerl`` and of ``python -m aerl_trainer``.

Spawned processes import the program's main module again, so it must not load torch and the whole
command line before it is asked to. Ctrl-C ends it without a traceback.
"""

import os
import signal
import sys

from dagsched_env.kernels.interrupts import EXIT_INTERRUPTED, leaving_at_once
from dagsched_env.problem.errors import MissingExtraError

EXIT_ERROR = 2


def main() -> int:
    """Run the command line; returns the exit code, 2 where the extra ``trainer`` is missing."""
    # Networks this small gain nothing from threads, and on a busy machine lose a hundredfold.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    try:
        with leaving_at_once():
            from aerl_trainer import cli
    except MissingExtraError as error:
        print(f"aerl: error: {error}", file=sys.stderr)
        return EXIT_ERROR
    try:
        return cli.main()
    except KeyboardInterrupt:  # a second one, while the first is being dealt with
        return EXIT_INTERRUPTED
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the interpreter only tidies up


if __name__ == "__main__":
    sys.exit(main())

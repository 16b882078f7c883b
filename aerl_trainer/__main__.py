"""Entry point of ``aerl`` and of ``python -m aerl_trainer``.

Spawned processes import the program's main module again, so it must not load torch and the whole
command line before it is asked to. Ctrl-C ends it without a traceback from here on.
"""

import os
import signal
import sys
from types import FrameType

__all__ = ["main"]

EXIT_ERROR, EXIT_INTERRUPTED = 2, 130


def main() -> int:
    """Run the command line; returns the exit code, 2 where the extra ``trainer`` is missing."""
    # Networks this small gain nothing from threads, and on a busy machine lose a hundredfold.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    listening = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not after a "&"
    if listening:
        signal.signal(signal.SIGINT, _leave)
    from dagsched_env.errors import MissingExtraError

    try:
        from aerl_trainer import cli
    except MissingExtraError as error:
        print(f"aerl: error: {error}", file=sys.stderr)
        return EXIT_ERROR
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

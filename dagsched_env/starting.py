"""The start of the command lines: Ctrl-C ends it without a traceback."""

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

__all__ = ["EXIT_INTERRUPTED", "is_command_line", "leaving_at_once"]

EXIT_INTERRUPTED = 130
"""Exit code after Ctrl-C: 128 and the number of the signal, as in a shell."""


def is_command_line() -> bool:
    """Whether this program is ``aerl`` or ``dagsched``, or a ``python -m`` that is being found."""
    return Path(sys.argv[0]).name in ("aerl", "dagsched", "-m") if sys.argv else False


@contextlib.contextmanager
def leaving_at_once() -> Iterator[None]:
    """Within, where modules are imported and nothing is to tidy up, Ctrl-C ends the process.

    Where Ctrl-C is ignored, as in a command that a shell runs in the background, it stays so.
    """
    listening = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if listening:
        signal.signal(signal.SIGINT, _leave)
    try:
        yield
    finally:
        if listening:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(_signal: int, _frame: FrameType | None) -> None:
    os._exit(EXIT_INTERRUPTED)

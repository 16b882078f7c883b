"""Ctrl-C: at the start of a command line, and while a compiled kernel hands over its result."""

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

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


@contextlib.contextmanager
def interrupts() -> Iterator[None]:
    """Within, or in a function that this decorates, Ctrl-C is a ``KeyboardInterrupt`` at all times.

    Numba builds the result of a kernel by calls of Python. If the signal arrives in one of these,
    numba raises a ``SystemError``, of which the interrupt is the cause. From a NamedTuple nothing
    can save the process (``kernels.jit``).
    """
    try:
        yield
    except SystemError as error:
        if not _is_interrupt(error):
            raise
        raise KeyboardInterrupt from None


def _is_interrupt(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__
    return error is not None

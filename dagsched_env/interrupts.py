"""Ctrl-C while a compiled kernel hands over its result."""

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["interrupts"]


@contextmanager
def interrupts() -> Iterator[None]:
    """Within, or in a function that this decorates, Ctrl-C is a ``KeyboardInterrupt`` at all times.

    Numba builds the result of a kernel by calls of Python. If the signal arrives in one of these,
    numba raises a ``SystemError``, of which the interrupt is the cause.
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

"""Signals that ask a run to stop, turned into a flag that its loop reads."""

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType


class Stop:
    """Set by a signal, read by the loop; a second Ctrl-C does not wait for it."""

    def __init__(self) -> None:
        self.requested = False

    def __call__(self, number: int, _frame: FrameType | None) -> None:
        if self.requested and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.requested = True


@contextlib.contextmanager
def stop_on_signals() -> Iterator[Stop]:
    """Turn SIGINT, SIGTERM and SIGHUP into a request to stop; only the main thread may listen."""
    stop = Stop()
    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # as nohup sets it
        numbers.append(signal.SIGHUP)
    before = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

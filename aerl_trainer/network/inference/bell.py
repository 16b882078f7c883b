"""Wakes a process that sleeps until there is something for it."""

import math
import os
import select
import weakref
from multiprocessing.reduction import DupFd
from typing import Any

OF_SELECT = 1024
"""``select`` takes descriptors below this one (FD_SETSIZE)."""


class Bell:
    """Any process rings it, one waits for it; picklable when a process is started.

    It is an ``eventfd``: without a name, so that nothing is left of it when its processes are dead;
    and the time to wait is that of the monotonic clock, whereas a semaphore of ``multiprocessing``
    sleeps until a time of day, which may be set back by hours.
    """

    def __init__(self, descriptor: int | None = None) -> None:
        if descriptor is None:
            descriptor = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._descriptor = descriptor
        weakref.finalize(self, os.close, descriptor)

    def __reduce__(self) -> tuple[Any, ...]:
        return _inherited, (DupFd(self._descriptor),)

    def ring(self) -> None:
        """Wake who waits, or who will; several rings count as one."""
        os.eventfd_write(self._descriptor, 1)

    def wait(self, timeout: float) -> bool:
        """Sleep until it rings, at most ``timeout`` seconds; whether it has rung."""
        if self._descriptor < OF_SELECT:
            rung = bool(select.select([self._descriptor], [], [], timeout)[0])
        else:  # in a process with that many open files; this one sleeps for whole milliseconds
            poll = select.poll()
            poll.register(self._descriptor, select.POLLIN)
            rung = bool(poll.poll(math.ceil(1000.0 * timeout)))
        if rung:
            os.eventfd_read(self._descriptor)
        return rung


def _inherited(descriptor: Any) -> Bell:
    """The bell in the process that was started with it."""
    return Bell(descriptor.detach())

"""Memory that is free: kept for the next gradient step, or given back to the operating system."""

import contextlib
import ctypes
import threading
from collections.abc import Iterator

EVERY_S = 5.0
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""Of glibc's ``mallopt``."""
LARGEST = 32 * 2**20
"""The largest threshold that glibc takes for arrays with pages of their own (bytes)."""
KEPT = 2**30
"""Freed bytes at the end of the heap that stay with this process."""


def keep_freed_memory() -> None:
    """Keep what a gradient step frees; the next one needs as much again.

    Else the system would have to clear each page anew. ``free_memory_returned`` gives it back all
    the same. Does nothing without glibc.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, LARGEST)
        mallopt(M_TRIM_THRESHOLD, KEPT)


@contextlib.contextmanager
def free_memory_returned(every_s: float = EVERY_S) -> Iterator[None]:
    """Let a thread give the free pages of this process's heap back, again and again.

    Batches of ever other sizes fragment the heap of glibc: pages that are free between blocks in
    use stay with the process, which grows for hours.

    Args:
        every_s: seconds between two times. With another C library, which has no ``malloc_trim``,
            nothing happens.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is None:
        yield
        return
    ended = threading.Event()

    def give_back() -> None:
        while not ended.wait(every_s):
            trim(0)

    thread = threading.Thread(target=give_back, name="free-memory", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()

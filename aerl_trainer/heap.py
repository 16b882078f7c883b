"""Memory that is free, given back to the operating system."""

import contextlib
import ctypes
import threading
from collections.abc import Iterator

__all__ = ["free_memory_returned"]

EVERY_S = 5.0


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

"""Memory that the C library keeps for the next step."""

import ctypes

__all__ = ["keep_freed_memory"]

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""Of glibc's ``mallopt``."""
LARGEST = 32 * 2**20
"""The largest threshold that glibc takes for arrays with pages of their own (bytes)."""
KEPT = 2**30
"""Freed bytes at the end of the heap that stay with this process."""


def keep_freed_memory() -> None:
    """Keep what a gradient step frees, instead of giving it back to the system.

    The next step needs as much again, and the system would have to clear each page. Does nothing
    without glibc.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, LARGEST)
        mallopt(M_TRIM_THRESHOLD, KEPT)

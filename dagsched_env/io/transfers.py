"""The data on an edge of a trace: the files that the parent writes and the child reads."""

import math
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet

import numpy as np

from dagsched_env.kernels.arrays import Floats

__all__ = ["transfers"]


def transfers(
    edges: Sequence[tuple[int, int]],
    read: Sequence[AbstractSet[str]],
    written: Sequence[AbstractSet[str]],
    size: Callable[[str, int], float],
) -> Floats:
    """Total size of the files on each edge.

    Args:
        edges: m pairs (predecessor, successor).
        read: for each task the files that it reads.
        written: for each task the files that it writes.
        size: returns the size of a file that the given task reads; may raise FormatError.

    Returns:
        ``[m]`` sizes, correctly rounded, so that the order of the files does not matter.
    """
    sizes = [math.fsum(size(name, v) for name in sorted(written[u] & read[v])) for u, v in edges]
    return np.array(sizes, dtype=np.float64)

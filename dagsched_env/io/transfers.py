"""The data on edges: files that a parent writes and a child reads, and parallel edges."""

import math
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet

import numpy as np

from dagsched_env.kernels.arrays import Floats


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


def added_up(
    edges: Iterable[tuple[int, int, float]], tasks: Sequence[str]
) -> tuple[tuple[tuple[int, int], ...], Floats, tuple[str, ...]]:
    """Parallel edges as one, which carries the data of all.

    Args:
        edges: (predecessor, successor, data), in order.
        tasks: their names.

    Returns:
        The pairs in the order of their first edges, ``[m]`` data, and a sentence on parallel edges
        where they carry data.
    """
    sizes: dict[tuple[int, int], list[float]] = {}
    for u, v, size in edges:
        sizes.setdefault((u, v), []).append(size)
    data = np.array([sum(found) for found in sizes.values()], dtype=np.float64)
    several = [pair for pair, found in sizes.items() if len(found) > 1 and any(found)]
    said = []
    if several:
        (u, v), total = several[0], sum(sizes[several[0]])
        pairs = "1 pair" if len(several) == 1 else f"{len(several)} pairs"
        said.append(
            f"parallel edges between {pairs} of tasks are one with the data of all, such as "
            f"{tasks[u]!r} -> {tasks[v]!r} with {total:g}"
        )
    return tuple(sizes), data, tuple(said)

"""Exact tours by dynamic programming over subsets: a check that shares nothing with LKH."""

import numba
import numpy as np
import numpy.typing as npt

__all__ = ["LARGEST", "optimal_length"]

LARGEST = 22
"""Points of a set: beyond, the table takes gigabytes."""


def optimal_length(points: npt.NDArray[np.float64]) -> float:
    """Length of the shortest closed tour of points ``[n, 2]``, 3 ≤ n ≤ ``LARGEST``.

    Held, Karp 1962: the shortest path from the last point through a set of others to one of them,
    for all sets in order of their bits. Time O(2ⁿ n²), memory 2ⁿ⁻¹ (n − 1) numbers.
    """
    if not 3 <= len(points) <= LARGEST:
        raise ValueError(f"{len(points)} points: from 3 to {LARGEST} can be solved")
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    return float(_shortest(distances))


@numba.njit(cache=True)
def _shortest(distances: npt.NDArray[np.float64]) -> float:
    others = distances.shape[0] - 1  # the last point is the depot
    table = np.full((1 << others, others), np.inf)
    for j in range(others):
        table[1 << j, j] = distances[others, j]
    for subset in range(1, 1 << others):
        for j in range(others):
            so_far = table[subset, j]
            if so_far == np.inf:
                continue
            for k in range(others):
                if not subset >> k & 1:
                    grown = subset | 1 << k
                    length = so_far + distances[j, k]
                    if length < table[grown, k]:
                        table[grown, k] = length
    best = np.inf
    for j in range(others):
        best = min(best, table[-1, j] + distances[j, others])
    return best

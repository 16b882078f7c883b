"""Optimal and near-optimal tours: LKH by ``elkai``, and the committed test set."""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from dagsched_env.problem.errors import MissingExtraError
from tsp.text_format import TourSet, read_tours

__all__ = ["TEST_SET", "committed_set", "lkh_tours", "optimal_lengths"]

TEST_SET = Path(__file__).parents[1] / "data" / "uniform20.txt.xz"
"""1 000 sets of 20 points, uniform in the unit square, with optimal tours."""
RESOLUTION = 10**6
"""LKH rounds distances to whole numbers: the larger side of a set of points is so many."""


def lkh_tours(points: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Tours ``[N, n]`` of the Lin–Kernighan–Helsgaun heuristic for sets ``[N, n, 2]``, n ≥ 3.

    Raises:
        MissingExtraError: elkai is not installed.
    """
    try:
        import elkai
    except ModuleNotFoundError:
        raise MissingExtraError("elkai", "tsp") from None
    tours = []
    for one in points:
        size = float(np.ptp(one, axis=0).max()) or 1.0
        scaled = ((one - one.min(axis=0)) * (RESOLUTION / size)).tolist()
        solver = elkai.Coordinates2D({i: (x, y) for i, (x, y) in enumerate(scaled)})
        tours.append(solver.solve_tsp()[:-1])
    return np.array(tours, dtype=np.int64)


def optimal_lengths(found: TourSet) -> npt.NDArray[np.float64]:
    """``[N]``: lengths of the tours of a set, by LKH where it has none."""
    tours = lkh_tours(found.points) if found.tours is None else found.tours
    path = np.take_along_axis(found.points, tours[..., None], axis=1)
    legs = np.linalg.norm(path - np.roll(path, -1, axis=1), axis=2)
    lengths: npt.NDArray[np.float64] = legs.sum(axis=1)
    return lengths


def committed_set() -> TourSet:
    """The committed one."""
    return read_tours(TEST_SET)

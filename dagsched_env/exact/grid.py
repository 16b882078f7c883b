"""Whole numbers for CP-SAT: times in multiples of a power of two, rounded down.

Rounding down keeps every bound true. If start times s and durations d satisfy s' >= s + d + c, then
so do their floors, floor(s') >= floor(s) + floor(d) + floor(c). So each schedule of the instance
has a counterpart on the grid that is not longer, and an optimum on the grid is a lower bound. A
chain of n tasks and n - 1 transfers, each less than a step too short on the grid, bounds how much
longer the same decisions take in real times: 2n - 1 steps. A power of two scales floats exactly.
"""

import math
from typing import NamedTuple

import numpy as np

from dagsched_env.kernels.arrays import Floats, Ints

MAX_HORIZON = 2**30
"""Steps of the longest time: a precision of about 1e-9, and sums far below the limit of int64."""

MAX_HORIZON_SHARING = 2**26
"""The same with resources. With 2³⁰ the presolve of OR-Tools 9.15 has called a feasible model with
cumulative constraints infeasible; and the search is faster with smaller numbers."""

SHAVE = 2.0**-40
"""Relative margin for the rounding errors of computed bounds, subtracted before the floor."""


class Grid(NamedTuple):
    """Times in steps of ``2**-exponent``."""

    exponent: int
    exact: bool
    """All execution and transfer times, and release dates, are whole numbers of steps."""

    def floor(self, times: Floats) -> Ints:
        """Whole steps of times that are finite and ≥ 0."""
        return np.floor(np.ldexp(times, self.exponent)).astype(np.int64)

    def floor_bound(self, times: Floats) -> Ints:
        """``floor`` of lower bounds, made sound against rounding errors."""
        return self.floor(times if self.exact else times * (1.0 - SHAVE))

    def time(self, steps: float) -> float:
        """Steps back to time."""
        return math.ldexp(steps, -self.exponent)

    def tolerance(self, n_tasks: int, *, released: bool = False) -> float:
        """By how much a schedule that is optimal on the grid can miss the optimum (time).

        Args:
            n_tasks: of the instance.
            released: a chain of tasks may begin with a release date, which is rounded, too.
        """
        return 0.0 if self.exact else self.time(2 * n_tasks - 1 + released)


def choose_grid(times: Floats, horizon: float, *, most: int = MAX_HORIZON) -> Grid:
    """The coarsest grid on which all times are whole, else the finest that ``horizon`` allows.

    Args:
        times: all execution and transfer times and release dates up to the horizon, ≥ 0.
        horizon: the makespan of a schedule, > 0; times on the grid are at most twice as long.
        most: steps of the horizon, ≥ 1.
    """
    finest = math.floor(math.log2(most) - math.log2(horizon))
    for exponent in range(min(finest, 0), finest + 1):
        scaled = np.ldexp(times, exponent)
        if np.array_equal(scaled, np.floor(scaled)):
            return Grid(exponent, exact=True)
    return Grid(finest, exact=False)

"""Destructive bounds: horizons by which no schedule ends, as a contradiction shows."""

import math

import numpy as np

from dagsched_env.kernels.graph.destructive import refutes
from dagsched_env.kernels.graph.windows import MOST, TAKEN, Windows
from dagsched_env.problem.bounds import heads, lower_bounds, tails
from dagsched_env.problem.instance import Instance

__all__ = ["destructive_bound"]

STEPS = 2**26
"""By default; they take about a second."""
PRECISION = 1e-3
"""Share of the bound by which a horizon that is not refuted may be above it in the end."""
PLAIN_STEP, PROBING_STEP = 0.05, 0.02
"""How far the first horizon is above the known bound, as a share of it; each further one is twice
as far, until one is not refuted."""
JUST_BELOW = 1.0 - 5e-8
"""Of a makespan: if no schedule ends by then it is optimal, within the tolerance of a proof."""


def destructive_bound(
    instance: Instance,
    *,
    bound: float = 0.0,
    makespan: float = math.inf,
    steps: int = STEPS,
) -> float:
    """A lower bound on the makespan, never below that of ``lower_bounds`` (time).

    Horizons are tried between a bound and a makespan. One is refuted where it follows from it that
    some task can run nowhere, or that there is too much work. Where communication is dear that is
    far sharper than paths and loads: tasks that cannot be apart have to run one after the other.
    First the windows of tasks are made smaller until nothing changes; with the steps that are left
    each task is also supposed on each processor in turn. Problems with resources, where tasks on a
    processor overlap, keep the best of ``lower_bounds``.

    A function of the arguments: it is limited by steps, not by time.

    Args:
        instance: the problem.
        bound: a lower bound that is known (time), ≥ 0.
        makespan: of a schedule that is known (time); inf = none is. The bound does not exceed it.
        steps: most of them, ≥ 0; a million takes 10 to 20 ms.
    """
    low = min(max(bound, lower_bounds(instance).best), makespan)
    if instance.n_resources or low == 0.0:
        return low
    search = _Search(instance, low, makespan, steps)
    search.run(PLAIN_STEP, probing=False)
    search.run(PROBING_STEP, probing=True)
    return search.low


class _Search:
    """Between a horizon that is refuted and one that is not."""

    def __init__(self, instance: Instance, low: float, makespan: float, steps: int) -> None:
        self.low = low
        self._instance = instance
        self._makespan = makespan
        self._effort = np.array([0, steps])

    def run(self, step: float, *, probing: bool) -> None:
        """Raise ``low``.

        Args:
            step: see ``PLAIN_STEP``.
            probing: look at what follows from each processor of each task.
        """
        high, windows = self._makespan, _widest(self._instance)
        while high > self.low * (1.0 + PRECISION):
            horizon = min(self.low * (1.0 + step), 0.5 * (self.low + high))
            trial = Windows._make(array.copy() for array in windows)
            if self._refutes(horizon, trial, probing):
                self.low = horizon
                step *= 2.0
            elif self._effort[TAKEN] > self._effort[MOST]:
                return
            else:  # windows for a horizon hold for all earlier ones
                high, windows = horizon, trial
        if high == self._makespan and self._refutes(high * JUST_BELOW, windows, probing):
            self.low = max(self.low, high * JUST_BELOW)

    def _refutes(self, horizon: float, windows: Windows, probing: bool) -> bool:
        g, back = self._instance.arrays, self._instance.backwards
        return bool(refutes(g, back, windows, horizon, self._effort, probing))


def _widest(instance: Instance) -> Windows:
    """Windows for any horizon."""
    n, p = instance.comp.shape
    sent = np.zeros((2, instance.n_edges, p))
    due = np.ones((2, n), dtype=np.bool_)
    return Windows(heads(instance), tails(instance), *sent, *due)

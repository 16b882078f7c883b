"""Destructive bounds: horizons by which no schedule ends, as a contradiction shows."""

import math

import numpy as np

from dagsched_env.kernels.arrays import Floats
from dagsched_env.kernels.graph.bounds import links_alike
from dagsched_env.kernels.graph.destructive import refutes
from dagsched_env.kernels.graph.windows import MOST, TAKEN, Windows
from dagsched_env.problem.bounds import heads, lower_bounds, tails
from dagsched_env.problem.instance import Instance

__all__ = ["destructive_bound", "windows"]

STEP_S = 2e-8
"""Most time of a step; usually it is half of that (s)."""
STEPS = 2**26
"""By default; they take about a second."""
PRECISION = 1e-3
"""Share of the bound by which a horizon that is not refuted may be above it in the end."""
PLAIN_STEP, PROBING_STEP = 0.05, 0.02
"""How far the first horizon is above the known bound, as a share of it; each further one is twice
as far, until one is not refuted."""
JUST_BELOW = 1.0 - 1e-8
"""Of a makespan: if no schedule ends by then it is optimal, within the tolerance of a proof."""


def destructive_bound(
    instance: Instance, *, makespan: float = math.inf, steps: int = STEPS
) -> float:
    """A lower bound on the makespan, never below the best of ``lower_bounds`` (time).

    Horizons above that are tried. One is refuted if a task could run nowhere in a schedule that
    ends by then, or if there were too much work. Where communication is dear this is far sharper
    than paths and loads: tasks that cannot be apart have to run one after the other. First the
    windows of tasks are made smaller until nothing changes; then, with the steps that are left,
    each task is also supposed on each processor in turn. Problems with resources, where tasks on a
    processor overlap, keep the best of ``lower_bounds``.

    The bound may exceed the optimum by rounding errors of about 1e-15 of it. It is limited by
    steps, not by time, and so a function of the arguments.

    Args:
        instance: the problem.
        makespan: of a schedule that is known (time); inf = none is. The bound does not exceed it.
        steps: most of them, ≥ 0; a million takes 10 to 20 ms.
    """
    low = min(lower_bounds(instance).best, makespan)
    if instance.n_resources or low == 0.0:
        return low
    search = _Search(instance, low, makespan, steps)
    search.run(PLAIN_STEP, probing=False)
    search.run(PROBING_STEP, probing=True)
    return search.low


def windows(instance: Instance, makespan: float, *, steps: int = STEPS) -> tuple[Floats, Floats]:
    """Heads and tails that hold in all schedules which are not longer than a makespan.

    ``[n, p]`` each, at least those of ``heads`` and ``tails``; inf where no such schedule has task
    t on processor q.

    Args:
        instance: the problem.
        makespan: of a schedule that is known (time).
        steps: as of ``destructive_bound``.
    """
    found = _widest(instance)
    effort = np.array([0, steps])
    if (
        not instance.n_resources
        and makespan > 0
        and refutes(instance.arrays, instance.backwards, found, makespan, effort, True)
    ):
        found = _widest(instance)  # a shorter makespan than the optimum was given
    return found.head, found.tail


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
        high, narrowed = self._makespan, _widest(self._instance)
        while high > self.low * (1.0 + PRECISION):
            horizon = min(self.low * (1.0 + step), 0.5 * (self.low + high))
            trial = _copied(narrowed)
            if self._refutes(horizon, trial, probing):
                self.low = horizon
                step *= 2.0
            elif self._effort[TAKEN] > self._effort[MOST]:
                return
            else:  # windows for a horizon hold for all earlier ones
                high, narrowed = horizon, trial
        last = high * JUST_BELOW
        if high == self._makespan and self.low < last and self._refutes(last, narrowed, probing):
            self.low = last

    def _refutes(self, horizon: float, w: Windows, probing: bool) -> bool:
        g, back = self._instance.arrays, self._instance.backwards
        return bool(refutes(g, back, w, horizon, self._effort, probing))


def _widest(instance: Instance) -> Windows:
    """Windows for any horizon."""
    n, p = instance.comp.shape
    sent = np.zeros((2, instance.n_edges, p))
    due = np.ones((2, n), dtype=np.bool_)
    alike = links_alike(instance.arrays)
    return Windows(heads(instance), tails(instance), sent[0], sent[1], due[0], due[1], alike)


def _copied(w: Windows) -> Windows:
    return w._replace(
        head=w.head.copy(),
        tail=w.tail.copy(),
        sent=w.sent.copy(),
        sent_back=w.sent_back.copy(),
        due=w.due.copy(),
        due_back=w.due_back.copy(),
    )

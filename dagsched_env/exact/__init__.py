"""Proved optima and gaps with the CP-SAT solver of OR-Tools (extra ``exact``).

In reading order:

- ``grid``: times as whole numbers, rounded so that the bound stays sound;
- ``model``: the CP-SAT model;
- ``search``: a run of the solver that ends in time and can be interrupted.
"""

import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from dagsched_env.exact.grid import MAX_HORIZON, MAX_HORIZON_SHARING, choose_grid
from dagsched_env.kernels.arrays import Floats
from dagsched_env.problem.destructive import STEP_S, destructive_bound
from dagsched_env.problem.errors import DAGSchedError, MissingExtraError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.problem.simulator import replay
from dagsched_env.schedulers import best_of_portfolio

__all__ = ["ExactResult", "solve"]

BOUND_SHARE = 0.05
"""Most of the time that the bound before the search may take, and as much for the windows."""
MOST_STEPS = 2**24
"""Of each of them; about 0.3 s."""


@dataclass(frozen=True)
class ExactResult:
    """What is known about the optimum of an instance."""

    schedule: Schedule
    """The best schedule found; valid for the instance with its real times."""
    lower_bound: float
    """No schedule is shorter (time); at most the makespan of ``schedule``."""
    optimal: bool
    """``schedule`` is proved to be within ``tolerance`` of the optimum."""
    tolerance: float
    """Error bound of the rounding to whole numbers (time): 0 where all times are multiples of one
    power of two, else about 1e-9 of the makespan for every task, 2e-8 with resources."""

    @property
    def gap(self) -> float:
        """Share of the makespan above the lower bound, in [0, 1]."""
        makespan = self.schedule.makespan
        return (makespan - self.lower_bound) / makespan if makespan > 0 else 0.0


def solve(
    instance: Instance,
    *,
    time_limit_s: float = 60.0,
    work_limit: float | None = None,
    workers: int | None = None,
    hint: Schedule | None = None,
    stop: Callable[[], bool] | None = None,
    found: Callable[[Schedule], None] | None = None,
) -> ExactResult:
    """Find a shortest schedule, or the best one and a lower bound by the end of the time.

    The search starts from the hint, or without one from the best constructive schedule, so the
    result is never worse than that. All runs that end within the limit have the same bound and
    ``optimal``; which of several optimal schedules is returned is reproducible with one worker
    only. Ctrl-C stops the solver.

    Args:
        instance: the problem; up to about 30 tasks are often solved within seconds.
        time_limit_s: wall time (seconds), > 0; the time to load kernels, once in a process, is not
            counted.
        work_limit: in units of CP-SAT's deterministic time, > 0, each of which takes some seconds
            at most; None = no limit. With one worker, and where the time is not used up, the
            result is a function of the arguments.
        workers: threads of the solver, ≥ 1; default: as many as the machine has processors.
        hint: a schedule to start from; None = that of ``best_of_portfolio``.
        stop: the run ends soon after this returns True, which is asked every 50 ms.
        found: called by a thread of the solver with each schedule that it finds, each shorter than
            the one before.

    Raises:
        MissingExtraError: ortools is not installed.
        InvalidScheduleError: the hint is not valid.
        DAGSchedError: a limit is out of its range.
    """
    if importlib.util.find_spec("ortools") is None:
        raise MissingExtraError("ortools", "exact")
    from dagsched_env.exact.search import Limits, search

    for name, value in (("time_limit_s", time_limit_s), ("work_limit", work_limit)):
        if value is not None and not value > 0:
            raise DAGSchedError(f"{name} is {value!r}: give a number > 0")
    if workers is not None and workers < 1:
        raise DAGSchedError(f"workers is {workers!r}: give a whole number >= 1, or None for all")
    _load_kernels(instance.n_resources > 0, instance.has_release)
    deadline = time.perf_counter() + time_limit_s
    incumbent = _incumbent(instance, hint)
    steps = int(min(BOUND_SHARE * time_limit_s / STEP_S, MOST_STEPS))
    bound = destructive_bound(instance, makespan=incumbent.makespan, steps=steps)
    if incumbent.makespan == 0:
        return ExactResult(incumbent, 0.0, optimal=True, tolerance=0.0)
    most = MAX_HORIZON_SHARING if instance.n_resources else MAX_HORIZON
    grid = choose_grid(_times(instance, incumbent.makespan), incumbent.makespan, most=most)
    limits = Limits(deadline, work_limit, workers, stop, steps)

    tell = None if found is None else lambda decisions: found(_retimed(instance, decisions))
    decisions, proved = search(instance, grid, incumbent, bound, limits, tell)
    best = min(incumbent, _retimed(instance, decisions), key=lambda x: x.makespan)
    lower = min(max(bound, proved), best.makespan)
    tolerance = grid.tolerance(instance.n_tasks, released=instance.has_release)
    return ExactResult(best, lower, best.makespan - lower <= tolerance, tolerance)


@cache
def _load_kernels(resources: bool, release: bool) -> None:
    """Use each kernel once, so that none has to be loaded or compiled within the limit."""
    shared: dict[str, Any] = {"demands": [[1], [1]], "capacities": [[1], [1]]} if resources else {}
    released = [1.0, 0.0] if release else None
    tiny = Instance([[2.0, 3.0], [4.0, 3.0]], [(0, 1)], [5.0], release=released, **shared)
    _incumbent(tiny, None)
    destructive_bound(tiny)


def _incumbent(instance: Instance, hint: Schedule | None) -> Schedule:
    """The best known schedule; every task starts as early as its order allows."""
    if hint is None:
        return _retimed(instance, best_of_portfolio(instance))
    hint.validate(instance)
    return _retimed(instance, hint)


def _retimed(instance: Instance, schedule: Schedule) -> Schedule:
    """The same decisions, each task as early as possible, timed by the simulator.

    Tasks are ordered by the midpoint of their interval, as in ``Schedule.validate``, with resources
    by their start; but never before a predecessor, which rounding errors within the tolerance could
    cause.
    """
    middle = schedule.sequence_key(instance).tolist()
    g = instance.arrays
    for t in g.topo.tolist():
        predecessors = g.pred_task[g.pred_ptr[t] : g.pred_ptr[t + 1]].tolist()
        middle[t] = max([middle[t], *(middle[u] for u in predecessors)])
    order = np.lexsort((g.topo_position, middle))
    actions = np.column_stack([order, schedule.processor[order]])
    return replay(instance, actions, insertion=False, algorithm=schedule.algorithm)


def _times(instance: Instance, horizon: float) -> Floats:
    """All execution and transfer times and release dates that this horizon can hold."""
    p = instance.n_processors
    different = ~np.eye(p, dtype=np.bool_)
    latency, inv_bandwidth = instance.latency[different], instance.inv_bandwidth[different]
    links = np.unique(np.column_stack([latency, inv_bandwidth]), axis=0)
    transfers = links[:, 0] + np.unique(instance.data)[:, None] * links[:, 1]
    times = np.concatenate([instance.comp.ravel(), transfers.ravel(), instance.earliest.ravel()])
    return np.unique(times[times <= horizon])

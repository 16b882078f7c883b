"""A dispatcher that plans again while a run goes on, with any scheduler."""

import time
from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from dagsched_env.kernels.arrays import Floats, Ints
from dagsched_env.kernels.online.situation import ABSENT, N_READY, READY, WAITING
from dagsched_env.kernels.schedules.decoding import decode
from dagsched_env.online.dispatchers import PlanOrder
from dagsched_env.online.judging import Judge
from dagsched_env.online.situation import Situation
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers.anytime import execution_order

__all__ = ["Planner", "Remaining", "Replanning", "remaining"]

Planner: TypeAlias = Callable[[Instance, Schedule | None], Schedule]
"""``(instance, previous) -> Schedule`` of what is left of a run. ``previous`` is what the plan so
far comes to now, or None at the beginning."""

When: TypeAlias = Literal["once", "changes", "late", "always"]

WHEN: dict[When, str] = {
    "once": "each graph is planned when it arrives, and never again",
    "changes": "when a graph arrives, and when a machine fails or comes back",
    "late": "at changes, and when the run is behind its plan by a share of what is left",
    "always": "at changes, and whenever a task has ended",
}
"""When a ``Replanning`` plans again."""


class Remaining(NamedTuple):
    """What is left of a run, as a problem whose time 0 is now."""

    instance: Instance
    tasks: Ints
    """``[r]`` what its first r tasks are called in the run. With resources those that run follow:
    each may be on its machine alone, and holds room there."""


def remaining(situation: Situation) -> Remaining:
    """The tasks that have not started, on the machines that work.

    Inputs from tasks that have finished or run are release dates, and machines are available when
    what runs there is expected to end. A task that only machines that have failed can run stays on
    those.

    Args:
        situation: with at least one task that has arrived and not started.
    """
    instance, s = situation.instance, situation.arrays
    now = situation.now
    tasks = np.flatnonzero((s.status == WAITING) | (s.status == READY))
    running = situation.running
    ends: Floats = s.finish.copy()
    ends[running] = [situation.expected_finish(t) for t in running.tolist()]
    comp = instance.comp[tasks].copy()
    failed = ~s.up
    if failed.any():
        elsewhere = np.isfinite(comp[:, ~failed]).any(axis=1)
        comp[np.ix_(elsewhere, failed)] = np.inf
    index = np.full(instance.n_tasks, -1)
    index[tasks] = np.arange(len(tasks))
    source, target = instance.edges[:, 0], instance.edges[:, 1]
    inner = (index[source] >= 0) & (index[target] >= 0)
    cut = (index[source] < 0) & (index[target] >= 0)
    release = np.zeros(comp.shape)
    u, data = source[cut], instance.data[cut]
    sent = ends[u, None] + instance.latency[s.machine[u]]
    sent += data[:, None] * instance.inv_bandwidth[s.machine[u]]
    np.maximum.at(release, index[target[cut]], sent - now)
    if instance.has_release:
        release = np.maximum(release, instance.earliest[tasks] - now)
    extra: dict[str, Any] = {}
    available = np.zeros(instance.n_processors)
    if instance.n_resources:
        held = np.full((len(running), instance.n_processors), np.inf)
        held[np.arange(len(running)), s.machine[running]] = ends[running] - now
        comp = np.concatenate([comp, held])
        release = np.concatenate([release, np.zeros(held.shape)])
        extra = {
            "demands": instance.demands[np.concatenate([tasks, running])],
            "capacities": instance.capacities,
            "resource_names": instance.resource_names,
        }
    else:
        np.maximum.at(available, s.machine[running], ends[running] - now)
    left = Instance(
        comp,
        np.stack([index[source[inner]], index[target[inner]]], axis=1),
        instance.data[inner],
        inv_bandwidth=instance.inv_bandwidth,
        latency=instance.latency,
        release=np.maximum(release, 0.0) if release.any() else None,
        available_from=available if available.any() else None,
        **extra,
    )
    return Remaining(left, tasks)


class Replanning:
    """Follows a plan, and makes a new one for what is left when it is time.

    Args:
        planner: makes a plan.
        when: a key of ``WHEN``.
        late: with ``"late"``: the share of the expected rest of the run, > 0.
        fixed: as of ``PlanOrder``.
        judge: of the plan, the one so far and some list schedules it chooses the best; None: the
            plan is taken.

    Raises:
        DAGSchedError: an argument is out of its range.
    """

    def __init__(
        self,
        planner: Planner,
        when: When = "changes",
        *,
        late: float = 0.05,
        fixed: bool = False,
        judge: Judge | None = None,
    ) -> None:
        if when not in WHEN:
            raise DAGSchedError(f"when={when!r} is unknown: give one of {', '.join(WHEN)}")
        if not 0 < late < np.inf:
            raise DAGSchedError(f"late={late} is not a number > 0")
        self._planner, self._when = planner, when
        self._late, self._fixed, self._judge = late, fixed, judge
        self._plan: PlanOrder | None = None
        self._known = (0, b"", 0)
        self._end = 0.0
        self.plans: list[float] = []
        """Wall time of each plan (seconds)."""

    def starts(self, situation: Situation) -> Iterator[tuple[int, int]]:
        """Those of the plan, which is made first if it is time."""
        if not situation.arrays.counts[N_READY]:
            return
        if self._is_due(situation):
            self._replan(situation)
        assert self._plan is not None
        yield from self._plan.starts(situation)

    def _is_due(self, situation: Situation) -> bool:
        s = situation.arrays
        arrived = int((s.status != ABSENT).sum())
        working = s.up.tobytes()
        ended = situation.n_finished
        before, self._known = self._known, (arrived, working, ended)
        if self._plan is None or arrived > before[0]:
            return True
        if self._when == "once":
            return False
        if working != before[1]:
            return True
        if self._when == "always":
            return ended != before[2]
        behind = self._plan.lateness(situation)
        return self._when == "late" and behind > self._late * (self._end - situation.now)

    def _replan(self, situation: Situation) -> None:
        left, tasks = remaining(situation)
        began = time.perf_counter()
        previous = self._previous(situation, left, tasks)
        plan = self._planner(left, previous)
        if self._judge is not None:
            plans = [plan] if previous is None else [plan, previous]
            plan = self._judge.best(situation, left, tasks, plans)
        self.plans.append(time.perf_counter() - began)
        order = execution_order(left, plan)
        if self._plan is None:
            self._plan = PlanOrder(situation.instance, fixed=self._fixed)
        self._plan.follow(plan, order, tasks, situation.now)
        self._end = situation.now + plan.makespan

    def _previous(self, situation: Situation, left: Instance, tasks: Ints) -> Schedule | None:
        """What the plan so far comes to: the same machines and the same order, from now on."""
        if self._plan is None:
            return None
        index = np.full(situation.instance.n_tasks, -1)
        index[tasks] = np.arange(len(tasks))
        sequence = index[self._plan.sequence()]
        sequence = sequence[sequence >= 0]
        r = left.n_tasks
        machine = np.zeros(r, dtype=np.int64)
        machine[: len(tasks)] = self._plan.machines(tasks)
        running = np.arange(len(tasks), r)
        machine[running] = np.argmin(left.comp[running], axis=1)
        order = np.concatenate([running, sequence])
        if len(order) < r or not np.isfinite(left.comp[np.arange(r), machine]).all():
            return None  # new tasks, or a machine that has failed
        order = _topological(left, order)
        return Schedule.adopt(*decode(left.arrays, order, machine, False))


def _topological(left: Instance, order: Ints) -> Ints:
    """The same order, but no task before its predecessors: ties of planned times are broken."""
    position = np.empty(left.n_tasks)
    position[order] = np.arange(left.n_tasks)
    g = left.arrays
    for t in g.topo.tolist():
        before = g.pred_task[g.pred_ptr[t] : g.pred_ptr[t + 1]]
        if before.size:
            position[t] = max(position[t], position[before].max() + 0.5 / left.n_tasks)
    return np.lexsort((g.topo_position, position))

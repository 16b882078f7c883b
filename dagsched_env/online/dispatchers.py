"""Dispatchers: at each event they say which tasks start now, and where."""

from collections.abc import Iterator
from typing import Literal, Protocol, TypeAlias

import numpy as np

from dagsched_env.kernels.arrays import Floats, Ints
from dagsched_env.kernels.online.dispatch import assign
from dagsched_env.kernels.online.situation import FINISHED
from dagsched_env.online.situation import Situation
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers.anytime import execution_order

__all__ = ["ORDERS", "Dispatcher", "Fifo", "ListOrder", "PlanOrder"]

Order: TypeAlias = Literal["arrival", "rank_u", "oct", "shortest"]

ORDERS: dict[Order, str] = {
    "arrival": "in the order in which they became ready: MCT (Maheswaran et al. 1999)",
    "rank_u": "HEFT's upward rank, the largest first",
    "oct": "PEFT's mean optimistic cost, the largest first, and machines by finish and cost",
    "shortest": "of the graph with the least work left, then by upward rank",
}
"""``by`` of a ``ListOrder`` → which ready task is first."""


class Dispatcher(Protocol):
    """Says what starts now and where. One object serves one run."""

    def starts(self, situation: Situation) -> Iterator[tuple[int, int]]:
        """Pairs (task, machine); each is started before the next one is asked for.

        Each task can start when it is given. Nothing at all = wait for the next event.
        """
        ...


class Fifo:
    """First come, first served, on the first machine with room: what tools do without a plan."""

    def starts(self, situation: Situation) -> Iterator[tuple[int, int]]:
        """Tasks in the order in which they became ready."""
        for task in situation.ready.tolist():
            for q in range(situation.instance.n_processors):
                if situation.can_start(task, q):
                    yield task, q
                    break


class ListOrder:
    """List scheduling that decides at each event anew, from where the run stands.

    Each ready task is given the machine where it is expected to finish first, after those that run
    and those that are before it in the order. It starts if it can, and else waits for its machine,
    or for another at a later event.

    Args:
        instance: the problem; its durations are those that are expected.
        by: a key of ``ORDERS``.

    Raises:
        DAGSchedError: no such order.
    """

    def __init__(self, instance: Instance, by: Order = "rank_u") -> None:
        if by not in ORDERS:
            raise DAGSchedError(f"by={by!r} is unknown: give one of {', '.join(ORDERS)}")
        n = instance.n_tasks
        self._by = by
        self._priority = np.zeros(n)
        self._cost_to_go = np.zeros((n, 0))
        if by in ("rank_u", "shortest"):
            self._priority = instance.rank_u
        if by == "oct":
            eligible = np.isfinite(instance.comp)
            self._cost_to_go = np.where(eligible, instance.oct, 0.0)
            self._priority = self._cost_to_go.sum(axis=1) / eligible.sum(axis=1)
        self._holds, self._until = np.zeros(n, dtype=np.int64), np.zeros(n)

    def starts(self, situation: Situation) -> Iterator[tuple[int, int]]:
        """Those that start now."""
        yield from self.among(situation, situation.ready)

    def among(self, situation: Situation, ready: Ints) -> Iterator[tuple[int, int]]:
        """As ``starts``, of some of the ready tasks."""
        keys = [-self._priority[ready]]
        if self._by == "shortest":
            keys.append(work_left(situation)[situation.graph[ready]])
        order = ready[np.lexsort(keys)]
        starts = np.zeros((len(order), 2), dtype=np.int64)
        count = assign(
            situation.instance.arrays,
            situation.arrays,
            order,
            self._cost_to_go,
            self._holds,
            self._until,
            starts,
        )
        for task, machine in starts[:count].tolist():
            if situation.can_start(task, machine):  # what is there may be late, or take no time
                yield task, machine


class PlanOrder:
    """A plan: each task on its machine, in the order of the planned starts.

    What runs late or early moves what is behind it, and nothing else. While a task cannot start
    yet, because it is not ready or has no room, a later one of its machine goes first if that does
    not delay it: if there is room for both, or it is expected to end before (backfilling, as Lifka
    1995 does it for batch queues). What is planned on a machine that has failed, or has to run
    again, goes where it is expected to finish first.

    Args:
        instance: the problem of the plan.
        plan: a valid schedule of it; None: ``follow`` gives one.
        fixed: no task starts before its planned start.

    Raises:
        InvalidScheduleError: the plan is not valid.
    """

    def __init__(
        self, instance: Instance, plan: Schedule | None = None, *, fixed: bool = False
    ) -> None:
        self._instance = instance
        self._fixed = fixed
        n, p = instance.comp.shape
        self._machine: Ints = np.zeros(n, dtype=np.int64)
        self._start: Floats = np.zeros(n)
        self._finish: Floats = np.zeros(n)
        self._queue: list[list[int]] = [[] for _ in range(p)]
        self._elsewhere = ListOrder(instance)
        need = instance.arrays.demand.any(axis=1) if instance.n_resources else True
        self._wants = np.broadcast_to(need, n)
        self._queued = np.zeros(n, dtype=np.bool_)
        self._all_need = [False] * p
        self._late = self._seen = 0.0
        if plan is not None:
            plan.validate(instance)
            self.follow(plan, execution_order(instance, plan), np.arange(n), 0.0)

    def follow(self, plan: Schedule, order: Ints, tasks: Ints, at: float) -> None:
        """Another plan from now on, for the tasks that have not started.

        Args:
            plan: of some tasks.
            order: tasks of the plan, in the order in which they start on each machine.
            tasks: ``[r]`` what the tasks of the plan, or the first r of them, are called here.
            at: the time that is 0 in the plan.
        """
        r = len(tasks)
        self._machine[tasks] = plan.processor[:r]
        self._start[tasks] = plan.start[:r] + at
        self._finish[tasks] = plan.finish[:r] + at
        self._queue = [[] for _ in self._queue]
        self._queued[:] = False
        self._queued[tasks] = True
        machines = plan.processor.tolist()
        for k in order.tolist():
            if k < r:
                self._queue[machines[k]].append(int(tasks[k]))
        self._all_need = [bool(self._wants[queue].all()) for queue in self._queue]
        self._late = 0.0

    def machines(self, tasks: Ints) -> Ints:
        """Where tasks are planned, ``[r]``."""
        return self._machine[tasks]

    def sequence(self) -> Ints:
        """Tasks that had not finished when last looked at, by their planned start."""
        tasks = np.array([task for queue in self._queue for task in queue], dtype=np.int64)
        return tasks[np.argsort(self._start[tasks], kind="stable")]

    def lateness(self, situation: Situation) -> float:
        """By how much the run is behind the plan: of what finished last, or should have (time)."""
        self._look(situation)
        over = situation.now - self._finish[situation.running]
        return float(over.max(initial=self._late))

    def starts(self, situation: Situation) -> Iterator[tuple[int, int]]:
        """The next ones of each machine."""
        self._look(situation)
        if self._fixed:
            for task in situation.ready.tolist():
                situation.hold(task, self._start[task])
        up = situation.arrays.up
        for q in range(len(self._queue)):
            if up[q]:
                yield from self._on(situation, q)
        ready = situation.ready
        stranded = ready[~(up[self._machine[ready]] & self._queued[ready])]
        if stranded.size:
            yield from self._elsewhere.among(situation, stranded)

    def _look(self, situation: Situation) -> None:
        """What has finished since the last look."""
        status, finish = situation.arrays.status, situation.arrays.finish
        for q, queue in enumerate(self._queue):
            left = [t for t in queue if status[t] != FINISHED]
            if len(left) < len(queue):
                done = [t for t in queue if status[t] == FINISHED]
                self._queued[done] = False
                last = max(done, key=lambda t: finish[t])
                if finish[last] > self._seen:
                    self._seen = float(finish[last])
                    self._late = max(0.0, float(finish[last] - self._finish[last]))
            self._queue[q] = left

    def _on(self, situation: Situation, q: int) -> Iterator[tuple[int, int]]:
        """Those of one machine; what waits keeps room, or its time."""
        kept: Ints = np.zeros_like(situation.free(q))
        until, all_need = np.inf, self._all_need[q]
        for task in self._queue[q]:
            if situation.is_running(task):
                continue
            if all_need and not situation.free(q).any():
                return
            may = situation.can_start(task, q)
            ends = situation.now + situation.seconds(task, q)
            beside = may and (kept + situation.need(task) <= situation.free(q)).all()
            if may and (beside or ends <= until):
                yield task, q
                continue
            kept = kept + situation.need(task)
            until = min(until, self._expected_start(situation, task, q))

    def _expected_start(self, situation: Situation, task: int, q: int) -> float:
        """When a task that waits will probably start."""
        if not situation.is_ready(task):
            return max(situation.now, float(self._start[task]) + self._late)
        arrival = max(situation.now, float(situation.arrival(task)[q]))
        free = situation.free(q).copy()
        if (situation.need(task) <= free).all():
            return arrival
        stays = [t for t in situation.running.tolist() if situation.arrays.machine[t] == q]
        for t in sorted(stays, key=situation.expected_finish):
            free += situation.need(t)
            if (situation.need(task) <= free).all():
                return max(arrival, situation.expected_finish(t))
        return situation.now


def work_left(situation: Situation) -> Floats:
    """``[u]`` mean durations of the tasks of each graph that have not finished (time)."""
    left = np.where(situation.finished, 0.0, situation.instance.arrays.mean_comp)
    return np.bincount(situation.graph, left).astype(np.float64, copy=False)

"""Dispatchers: at each event they say which tasks start now, and where."""

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from dagsched_env.execution.situation import Situation
from dagsched_env.kernels.arrays import Ints
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers.anytime import execution_order

__all__ = ["Dispatcher", "Fifo", "PlanOrder", "RankOrder"]


class Dispatcher(Protocol):
    """Says what starts now and where. One object serves one run."""

    def starts(self, situation: Situation) -> Iterator[tuple[int, int]]:
        """Pairs (task, machine); each is started before the next one is asked for.

        Each task is ready and fits when it is given. Nothing at all = wait for the next event.
        """
        ...


class Fifo:
    """First come, first served, on the first machine with room: what tools do without a plan."""

    def starts(self, situation: Situation) -> Iterator[tuple[int, int]]:
        """Tasks in the order in which they became ready."""
        for task in list(situation.ready):
            for q in range(situation.instance.n_processors):
                if situation.fits(task, q):
                    yield task, q
                    break


class RankOrder:
    """HEFT's order: of the tasks that are ready, the one with the longest way to the end is first.

    Each starts where it is expected to finish first, among the machines with room for it.

    Args:
        instance: the problem; its durations are those that are expected.
    """

    def __init__(self, instance: Instance) -> None:
        self._rank = instance.rank_u

    def starts(self, situation: Situation) -> Iterator[tuple[int, int]]:
        """Tasks by rank_u (Topcuoglu et al. 2002), the largest first."""
        for task in sorted(situation.ready, key=lambda t: -self._rank[t]):
            machines = range(situation.instance.n_processors)
            fitting = [q for q in machines if situation.fits(task, q)]
            if fitting:
                yield task, min(fitting, key=lambda q: earliest_finish(situation, task, q))


class PlanOrder:
    """A plan: each task on its machine, in the order of the planned starts.

    What runs late or early moves what is behind it, and nothing else. While a task cannot start
    yet, because it is not ready or has no room, a later one of its machine goes first if that does
    not delay it: if there is room for both, or it is expected to end before (backfilling, as Lifka
    1995 does it for batch queues).

    Args:
        instance: the problem of the plan.
        plan: a valid schedule of it.

    Raises:
        InvalidScheduleError: the plan is not valid.
    """

    def __init__(self, instance: Instance, plan: Schedule) -> None:
        plan.validate(instance)
        self._plan = plan
        self._queue: list[list[int]] = [[] for _ in range(instance.n_processors)]
        for task in execution_order(instance, plan).tolist():
            self._queue[plan.processor[task]].append(task)
        need = instance.arrays.demand.any(axis=1) if instance.n_resources else True
        wants = np.broadcast_to(need, instance.n_tasks)
        self._all_need = [bool(wants[queue].all()) for queue in self._queue]

    def starts(self, situation: Situation) -> Iterator[tuple[int, int]]:
        """The next ones of each machine."""
        late = self._late(situation)
        for q, queue in enumerate(self._queue):
            self._queue[q] = [t for t in queue if t not in situation.finished]
            yield from self._on(situation, q, late)

    def _on(self, situation: Situation, q: int, late: float) -> Iterator[tuple[int, int]]:
        """Those of one machine; what waits keeps room, or its time."""
        kept: Ints = np.zeros_like(situation.free(q))
        until, all_need = np.inf, self._all_need[q]
        for task in self._queue[q]:
            if task in situation.running:
                continue
            if all_need and not situation.free(q).any():
                return
            may = task in situation.ready and situation.fits(task, q)
            ends = situation.now + situation.seconds(task, q)
            beside = may and (kept + situation.need(task) <= situation.free(q)).all()
            if may and (beside or ends <= until):
                yield task, q
                continue
            kept = kept + situation.need(task)
            until = min(until, self._expected_start(situation, task, q, late))

    def _late(self, situation: Situation) -> float:
        """By how much the run is behind its plan: of the task that finished last."""
        if not situation.finished:
            return 0.0
        task, stay = next(reversed(situation.finished.items()))
        return max(0.0, stay.finish - float(self._plan.finish[task]))

    def _expected_start(self, situation: Situation, task: int, q: int, late: float) -> float:
        """When a task that waits will probably start."""
        planned = float(self._plan.start[task]) + late
        if task not in situation.ready:
            return max(situation.now, planned)
        free = situation.free(q).copy()
        stays = [t for t, stay in situation.running.items() if stay.machine == q]
        for t in sorted(stays, key=situation.expected_finish):
            free += situation.need(t)
            if (situation.need(task) <= free).all():
                return situation.expected_finish(t)
        return situation.now


def earliest_finish(situation: Situation, task: int, q: int) -> float:
    """When a ready task would finish on a machine that has room for it now."""
    instance = situation.instance
    g, ready = instance.arrays, situation.now
    for e in range(g.pred_ptr[task], g.pred_ptr[task + 1]):
        stay = situation.finished[int(g.pred_task[e])]
        if stay.machine != q:
            link = instance.latency[stay.machine, q]
            link += g.pred_data[e] * instance.inv_bandwidth[stay.machine, q]
            ready = max(ready, stay.finish + link)
    return ready + situation.seconds(task, q)

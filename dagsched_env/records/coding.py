"""Schedules as two lists of whole numbers: the tasks in an order, and the processor of each task.

Tasks are placed in the order, each as early as its inputs allow, behind those that are on its
processor already; with resources as early as it fits, not before the start of one of those. Gaps
are not filled, so nothing depends on how a solver looks for them. Every valid schedule has an order
that gives it, or one that is nowhere later.
"""

import heapq
from collections.abc import Sequence

import numpy as np

from dagsched_env.kernels.schedules import decoding
from dagsched_env.problem.errors import InvalidScheduleError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule

__all__ = ["decode", "order_of"]


def order_of(instance: Instance, schedule: Schedule) -> tuple[int, ...]:
    """The tasks as they follow each other on the processors, predecessors before successors."""
    g = instance.arrays
    key = schedule.sequence_key(instance).tolist()
    missing = np.diff(g.pred_ptr).tolist()
    successors: list[list[int]] = [[] for _ in key]
    for u, v in instance.edges.tolist():
        successors[u].append(v)
    # Not simply sorted: a task without duration may start a rounding error after its successor.
    ready = [(key[t], t) for t, count in enumerate(missing) if not count]
    heapq.heapify(ready)
    order = []
    while ready:
        _, task = heapq.heappop(ready)
        order.append(task)
        for successor in successors[task]:
            missing[successor] -= 1
            if not missing[successor]:
                heapq.heappush(ready, (key[successor], successor))
    return tuple(order)


def decode(
    instance: Instance, order: Sequence[int], processor: Sequence[int], *, solver: str | None = None
) -> Schedule:
    """The schedule of an order.

    Args:
        instance: the problem.
        order: the n tasks, each after its predecessors.
        processor: of each of the n tasks, one that may run it.
        solver: label of the schedule.

    Raises:
        InvalidScheduleError: the lists are not so; the message names the first task.
    """
    n = instance.n_tasks
    tasks, processors = np.array(order, dtype=np.int64), np.array(processor, dtype=np.int64)
    if tasks.shape != (n,) or not np.array_equal(np.sort(tasks), np.arange(n)):
        raise InvalidScheduleError(f"order does not have each of the {n} tasks once")
    if processors.shape != (n,):
        raise InvalidScheduleError(f"processor has {processors.size} entries for {n} tasks")
    outside = np.flatnonzero((processors < 0) | (processors >= instance.n_processors))
    if outside.size:
        t = outside[0]
        raise InvalidScheduleError(f"task {t} is on processor {processors[t]}, which there is not")
    refused = np.flatnonzero(np.isinf(instance.comp[np.arange(n), processors]))
    if refused.size:
        t = refused[0]
        raise InvalidScheduleError(f"task {t} may not run on processor {processors[t]}")
    place = np.empty(n, dtype=np.int64)
    place[tasks] = np.arange(n)
    late = np.flatnonzero(place[instance.edges[:, 0]] > place[instance.edges[:, 1]])
    if late.size:
        u, v = instance.edges[late[0]].tolist()
        raise InvalidScheduleError(f"task {v} is before its predecessor {u} in the order")
    found = decoding.decode(instance.arrays, tasks, processors, False)
    return Schedule(*found, algorithm=solver)

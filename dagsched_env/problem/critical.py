"""The tasks that decide the makespan of a schedule, and what each of them waits for."""

from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import TOLERANCE, Schedule

__all__ = ["Link", "critical_chain"]


class Link(NamedTuple):
    """One task of a critical chain."""

    task: int
    waits_for: Literal["data", "processor", "nothing"]
    """What determines its start: the data of the task before it in the chain, the processor that
    this task occupies, or nothing. Then it starts at time 0, as soon as it is released or its
    processor available, or later than necessary. A processor
    with resources is waited for where it has too little left of one: the task before it in the
    chain is one that used it."""


def critical_chain(schedule: Schedule, instance: Instance) -> list[Link]:
    """The chain of tasks that determines the makespan, none of which can start earlier alone.

    The chain is followed backwards from the task that finishes last: to the task whose data
    arrives, or which leaves the processor, exactly when the task starts (within 1e-9 of the
    makespan). Data is preferred to the processor, then the first edge or the lowest index. With
    resources a task leaves the processor to another only if it used what the other lacked.

    Args:
        schedule: a valid, complete schedule.
        instance: its problem.

    Returns:
        The chain in the order of time; only its first link waits for nothing.
    """
    slack = TOLERANCE * schedule.makespan
    task = int(np.argmax(schedule.finish))
    chain: list[Link] = []
    seen = {task}
    while True:
        before, reason = _blocker(schedule, instance, task, slack, seen)
        chain.append(Link(task, reason))
        if before < 0:
            return chain[::-1]
        seen.add(before)
        task = before


def _blocker(
    schedule: Schedule, instance: Instance, task: int, slack: float, seen: set[int]
) -> tuple[int, Literal["data", "processor", "nothing"]]:
    """The task that ``task`` waits for, or -1; ``seen`` ends cycles of tasks of duration 0."""
    start, q = schedule.start[task], schedule.processor[task]
    if start <= instance.earliest[task, q] + slack:
        return -1, "nothing"
    g = instance.arrays
    for e in range(g.pred_ptr[task], g.pred_ptr[task + 1]):
        u = int(g.pred_task[e])
        a = schedule.processor[u]
        transfer = 0.0 if a == q else g.latency[a, q] + g.pred_data[e] * g.inv_bandwidth[a, q]
        if u not in seen and schedule.finish[u] + transfer >= start - slack:
            return u, "data"
    same = (schedule.processor == q) & (np.abs(schedule.finish - start) <= slack)
    if instance.n_resources:
        same &= _users_of_what_lacks(schedule, instance, task, slack)
    for u in np.flatnonzero(same).tolist():
        if u not in seen:
            return u, "processor"
    return -1, "nothing"


def _users_of_what_lacks(
    schedule: Schedule, instance: Instance, task: int, slack: float
) -> npt.NDArray[np.bool_]:
    """``[n]`` tasks that need a resource of which ``task`` would lack some just before its start.

    None where all would suffice: then it could start earlier, or has duration 0 and needs nothing.
    """
    start, q = schedule.start[task], schedule.processor[task]
    demand, capacity = instance.arrays.demand, instance.arrays.capacity[q]
    running = (schedule.processor == q) & (schedule.start < start - slack)
    running &= (schedule.finish >= start - slack) & (schedule.finish - schedule.start > slack)
    lacks = demand[running].sum(axis=0) + demand[task] > capacity
    if schedule.finish[task] - start <= slack:
        lacks[:] = False
    return (demand[:, lacks] > 0).any(axis=1) & (schedule.finish - schedule.start > slack)

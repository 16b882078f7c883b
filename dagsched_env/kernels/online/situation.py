"""The state of a run, and how it changes. Durations in it are those that are expected."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dagsched_env.kernels.arrays import Floats, InstanceArrays, Ints
from dagsched_env.kernels.graph.communication import arrival_time
from dagsched_env.kernels.graph.resources import has_resources
from dagsched_env.kernels.jit import borrowing, embedded

Bools = npt.NDArray[np.bool_]

# SituationArrays.status
ABSENT, WAITING, READY, RUNNING, FINISHED = range(5)
# SituationArrays.counts
N_READY, N_RUNNING, N_FINISHED = range(3)
# SituationArrays.clock
NOW, LEAD = range(2)


OVERDUE = 0.2
"""A task that is overdue is expected to take this share of its age more. Without it list scheduling
waits for stragglers: with lognormal durations of cv 1 runs take 3 % longer, with 0.3 as long."""


class SituationArrays(NamedTuple):
    """What is known of a run; n tasks, p machines, k resources, at least one.

    Without resources a machine has room for one task.
    """

    status: Ints  # [n] ABSENT (its graph has not arrived), WAITING, READY, RUNNING, FINISHED
    missing: Ints  # [n] predecessors that have not finished
    machine: Ints  # [n] where a task runs or has run, else -1
    start: Floats  # [n] of tasks that run or have finished
    finish: Floats  # [n] of finished tasks; of running ones when it was expected at the start
    since: Floats  # [n] from when a ready task has been ready
    arrival: Floats  # [n, p] of ready tasks: when their inputs are on each machine
    lost: Bools  # [n] a finished task whose outputs no longer exist
    free: Ints  # [p, k] room that is left
    up: Bools  # [p] the machine works
    listed: Ints  # [2, n] the first N_READY are ready, the first N_RUNNING run, in no order
    place: Ints  # [n] of a ready or running task in its row of ``listed``
    counts: Ints  # [3]
    clock: Floats  # [2] now; how long before its inputs arrive a task may start


def allocate_situation(n: int, p: int, k: int) -> SituationArrays:
    """Arrays of zeros; ``begin`` makes them the start of a run."""
    return SituationArrays(
        status=np.zeros(n, dtype=np.int64),
        missing=np.zeros(n, dtype=np.int64),
        machine=np.zeros(n, dtype=np.int64),
        start=np.zeros(n),
        finish=np.zeros(n),
        since=np.zeros(n),
        arrival=np.zeros((n, p)),
        lost=np.zeros(n, dtype=np.bool_),
        free=np.zeros((p, max(k, 1)), dtype=np.int64),
        up=np.zeros(p, dtype=np.bool_),
        listed=np.zeros((2, n), dtype=np.int64),
        place=np.zeros(n, dtype=np.int64),
        counts=np.zeros(3, dtype=np.int64),
        clock=np.zeros(2),
    )


@borrowing
def begin(g: InstanceArrays, s: SituationArrays) -> None:
    """Nothing has arrived, all machines are idle, it is time 0."""
    n, p = g.comp.shape
    for i in range(3):
        s.counts[i] = 0
    s.clock[NOW] = 0.0
    for t in range(n):
        s.status[t], s.machine[t], s.lost[t] = ABSENT, -1, False
        s.start[t] = s.finish[t] = s.since[t] = 0.0
        s.missing[t] = g.pred_ptr[t + 1] - g.pred_ptr[t]
    for q in range(p):
        s.up[q] = True
        for r in range(s.free.shape[1]):
            s.free[q, r] = g.capacity[q, r] if has_resources(g) else 1


@borrowing
def arrive(g: InstanceArrays, s: SituationArrays, first: int, last: int) -> None:
    """The tasks ``first:last`` are known from now on; they are whole graphs."""
    for t in range(first, last):
        s.status[t] = WAITING
    for t in range(first, last):
        if s.missing[t] == 0:
            _add_ready(g, s, t)


@embedded
def fits(g: InstanceArrays, s: SituationArrays, t: int, q: int) -> bool:
    """Whether a task may run on a machine, and the machine works and has room for it."""
    if not s.up[q] or g.comp[t, q] == np.inf:
        return False
    if not has_resources(g):
        return s.free[q, 0] > 0  # type: ignore[no-any-return]
    for r in range(s.free.shape[1]):  # noqa: SIM110 - a generator is no kernel
        if g.demand[t, r] > s.free[q, r]:
            return False
    return True


@embedded
def can_start(g: InstanceArrays, s: SituationArrays, t: int, q: int) -> bool:
    """Whether a ready task can start on a machine now: it fits, and its inputs are there."""
    return fits(g, s, t, q) and s.arrival[t, q] <= s.clock[NOW] + s.clock[LEAD]


@borrowing
def start(g: InstanceArrays, s: SituationArrays, t: int, q: int) -> None:
    """A ready task starts now."""
    _drop(s, t, 0)
    _take(g, s, t, q, 1)
    s.status[t], s.machine[t] = RUNNING, q
    s.start[t] = s.clock[NOW]
    s.finish[t] = s.clock[NOW] + g.comp[t, q]
    _add(s, t, 1)


@borrowing
def finish(g: InstanceArrays, s: SituationArrays, t: int) -> None:
    """A running task has finished now; tasks that waited for it alone become ready."""
    _drop(s, t, 1)
    _take(g, s, t, s.machine[t], -1)
    s.status[t], s.lost[t] = FINISHED, False
    s.finish[t] = s.clock[NOW]
    s.counts[N_FINISHED] += 1
    for e in range(g.succ_ptr[t], g.succ_ptr[t + 1]):
        successor = g.succ_task[e]
        s.missing[successor] -= 1
        if s.missing[successor] == 0 and s.status[successor] == WAITING:
            _add_ready(g, s, successor)


@borrowing
def stop(g: InstanceArrays, s: SituationArrays, t: int) -> None:
    """A running task has left its machine without success; it is ready again, or waits for what
    has been lost meanwhile and runs again."""
    _drop(s, t, 1)
    _take(g, s, t, s.machine[t], -1)
    s.machine[t], s.status[t] = -1, WAITING
    if s.missing[t] == 0:
        _add_ready(g, s, t)


@borrowing
def lose(g: InstanceArrays, s: SituationArrays, q: int, outputs: bool) -> None:
    """A machine fails: what ran there is to run again.

    Args:
        q: the machine.
        outputs: what finished tasks left there is gone, too. Those that a task needs which has not
            started run again, and so does what they need, if that is gone.
    """
    s.up[q] = False
    i = 0
    while i < s.counts[N_RUNNING]:
        t = s.listed[1, i]
        if s.machine[t] == q:
            stop(g, s, t)
        else:
            i += 1
    n = g.comp.shape[0]
    if outputs:
        for t in range(n):
            if s.status[t] == FINISHED and s.machine[t] == q:
                s.lost[t] = True
    for i in range(n - 1, -1, -1):  # successors first
        t = g.topo[i]
        if s.status[t] == FINISHED and s.lost[t] and _is_needed(g, s, t):
            s.status[t], s.lost[t], s.machine[t] = WAITING, False, -1
            s.counts[N_FINISHED] -= 1
            for e in range(g.succ_ptr[t], g.succ_ptr[t + 1]):
                successor = g.succ_task[e]
                s.missing[successor] += 1
                if s.status[successor] == READY:
                    _drop(s, successor, 0)
                    s.status[successor] = WAITING
    for t in range(n):
        if s.status[t] == WAITING and s.missing[t] == 0:
            _add_ready(g, s, t)


@borrowing
def restore(s: SituationArrays, q: int) -> None:
    """A machine works again; nothing runs there."""
    s.up[q] = True


@embedded
def expected_finish(s: SituationArrays, t: int) -> float:
    """When a running task is expected to end; where that has passed, after a while from now."""
    now = s.clock[NOW]
    if s.finish[t] > now:
        return s.finish[t]  # type: ignore[no-any-return]
    return now + OVERDUE * (now - s.start[t])  # type: ignore[no-any-return]


@embedded
def _is_needed(g: InstanceArrays, s: SituationArrays, t: int) -> bool:
    """Whether a task that has not started yet waits for outputs of a task."""
    for e in range(g.succ_ptr[t], g.succ_ptr[t + 1]):
        if s.status[g.succ_task[e]] in (WAITING, READY):
            return True
    return False


@embedded
def _add_ready(g: InstanceArrays, s: SituationArrays, t: int) -> None:
    s.status[t] = READY
    s.since[t] = s.clock[NOW]
    for q in range(g.comp.shape[1]):
        s.arrival[t, q] = max(s.clock[NOW], arrival_time(g, s.machine, s.finish, t, q))
    _add(s, t, 0)


@embedded
def _add(s: SituationArrays, t: int, row: int) -> None:
    """To the ready (0) or running (1) tasks."""
    count = s.counts[row]
    s.listed[row, count], s.place[t] = t, count
    s.counts[row] = count + 1


@embedded
def _drop(s: SituationArrays, t: int, row: int) -> None:
    """From the ready (0) or running (1) tasks; the last one takes the place."""
    last = s.listed[row, s.counts[row] - 1]
    s.listed[row, s.place[t]], s.place[last] = last, s.place[t]
    s.counts[row] -= 1


@embedded
def _take(g: InstanceArrays, s: SituationArrays, t: int, q: int, sign: int) -> None:
    """A task takes room on a machine, or gives it back (sign −1)."""
    if not has_resources(g):
        s.free[q, 0] -= sign
        return
    for r in range(s.free.shape[1]):
        s.free[q, r] -= sign * g.demand[t, r]

"""Transitions of a partial schedule: reset, place, take back, copy, and the running lower bound."""

import numpy as np

from dagsched_env.kernels.arrays import (
    LOWER_BOUND,
    MAKESPAN,
    N_PLACED,
    N_READY,
    UNSCHEDULED,
    InstanceArrays,
    StateArrays,
)
from dagsched_env.kernels.graph.bounds import least_finish
from dagsched_env.kernels.graph.communication import communication
from dagsched_env.kernels.graph.release import first_start
from dagsched_env.kernels.graph.resources import has_resources
from dagsched_env.kernels.jit import borrowing, embedded
from dagsched_env.kernels.state.timeline import data_ready_time, earliest_slot, occupy, vacate


@borrowing
def reset(g: InstanceArrays, s: StateArrays) -> None:
    """Empty the schedule: the sources are ready, and the bounds ignore communication."""
    clear(g, s)
    recompute_bounds(g, s)


@borrowing
def clear(g: InstanceArrays, s: StateArrays) -> None:
    """Empty the schedule as ``reset`` does, but leave the bounds as they are: it is faster."""
    n = g.topo.shape[0]
    s.processor[:] = UNSCHEDULED
    s.slot_count[:] = 0
    s.counts[:] = 0
    s.totals[:] = 0.0
    for t in range(n):
        s.missing[t] = g.pred_ptr[t + 1] - g.pred_ptr[t]
        if s.missing[t] == 0:
            _add_ready(s, t)


@embedded
def place(
    g: InstanceArrays, s: StateArrays, task: int, q: int, insertion: bool, bounds: bool
) -> None:
    """Put a task on a processor at its earliest start.

    Args:
        g: the problem.
        s: a partial schedule; changed.
        task: a ready task.
        q: an eligible processor.
        insertion: use idle gaps; False appends only.
        bounds: keep the lower bounds up to date; False, which is faster, leaves them as they are.
    """
    duration = g.comp[task, q]
    ready = data_ready_time(g, s, task, q)
    index, start = earliest_slot(g, s, task, q, ready, duration, insertion)
    occupy(g, s, task, q, index, start)
    s.processor[task] = q
    s.start[task] = start
    s.finish[task] = start + duration
    s.totals[MAKESPAN] = max(s.totals[MAKESPAN], start + duration)
    s.sequence[s.counts[N_PLACED]] = task
    s.counts[N_PLACED] += 1
    _drop_ready(s, task)
    for e in range(g.succ_ptr[task], g.succ_ptr[task + 1]):
        successor = g.succ_task[e]
        s.missing[successor] -= 1
        if s.missing[successor] == 0:
            _add_ready(s, successor)
    if bounds:
        _raise_bounds(g, s, task)


@borrowing
def remove_last(g: InstanceArrays, s: StateArrays) -> None:
    """Take back the last placement."""
    task = s.sequence[s.counts[N_PLACED] - 1]
    q = s.processor[task]
    index = 0
    if not has_resources(g):
        while s.slot_start[q, index] != s.start[task] or s.slot_finish[q, index] != s.finish[task]:
            index += 1
    vacate(g, s, task, q, index)
    s.processor[task] = UNSCHEDULED
    s.counts[N_PLACED] -= 1
    for e in range(g.succ_ptr[task], g.succ_ptr[task + 1]):
        successor = g.succ_task[e]
        if s.missing[successor] == 0:
            _drop_ready(s, successor)
        s.missing[successor] += 1
    _add_ready(s, task)
    s.totals[MAKESPAN] = 0.0
    for i in range(s.counts[N_PLACED]):
        s.totals[MAKESPAN] = max(s.totals[MAKESPAN], s.finish[s.sequence[i]])
    recompute_bounds(g, s)


@borrowing
def copy_state(source: StateArrays, target: StateArrays) -> None:
    """Copy every array of ``source`` into ``target``, which has the same shapes."""
    # Loops, because assignments of slices count references, which takes longer than the copies.
    for t in range(source.processor.shape[0]):
        target.processor[t] = source.processor[t]
        target.sequence[t] = source.sequence[t]
        target.start[t] = source.start[t]
        target.finish[t] = source.finish[t]
        target.missing[t] = source.missing[t]
        target.ready[t] = source.ready[t]
        target.ready_index[t] = source.ready_index[t]
        target.bound[t] = source.bound[t]
    for q in range(source.slot_count.shape[0]):
        target.slot_count[q] = source.slot_count[q]
        for i in range(source.slot_count[q]):
            target.slot_start[q, i] = source.slot_start[q, i]
            target.slot_finish[q, i] = source.slot_finish[q, i]
            for r in range(source.slot_load.shape[2]):
                target.slot_load[q, i, r] = source.slot_load[q, i, r]
    for i in range(source.counts.shape[0]):
        target.counts[i] = source.counts[i]
    for i in range(source.totals.shape[0]):
        target.totals[i] = source.totals[i]


@borrowing
def recompute_bounds(g: InstanceArrays, s: StateArrays) -> None:
    """Compute the ``bound`` of every task and the lower bound on the makespan from scratch."""
    s.totals[LOWER_BOUND] = 0.0
    for i in range(g.topo.shape[0]):
        t = g.topo[i]
        s.bound[t] = _task_bound(g, s, t)
        s.totals[LOWER_BOUND] = max(s.totals[LOWER_BOUND], s.bound[t])


@embedded
def _raise_bounds(g: InstanceArrays, s: StateArrays, task: int) -> None:
    """Propagate the placement of ``task`` to its descendants, in topological order.

    A placement never lowers a bound, so the maximum is kept as a running value.
    """
    s.bound[task] = s.finish[task]
    s.totals[LOWER_BOUND] = max(s.totals[LOWER_BOUND], s.bound[task])
    s.touched[:] = False
    for e in range(g.succ_ptr[task], g.succ_ptr[task + 1]):
        s.touched[g.succ_task[e]] = True
    for i in range(g.topo_position[task] + 1, g.topo.shape[0]):
        t = g.topo[i]
        if not s.touched[t]:
            continue
        bound = _task_bound(g, s, t)
        if bound > s.bound[t]:
            s.bound[t] = bound
            s.totals[LOWER_BOUND] = max(s.totals[LOWER_BOUND], bound)
            for e in range(g.succ_ptr[t], g.succ_ptr[t + 1]):
                s.touched[g.succ_task[e]] = True


@embedded
def _task_bound(g: InstanceArrays, s: StateArrays, t: int) -> float:
    """Earliest possible finish of ``t``: only scheduled predecessors pay for communication."""
    if s.processor[t] != UNSCHEDULED:
        return s.finish[t]  # type: ignore[no-any-return]
    earliest, pays = 0.0, False
    for e in range(g.pred_ptr[t], g.pred_ptr[t + 1]):
        u = g.pred_task[e]
        if s.processor[u] == UNSCHEDULED:
            earliest = max(earliest, s.bound[u])
        else:
            pays = True
    if not pays:
        return least_finish(g, t, earliest)
    best = np.inf
    for q in range(g.comp.shape[1]):
        if g.comp[t, q] == np.inf:
            continue
        arrival = max(earliest, first_start(g, t, q))
        for e in range(g.pred_ptr[t], g.pred_ptr[t + 1]):
            u = g.pred_task[e]
            if s.processor[u] != UNSCHEDULED:
                comm = communication(g, g.pred_data[e], s.processor[u], q)
                arrival = max(arrival, s.finish[u] + comm)
        best = min(best, arrival + g.comp[t, q])
    return best


@embedded
def _add_ready(s: StateArrays, task: int) -> None:
    s.ready[s.counts[N_READY]] = task
    s.ready_index[task] = s.counts[N_READY]
    s.counts[N_READY] += 1


@embedded
def _drop_ready(s: StateArrays, task: int) -> None:
    hole = s.ready_index[task]
    s.counts[N_READY] -= 1
    moved = s.ready[s.counts[N_READY]]
    s.ready[hole] = moved
    s.ready_index[moved] = hole

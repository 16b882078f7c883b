"""The placements of a list scheduler: none yet, and one task more."""

import numpy as np

from dagsched_env.kernels.arrays import UNSCHEDULED, Floats, InstanceArrays, Placements
from dagsched_env.kernels.graph.ranks import RANK_TOLERANCE
from dagsched_env.kernels.jit import kernel
from dagsched_env.kernels.state.timeline import earliest_slot

__all__ = ["arrival_times", "empty_placements", "put", "put_best"]


@kernel
def empty_placements(n: int, p: int) -> Placements:
    """No task is placed."""
    return Placements(
        np.full(n, UNSCHEDULED, dtype=np.int64),
        np.empty(n, dtype=np.float64),
        np.empty(n, dtype=np.float64),
        np.empty((p, n), dtype=np.float64),
        np.empty((p, n), dtype=np.float64),
        np.zeros(p, dtype=np.int64),
        np.zeros(p, dtype=np.float64),
    )


@kernel
def arrival_times(g: InstanceArrays, s: Placements, task: int, out: Floats) -> None:
    """Write into ``out[p]`` when the inputs of ``task`` from placed tasks are on each processor."""
    out[:] = 0.0
    for e in range(g.pred_ptr[task], g.pred_ptr[task + 1]):
        u = g.pred_task[e]
        source = s.processor[u]
        if source == UNSCHEDULED:
            continue
        finish, data = s.finish[u], g.pred_data[e]
        for q in range(out.shape[0]):  # latency and inv_bandwidth are 0 on the diagonal
            link = g.latency[source, q] + data * g.inv_bandwidth[source, q]
            out[q] = max(out[q], finish + link)


@kernel
def put(s: Placements, task: int, q: int, ready: float, duration: float, insertion: bool) -> int:
    """Place ``task`` at its earliest start on ``q`` not before ``ready``; returns its slot."""
    fits = insertion and duration <= s.largest_gap[q]
    index, start = earliest_slot(s, q, ready, duration, fits)
    count = s.slot_count[q]
    if index == count:
        gap = start - (s.slot_finish[q, count - 1] if count > 0 else 0.0)
        # A gap that holds a task only by rounding counts too.
        s.largest_gap[q] = max(s.largest_gap[q], gap + 1e-15 * start)
    for i in range(count, index, -1):
        s.slot_start[q, i] = s.slot_start[q, i - 1]
        s.slot_finish[q, i] = s.slot_finish[q, i - 1]
    s.slot_start[q, index] = start
    s.slot_finish[q, index] = start + duration
    s.slot_count[q] = count + 1
    s.processor[task] = q
    s.start[task] = start
    s.finish[task] = start + duration
    return index


@kernel
def put_best(
    g: InstanceArrays, s: Placements, task: int, extra: Floats, insertion: bool, arrival: Floats
) -> int:
    """Place ``task`` where finish time + ``extra[q]`` is least, the lowest index among equals.

    ``arrival[p]`` is scratch. Returns the slot.
    """
    arrival_times(g, s, task, arrival)
    best, least = -1, np.inf
    for q in range(arrival.shape[0]):
        duration = g.comp[task, q]
        if duration == np.inf or extra[q] == np.inf:
            continue
        # Spelled out as in `put`: a function between here and earliest_slot costs a factor of four,
        # because the compiler then no longer inlines it.
        fits = insertion and duration <= s.largest_gap[q]
        _, start = earliest_slot(s, q, arrival[q], duration, fits)
        value = start + duration + extra[q]
        if value < least - RANK_TOLERANCE * abs(value):
            best, least = q, value
    return put(s, task, best, arrival[best], g.comp[task, best], insertion)

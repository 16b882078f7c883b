"""The placements of a list scheduler: an empty schedule, and one task placed in it."""

import numpy as np

from dagsched_env.kernels.arrays import UNSCHEDULED, Floats, InstanceArrays, Placements
from dagsched_env.kernels.graph.ranks import RANK_TOLERANCE
from dagsched_env.kernels.graph.release import first_start
from dagsched_env.kernels.jit import borrowing, kernel
from dagsched_env.kernels.state.timeline import earliest_slot, occupy


def allocate_placements(n: int, p: int, k: int) -> Placements:
    """The placements of an empty schedule of ``n`` tasks on ``p`` processors, ``k`` resources."""
    width = n if k == 0 else 2 * n  # arrays.slots, which is no kernel
    return Placements(
        np.full(n, UNSCHEDULED, dtype=np.int64),
        np.empty(n, dtype=np.float64),
        np.empty(n, dtype=np.float64),
        np.empty((p, width), dtype=np.float64),
        np.empty((p, width), dtype=np.float64),
        np.empty((p, width, k), dtype=np.int64),
        np.zeros(p, dtype=np.int64),
        np.full(p, 0.0 if k == 0 else np.inf),
    )


_allocate = kernel(allocate_placements)


@kernel
def empty_placements(g: InstanceArrays) -> Placements:
    """The placements of an empty schedule of a problem, for kernels."""
    return _allocate(g.comp.shape[0], g.comp.shape[1], g.demand.shape[1])


@borrowing
def clear_placements(s: Placements) -> None:
    """Make them an empty schedule; starts and finishes stay, of no meaning."""
    s.processor[:] = UNSCHEDULED
    s.slot_count[:] = 0
    s.largest_gap[:] = 0.0 if s.slot_load.shape[2] == 0 else np.inf


@borrowing
def arrival_times(g: InstanceArrays, s: Placements, task: int, out: Floats) -> None:
    """When a task is released and its inputs can be there, on each processor.

    Args:
        s: the placements so far.
        task: a task; only its placed predecessors count.
        out: ``[p]`` receives the times.
    """
    for q in range(out.shape[0]):
        out[q] = first_start(g, task, q)
    for e in range(g.pred_ptr[task], g.pred_ptr[task + 1]):
        u = g.pred_task[e]
        source = s.processor[u]
        if source == UNSCHEDULED:
            continue
        finish, data = s.finish[u], g.pred_data[e]
        for q in range(out.shape[0]):  # latency and inv_bandwidth are 0 on the diagonal
            link = g.latency[source, q] + data * g.inv_bandwidth[source, q]
            out[q] = max(out[q], finish + link)


@borrowing
def put(g: InstanceArrays, s: Placements, task: int, q: int, ready: float, insertion: bool) -> int:
    """Place a task at its earliest start on a processor.

    Args:
        s: the placements; changed.
        q: the processor, eligible.
        ready: when its inputs are there (time).
        insertion: use idle gaps; False appends only.

    Returns:
        Index of the task among the busy intervals of the processor.
    """
    duration = g.comp[task, q]
    fits = insertion and duration <= s.largest_gap[q]
    index, start = earliest_slot(g, s, task, q, ready, duration, fits)
    count = s.slot_count[q]
    if index == count:
        gap = start - (s.slot_finish[q, count - 1] if count > 0 else 0.0)
        # A gap counts too if it holds a task only because of rounding.
        s.largest_gap[q] = max(s.largest_gap[q], gap + 1e-15 * start)
    occupy(g, s, task, q, index, start)
    s.processor[task] = q
    s.start[task] = start
    s.finish[task] = start + duration
    return index


@borrowing
def put_best(
    g: InstanceArrays, s: Placements, task: int, extra: Floats, insertion: bool, arrival: Floats
) -> int:
    """Place a task where finish time + extra cost is least; ties: lowest index.

    Args:
        s: the placements; changed.
        task: a task whose predecessors are all placed.
        extra: ``[p]`` extra cost on each processor (time); inf forbids it.
        insertion: use idle gaps; False appends only.
        arrival: ``[p]`` work space.

    Returns:
        Index of the task among the busy intervals of its processor.
    """
    arrival_times(g, s, task, arrival)
    best, least = -1, np.inf
    for q in range(arrival.shape[0]):
        duration = g.comp[task, q]
        # Most processors are too late even if they are free, and inf is never less.
        if not arrival[q] + duration + extra[q] < least:
            continue
        # The same lines as in `put`: a common function would make this four times slower, because
        # the compiler would no longer inline earliest_slot.
        fits = insertion and duration <= s.largest_gap[q]
        _, start = earliest_slot(g, s, task, q, arrival[q], duration, fits)
        value = start + duration + extra[q]
        if value < least - RANK_TOLERANCE * abs(value):
            best, least = q, value
    return put(g, s, task, best, arrival[best], insertion)

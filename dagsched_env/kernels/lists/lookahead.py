"""List scheduling that chooses a processor by the finish times of the children of the task."""

import numpy as np

from dagsched_env.kernels.arrays import UNSCHEDULED, Floats, InstanceArrays, Ints, Placements
from dagsched_env.kernels.graph.ranks import RANK_TOLERANCE
from dagsched_env.kernels.jit import borrowing, kernel
from dagsched_env.kernels.lists.placements import arrival_times, empty_placements, put, put_best
from dagsched_env.kernels.state.timeline import vacate


@kernel
def schedule_with_lookahead(
    g: InstanceArrays, order: Ints, insertion: bool
) -> tuple[Ints, Floats, Floats]:
    """Tasks in a given order, each on the processor where the last of its children finishes first.

    For every processor the task is placed there on trial, and after it its children in the given
    order, each where it finishes first given its placed parents. A task without children is placed
    where it finishes first itself.

    Args:
        order: ``[n]`` a topological order.
        insertion: use idle gaps; False appends only.

    Returns:
        Processor, start and finish, ``[n]`` each.
    """
    n, p = g.comp.shape
    s = empty_placements(g)
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    arrival, nothing = np.empty(p), np.zeros(p)
    for t in order:
        children = g.succ_task[g.succ_ptr[t] : g.succ_ptr[t + 1]]
        if children.shape[0] == 0:
            put_best(g, s, t, nothing, insertion, arrival)
            continue
        children = children[np.argsort(place[children])]
        ready = np.empty(p)
        arrival_times(g, s, t, ready)
        best, least = -1, np.inf
        for q in range(p):
            if g.comp[t, q] == np.inf:
                continue
            latest = _trial(g, s, t, q, ready[q], children, insertion, arrival)
            if latest < least - RANK_TOLERANCE * abs(latest):
                best, least = q, latest
        put(g, s, t, best, ready[best], insertion)
    return s.processor, s.start, s.finish


@kernel
def _trial(
    g: InstanceArrays,
    s: Placements,
    task: int,
    q: int,
    ready: float,
    children: Ints,
    insertion: bool,
    arrival: Floats,
) -> float:
    """Latest finish of the ``children`` with ``task`` on ``q``; ``s`` is restored afterwards."""
    gaps = s.largest_gap.copy()
    slots = np.empty(children.shape[0], dtype=np.int64)
    slot = put(g, s, task, q, ready, insertion)
    latest = 0.0
    for i in range(children.shape[0]):
        slots[i] = put_best(g, s, children[i], np.zeros(arrival.shape[0]), insertion, arrival)
        latest = max(latest, s.finish[children[i]])
    for i in range(children.shape[0] - 1, -1, -1):
        _take_back(g, s, children[i], slots[i])
    _take_back(g, s, task, slot)
    s.largest_gap[:] = gaps
    return latest


@borrowing
def _take_back(g: InstanceArrays, s: Placements, task: int, slot: int) -> None:
    """Undo the last ``put``, which used ``slot`` of its processor."""
    vacate(g, s, task, s.processor[task], slot)
    s.processor[task] = UNSCHEDULED

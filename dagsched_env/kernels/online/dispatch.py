"""List scheduling from where a run stands."""

import numpy as np

from dagsched_env.kernels.arrays import Floats, InstanceArrays, Ints
from dagsched_env.kernels.graph.resources import has_resources
from dagsched_env.kernels.jit import borrowing, embedded
from dagsched_env.kernels.online.situation import (
    LEAD,
    N_READY,
    N_RUNNING,
    NOW,
    SituationArrays,
    expected_finish,
)


@borrowing
def assign(
    g: InstanceArrays,
    s: SituationArrays,
    order: Ints,
    cost_to_go: Floats,
    holds: Ints,
    until: Floats,
    starts: Ints,
) -> int:
    """Give each ready task the machine where it is expected to finish first; say which start now.

    A task counts with those that run and those before it in the order. So it may be given a machine
    that is busy, and then it waits.

    Args:
        order: ``[r]`` the ready tasks.
        cost_to_go: ``[n, p]`` what counts beside the finish (time); or ``[n, 0]``.
        holds: ``[n]`` work space.
        until: ``[n]`` work space.
        starts: ``[r, 2]`` receives tasks and machines.

    Returns:
        How many start.
    """
    now = s.clock[NOW]
    held = s.counts[N_RUNNING]
    for i in range(held):
        holds[i] = s.listed[1, i]
        until[holds[i]] = expected_finish(s, holds[i])
    count = 0
    for i in range(order.shape[0]):
        t, best, least, begins, at_once = order[i], -1, np.inf, 0.0, False
        for q in range(g.comp.shape[1]):
            if not s.up[q] or g.comp[t, q] == np.inf:
                continue
            room = room_from(g, s, t, q, holds, held, until)
            begin = max(s.arrival[t, q], room)
            value = begin + g.comp[t, q]
            if cost_to_go.shape[1] > 0:
                value += cost_to_go[t, q]
            if value < least:
                best, least, begins = q, value, begin
                at_once = room <= now and s.arrival[t, q] <= now + s.clock[LEAD]
        if best < 0:
            continue
        if at_once:
            starts[count, 0], starts[count, 1] = t, best
            count += 1
        s.machine[t] = best  # for the time of this call
        holds[held] = t
        until[t] = begins + g.comp[t, best]
        held += 1
        if not at_once and _is_full(g, s, order, holds, held, until):
            break  # which is why thousands may wait
    for i in range(s.counts[N_READY]):
        s.machine[s.listed[0, i]] = -1
    return count


@embedded
def _is_full(
    g: InstanceArrays, s: SituationArrays, order: Ints, holds: Ints, held: int, until: Floats
) -> bool:
    """Whether no machine has room now for any task, each of which needs what all of them need."""
    now = s.clock[NOW]
    for q in range(g.comp.shape[1]):
        full = not s.up[q]
        if not has_resources(g):
            for i in range(held):
                full = full or (s.machine[holds[i]] == q and until[holds[i]] > now)
        for r in range(g.demand.shape[1]):
            if full:
                break
            least = g.demand[order[0], r]
            for i in range(1, order.shape[0]):
                least = min(least, g.demand[order[i], r])
            for i in range(held):
                if s.machine[holds[i]] == q and until[holds[i]] > now:
                    least += g.demand[holds[i], r]
            full = least > g.capacity[q, r]
        if not full:
            return False
    return True


@embedded
def room_from(
    g: InstanceArrays,
    s: SituationArrays,
    t: int,
    q: int,
    holds: Ints,
    held: int,
    until: Floats,
) -> float:
    """From when on a machine is expected to have room for a task, if nothing else starts there.

    Args:
        holds: the first ``held`` run or wait on some machine, and hold room from now on.
        held: how many.
        until: ``[n]`` when each of them is expected to end (time).
    """
    begin = s.clock[NOW]
    if not has_resources(g):
        for i in range(held):
            if s.machine[holds[i]] == q:
                begin = max(begin, until[holds[i]])
        return begin  # type: ignore[no-any-return]
    while True:
        following = np.inf
        enough = True
        for r in range(g.demand.shape[1]):
            used = 0
            for i in range(held):
                u = holds[i]
                if s.machine[u] == q and until[u] > begin:
                    used += g.demand[u, r]
            if g.demand[t, r] > 0 and used + g.demand[t, r] > g.capacity[q, r]:
                enough = False
        if enough:
            return begin  # type: ignore[no-any-return]
        for i in range(held):
            u = holds[i]
            if s.machine[u] == q and until[u] > begin:
                following = min(following, until[u])
        begin = following

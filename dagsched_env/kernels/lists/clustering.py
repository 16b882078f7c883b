"""Dominant sequence clustering: which tasks should share a processor.

Source: Yang, Gerasoulis 1994, "DSC: scheduling parallel tasks on an unbounded number of
processors", IEEE TPDS 5(9), sec. 4.
"""

from typing import NamedTuple

import numpy as np

from dagsched_env.kernels.arrays import Floats, InstanceArrays, Ints
from dagsched_env.kernels.graph.ranks import RANK_TOLERANCE, order_by_rank, upward_rank
from dagsched_env.kernels.graph.release import least_first_start
from dagsched_env.kernels.jit import borrowing, kernel

NONE = -1


class Clustering(NamedTuple):
    """Clusters of the examined tasks, each in the order in which its tasks joined."""

    of: Ints  # [n] the cluster of an examined task, else NONE
    size: Ints  # [n] tasks in each cluster
    end: Floats  # [n] finish time of the last task of each cluster
    tlevel: Floats  # [n] start of an examined task; of others, release or arrival of known data
    blevel: Floats  # [n] longest path to an exit, communication included
    missing: Ints  # [n] predecessors not yet examined


@kernel
def dominant_sequence_clusters(g: InstanceArrays) -> Ints:
    """DSC at mean costs, on as many identical processors as there are tasks.

    The free task of the highest tlevel + blevel joins the cluster of the predecessor whose data
    arrives last if it starts earlier there (``_merge``). Otherwise it begins a new cluster.
    Returns the cluster of each task, ``[n]``, numbered by a task in it.
    """
    n = g.comp.shape[0]
    released = np.zeros(n)
    for t in range(n):
        released[t] = least_first_start(g, t)
    c = Clustering(
        np.full(n, NONE, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.zeros(n),
        released,
        upward_rank(g, g.mean_comp, True),
        g.pred_ptr[1:] - g.pred_ptr[:-1],
    )
    for _ in range(n):
        task, rival = _heads(g, c)
        _merge(g, c, task, rival)
        for e in range(g.succ_ptr[task], g.succ_ptr[task + 1]):
            successor = g.succ_task[e]
            arrival = _finish(g, c, task) + _mean_communication(g, g.succ_data[e])
            c.tlevel[successor] = max(c.tlevel[successor], arrival)
            c.missing[successor] -= 1
    return c.of


@borrowing
def _finish(g: InstanceArrays, c: Clustering, task: int) -> float:
    return c.tlevel[task] + g.mean_comp[task]  # type: ignore[no-any-return]


@borrowing
def _mean_communication(g: InstanceArrays, data: float) -> float:
    return g.mean_link[0] + data * g.mean_link[1]  # type: ignore[no-any-return]


@kernel
def _heads(g: InstanceArrays, c: Clustering) -> tuple[int, int]:
    """The free task of the highest priority, and the partially free one where that is higher.

    Partially free: some but not all predecessors are examined. Ties: first in topological order,
    and the free task before the other.
    """
    free, partial = NONE, NONE
    highest = np.array([-np.inf, -np.inf])
    for t in g.topo:
        untouched = c.missing[t] == g.pred_ptr[t + 1] - g.pred_ptr[t]
        if c.of[t] != NONE or (untouched and c.missing[t] > 0):
            continue
        kind = 0 if c.missing[t] == 0 else 1
        priority = c.tlevel[t] + c.blevel[t]
        if priority <= highest[kind] + RANK_TOLERANCE * priority:
            continue
        highest[kind] = priority
        if kind == 0:
            free = t
        else:
            partial = t
    if highest[1] <= highest[0] + RANK_TOLERANCE * highest[0]:
        partial = NONE
    return free, partial


@kernel
def _merge(g: InstanceArrays, c: Clustering, task: int, rival: int) -> None:
    """The minimisation procedure: put ``task`` where it starts first, and mark it as examined.

    Its predecessors are taken by the arrival of their data, the latest first. The first one names
    the cluster. Those after it may move there too, as long as each is in it already, or alone in
    its cluster with no other successor. The number of them that move is the one with which ``task``
    starts earliest; they run there by tlevel. A merger that would keep a partially free ``rival``
    from starting earlier in that cluster is not allowed (DSRW).
    """
    parents = _by_arrival(g, c, task)
    home = c.of[parents[0]] if parents.shape[0] > 0 else task
    best, earliest = 0, c.tlevel[task]
    moved = np.empty(parents.shape[0], dtype=np.int64)
    count = 0
    for k in range(parents.shape[0]):
        u = parents[k]
        if c.of[u] != home:
            if c.size[c.of[u]] > 1 or g.succ_ptr[u + 1] - g.succ_ptr[u] > 1:
                break
            moved[count] = u
            count += 1
            _sort_last(g, c, moved[:count])
        start = _start_behind(g, c, task, home, parents, k, moved[:count])
        allowed = rival == NONE or _keeps_reducible(g, c, rival, home, start + g.mean_comp[task])
        if allowed and start < earliest - RANK_TOLERANCE * earliest:
            best, earliest = k + 1, start
    _join(g, c, task, home if best > 0 else task, parents[:best], earliest)


@kernel
def _by_arrival(g: InstanceArrays, c: Clustering, task: int) -> Ints:
    """Examined predecessors of ``task`` by the arrival of their data, the latest first."""
    first, behind = g.pred_ptr[task], g.pred_ptr[task + 1]
    known = np.empty(behind - first, dtype=np.int64)
    arrival = np.empty(behind - first)
    count = 0
    for e in range(first, behind):
        u = g.pred_task[e]
        if c.of[u] != NONE:
            known[count] = u
            arrival[count] = _finish(g, c, u) + _mean_communication(g, g.pred_data[e])
            count += 1
    known = known[:count]
    return known[order_by_rank(arrival[:count], g.topo_position[known])]


@borrowing
def _sort_last(g: InstanceArrays, c: Clustering, tasks: Ints) -> None:
    """Move the last entry forward to its place by tlevel; ties: topological order."""
    i = tasks.shape[0] - 1
    t = tasks[i]
    while i > 0:
        other = tasks[i - 1]
        slack = RANK_TOLERANCE * c.tlevel[other]
        later = c.tlevel[other] > c.tlevel[t] + slack
        equal = abs(c.tlevel[other] - c.tlevel[t]) <= slack
        if not later and not (equal and g.topo_position[other] > g.topo_position[t]):
            break
        tasks[i] = other
        i -= 1
    tasks[i] = t


@borrowing
def _start_behind(
    g: InstanceArrays,
    c: Clustering,
    task: int,
    home: int,
    parents: Ints,
    k: int,
    moved: Ints,
) -> float:
    """Start of ``task`` in cluster ``home`` behind the ``moved`` tasks.

    The data of those ``parents`` after the k-th that are in other clusters is sent.
    """
    end = c.end[home]
    for u in moved:
        end = max(end, c.tlevel[u]) + g.mean_comp[u]
    for u in parents[k + 1 :]:
        if c.of[u] != home:
            end = max(end, _arrival(g, c, u, task))
            break
    return max(end, least_first_start(g, task))  # type: ignore[no-any-return]


@borrowing
def _arrival(g: InstanceArrays, c: Clustering, u: int, task: int) -> float:
    """When the data of the examined ``u`` arrives at ``task`` in another cluster."""
    arrival = 0.0
    for e in range(g.pred_ptr[task], g.pred_ptr[task + 1]):
        if g.pred_task[e] == u:
            arrival = _finish(g, c, u) + _mean_communication(g, g.pred_data[e])
    return arrival


@kernel
def _keeps_reducible(g: InstanceArrays, c: Clustering, rival: int, home: int, end: float) -> bool:
    """Whether ``rival`` can still start earlier in ``home`` if it can do so now.

    False where it can start earlier in ``home`` now, but not when that cluster ends at ``end``.
    """
    parents = _by_arrival(g, c, rival)
    if c.of[parents[0]] != home:
        return True
    others = least_first_start(g, rival)
    for u in parents:
        if c.of[u] != home:
            others = max(others, _arrival(g, c, u, rival))
    bound = c.tlevel[rival] - RANK_TOLERANCE * c.tlevel[rival]
    return max(end, others) < bound or max(c.end[home], others) >= bound  # type: ignore[no-any-return]


@borrowing
def _join(
    g: InstanceArrays, c: Clustering, task: int, home: int, local: Ints, start: float
) -> None:
    """Put ``task`` at the end of cluster ``home``, behind its ``local`` predecessors.

    Predecessors that move there keep their tlevel, because only ``task`` uses it.
    """
    for u in local:
        if c.of[u] != home:
            c.size[c.of[u]] -= 1
            c.of[u] = home
            c.size[home] += 1
    c.of[task] = home
    c.size[home] += 1
    c.tlevel[task] = start
    c.end[home] = start + g.mean_comp[task]

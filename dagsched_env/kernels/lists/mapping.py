"""Assignment of clusters of tasks to processors, and the ranks that an assignment gives."""

import numpy as np

from dagsched_env.kernels.arrays import UNSCHEDULED, Floats, InstanceArrays, Ints
from dagsched_env.kernels.graph.communication import communication
from dagsched_env.kernels.graph.ranks import RANK_TOLERANCE
from dagsched_env.kernels.jit import borrowing, kernel


@kernel
def map_clusters(g: InstanceArrays, cluster: Ints, order: Ints, attraction: float) -> Ints:
    """Assign each cluster to one processor as far as possible; ``[n]`` processor of each task.

    Clusters are taken in the ``order`` of their first tasks. Each goes to the processor that can
    run most of its tasks; of several, to the one with the least work, that of these tasks included,
    less ``attraction`` times what the tasks there exchange with these. Tasks that may not run there
    are assigned by the same rule. Ties: lowest index.

    Args:
        cluster: ``[n]`` cluster of each task, in 0..n - 1.
        order: a permutation of the tasks.
        attraction: worth of a unit of mean communication time, ≥ 0.
    """
    n, p = g.comp.shape
    load, exchange = np.zeros(p), np.zeros(p)
    assignment = np.full(n, UNSCHEDULED, dtype=np.int64)
    members = np.argsort(cluster, kind="mergesort")
    first = np.searchsorted(cluster[members], np.arange(n + 1))
    for t in order:
        if assignment[t] != UNSCHEDULED:
            continue
        rest = members[first[cluster[t]] : first[cluster[t] + 1]]
        while rest.shape[0] > 0:
            if attraction > 0.0:
                _sum_exchange(g, rest, assignment, exchange)
            q = _lightest(g, rest, load - attraction * exchange)
            runs = g.comp[:, q][rest] < np.inf
            assignment[rest[runs]] = q
            load[q] += g.comp[:, q][rest[runs]].sum()
            rest = rest[~runs]
    return assignment


@borrowing
def _sum_exchange(g: InstanceArrays, tasks: Ints, assignment: Ints, exchange: Floats) -> None:
    """Set ``exchange[q]`` to the mean times of edges between ``tasks`` and those assigned to q."""
    exchange[:] = 0.0
    for t in tasks:
        for e in range(g.succ_ptr[t], g.succ_ptr[t + 1]):
            q = assignment[g.succ_task[e]]
            if q != UNSCHEDULED:
                exchange[q] += g.mean_link[0] + g.succ_data[e] * g.mean_link[1]
        for e in range(g.pred_ptr[t], g.pred_ptr[t + 1]):
            q = assignment[g.pred_task[e]]
            if q != UNSCHEDULED:
                exchange[q] += g.mean_link[0] + g.pred_data[e] * g.mean_link[1]


@borrowing
def _lightest(g: InstanceArrays, tasks: Ints, load: Floats) -> int:
    """The processor that can run most of ``tasks``; of several, the one of least work with them.

    ``load[q]`` is the work of q without them; it may be negative.
    """
    best, most, least = -1, 0, np.inf
    for q in range(g.comp.shape[1]):
        runs, total = 0, load[q]
        for t in tasks:
            if g.comp[t, q] < np.inf:
                runs += 1
                total += g.comp[t, q]
        lighter = total < least - RANK_TOLERANCE * abs(total)
        if runs > most or (runs == most and runs > 0 and lighter):
            best, most, least = q, runs, total
    return best


@kernel
def assigned_rank(g: InstanceArrays, assignment: Ints) -> Floats:
    """``[n]`` longest path to an exit at the costs and communication of an assignment."""
    n = g.comp.shape[0]
    rank = np.zeros(n)
    for i in range(n - 1, -1, -1):
        t = g.topo[i]
        for e in range(g.succ_ptr[t], g.succ_ptr[t + 1]):
            s = g.succ_task[e]
            link = communication(g, g.succ_data[e], assignment[t], assignment[s])
            rank[t] = max(rank[t], link + rank[s])
        rank[t] += g.comp[t, assignment[t]]
    return rank

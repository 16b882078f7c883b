"""Static task priorities: rank_u and rank_d of HEFT, and the order that a rank gives.

Source: Topcuoglu, Hariri, Wu 2002, IEEE TPDS 13(3), eqs. 8 and 11 (``rank_u``, ``rank_d``).
"""

import numpy as np

from dagsched_env.kernels.arrays import Floats, InstanceArrays, Ints
from dagsched_env.kernels.jit import kernel

RANK_TOLERANCE = 1e-9
"""Ranks and finish times with a smaller relative difference count as equal."""


@kernel
def rank_u(g: InstanceArrays) -> Floats:
    """Upward rank: mean length of the longest path from each task to an exit. Shape ``[n]``."""
    return upward_rank(g, g.mean_comp, True)


@kernel
def upward_rank(g: InstanceArrays, cost: Floats, communication: bool) -> Floats:
    """Upward rank with given costs: ``[n]`` longest path from each task to an exit (time).

    Args:
        cost: ``[n]`` cost of each task (time).
        communication: edges count at their mean communication; False: at 0.
    """
    n = g.topo.shape[0]
    rank = np.zeros(n, dtype=np.float64)
    for i in range(n - 1, -1, -1):
        t = g.topo[i]
        longest = 0.0
        for e in range(g.succ_ptr[t], g.succ_ptr[t + 1]):
            mean_comm = 0.0
            if communication:
                mean_comm = g.mean_link[0] + g.succ_data[e] * g.mean_link[1]
            longest = max(longest, mean_comm + rank[g.succ_task[e]])
        rank[t] = cost[t] + longest
    return rank


@kernel
def rank_d(g: InstanceArrays) -> Floats:
    """Downward rank: mean length of the longest path from an entry up to each task. ``[n]``."""
    n = g.topo.shape[0]
    rank = np.zeros(n, dtype=np.float64)
    for i in range(n):
        t = g.topo[i]
        for e in range(g.pred_ptr[t], g.pred_ptr[t + 1]):
            u = g.pred_task[e]
            mean_comm = g.mean_link[0] + g.pred_data[e] * g.mean_link[1]
            rank[t] = max(rank[t], rank[u] + g.mean_comp[u] + mean_comm)
    return rank


@kernel
def order_by_rank(rank: Floats, topo_position: Ints) -> Ints:
    """Tasks by decreasing rank; ranks equal within the tolerance keep their topological order.

    A run of near-equal ranks is one group, even if its ends differ by more than the tolerance. So
    the order is a function of the values alone. Shape ``[n]``.
    """
    n = rank.shape[0]
    order = np.argsort(-rank, kind="mergesort")
    first = 0
    for i in range(1, n + 1):
        if i < n:
            above, below = rank[order[i - 1]], rank[order[i]]
            if above - below <= RANK_TOLERANCE * max(abs(above), abs(below)):
                continue
        if i - first > 1:
            run = order[first:i]
            order[first:i] = run[np.argsort(topo_position[run], kind="mergesort")]
        first = i
    return order

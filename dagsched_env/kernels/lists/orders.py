"""Orders of list schedulers beyond one decreasing rank."""

import heapq

import numpy as np
import numpy.typing as npt

from dagsched_env.kernels.arrays import Floats, InstanceArrays, Ints
from dagsched_env.kernels.graph.ranks import RANK_TOLERANCE
from dagsched_env.kernels.jit import kernel


@kernel
def rank_levels(rank: Floats) -> Ints:
    """``[n]`` 0 for the highest rank, 1 for the next, …; runs of near-equal ranks share a level.

    The runs are those of ``ranks.order_by_rank``. Levels can be compared exactly, ranks cannot.
    """
    n = rank.shape[0]
    order = np.argsort(-rank, kind="mergesort")
    levels = np.zeros(n, dtype=np.int64)
    level = 0
    for i in range(1, n):
        above, below = rank[order[i - 1]], rank[order[i]]
        if above - below > RANK_TOLERANCE * max(abs(above), abs(below)):
            level += 1
        levels[order[i]] = level
    return levels


@kernel
def ready_order(g: InstanceArrays, order: Ints) -> Ints:
    """``[n]`` the order in which tasks are scheduled if the ready task first in ``order`` is next.

    Makes any permutation of the tasks topological; a topological one stays as it is.
    """
    n = order.shape[0]
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    missing = g.pred_ptr[1:] - g.pred_ptr[:-1]
    heap = [place[t] for t in range(n) if missing[t] == 0]
    heapq.heapify(heap)
    result = np.empty(n, dtype=np.int64)
    for i in range(n):
        t = order[heapq.heappop(heap)]
        result[i] = t
        for e in range(g.succ_ptr[t], g.succ_ptr[t + 1]):
            s = g.succ_task[e]
            missing[s] -= 1
            if missing[s] == 0:
                heapq.heappush(heap, place[s])
    return result


@kernel
def critical_parent_order(g: InstanceArrays, order: Ints, critical: npt.NDArray[np.bool_]) -> Ints:
    """``[n]`` the list L of HCPT: each critical task after the trees of its unlisted parents.

    The exit tasks come last, after the trees of theirs, as if they were the parents of one common
    exit.

    Args:
        order: ``[n]`` the tasks by increasing latest start time, topological.
        critical: ``[n]`` whether a task is critical.
    """
    n = order.shape[0]
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    listed = np.zeros(n, dtype=np.bool_)
    stack, result = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    length = 0
    for turn in range(2):
        for root in order:
            is_exit = g.succ_ptr[root] == g.succ_ptr[root + 1]
            if listed[root] or not (critical[root] if turn == 0 else is_exit):
                continue
            stack[0], depth = root, 1
            while depth > 0:
                top, parent = stack[depth - 1], -1
                for e in range(g.pred_ptr[top], g.pred_ptr[top + 1]):
                    u = g.pred_task[e]
                    if not listed[u] and (parent < 0 or place[u] < place[parent]):
                        parent = u
                if parent >= 0:
                    stack[depth] = parent
                    depth += 1
                else:
                    listed[top] = True
                    result[length] = top
                    length += 1
                    depth -= 1
    return result


@kernel
def pets_rank(g: InstanceArrays, rounded: bool) -> Floats:
    """Rank of PETS: mean cost + data sent to all successors + highest rank of a predecessor."""
    n = g.topo.shape[0]
    rank = np.zeros(n, dtype=np.float64)
    for i in range(n):
        t = g.topo[i]
        for e in range(g.pred_ptr[t], g.pred_ptr[t + 1]):
            rank[t] = max(rank[t], rank[g.pred_task[e]])
        rank[t] += g.mean_comp[t]
        for e in range(g.succ_ptr[t], g.succ_ptr[t + 1]):
            rank[t] += g.mean_link[0] + g.succ_data[e] * g.mean_link[1]
        if rounded:
            rank[t] = np.floor(rank[t] * (1.0 + RANK_TOLERANCE) + 0.5)
    return rank

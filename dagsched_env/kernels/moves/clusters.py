"""Moves of a cluster: tasks on one processor that edges join, together to another processor.

Where communication is dear, a chain or a column of tasks has to leave its processor as a whole: on
the way of single tasks and of pairs there each step lengthens the schedule by more than the last
one saves. The tasks keep their places in the order. To judge a move only the part of the order
from the first to the last member is decoded, because the finishes before it and the bottom levels
behind it do not change.
"""

import math
from typing import NamedTuple

import numpy as np

from dagsched_env.kernels.arrays import Floats, InstanceArrays, Ints
from dagsched_env.kernels.graph.communication import communication
from dagsched_env.kernels.jit import borrowing, kernel
from dagsched_env.kernels.moves.solution import Solution, rebuild

__all__ = [
    "KINDS",
    "Cluster",
    "cluster",
    "gather",
    "longest_through",
    "settle",
]

KINDS = 3
"""Ways to grow a cluster: by successors of its members, by predecessors, or by both."""


class Cluster(NamedTuple):
    """Work space of a move."""

    members: Ints  # [n] its tasks, in the order in which they were found
    finish: Floats  # [n] after the move, of tasks from the first to the last member
    free: Floats  # [p] when the processors become free after the move
    last: Ints  # [p] the last node of each processor before the move


@kernel
def cluster(n: int, p: int) -> Cluster:
    """Work space for n tasks on p processors."""
    return Cluster(
        np.empty(n, dtype=np.int64),
        np.empty(n, dtype=np.float64),
        np.empty(p, dtype=np.float64),
        np.empty(p, dtype=np.int64),
    )


@borrowing
def gather(g: InstanceArrays, s: Solution, w: Cluster, t: int, q: int, most: int, kind: int) -> int:
    """Collect the cluster of a task, breadth first, and put it on a processor for a trial.

    ``settle`` must follow: until then ``s.processor`` and ``s.stale`` tell of the trial.

    Args:
        g: the problem.
        s: the schedule.
        w: ``members`` are filled.
        t: the first member.
        q: another processor, on which ``t`` is eligible; tasks that are not stay away.
        most: members, ≥ 1.
        kind: in 0..``KINDS`` - 1.

    Returns:
        The number of members.
    """
    home = s.processor[t]
    w.members[0] = t
    s.processor[t], s.stale[t] = q, True
    size, k = 1, 0
    while k < size and size < most:
        v = w.members[k]
        k += 1
        if kind != 1:
            for e in range(g.succ_ptr[v], g.succ_ptr[v + 1]):
                size = _join(g, s, w, g.succ_task[e], home, q, most, size)
        if kind != 0:
            for e in range(g.pred_ptr[v], g.pred_ptr[v + 1]):
                size = _join(g, s, w, g.pred_task[e], home, q, most, size)
    return size


@borrowing
def _join(
    g: InstanceArrays, s: Solution, w: Cluster, v: int, home: int, q: int, most: int, size: int
) -> int:
    if size == most or s.processor[v] != home or not g.comp[v, q] < math.inf:
        return size
    s.processor[v], s.stale[v] = q, True
    w.members[size] = v
    return size + 1


@borrowing
def longest_through(
    g: InstanceArrays, s: Solution, w: Cluster, size: int, home: int, ceiling: float
) -> float:
    """Longest path after the move by the order from the first to the last member (time).

    Other paths do not change. ∞ where there is a path longer than ``ceiling``.

    Args:
        g: the problem.
        s: the schedule with the cluster of ``gather`` on trial.
        w: of ``gather``.
        size: of the cluster.
        home: the processor of its members before.
        ceiling: the longest path that is accepted (time).
    """
    n, p = g.comp.shape
    first, end = n, 0
    for k in range(size):
        first = min(first, s.position[w.members[k]])
        end = max(end, s.position[w.members[k]] + 1)
    for q in range(p):
        w.last[q] = n + q
    for k in range(first):
        w.last[s.processor[s.order[k]]] = s.order[k]
    for q in range(p):
        w.free[q] = s.finish[w.last[q]]
    longest = 0.0
    for k in range(first, end):
        t = s.order[k]
        q = s.processor[t]
        start = w.free[q]
        for e in range(g.pred_ptr[t], g.pred_ptr[t + 1]):
            u = g.pred_task[e]
            ready = w.finish[u] if s.position[u] >= first else s.finish[u]
            start = max(start, ready + communication(g, g.pred_data[e], s.processor[u], q))
        finish = start + g.comp[t, q]
        w.finish[t] = w.free[q] = finish
        w.last[home if s.stale[t] else q] = t
        longest = max(longest, finish)
        for e in range(g.succ_ptr[t], g.succ_ptr[t + 1]):
            v = g.succ_task[e]
            if s.position[v] >= end:
                sent = communication(g, g.succ_data[e], q, s.processor[v])
                longest = max(longest, finish + sent + s.bottom_level[v])
        if longest > ceiling:
            return math.inf
    for q in range(p):
        longest = max(longest, w.free[q] + s.bottom_level[s.after[w.last[q]]])
    return longest if longest <= ceiling else math.inf


@borrowing
def settle(
    g: InstanceArrays, s: Solution, w: Cluster, size: int, home: int, accepted: bool
) -> None:
    """End the trial: bring the schedule up to date, or put the cluster back.

    Args:
        g: the problem.
        s: the schedule; changed in O(n + edges) where the move is accepted.
        w: of ``gather``.
        size: of the cluster.
        home: the processor of its members before.
        accepted: whether it moves.
    """
    for k in range(size):
        s.stale[w.members[k]] = False
        if not accepted:
            s.processor[w.members[k]] = home
    if accepted:
        rebuild(g, s)

"""Moves of a cluster: tasks on one processor that edges join, together to another processor.

Where communication is dear, a chain or a column of tasks has to leave its processor as a whole: on
the way of single tasks and of pairs there each step lengthens the schedule by more than the last
one saves. The tasks keep their places in the order. To judge a move only the part of the order
from the first to the last member is decoded, because the finishes before it and the bottom levels
behind it do not change. No step takes O(n) time unless that part is so long.
"""

import math
from typing import NamedTuple

import numpy as np

from dagsched_env.kernels.arrays import Floats, InstanceArrays, Ints
from dagsched_env.kernels.graph.communication import communication
from dagsched_env.kernels.graph.release import first_start
from dagsched_env.kernels.jit import borrowing
from dagsched_env.kernels.moves.solution import (
    Solution,
    link,
    mark,
    renew_bottom_levels,
    renew_finishes,
    unlink,
)

KINDS = 3
"""Ways to grow a cluster: by successors of its members, by predecessors, or by both."""


class Cluster(NamedTuple):
    """Work space of a move."""

    members: Ints  # [n] its tasks, in the order in which they were found
    before: Ints  # [n] the node before each of them, before the move
    after: Ints  # [n] the node behind each of them, before the move
    finish: Floats  # [n] after the move, of tasks from the first to the last member
    free: Floats  # [p] when the processors become free after the move
    last: Ints  # [p] the last node of each processor before the move, -1 where none is looked up


def cluster(n: int, p: int) -> Cluster:
    """Work space for n tasks on p processors."""
    return Cluster(
        np.empty(n, dtype=np.int64),
        np.empty(n, dtype=np.int64),
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
    s.processor[t], s.stale[s.position[t]] = q, True
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
    s.processor[v], s.stale[s.position[v]] = q, True
    w.members[size] = v
    return size + 1


@borrowing
def longest_through(
    g: InstanceArrays, s: Solution, w: Cluster, size: int, home: int, ceiling: float
) -> float:
    """Longest path after the move by the order from the first to the last member (time).

    Other paths do not change; those over processors without a task there do not count either.
    ∞ where there is a path longer than ``ceiling``.

    Args:
        s: the schedule with the cluster of ``gather`` on trial.
        w: of ``gather``.
        size: of the cluster.
        home: the processor of its members before.
        ceiling: the longest path that is accepted (time).
    """
    first, end = _extent(s, w, size)
    target = s.processor[w.members[0]]
    w.last[:] = -1
    w.last[target] = _node_before(s, target, first)
    w.free[target] = s.finish[w.last[target]]
    longest = 0.0
    for k in range(first, end):
        t = s.order[k]
        q = s.processor[t]
        origin = home if s.stale[k] else q
        if w.last[origin] < 0:
            w.free[origin] = s.finish[s.before[t]]
        start = max(w.free[q], first_start(g, t, q))
        for e in range(g.pred_ptr[t], g.pred_ptr[t + 1]):
            u = g.pred_task[e]
            ready = w.finish[u] if s.position[u] >= first else s.finish[u]
            start = max(start, ready + communication(g, g.pred_data[e], s.processor[u], q))
        finish = start + g.comp[t, q]
        w.finish[t] = w.free[q] = finish
        w.last[origin] = t
        longest = max(longest, finish)
        for e in range(g.succ_ptr[t], g.succ_ptr[t + 1]):
            v = g.succ_task[e]
            if s.position[v] >= end:
                sent = communication(g, g.succ_data[e], q, s.processor[v])
                longest = max(longest, finish + sent + s.bottom_level[v])
        if longest > ceiling:
            return math.inf
    for q in range(w.last.shape[0]):
        if w.last[q] >= 0:
            longest = max(longest, w.free[q] + s.bottom_level[s.after[w.last[q]]])
    return longest if longest <= ceiling else math.inf


@borrowing
def settle(
    g: InstanceArrays, s: Solution, w: Cluster, size: int, home: int, accepted: bool
) -> None:
    """End the trial: bring the schedule up to date, or put the cluster back.

    Args:
        s: the schedule; changed.
        w: of ``gather``.
        size: of the cluster.
        home: the processor of its members before.
        accepted: whether it moves.
    """
    if not accepted:
        for k in range(size):
            t = w.members[k]
            s.processor[t], s.stale[s.position[t]] = home, False
        return
    first, end = _relink(s, w, size)
    target = s.processor[w.members[0]]
    pending = 0
    for k in range(size):
        t = w.members[k]
        s.load[0] += g.comp[t, target] - g.comp[t, home]
        pending += mark(s, t) + mark(s, w.after[k]) + mark(s, s.after[t])
        for e in range(g.succ_ptr[t], g.succ_ptr[t + 1]):
            pending += mark(s, g.succ_task[e])
    renew_finishes(g, s, first, pending)
    pending = 0
    for k in range(size):
        t = w.members[k]
        pending += mark(s, t) + mark(s, w.before[k]) + mark(s, s.before[t])
        for e in range(g.pred_ptr[t], g.pred_ptr[t + 1]):
            pending += mark(s, g.pred_task[e])
    renew_bottom_levels(g, s, end - 1, pending)


@borrowing
def _relink(s: Solution, w: Cluster, size: int) -> tuple[int, int]:
    """Take the members out of the sequence of their old processor and put them into the new one.

    Afterwards no task is stale. Returns the part of the order from the first member to the last.
    """
    first, end = _extent(s, w, size)
    for k in range(size):
        w.before[k], w.after[k] = s.before[w.members[k]], s.after[w.members[k]]
    for k in range(size):
        unlink(s, w.members[k])
    n = s.order.shape[0]
    previous = _node_before(s, s.processor[w.members[0]], first)
    for k in range(first, end):
        if not s.stale[k]:
            continue
        s.stale[k] = False
        t = s.order[k]
        following = s.after[previous]
        while following < n and s.position[following] < k:
            previous, following = following, s.after[following]
        link(s, t, previous)
        previous = t
    return first, end


@borrowing
def _extent(s: Solution, w: Cluster, size: int) -> tuple[int, int]:
    """The positions in the order from the first member to behind the last one."""
    first, end = s.order.shape[0], 0
    for k in range(size):
        first = min(first, s.position[w.members[k]])
        end = max(end, s.position[w.members[k]] + 1)
    return first, end


@borrowing
def _node_before(s: Solution, q: int, position: int) -> int:
    """The last node of a processor before a position in the order."""
    k = position - 1
    while k >= 0 and s.processor[s.order[k]] != q:
        k -= 1
    return s.order[k] if k >= 0 else s.order.shape[0] + q  # type: ignore[no-any-return]

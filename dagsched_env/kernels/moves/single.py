"""Moves of one task, judged without decoding the schedule again.

A move takes task t out of the schedule and puts it back on processor q, at another position of the
order that its predecessors and successors leave open. For the new schedule

- a path that avoids t is no longer than the makespan before, because t joined its two neighbours;
- a path through t is at most ``estimate``: neither the tasks before t in the order nor those after
  it have changed, and the tasks that t jumps over have only lost t.

So the new makespan is at most the larger of the two. It equals ``estimate`` where that is the
larger one and t jumps over no task that waited for it. One estimate takes O(degree of t) time,
whatever n is. The idea is that of the move evaluations in Mastrolilli, Gambardella 2000, "Effective
neighbourhood functions for the flexible job shop problem", J. Scheduling 3(1).

Heads, tails and bottom levels are those of ``solution``. Here ``arrival`` and ``tail`` stand for
the parts of head and tail that the edges of t decide. The neighbours of t on its processor depend
on the place that it takes there; ``estimate`` adds them.
"""

import numpy as np

from dagsched_env.kernels.arrays import InstanceArrays
from dagsched_env.kernels.graph.communication import communication
from dagsched_env.kernels.graph.release import first_start
from dagsched_env.kernels.jit import borrowing
from dagsched_env.kernels.moves.solution import (
    Solution,
    assign,
    link,
    mark,
    renew_bottom_levels,
    renew_finishes,
    shift,
    unlink,
)


@borrowing
def surroundings(g: InstanceArrays, s: Solution, t: int, q: int) -> tuple[int, int, float, float]:
    """What the edges and the release of ``t`` would allow on processor ``q``.

    Args:
        q: a processor; eligible or not.

    Returns:
        The first and the last position of the order that are open to ``t``, the arrival of its
        inputs (time), and its tail over its edges (time).
    """
    first, last = 0, s.order.shape[0] - 1
    arrival, tail = first_start(g, t, q), 0.0
    for e in range(g.pred_ptr[t], g.pred_ptr[t + 1]):
        u = g.pred_task[e]
        first = max(first, s.position[u] + 1)
        arrival = max(arrival, s.finish[u] + communication(g, g.pred_data[e], s.processor[u], q))
    for e in range(g.succ_ptr[t], g.succ_ptr[t + 1]):
        v = g.succ_task[e]
        last = min(last, s.position[v] - 1)
        tail = max(tail, s.bottom_level[v] + communication(g, g.succ_data[e], q, s.processor[v]))
    return first, last, arrival, tail


@borrowing
def last_before(s: Solution, t: int, q: int, target: int) -> int:
    """The node that a task would follow on another processor or at another position.

    Args:
        t: the task that moves.
        q: its new processor.
        target: its new position in the order.
    """
    k = target if target >= s.position[t] else target - 1
    while k >= 0 and (s.processor[s.order[k]] != q or s.order[k] == t):
        k -= 1
    return s.order[k] if k >= 0 else s.order.shape[0] + q  # type: ignore[no-any-return]


@borrowing
def estimate(
    g: InstanceArrays, s: Solution, t: int, q: int, previous: int, arrival: float, tail: float
) -> float:
    """Upper bound on the paths through a task after a move (time).

    Args:
        s: the schedule before the move.
        q: its new processor.
        previous: the node that it is to follow there.
        arrival: of ``surroundings`` on that processor (time).
        tail: of ``surroundings`` on that processor (time).
    """
    following = _behind(s, previous, t)
    return max(arrival, s.finish[previous]) + g.comp[t, q] + max(tail, s.bottom_level[following])  # type: ignore[no-any-return]


@borrowing
def cheapest_place(
    g: InstanceArrays,
    s: Solution,
    t: int,
    q: int,
    first: int,
    last: int,
    arrival: float,
    tail: float,
) -> int:
    """The node that a task should follow on a processor: the first one of the least ``estimate``.

    Args:
        s: the schedule before the move.
        q: its new processor.
        first: of ``surroundings``: the first position that is open to the task.
        last: of ``surroundings``: the last one.
        arrival: of ``surroundings`` (time).
        tail: of ``surroundings`` (time).
    """
    n = s.order.shape[0]
    node = last_before(s, t, q, first)
    best, least = node, np.inf
    while True:
        bound = estimate(g, s, t, q, node, arrival, tail)
        if bound < least:
            best, least = node, bound
        node = _behind(s, node, t)
        if node >= n or s.position[node] > last:
            return best


@borrowing
def targets(s: Solution, t: int, previous: int, first: int, last: int) -> tuple[int, int]:
    """The first and the last position at which a task would follow a given node.

    Args:
        s: the schedule before the move.
        previous: the node that it is to follow, on the processor to which it moves.
        first: of ``surroundings``: the first position that is open to the task.
        last: of ``surroundings``: the last one.
    """
    n = s.order.shape[0]
    following = _behind(s, previous, t)
    if previous < n:  # a task behind t moves up by one as t is taken out
        behind = s.position[previous] > s.position[t]
        first = max(first, s.position[previous] + (0 if behind else 1))
    if following < n:
        behind = s.position[following] > s.position[t]
        last = min(last, s.position[following] - (1 if behind else 0))
    return first, last


@borrowing
def _behind(s: Solution, node: int, t: int) -> int:
    """The node behind another one on its processor, as if ``t`` were not there."""
    following = s.after[node]
    return s.after[t] if following == t else following  # type: ignore[no-any-return]


@borrowing
def move(g: InstanceArrays, s: Solution, t: int, q: int, target: int, previous: int) -> None:
    """Move a task and bring the schedule up to date.

    Args:
        s: the schedule; changed.
        q: its new processor, eligible.
        target: its new position in the order; one that ``targets`` allows.
        previous: the node that it follows there.
    """
    old_q, old_position, old_before = s.processor[t], s.position[t], s.before[t]
    shift(s, t, target)
    if q == old_q and previous == old_before:
        return
    old_after = s.after[t]
    unlink(s, t)
    assign(g, s, t, q)
    link(s, t, previous)
    pending = mark(s, t) + mark(s, old_after) + mark(s, s.after[t])
    if q != old_q:
        for e in range(g.succ_ptr[t], g.succ_ptr[t + 1]):
            pending += mark(s, g.succ_task[e])
    renew_finishes(g, s, min(old_position, target), pending)
    pending = mark(s, t) + mark(s, old_before) + mark(s, previous)
    if q != old_q:
        for e in range(g.pred_ptr[t], g.pred_ptr[t + 1]):
            pending += mark(s, g.pred_task[e])
    renew_bottom_levels(g, s, max(old_position, target), pending)

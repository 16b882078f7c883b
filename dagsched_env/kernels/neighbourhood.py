"""Moves of one task in a complete schedule, judged without decoding the schedule again.

The schedule is kept as a graph: the edges of the problem, and an arc from each task to the next
one on its processor. A task starts at the longest path to it, and the makespan is the longest path
of all. A move takes task t out and puts it back on processor q, at another place of the order that
its predecessors and successors leave open. Then

- a path that avoids t is no longer than the makespan before: t joined its two neighbours;
- a path through t is at most ``estimate``: what comes before t in the order has not changed, what
  comes after it has not changed either, and the tasks that t jumps over have only lost t.

So the new makespan is at most the larger of the two, and exactly ``estimate`` where that is the
larger and t jumps over none of the tasks that it was holding up. One estimate costs O(degree of t),
whatever n: the idea of the move evaluations in Mastrolilli, Gambardella 2000, "Effective
neighbourhood functions for the flexible job shop problem", J. Scheduling 3(1).
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dagsched_env.kernels.arrays import Floats, InstanceArrays, Ints
from dagsched_env.kernels.decoding import arrival_time
from dagsched_env.kernels.jit import borrowing, kernel
from dagsched_env.kernels.timeline import communication

__all__ = [
    "Choices",
    "Solution",
    "cheapest_place",
    "choices",
    "estimate",
    "last_before",
    "link",
    "makespan",
    "mark",
    "move",
    "rebuild",
    "renew_finishes",
    "renew_rests",
    "shift",
    "solution",
    "surroundings",
    "targets",
    "unlink",
]


class Choices(NamedTuple):
    """The eligible processors of each task; constant."""

    eligible: Ints  # [n, p] the first n_eligible[t] entries of row t, by increasing cost
    n_eligible: Ints  # [n]


class Solution(NamedTuple):
    """A complete schedule in which no task can start earlier; mutated in place.

    Node ``n + q`` stands before the first and behind the last task of processor q: its finish and
    rest are 0, so that no task is a special case.
    """

    order: Ints  # [n] tasks, topological, each processor's in the order in which it runs them
    position: Ints  # [n] inverse of order
    processor: Ints  # [n]
    finish: Floats  # [n + p] longest path up to the end of a task
    rest: Floats  # [n + p] longest path from the start of a task, itself included
    before: Ints  # [n + p] the node before a task on its processor
    after: Ints  # [n + p] the node behind it
    stale: npt.NDArray[np.bool_]  # [n] scratch, all False between calls


@kernel
def choices(g: InstanceArrays) -> Choices:
    """The eligible processors of an instance."""
    n, p = g.comp.shape
    c = Choices(np.zeros((n, p), dtype=np.int64), np.zeros(n, dtype=np.int64))
    for t in range(n):
        c.eligible[t] = np.argsort(g.comp[t], kind="mergesort")  # inf goes last, ties by index
        c.n_eligible[t] = np.sum(g.comp[t] != np.inf)
    return c


@kernel
def solution(g: InstanceArrays, order: Ints, processor: Ints) -> Solution:
    """Each task behind those before it in a topological ``order``, on its ``processor``."""
    n, p = g.comp.shape
    s = Solution(
        order.copy(),
        np.empty(n, dtype=np.int64),
        processor.copy(),
        np.zeros(n + p, dtype=np.float64),
        np.zeros(n + p, dtype=np.float64),
        np.empty(n + p, dtype=np.int64),
        np.empty(n + p, dtype=np.int64),
        np.zeros(n, dtype=np.bool_),
    )
    rebuild(g, s)
    return s


@borrowing
def rebuild(g: InstanceArrays, s: Solution) -> None:
    """Make everything from ``order`` and ``processor``."""
    n, p = g.comp.shape
    for node in range(n, n + p):
        s.before[node] = s.after[node] = node
    for k in range(n):
        t = s.order[k]
        s.position[t] = k
        link(s, t, s.before[n + s.processor[t]])
        s.finish[t] = _finish(g, s, t)
    for k in range(n - 1, -1, -1):
        s.rest[s.order[k]] = _rest(g, s, s.order[k])


@borrowing
def makespan(g: InstanceArrays, s: Solution) -> float:
    """The latest of the last tasks of the processors."""
    n, p = g.comp.shape
    latest = 0.0
    for node in range(n, n + p):
        latest = max(latest, s.finish[s.before[node]])
    return latest


@borrowing
def surroundings(g: InstanceArrays, s: Solution, t: int, q: int) -> tuple[int, int, float, float]:
    """What the edges of ``t`` would allow on processor ``q``.

    Returns the first and the last position open to it, the arrival of its inputs, and the longest
    path behind it that starts with one of its edges.
    """
    first, last = 0, s.order.shape[0] - 1
    arrival, onward = 0.0, 0.0
    for e in range(g.pred_ptr[t], g.pred_ptr[t + 1]):
        u = g.pred_task[e]
        first = max(first, s.position[u] + 1)
        arrival = max(arrival, s.finish[u] + communication(g, g.pred_data[e], s.processor[u], q))
    for e in range(g.succ_ptr[t], g.succ_ptr[t + 1]):
        v = g.succ_task[e]
        last = min(last, s.position[v] - 1)
        onward = max(onward, s.rest[v] + communication(g, g.succ_data[e], q, s.processor[v]))
    return first, last, arrival, onward


@borrowing
def last_before(s: Solution, t: int, q: int, target: int) -> int:
    """The node that ``t`` would follow on processor ``q`` if it moved to position ``target``."""
    k = target if target >= s.position[t] else target - 1
    while k >= 0 and (s.processor[s.order[k]] != q or s.order[k] == t):
        k -= 1
    return s.order[k] if k >= 0 else s.order.shape[0] + q  # type: ignore[no-any-return]


@borrowing
def estimate(
    g: InstanceArrays, s: Solution, t: int, q: int, previous: int, arrival: float, onward: float
) -> float:
    """Bound on the paths through ``t`` if it followed the node ``previous`` on processor ``q``.

    ``arrival`` and ``onward`` are those of ``surroundings``.
    """
    following = _behind(s, previous, t)
    return max(arrival, s.finish[previous]) + g.comp[t, q] + max(onward, s.rest[following])  # type: ignore[no-any-return]


@borrowing
def cheapest_place(
    g: InstanceArrays,
    s: Solution,
    t: int,
    q: int,
    first: int,
    last: int,
    arrival: float,
    onward: float,
) -> int:
    """The node on processor ``q`` that ``t`` should follow: the first of those with the least
    ``estimate`` among the places between the positions ``first`` and ``last``."""
    n = s.order.shape[0]
    node = last_before(s, t, q, first)
    best, least = node, np.inf
    while True:
        bound = estimate(g, s, t, q, node, arrival, onward)
        if bound < least:
            best, least = node, bound
        node = _behind(s, node, t)
        if node >= n or s.position[node] > last:
            return best


@borrowing
def targets(s: Solution, t: int, previous: int, first: int, last: int) -> tuple[int, int]:
    """The first and the last of the positions from ``first`` to ``last`` at which ``t`` follows the
    node ``previous``."""
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
    """The node behind another on its processor, not counting ``t``."""
    following = s.after[node]
    return s.after[t] if following == t else following  # type: ignore[no-any-return]


@borrowing
def move(g: InstanceArrays, s: Solution, t: int, q: int, target: int, previous: int) -> None:
    """Put ``t`` at position ``target``, on processor ``q`` behind the node ``previous``."""
    old_q, old_position, old_before = s.processor[t], s.position[t], s.before[t]
    shift(s, t, target)
    if q == old_q and previous == old_before:
        return
    old_after = s.after[t]
    unlink(s, t)
    s.processor[t] = q
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
    renew_rests(g, s, max(old_position, target), pending)


@borrowing
def renew_finishes(g: InstanceArrays, s: Solution, k: int, pending: int) -> None:
    """Recompute the ``pending`` stale tasks, all from position ``k`` on, and what they delay."""
    while pending > 0:
        t = s.order[k]
        k += 1
        if s.stale[t]:
            s.stale[t] = False
            pending -= 1
            finish = _finish(g, s, t)
            if finish != s.finish[t]:
                s.finish[t] = finish
                pending += mark(s, s.after[t])
                for e in range(g.succ_ptr[t], g.succ_ptr[t + 1]):
                    pending += mark(s, g.succ_task[e])


@borrowing
def renew_rests(g: InstanceArrays, s: Solution, k: int, pending: int) -> None:
    """The mirror image of ``renew_finishes``: all stale tasks are at most at position ``k``."""
    while pending > 0:
        t = s.order[k]
        k -= 1
        if s.stale[t]:
            s.stale[t] = False
            pending -= 1
            rest = _rest(g, s, t)
            if rest != s.rest[t]:
                s.rest[t] = rest
                pending += mark(s, s.before[t])
                for e in range(g.pred_ptr[t], g.pred_ptr[t + 1]):
                    pending += mark(s, g.pred_task[e])


@borrowing
def _finish(g: InstanceArrays, s: Solution, t: int) -> float:
    q = s.processor[t]
    arrival = arrival_time(g, s.processor, s.finish, t, q)
    return max(arrival, s.finish[s.before[t]]) + g.comp[t, q]  # type: ignore[no-any-return]


@borrowing
def _rest(g: InstanceArrays, s: Solution, t: int) -> float:
    q = s.processor[t]
    return max(_onward(g, s, t, q), s.rest[s.after[t]]) + g.comp[t, q]  # type: ignore[no-any-return]


@borrowing
def _onward(g: InstanceArrays, s: Solution, t: int, q: int) -> float:
    """Longest path from the end of ``t`` on processor ``q`` that starts with one of its edges."""
    longest = 0.0
    for e in range(g.succ_ptr[t], g.succ_ptr[t + 1]):
        v = g.succ_task[e]
        longest = max(longest, s.rest[v] + communication(g, g.succ_data[e], q, s.processor[v]))
    return longest


@borrowing
def unlink(s: Solution, t: int) -> None:
    """Take ``t`` out of the chain of its processor."""
    previous, following = s.before[t], s.after[t]
    s.after[previous] = following
    s.before[following] = previous


@borrowing
def link(s: Solution, t: int, previous: int) -> None:
    """Put ``t`` into a chain, behind the node ``previous``."""
    following = s.after[previous]
    s.after[previous] = t
    s.before[t] = previous
    s.after[t] = following
    s.before[following] = t


@borrowing
def mark(s: Solution, node: int) -> int:
    """Make a task stale; 1 if it was not so before."""
    if node < s.stale.shape[0] and not s.stale[node]:
        s.stale[node] = True
        return 1
    return 0


@borrowing
def shift(s: Solution, t: int, target: int) -> None:
    """Move ``t`` to position ``target`` of the order; those in between move up by one."""
    k = s.position[t]
    step = 1 if target > k else -1
    while k != target:
        neighbour = s.order[k + step]
        s.order[k] = neighbour
        s.position[neighbour] = k
        k += step
    s.order[target] = t
    s.position[t] = target

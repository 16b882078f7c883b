"""Moves in critical blocks, judged without decoding the schedule again.

A longest path through a schedule falls into blocks: tasks that follow each other on one processor
without a pause. The schedule gets no shorter as long as the first and the last task of each block
stay first and last, and all stay on their processors. So a move takes a task of a block to its
begin or to its end, or the first or the last task into its middle: the neighbourhood N7 of Zhang,
Li, Guan, Rao 2007, "A tabu search algorithm with a new neighborhood structure for the job shop
scheduling problem", Computers & Operations Research 34(11).

A move is judged by the longest path through the tasks that change places, whose heads and tails are
computed one after the other while those of all others stay: Balas, Vazacopoulos 1998, "Guided local
search with shifting bottleneck for job shop scheduling", Management Science 44(2). Here tasks have
any number of predecessors and successors, and data takes time between processors.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dagsched_env.kernels.arrays import Floats, InstanceArrays, Ints
from dagsched_env.kernels.graph.communication import arrival_time, communication
from dagsched_env.kernels.jit import borrowing, embedded
from dagsched_env.kernels.moves.solution import (
    Solution,
    link,
    mark,
    renew_bottom_levels,
    renew_finishes,
    tail_over_edges,
    unlink,
)


class CriticalPath(NamedTuple):
    """A longest path, and what the edges of its tasks allow; entry k is for its k-th task."""

    task: Ints  # [n]
    cost: Floats  # [n] its time on its processor
    arrival: Floats  # [n] of its inputs
    tail: Floats  # [n] over its edges
    before_start: Floats  # [n] it may go behind tasks that start before this time
    above_level: Floats  # [n] and behind those of a bottom level above this one
    after_finish: Floats  # [n] it may go before tasks that finish after this time
    below_level: Floats  # [n] and before those whose tail is below this one
    finish: Floats  # [n] work space: after a move
    moved: npt.NDArray[np.bool_]  # [n] work space by position in the order, all False between calls
    held: Ints  # [n] work space


def critical_path(n: int) -> CriticalPath:
    """An empty one for ``n`` tasks."""
    return CriticalPath(
        task=np.empty(n, dtype=np.int64),
        cost=np.empty(n),
        arrival=np.empty(n),
        tail=np.empty(n),
        before_start=np.empty(n),
        above_level=np.empty(n),
        after_finish=np.empty(n),
        below_level=np.empty(n),
        finish=np.empty(n),
        moved=np.zeros(n, dtype=np.bool_),
        held=np.empty(n, dtype=np.int64),
    )


@embedded
def drawn(state: Ints, k: int) -> int:
    """A random number in 0..k - 1.

    Args:
        state: ``[1]`` of a linear congruential generator (Knuth's MMIX); changed.
        k: from 1 to 2**30.
    """
    state[0] = state[0] * 6364136223846793005 + 1442695040888963407
    return ((state[0] >> 33) & 0x3FFFFFFF) % k  # type: ignore[no-any-return]


@embedded
def trace(g: InstanceArrays, s: Solution, c: CriticalPath, length: float, state: Ints) -> int:
    """Draw a longest path.

    Args:
        c: receives its tasks, from the first one on.
        length: the makespan (time).
        state: of ``drawn``.

    Returns:
        The number of its tasks.
    """
    n, p = g.comp.shape
    t, ways = -1, 0
    for node in range(n, n + p):
        last = s.before[node]
        if last < n and s.finish[last] == length:
            ways += 1
            if drawn(state, ways) == 0:
                t = last
    size = 0
    while t >= 0:
        c.task[size] = t
        size += 1
        q, previous = s.processor[t], s.before[t]
        cost = g.comp[t, q]
        latest, ways = -1, 0
        if previous < n and s.finish[previous] + cost == s.finish[t]:
            latest, ways = previous, 1
        for e in range(g.pred_ptr[t], g.pred_ptr[t + 1]):
            u = g.pred_task[e]
            arrival = s.finish[u] + communication(g, g.pred_data[e], s.processor[u], q)
            if u != previous and arrival + cost == s.finish[t]:
                ways += 1
                if drawn(state, ways) == 0:
                    latest = u
        t = latest
    for k in range(size // 2):
        c.task[k], c.task[size - 1 - k] = c.task[size - 1 - k], c.task[k]
    return size


@embedded
def block_end(s: Solution, c: CriticalPath, begin: int, size: int) -> int:
    """The place of the last task of the block that begins at a place of the path."""
    end = begin
    while end + 1 < size and s.before[c.task[end + 1]] == c.task[end]:
        end += 1
    return end


@embedded
def survey(g: InstanceArrays, s: Solution, c: CriticalPath, begin: int, end: int) -> None:
    """What the edges of the tasks of a block allow.

    A task u may go behind v if no path leads from a successor of u to v. That is certain if the
    successor finishes after the start of v, or if its tail is below the bottom level of v. A
    successor on the same processor that starts after v, or has a lower bottom level, is behind it.

    Args:
        c: the path; changed between the two places.
        begin: place of the first task of the block.
        end: place of its last task.
    """
    q = s.processor[c.task[begin]]
    for k in range(begin, end + 1):
        t = c.task[k]
        c.cost[k] = g.comp[t, q]
        c.arrival[k] = arrival_time(g, s.processor, s.finish, t, q)
        c.tail[k] = tail_over_edges(g, s, t, q)
        c.before_start[k], c.above_level[k] = np.inf, -np.inf
        for e in range(g.succ_ptr[t], g.succ_ptr[t + 1]):
            v = g.succ_task[e]
            cost = g.comp[v, s.processor[v]]
            start, tail = s.finish[v] - cost, s.bottom_level[v] - cost
            here = s.processor[v] == q
            c.before_start[k] = min(c.before_start[k], start if here else s.finish[v])
            c.above_level[k] = max(c.above_level[k], s.bottom_level[v] if here else tail)
        c.after_finish[k], c.below_level[k] = -np.inf, np.inf
        for e in range(g.pred_ptr[t], g.pred_ptr[t + 1]):
            u = g.pred_task[e]
            cost = g.comp[u, s.processor[u]]
            start, tail = s.finish[u] - cost, s.bottom_level[u] - cost
            here = s.processor[u] == q
            c.after_finish[k] = max(c.after_finish[k], s.finish[u] if here else start)
            c.below_level[k] = min(c.below_level[k], tail if here else s.bottom_level[u])


@embedded
def possible(s: Solution, c: CriticalPath, i: int, j: int, forward: bool, slack: float) -> bool:
    """Whether a move is certain to leave no circle.

    Args:
        i: place of the first task that changes its place.
        j: place of the last one.
        forward: the first one goes behind the last one; else the last one before the first one.
        slack: times that differ by less may be equal but for rounding (time).
    """
    first, last = c.task[i], c.task[j]
    if forward:
        start, level = s.finish[last] - c.cost[j], s.bottom_level[last]
        return c.before_start[i] > start + slack or c.above_level[i] < level - slack  # type: ignore[no-any-return]
    finish, tail = s.finish[first], s.bottom_level[first] - c.cost[i]
    return c.after_finish[j] < finish - slack or c.below_level[j] > tail + slack  # type: ignore[no-any-return]


@embedded
def judge(s: Solution, c: CriticalPath, i: int, j: int, forward: bool, ceiling: float) -> float:
    """The longest path through the tasks that change places, about (time).

    Args:
        i: place of the first one.
        j: place of the last one.
        forward: see ``possible``.
        ceiling: above it any number above it will do (time).
    """
    end = s.finish[s.before[c.task[i]]]
    level = s.bottom_level[s.after[c.task[j]]]
    if forward:
        for k in range(i + 1, j + 1):
            end = max(end, c.arrival[k]) + c.cost[k]
            c.finish[k] = end
        level = max(level, c.tail[i]) + c.cost[i]
        longest = max(end, c.arrival[i]) + level
        for k in range(j, i, -1):
            if longest > ceiling:
                return longest  # type: ignore[no-any-return]
            level = max(level, c.tail[k])
            longest = max(longest, c.finish[k] + level)
            level += c.cost[k]
        return longest  # type: ignore[no-any-return]
    first_end = end = max(end, c.arrival[j]) + c.cost[j]
    for k in range(i, j):
        end = max(end, c.arrival[k]) + c.cost[k]
        c.finish[k] = end
    longest = 0.0
    for k in range(j - 1, i - 1, -1):
        level = max(level, c.tail[k])
        longest = max(longest, c.finish[k] + level)
        level += c.cost[k]
        if longest > ceiling:
            return longest  # type: ignore[no-any-return]
    return max(longest, first_end + max(level, c.tail[j]))  # type: ignore[no-any-return]


@borrowing
def turn(g: InstanceArrays, s: Solution, c: CriticalPath, i: int, j: int, forward: bool) -> None:
    """Make a move and bring the schedule up to date.

    Args:
        s: the schedule; changed.
        i: place of the first task that changes its place.
        j: place of the last one.
        forward: see ``possible``, which is true of the move.
    """
    first, last = s.position[c.task[i]], s.position[c.task[j]]
    if forward:
        t, previous = c.task[i], c.task[j]
        _pull_along(g, s, c, first, last, 1)
    else:
        t, previous = c.task[j], s.before[c.task[i]]
        _pull_along(g, s, c, last, first, -1)
    old_before, old_after = s.before[t], s.after[t]
    unlink(s, t)
    link(s, t, previous)
    renew_finishes(g, s, first, mark(s, t) + mark(s, old_after) + mark(s, s.after[t]))
    renew_bottom_levels(g, s, last, mark(s, t) + mark(s, old_before) + mark(s, previous))


@embedded
def _pull_along(
    g: InstanceArrays, s: Solution, c: CriticalPath, begin: int, end: int, step: int
) -> None:
    """Move a task from one end of a part of the order to the other, with all that has to follow it.

    Forward these are the tasks that wait for it, backward those that it waits for; but for its
    neighbour on its processor, which it passes.

    Args:
        begin: the position of the task.
        end: that of the other end.
        step: 1 = forward, -1 = backward.
    """
    t = s.order[begin]
    c.moved[begin] = True
    c.held[0] = t
    held, at = 1, begin
    for k in range(begin + step, end + step, step):
        u = s.order[k]
        if step > 0:
            follows = s.before[u] != t and _waits(g, s, c, u, begin)
        else:
            follows = s.after[u] != t and _is_awaited(g, s, c, u, begin)
        if follows:
            c.moved[k] = True
            c.held[held] = u
            held += 1
        else:
            s.order[at] = u
            at += step
    for k in range(held):
        s.order[at + step * k] = c.held[k]
    for k in range(min(begin, end), max(begin, end) + 1):
        c.moved[k] = False
        s.position[s.order[k]] = k


@embedded
def _waits(g: InstanceArrays, s: Solution, c: CriticalPath, t: int, first: int) -> bool:
    """Whether ``t`` is directly behind a task that moves, of those from a position on."""
    previous = s.before[t]
    if previous < s.order.shape[0]:
        k = s.position[previous]
        if k >= first and c.moved[k]:
            return True
    for e in range(g.pred_ptr[t], g.pred_ptr[t + 1]):
        k = s.position[g.pred_task[e]]
        if k >= first and c.moved[k]:
            return True
    return False


@embedded
def _is_awaited(g: InstanceArrays, s: Solution, c: CriticalPath, t: int, last: int) -> bool:
    """Whether ``t`` is directly before a task that moves, of those up to a position."""
    following = s.after[t]
    if following < s.order.shape[0]:
        k = s.position[following]
        if k <= last and c.moved[k]:
            return True
    for e in range(g.succ_ptr[t], g.succ_ptr[t + 1]):
        k = s.position[g.succ_task[e]]
        if k <= last and c.moved[k]:
            return True
    return False

"""A complete schedule in which moves are made: its longest paths, kept up to date.

The schedule is a graph: the edges of the problem, and an arc from each task to the next one on its
processor. A task starts at the length of the longest path to it, and the makespan is the length of
the longest path of all. Each task has

- an *arrival*: when it is released and the data of all its predecessors is on its processor;
- a *head*, its start: the later of the arrival and the finish of the task before it on its
  processor;
- a *finish*: head + cost;
- a *tail*, the time from its finish to the end of the schedule at least: the longest path behind
  it, over its edges or over the next task on its processor;
- a *bottom level* (b-level): cost + tail, the longest path from the start of the task on, itself
  included.

The longest path through a task is head + cost + tail = finish + tail = head + bottom level.
Finishes, bottom levels and these paths are stored, heads and tails follow from them.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dagsched_env.kernels.arrays import Floats, InstanceArrays, Ints
from dagsched_env.kernels.graph.communication import arrival_time, communication
from dagsched_env.kernels.jit import borrowing


class Solution(NamedTuple):
    """A complete schedule in which no task can start earlier; mutated in place.

    Node ``n + q`` stands before the first and behind the last task of processor q. Its finish and
    its bottom level are 0, so that no task is a special case.
    """

    order: Ints  # [n] tasks in topological order; each processor runs its own in this order
    position: Ints  # [n] inverse of order
    processor: Ints  # [n]
    finish: Floats  # [n + p] longest path up to the end of a task
    bottom_level: Floats  # [n + p] longest path from the start of a task on, itself included
    path: Floats  # [n] longest path through a task
    before: Ints  # [n + p] the node before a task on its processor
    after: Ints  # [n + p] the node behind it
    load: Floats  # [1] durations of all tasks together
    stale: npt.NDArray[np.bool_]  # [n] work space by position, all False between calls


def solution(g: InstanceArrays, order: Ints, processor: Ints) -> Solution:
    """The schedule in which each processor runs its tasks in the given order, without idle time
    that is not needed.

    Args:
        order: ``[n]`` a topological order of the tasks.
        processor: ``[n]`` an eligible processor of each task.
    """
    n, p = g.comp.shape
    s = Solution(
        order.copy(),
        np.empty(n, dtype=np.int64),
        processor.copy(),
        np.zeros(n + p, dtype=np.float64),
        np.zeros(n + p, dtype=np.float64),
        np.empty(n, dtype=np.float64),
        np.empty(n + p, dtype=np.int64),
        np.empty(n + p, dtype=np.int64),
        np.zeros(1, dtype=np.float64),
        np.zeros(n, dtype=np.bool_),
    )
    _complete(g, s)
    return s


@borrowing
def _complete(g: InstanceArrays, s: Solution) -> None:
    """Fill the arrays of a schedule of which the order and the processors are given."""
    n, p = g.comp.shape
    for node in range(n, n + p):
        s.before[node] = s.after[node] = node
    for k in range(n):
        t = s.order[k]
        s.position[t] = k
        link(s, t, s.before[n + s.processor[t]])
        s.finish[t] = _finish(g, s, t)
        s.load[0] += g.comp[t, s.processor[t]]
    for k in range(n - 1, -1, -1):
        t = s.order[k]
        s.bottom_level[t] = _bottom_level(g, s, t)
        s.path[t] = _path(g, s, t)


@borrowing
def makespan(g: InstanceArrays, s: Solution) -> float:
    """The latest finish of the last tasks of the processors (time)."""
    n, p = g.comp.shape
    latest = 0.0
    for node in range(n, n + p):
        latest = max(latest, s.finish[s.before[node]])
    return latest


@borrowing
def renew_finishes(g: InstanceArrays, s: Solution, k: int, pending: int) -> None:
    """Recompute the finishes of stale tasks, and of the tasks behind them that change in turn.

    Args:
        k: position in ``order`` before which no task is stale.
        pending: number of stale tasks.
    """
    while pending > 0:
        while not s.stale[k]:
            k += 1
        s.stale[k] = False
        pending -= 1
        t = s.order[k]
        finish = _finish(g, s, t)
        if finish != s.finish[t]:
            s.finish[t] = finish
            s.path[t] = _path(g, s, t)
            pending += mark(s, s.after[t])
            for e in range(g.succ_ptr[t], g.succ_ptr[t + 1]):
                pending += mark(s, g.succ_task[e])


@borrowing
def renew_bottom_levels(g: InstanceArrays, s: Solution, k: int, pending: int) -> None:
    """Recompute the bottom levels of stale tasks, and of the tasks before them that change.

    Args:
        k: position in ``order`` behind which no task is stale.
        pending: number of stale tasks.
    """
    while pending > 0:
        while not s.stale[k]:
            k -= 1
        s.stale[k] = False
        pending -= 1
        t = s.order[k]
        bottom_level = _bottom_level(g, s, t)
        changed = bottom_level != s.bottom_level[t]
        s.bottom_level[t] = bottom_level
        s.path[t] = _path(g, s, t)  # also where its duration has changed alone
        if changed:
            pending += mark(s, s.before[t])
            for e in range(g.pred_ptr[t], g.pred_ptr[t + 1]):
                pending += mark(s, g.pred_task[e])


@borrowing
def _finish(g: InstanceArrays, s: Solution, t: int) -> float:
    q = s.processor[t]
    arrival = arrival_time(g, s.processor, s.finish, t, q)
    return max(arrival, s.finish[s.before[t]]) + g.comp[t, q]  # type: ignore[no-any-return]


@borrowing
def _bottom_level(g: InstanceArrays, s: Solution, t: int) -> float:
    q = s.processor[t]
    return max(tail_over_edges(g, s, t, q), s.bottom_level[s.after[t]]) + g.comp[t, q]  # type: ignore[no-any-return]


@borrowing
def _path(g: InstanceArrays, s: Solution, t: int) -> float:
    return s.finish[t] - g.comp[t, s.processor[t]] + s.bottom_level[t]  # type: ignore[no-any-return]


@borrowing
def tail_over_edges(g: InstanceArrays, s: Solution, t: int, q: int) -> float:
    """Longest path from the finish of ``t`` on processor ``q`` that begins with an edge (time)."""
    longest = 0.0
    for e in range(g.succ_ptr[t], g.succ_ptr[t + 1]):
        v = g.succ_task[e]
        longest = max(
            longest, s.bottom_level[v] + communication(g, g.succ_data[e], q, s.processor[v])
        )
    return longest


@borrowing
def assign(g: InstanceArrays, s: Solution, t: int, q: int) -> None:
    """Give a task another processor; its place in the sequences stays as it is.

    Args:
        s: the schedule; the arrays ``processor`` and ``load`` change.
        q: its new processor, eligible.
    """
    s.load[0] += g.comp[t, q] - g.comp[t, s.processor[t]]
    s.processor[t] = q


@borrowing
def unlink(s: Solution, t: int) -> None:
    """Take ``t`` out of the sequence of its processor."""
    previous, following = s.before[t], s.after[t]
    s.after[previous] = following
    s.before[following] = previous


@borrowing
def link(s: Solution, t: int, previous: int) -> None:
    """Put ``t`` into the sequence of a processor.

    Args:
        s: the schedule; the arrays ``before`` and ``after`` change.
        t: a task that is in no sequence.
        previous: the node that it is to follow.
    """
    following = s.after[previous]
    s.after[previous] = t
    s.before[t] = previous
    s.after[t] = following
    s.before[following] = t


@borrowing
def mark(s: Solution, node: int) -> int:
    """Mark a task as stale; returns 1 if it was not stale before, else 0."""
    if node < s.stale.shape[0] and not s.stale[s.position[node]]:
        s.stale[s.position[node]] = True
        return 1
    return 0


@borrowing
def shift(s: Solution, t: int, target: int) -> None:
    """Move a task within the order; the tasks in between move by one position.

    Args:
        s: the schedule; ``order`` and ``position`` change.
        target: its new position, in 0..n - 1.
    """
    k = s.position[t]
    step = 1 if target > k else -1
    while k != target:
        neighbour = s.order[k + step]
        s.order[k] = neighbour
        s.position[neighbour] = k
        k += step
    s.order[target] = t
    s.position[t] = target

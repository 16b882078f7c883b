"""List schedulers that choose task and processor together, among all ready pairs.

Placing a task changes the earliest starts on its processor alone, and only to later times. So one
column of the table of starts is renewed per placement.
"""

from typing import NamedTuple

import numpy as np

from dagsched_env.kernels.arrays import Floats, InstanceArrays, Ints, Placements
from dagsched_env.kernels.graph.ranks import RANK_TOLERANCE
from dagsched_env.kernels.graph.release import first_start, has_release
from dagsched_env.kernels.jit import borrowing, embedded, kernel
from dagsched_env.kernels.lists.placements import arrival_times, empty_placements, put
from dagsched_env.kernels.state.timeline import earliest_slot

LEAST_START, LEAST_FINISH, GREATEST_FINISH, SUFFERAGE = range(4)
"""What makes a ready task urgent in ``schedule_by_selection``."""


class ReadySet(NamedTuple):
    """The tasks whose predecessors are all placed."""

    task: Ints  # [n] the first length[0] entries, in no order
    length: Ints  # [1]
    missing: Ints  # [n] predecessors not yet placed
    start: Floats  # [n, p] earliest start of the ready tasks; undefined elsewhere


class Preferences(NamedTuple):
    """The best processor of each ready task."""

    processor: Ints  # [n] the best one, -1 where it is not known yet
    best: Floats  # [n] start or finish time there
    second: Floats  # [n] the least time elsewhere, inf where there is no other processor


@kernel
def schedule_by_selection(
    g: InstanceArrays, rule: int, priority: Floats, precedence: Ints, insertion: bool
) -> tuple[Ints, Floats, Floats]:
    """Always the most urgent ready task next, on the processor where it finishes first.

    Args:
        rule: the urgency of a task with the least finish time f and the second least f₂ over its
            processors is ``LEAST_FINISH``: priority − f; ``GREATEST_FINISH``: f; ``SUFFERAGE``:
            f₂ − f. With ``LEAST_START`` it is priority − its least start time, and the task goes
            to that processor, among equals to the one with the shortest execution time.
        priority: ``[n]``, see ``rule``.
        precedence: ``[n]`` distinct; the lowest goes first among equally urgent tasks.
        insertion: use idle gaps; False appends only.

    Returns:
        Processor, start and finish, ``[n]`` each. Processor ties: lowest index.
    """
    n = g.comp.shape[0]
    s, ready = empty_placements(g), _sources(g)
    wish = Preferences(np.full(n, -1, dtype=np.int64), np.zeros(n), np.zeros(n))
    last = -1
    while ready.length[0] > 0:
        for t in ready.task[: ready.length[0]]:
            # Starts on other processors have not changed, so the best one is still the best.
            stale = wish.processor[t] == last or wish.processor[t] < 0
            if stale or rule == SUFFERAGE:  # its second best one may have changed
                _prefer(g, ready, wish, t, rule == LEAST_START)
        index = _most_urgent(ready, wish, rule, priority, precedence)
        last = wish.processor[ready.task[index]]
        _take(g, s, ready, index, last, insertion)
    return s.processor, s.start, s.finish


@embedded
def _prefer(g: InstanceArrays, ready: ReadySet, wish: Preferences, t: int, by_start: bool) -> None:
    """Find the best processor of ``t`` by start or finish time."""
    chosen, best, second = -1, np.inf, np.inf
    for q in range(g.comp.shape[1]):
        duration = g.comp[t, q]
        if duration == np.inf:
            continue
        value = ready.start[t, q] + (0.0 if by_start else duration)
        slack = RANK_TOLERANCE * value
        equal = by_start and chosen >= 0 and value <= best + slack
        shorter = equal and duration < g.comp[t, chosen]
        if value < best - slack or shorter:
            chosen, best, second = q, value, best
        else:
            second = min(second, value)
    wish.processor[t], wish.best[t], wish.second[t] = chosen, best, second


@borrowing
def _most_urgent(
    ready: ReadySet, wish: Preferences, rule: int, priority: Floats, precedence: Ints
) -> int:
    """Position in ``ready.task`` of the next task."""
    chosen, highest = 0, -np.inf
    for i in range(ready.length[0]):
        urgency = _urgency(wish, rule, priority, ready.task[i])
        before = precedence[ready.task[i]] < precedence[ready.task[chosen]]
        if urgency > highest or (urgency == highest and before):
            chosen, highest = i, urgency
    # The rounding error of a difference is that of the two times.
    leader = ready.task[chosen]
    slack = RANK_TOLERANCE * (abs(priority[leader]) + wish.best[leader])
    for i in range(ready.length[0]):
        close = _urgency(wish, rule, priority, ready.task[i]) >= highest - slack
        if close and precedence[ready.task[i]] < precedence[ready.task[chosen]]:
            chosen = i
    return chosen


@borrowing
def _urgency(wish: Preferences, rule: int, priority: Floats, t: int) -> float:
    if rule == GREATEST_FINISH:
        return wish.best[t]  # type: ignore[no-any-return]
    if rule == SUFFERAGE:
        return wish.second[t] - wish.best[t]  # type: ignore[no-any-return]
    return priority[t] - wish.best[t]  # type: ignore[no-any-return]


@kernel
def schedule_by_imaginary_makespan(
    g: InstanceArrays, level: Floats, insertion: bool
) -> tuple[Ints, Floats, Floats]:
    """BIL: ready tasks and processors by the imaginary makespan, start + level.

    With k ready tasks the priority of a task is its k-th smallest imaginary makespan, or its
    largest one if it has fewer. The task of the highest priority is next; ties: lowest index.

    Args:
        level: ``[n, p]`` basic imaginary levels (time).
        insertion: use idle gaps; False appends only.

    Returns:
        Processor, start and finish, ``[n]`` each.
    """
    p = g.comp.shape[1]
    s, ready = empty_placements(g), _sources(g)
    makespan = np.empty(p)
    while ready.length[0] > 0:
        count = ready.length[0]
        chosen, highest = -1, -np.inf
        for i in range(count):
            t = ready.task[i]
            makespan[:] = ready.start[t] + level[t]
            value = _smallest(makespan, count)
            slack = RANK_TOLERANCE * value
            close = value >= highest - slack
            if value > highest + slack or (close and t < ready.task[chosen]):
                chosen, highest = i, value
        t = ready.task[chosen]
        crowding = max(count / p - 1.0, 0.0)
        best, least = -1, np.inf
        for q in range(p):
            if g.comp[t, q] == np.inf:
                continue
            value = ready.start[t, q] + level[t, q] + crowding * g.comp[t, q]
            if value < least - RANK_TOLERANCE * value:
                best, least = q, value
        _take(g, s, ready, chosen, best, insertion)
    return s.processor, s.start, s.finish


@kernel
def _smallest(values: Floats, k: int) -> float:
    """The k-th smallest finite value, or the largest one if there are fewer."""
    finite = 0
    largest = -np.inf
    for value in values:
        if value < np.inf:
            finite += 1
            largest = max(largest, value)
    if k >= finite:
        return largest
    return np.sort(values)[k - 1]  # type: ignore[no-any-return]


@kernel
def schedule_on_first_free(
    g: InstanceArrays, order: Ints, insertion: bool
) -> tuple[Ints, Floats, Floats]:
    """Tasks in a given order, each on the eligible processor that is free first.

    With resources: that can hold the task first, behind the starts of those before. A task is not
    held before its release. Ties: lowest index.

    Args:
        order: ``[n]`` a topological order.
        insertion: use idle gaps; False appends only.

    Returns:
        Processor, start and finish, ``[n]`` each.
    """
    p = g.comp.shape[1]
    s = empty_placements(g)
    arrival = np.empty(p)
    for t in order:
        best, least = -1, np.inf
        for q in range(p):
            if g.comp[t, q] == np.inf:
                continue
            _, done = earliest_slot(g, s, t, q, first_start(g, t, q), g.comp[t, q], False)
            if done < least - RANK_TOLERANCE * done:
                best, least = q, done
        arrival_times(g, s, t, arrival)
        put(g, s, t, best, arrival[best], insertion)
    return s.processor, s.start, s.finish


@kernel
def _sources(g: InstanceArrays) -> ReadySet:
    """The ready tasks of an empty schedule; all of them start as they are released."""
    n = g.comp.shape[0]
    missing = g.pred_ptr[1:] - g.pred_ptr[:-1]
    ready = ReadySet(
        np.empty(n, dtype=np.int64), np.zeros(1, dtype=np.int64), missing, np.zeros(g.comp.shape)
    )
    for t in range(n):
        if missing[t] == 0:
            _add(ready, t)
            if has_release(g):
                for q in range(g.comp.shape[1]):
                    ready.start[t, q] = first_start(g, t, q)
    return ready


@borrowing
def _add(ready: ReadySet, t: int) -> None:
    ready.task[ready.length[0]] = t
    ready.length[0] += 1


@borrowing
def _take(
    g: InstanceArrays, s: Placements, ready: ReadySet, index: int, q: int, insertion: bool
) -> None:
    """Place the ready task at ``index`` on ``q`` and update the ready set."""
    task = ready.task[index]
    put(g, s, task, q, ready.start[task, q], insertion)
    ready.length[0] -= 1
    ready.task[index] = ready.task[ready.length[0]]
    for t in ready.task[: ready.length[0]]:
        _renew(g, s, ready, t, q, insertion)
    for successor in g.succ_task[g.succ_ptr[task] : g.succ_ptr[task + 1]]:
        ready.missing[successor] -= 1
        if ready.missing[successor] == 0:
            _add(ready, successor)
            arrival_times(g, s, successor, ready.start[successor])
            for w in range(g.comp.shape[1]):
                _renew(g, s, ready, successor, w, insertion)


@embedded
def _renew(
    g: InstanceArrays, s: Placements, ready: ReadySet, t: int, q: int, insertion: bool
) -> None:
    """Set the start of ``t`` on ``q`` to the earliest one that is still possible."""
    duration = g.comp[t, q]
    if duration < np.inf:
        fits = insertion and duration <= s.largest_gap[q]
        _, ready.start[t, q] = earliest_slot(g, s, t, q, ready.start[t, q], duration, fits)

"""Moves of two tasks that are joined by an edge, together onto one processor.

Where communication is expensive, a task alone cannot leave the processor of its neighbours, but the
two together can. The move is judged as that of one task is, by heads and tails and without
decoding: the bound of ``single`` holds for every path through either task. A place between two
neighbours in the order is called a *gap*: gap k lies behind the task that is now at position k, gap
-1 before all tasks.
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
    assign,
    link,
    mark,
    renew_bottom_levels,
    renew_finishes,
    shift,
    unlink,
)


class PairPlaces(NamedTuple):
    """Work space: the places on one processor that a pair may take."""

    previous: Ints  # [n + 1] the node that the pair would follow
    weight: Floats  # [n + 1]


class Surroundings(NamedTuple):
    """What the edges of a pair to other tasks allow on a processor: gaps, arrivals and tails."""

    first: int
    last: int
    arrival_u: float
    tail_u: float
    arrival_t: float
    tail_t: float


def pair_places(n: int) -> PairPlaces:
    """Work space for n tasks."""
    return PairPlaces(np.empty(n + 1, dtype=np.int64), np.empty(n + 1, dtype=np.float64))


@borrowing
def try_pair(
    g: InstanceArrays,
    s: Solution,
    w: PairPlaces,
    u: int,
    t: int,
    q: int,
    length: float,
    temperature: float,
    ceiling: float,
    chance: float,
    place: float,
) -> bool:
    """Move ``u`` and its successor ``t`` to processor ``q``, unless every place is too bad.

    One of the places on ``q`` whose estimate is at most ``ceiling`` is drawn, with weight
    exp(−max(0, estimate − ``length``) / ``temperature``).

    Args:
        s: the schedule; changed by a move.
        t: a successor of ``u``.
        q: their new processor; no move is made where one of them is not eligible.
        length: the makespan of the schedule.
        temperature: ≥ 0, in units of time; 0 gives all places the same weight.
        ceiling: the longest path through the pair that is accepted (time).
        chance: in [0, 1); chooses among the places.
        place: in [0, 1); chooses among the gaps of the order that belong to the chosen place.

    Returns:
        Whether the pair was moved.
    """
    around = pair_surroundings(g, s, u, t, q)
    if around.first > around.last:
        return False
    finish_u = around.arrival_u + g.comp[u, q]
    finish_t = max(finish_u, around.arrival_t) + g.comp[t, q]
    if max(finish_u + around.tail_u, finish_t + around.tail_t) > ceiling:
        return False
    count, total = _weigh(g, s, w, u, t, q, around, length, temperature, ceiling)
    if count == 0:
        return False
    threshold = chance * total
    i = 0
    while i < count - 1 and threshold >= w.weight[i]:
        threshold -= w.weight[i]
        i += 1
    previous = w.previous[i]
    following = _next(s, previous, u, t)
    n = s.order.shape[0]
    first = max(around.first, s.position[previous]) if previous < n else around.first
    last = min(around.last, s.position[following] - 1) if following < n else around.last
    move_pair(g, s, u, t, q, first + int(place * (last - first + 1)), previous)
    return True


@borrowing
def pair_surroundings(g: InstanceArrays, s: Solution, u: int, t: int, q: int) -> Surroundings:
    """What the edges of a pair would allow on a processor; edges between the two do not count.

    Args:
        t: a successor of ``u``.
        q: a processor.

    Returns:
        The first and the last gap that are open to both, and for each of the two the arrival of its
        inputs and its tail over its edges (time).
    """
    first, last = -1, s.order.shape[0] - 1
    arrival_u, arrival_t = first_start(g, u, q), first_start(g, t, q)
    tail_u, tail_t = 0.0, 0.0
    for e in range(g.pred_ptr[u], g.pred_ptr[u + 1]):
        v = g.pred_task[e]
        first = max(first, s.position[v])
        sent = communication(g, g.pred_data[e], s.processor[v], q)
        arrival_u = max(arrival_u, s.finish[v] + sent)
    for e in range(g.pred_ptr[t], g.pred_ptr[t + 1]):
        v = g.pred_task[e]
        if v != u:
            first = max(first, s.position[v])
            sent = communication(g, g.pred_data[e], s.processor[v], q)
            arrival_t = max(arrival_t, s.finish[v] + sent)
    for e in range(g.succ_ptr[u], g.succ_ptr[u + 1]):
        v = g.succ_task[e]
        if v != t:
            last = min(last, s.position[v] - 1)
            sent = communication(g, g.succ_data[e], q, s.processor[v])
            tail_u = max(tail_u, s.bottom_level[v] + sent)
    for e in range(g.succ_ptr[t], g.succ_ptr[t + 1]):
        v = g.succ_task[e]
        last = min(last, s.position[v] - 1)
        sent = communication(g, g.succ_data[e], q, s.processor[v])
        tail_t = max(tail_t, s.bottom_level[v] + sent)
    return Surroundings(first, last, arrival_u, tail_u, arrival_t, tail_t)


@borrowing
def _weigh(
    g: InstanceArrays,
    s: Solution,
    w: PairPlaces,
    u: int,
    t: int,
    q: int,
    around: Surroundings,
    length: float,
    temperature: float,
    ceiling: float,
) -> tuple[int, float]:
    """Fill ``w`` with the places up to ``ceiling``; returns their number and total weight."""
    n = s.order.shape[0]
    previous = _last_at(s, around.first, q, u, t)
    count, total = 0, 0.0
    while True:
        following = _next(s, previous, u, t)
        finish_u = max(around.arrival_u, s.finish[previous]) + g.comp[u, q]
        finish_t = max(around.arrival_t, finish_u) + g.comp[t, q]
        tail_t = max(around.tail_t, s.bottom_level[following])
        estimate = max(finish_u + around.tail_u, finish_t + tail_t)
        if estimate <= ceiling:
            w.previous[count] = previous
            w.weight[count] = 1.0
            if estimate > length and temperature > 0.0:
                w.weight[count] = math.exp((length - estimate) / temperature)
            total += w.weight[count]
            count += 1
        if following >= n or s.position[following] > around.last:
            return count, total
        previous = following


@borrowing
def move_pair(
    g: InstanceArrays, s: Solution, u: int, t: int, q: int, gap: int, previous: int
) -> None:
    """Move a pair and bring the schedule up to date.

    Args:
        s: the schedule; changed.
        t: a successor of ``u``.
        q: their new processor, eligible for both.
        gap: where they go in the order; one that ``pair_surroundings`` allows.
        previous: the node that ``u`` follows on ``q``.
    """
    old_first, old_last = s.position[u], s.position[t]
    before_u, after_u, before_t, after_t = s.before[u], s.after[u], s.before[t], s.after[t]
    _shift_pair(s, u, t, gap)
    unlink(s, t)
    unlink(s, u)
    assign(g, s, u, q)
    assign(g, s, t, q)
    link(s, u, previous)
    link(s, t, u)
    pending = mark(s, u) + mark(s, t) + mark(s, after_u) + mark(s, after_t) + mark(s, s.after[t])
    for x in (u, t):
        for e in range(g.succ_ptr[x], g.succ_ptr[x + 1]):
            pending += mark(s, g.succ_task[e])
    renew_finishes(g, s, min(old_first, s.position[u]), pending)
    pending = mark(s, u) + mark(s, t) + mark(s, before_u) + mark(s, before_t) + mark(s, previous)
    for x in (u, t):
        for e in range(g.pred_ptr[x], g.pred_ptr[x + 1]):
            pending += mark(s, g.pred_task[e])
    renew_bottom_levels(g, s, max(old_last, s.position[t]), pending)


@borrowing
def _shift_pair(s: Solution, u: int, t: int, gap: int) -> None:
    """Shift both into the gap, ``u`` before ``t``; the task that moves right is shifted first."""
    if gap >= s.position[t]:
        shift(s, t, gap)
        shift(s, u, gap - 1)
    elif gap < s.position[u]:
        shift(s, u, gap + 1)
        shift(s, t, gap + 2)
    else:
        shift(s, u, gap)
        shift(s, t, gap + 1)


@borrowing
def _last_at(s: Solution, gap: int, q: int, u: int, t: int) -> int:
    """The last node of processor ``q`` before the gap, as if the pair were not there."""
    k = gap
    while k >= 0 and (s.processor[s.order[k]] != q or s.order[k] == u or s.order[k] == t):
        k -= 1
    return s.order[k] if k >= 0 else s.order.shape[0] + q  # type: ignore[no-any-return]


@borrowing
def _next(s: Solution, node: int, u: int, t: int) -> int:
    """The node behind another one on its processor, as if the pair were not there."""
    following = s.after[node]
    while following in (u, t):
        following = s.after[following]
    return following  # type: ignore[no-any-return]

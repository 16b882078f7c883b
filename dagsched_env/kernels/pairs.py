"""Moves of two tasks joined by an edge, side by side onto one processor.

Where communication is dear, a task alone cannot leave the processor of its neighbours, though the
two together could. The move is judged as that of one task is, by heads and tails and without
decoding: the bound of ``neighbourhood`` holds for every path through either of the two. A place
between two neighbours in the order is a *gap*: gap k lies behind what is now at position k, gap -1
in front of everything.
"""

import math
from typing import NamedTuple

import numpy as np

from dagsched_env.kernels.arrays import Floats, InstanceArrays, Ints
from dagsched_env.kernels.jit import borrowing, kernel
from dagsched_env.kernels.neighbourhood import (
    Solution,
    link,
    mark,
    renew_finishes,
    renew_rests,
    shift,
    unlink,
)
from dagsched_env.kernels.timeline import communication

__all__ = ["Slots", "Surroundings", "move_pair", "pair_surroundings", "slots", "try_pair"]


class Slots(NamedTuple):
    """Work space: the places on one processor that a pair may take."""

    previous: Ints  # [n + 1] the node that the pair would follow
    weight: Floats  # [n + 1]


class Surroundings(NamedTuple):
    """What the edges to other tasks allow on a processor; see ``pair_surroundings``."""

    first: int
    last: int
    arrival_u: float
    onward_u: float
    arrival_t: float
    onward_t: float


@kernel
def slots(n: int) -> Slots:
    """Work space for n tasks."""
    return Slots(np.empty(n + 1, dtype=np.int64), np.empty(n + 1, dtype=np.float64))


@borrowing
def try_pair(
    g: InstanceArrays,
    s: Solution,
    w: Slots,
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

    Among the places on ``q`` whose estimate is at most ``ceiling`` one is drawn, with weight
    exp(−max(0, estimate − ``length``) / ``temperature``). ``chance`` and ``place`` are uniform in
    [0, 1): they choose among the places, and among the gaps of the order that make up a place.
    """
    around = pair_surroundings(g, s, u, t, q)
    if around.first > around.last:
        return False
    finish_u = around.arrival_u + g.comp[u, q]
    finish_t = max(finish_u, around.arrival_t) + g.comp[t, q]
    if max(finish_u + around.onward_u, finish_t + around.onward_t) > ceiling:
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
    """The first and the last gap open to ``u`` and its successor ``t``, and for each of them the
    arrival of its inputs on ``q`` and the longest path behind it, without the edges between them.
    """
    first, last = -1, s.order.shape[0] - 1
    arrival_u, onward_u, arrival_t, onward_t = 0.0, 0.0, 0.0, 0.0
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
            onward_u = max(onward_u, s.rest[v] + sent)
    for e in range(g.succ_ptr[t], g.succ_ptr[t + 1]):
        v = g.succ_task[e]
        last = min(last, s.position[v] - 1)
        sent = communication(g, g.succ_data[e], q, s.processor[v])
        onward_t = max(onward_t, s.rest[v] + sent)
    return Surroundings(first, last, arrival_u, onward_u, arrival_t, onward_t)


@borrowing
def _weigh(
    g: InstanceArrays,
    s: Solution,
    w: Slots,
    u: int,
    t: int,
    q: int,
    around: Surroundings,
    length: float,
    temperature: float,
    ceiling: float,
) -> tuple[int, float]:
    """Fill ``w`` with the places that are good enough; returns how many, and their total weight."""
    n = s.order.shape[0]
    previous = _last_at(s, around.first, q, u, t)
    count, total = 0, 0.0
    while True:
        following = _next(s, previous, u, t)
        finish_u = max(around.arrival_u, s.finish[previous]) + g.comp[u, q]
        finish_t = max(around.arrival_t, finish_u) + g.comp[t, q]
        onward_t = max(around.onward_t, s.rest[following])
        estimate = max(finish_u + around.onward_u, finish_t + onward_t)
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
    """Put ``u`` and its successor ``t`` into the ``gap``, on ``q`` behind the node ``previous``."""
    old_first, old_last = s.position[u], s.position[t]
    before_u, after_u, before_t, after_t = s.before[u], s.after[u], s.before[t], s.after[t]
    _shift_pair(s, u, t, gap)
    unlink(s, t)
    unlink(s, u)
    s.processor[u] = s.processor[t] = q
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
    renew_rests(g, s, max(old_last, s.position[t]), pending)


@borrowing
def _shift_pair(s: Solution, u: int, t: int, gap: int) -> None:
    """Into the gap, ``u`` in front of ``t``; whoever moves right does so before the other."""
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
    """The last node of processor ``q`` in front of the gap, not counting the pair."""
    k = gap
    while k >= 0 and (s.processor[s.order[k]] != q or s.order[k] == u or s.order[k] == t):
        k -= 1
    return s.order[k] if k >= 0 else s.order.shape[0] + q  # type: ignore[no-any-return]


@borrowing
def _next(s: Solution, node: int, u: int, t: int) -> int:
    """The node behind another on its processor, not counting the pair."""
    following = s.after[node]
    while following in (u, t):
        following = s.after[following]
    return following  # type: ignore[no-any-return]

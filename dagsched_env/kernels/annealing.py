"""Metropolis moves at one temperature; at temperature 0 a descent that also crosses plateaus.

Plateaus and descent are those of the makespan, or of the makespan and the load of the processors.
"""

import math
from typing import NamedTuple

from dagsched_env.kernels.arrays import Floats, InstanceArrays, Ints
from dagsched_env.kernels.jit import borrowing
from dagsched_env.kernels.neighbourhood import (
    Choices,
    Solution,
    cheapest_place,
    estimate,
    last_before,
    makespan,
    move,
    surroundings,
    targets,
)
from dagsched_env.kernels.pairs import Slots, try_pair

__all__ = ["UNIFORMS_PER_MOVE", "MoveRules", "metropolis"]

UNIFORMS_PER_MOVE = 6
"""Random numbers of a move at most: task, processor, position, acceptance, pair or not, place of a
pair. A task passed over takes one."""

STAY = 0.3
"""Share of the moves that keep the processor of the task."""

PASS_OVER = 0.98
"""How often a task that lies on no longest path is passed over: its move cannot help at once."""

SLACK = 1e-12
"""Relative rounding error of sums along a path."""

SHARPNESS = 16
"""Power of the utilisation that decides whether load matters."""


class MoveRules(NamedTuple):
    """How moves are drawn, and what they are judged by."""

    pair_share: float
    """Share of the moves that take a predecessor or successor of the task along."""
    cost_bias: float
    """Of the m other processors the one of rank ``m * u ** cost_bias`` by cost, u uniform in
    [0, 1): 1 draws all alike, more prefers the cheap ones."""
    best_place: bool
    """One task takes the best place on its new processor, instead of a random one."""
    load_weight: float
    """What the mean load of the processors counts, beside a makespan of which they are busy all the
    time; with a mean utilisation U it is U¹⁶ of that, next to nothing where paths decide."""


@borrowing
def metropolis(
    g: InstanceArrays,
    c: Choices,
    s: Solution,
    w: Slots,
    rules: MoveRules,
    temperature: float,
    limit: int,
    uniforms: Floats,
    best: Floats,
    best_order: Ints,
    best_processor: Ints,
) -> int:
    """Make at most ``limit`` moves, as far as the random ``uniforms`` in [0, 1) last.

    A move that may lengthen the schedule by d ≥ 0 and adds e, which may be negative, to the mean
    load of the processors is made with probability exp(−(d + w e) / temperature), or surely where
    that is above 1; w follows from ``rules.load_weight`` and the utilisation at the beginning.
    Returns how many were evaluated. When a schedule is shorter than ``best[0]``, the three ``best``
    arrays take over its makespan, order and processors.
    """
    n = g.comp.shape[0]
    length = makespan(g, s)
    price = _price_of_load(g, s, length, rules.load_weight)
    evaluated, at = 0, 0
    while evaluated < limit and at + UNIFORMS_PER_MOVE <= uniforms.shape[0]:
        t, chance = _scaled(uniforms[at], n)
        at += 1
        path = s.finish[t] - g.comp[t, s.processor[t]] + s.rest[t]
        if path < length * (1.0 - SLACK) and chance < PASS_OVER:
            continue
        evaluated += 1
        q = _processor(c, t, s.processor[t], uniforms[at], rules.cost_bias)
        place = uniforms[at + 1]
        allowance = -temperature * math.log(1.0 - uniforms[at + 2])
        partner = uniforms[at + 3]
        at += 4
        if partner < rules.pair_share:
            u, v = _edge(g, t, partner / rules.pair_share)
            chance = uniforms[at]
            at += 1
            allowance -= _toll(g, s, u, q, price) + _toll(g, s, v, q, price)
            ceiling = length * (1.0 + SLACK) + allowance
            moved = (
                u != v
                and allowance >= 0.0
                and try_pair(g, s, w, u, v, q, length, temperature, ceiling, chance, place)
            )
        else:
            allowance -= _toll(g, s, t, q, price)
            ceiling = length * (1.0 + SLACK) + allowance
            moved = allowance >= 0.0 and _try_one(g, s, t, q, ceiling, place, rules.best_place)
        if moved:
            length = makespan(g, s)
            if length < best[0]:
                best[0] = length
                for k in range(n):
                    best_order[k] = s.order[k]
                    best_processor[k] = s.processor[k]
    return evaluated


@borrowing
def _price_of_load(g: InstanceArrays, s: Solution, length: float, weight: float) -> float:
    """What a unit of load on any processor counts, in units of the makespan.

    Processors that are busy all the time bound the makespan by their load alone, which single moves
    lower long before they shorten the schedule.
    """
    n, p = g.comp.shape
    load = 0.0
    for t in range(n):
        load += g.comp[t, s.processor[t]]
    if load == 0.0:
        return 0.0
    return weight * (load / (p * length)) ** SHARPNESS / p  # type: ignore[no-any-return]


@borrowing
def _toll(g: InstanceArrays, s: Solution, t: int, q: int, price: float) -> float:
    """The price of the load that ``t`` adds on ``q``: negative where it is cheaper there."""
    if price == 0.0:  # infinite load, where t cannot run, costs nothing then
        return 0.0
    return price * (g.comp[t, q] - g.comp[t, s.processor[t]])  # type: ignore[no-any-return]


@borrowing
def _try_one(
    g: InstanceArrays, s: Solution, t: int, q: int, ceiling: float, place: float, best_place: bool
) -> bool:
    """Move ``t`` to ``q``, unless the schedule might become longer than ``ceiling``.

    The uniform number ``place`` draws the position in the order: one of all that its edges allow,
    or one of those at the best place on ``q``.
    """
    first, last, arrival, onward = surroundings(g, s, t, q)
    if arrival + g.comp[t, q] + onward > ceiling:
        return False
    if best_place:
        previous = cheapest_place(g, s, t, q, first, last, arrival, onward)
        first, last = targets(s, t, previous, first, last)
        target = first + _scaled(place, last - first + 1)[0]
    else:
        target = first + _scaled(place, last - first + 1)[0]
        previous = last_before(s, t, q, target)
    if estimate(g, s, t, q, previous, arrival, onward) > ceiling:
        return False
    move(g, s, t, q, target, previous)
    return True


@borrowing
def _edge(g: InstanceArrays, t: int, uniform: float) -> tuple[int, int]:
    """One of the edges of ``t``, from predecessor to successor; ``(t, t)`` where it has none."""
    n_in = g.pred_ptr[t + 1] - g.pred_ptr[t]
    n_out = g.succ_ptr[t + 1] - g.succ_ptr[t]
    k = int(uniform * (n_in + n_out))
    if k < n_in:
        return g.pred_task[g.pred_ptr[t] + k], t
    if n_out > 0:
        return t, g.succ_task[g.succ_ptr[t] + k - n_in]
    return t, t


@borrowing
def _scaled(uniform: float, n: int) -> tuple[int, float]:
    """One of ``n`` numbers, and what is left of the random number, again uniform in [0, 1)."""
    index = int(uniform * n)
    return index, uniform * n - index


@borrowing
def _processor(c: Choices, t: int, current: int, uniform: float, cost_bias: float) -> int:
    """The current processor with probability ``STAY``, else another one, see ``Proposal``."""
    others = c.n_eligible[t] - 1
    if uniform < STAY or others == 0:
        return current
    rank = int(((uniform - STAY) / (1.0 - STAY)) ** cost_bias * others)
    for k in range(rank + 1):
        if c.eligible[t, k] == current:  # among the others, it is one rank less
            rank += 1
            break
    return c.eligible[t, rank]  # type: ignore[no-any-return]

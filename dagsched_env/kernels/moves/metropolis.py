"""Metropolis moves at one temperature; at temperature 0 a descent that also crosses plateaus.

Moves are judged by the makespan alone, or by the makespan and the load of the processors.
"""

import math
from typing import NamedTuple

from dagsched_env.kernels.arrays import Floats, InstanceArrays, Ints
from dagsched_env.kernels.graph.eligibility import Eligibility
from dagsched_env.kernels.jit import borrowing, embedded
from dagsched_env.kernels.moves.clusters import KINDS, Cluster, gather, longest_through, settle
from dagsched_env.kernels.moves.pairs import PairPlaces, try_pair
from dagsched_env.kernels.moves.single import (
    cheapest_place,
    estimate,
    last_before,
    move,
    surroundings,
    targets,
)
from dagsched_env.kernels.moves.solution import Solution, makespan

UNIFORMS_PER_MOVE = 6
"""Random numbers that a move takes at most: task, processor, position or size of a cluster,
acceptance, kind of move, place of a pair or kind of cluster. A task that is passed over takes
one."""

STAY = 0.3
"""Share of the moves that keep the processor of the task."""

PASS_OVER = 0.98
"""Probability that a task on no longest path is passed over: its move alone does not help."""

NOT_PASSED_OVER = 20
"""Such tasks among n that are expected to be drawn, at most. Of many tasks few are on a longest
path; the others would get most moves."""

SLACK = 1e-12
"""Relative rounding error of sums along a path."""

SHARPNESS = 16
"""Power of the mean utilisation by which the load of the processors is weighted."""


class MoveRules(NamedTuple):
    """How moves are drawn, and how they are judged."""

    pair_share: float
    """Share of the moves that take a predecessor or a successor of the task along, in [0, 1]."""
    cluster_share: float
    """Share of the moves that take a cluster along, in [0, 1 - ``pair_share``]. It has at most
    (n + 1) ** u members, u uniform in [0, 1)."""
    cost_bias: float
    """≥ 1. Of the m other processors the one of rank ``m * u ** cost_bias`` by cost is drawn, u
    uniform in [0, 1). 1 draws all with the same probability, more prefers the cheap ones."""
    best_place: bool
    """A task that moves alone takes the best place on its new processor instead of a random one."""
    load_weight: float
    """≥ 0: the weight of the mean load of the processors beside the makespan. It is multiplied by
    U¹⁶, where U is their mean utilisation, so that load hardly counts where paths decide."""


@borrowing
def metropolis(
    g: InstanceArrays,
    c: Eligibility,
    s: Solution,
    w: PairPlaces,
    b: Cluster,
    rules: MoveRules,
    temperature: float,
    limit: int,
    uniforms: Floats,
    best: Floats,
    best_order: Ints,
    best_processor: Ints,
) -> int:
    """Make moves until the limit is reached or the random numbers are used up.

    A move may lengthen the schedule by d ≥ 0 and adds e, which may be negative, to the mean load of
    the processors. It is made with probability min(1, exp(−(d + w e) / temperature)); w follows
    from ``rules.load_weight`` and the utilisation at the beginning. Whenever a schedule is shorter
    than ``best[0]``, its makespan, order and processors are copied into the three ``best`` arrays.

    Args:
        c: its eligible processors.
        s: the schedule; changed.
        rules: how moves are drawn, and how they are judged.
        temperature: ≥ 0, in units of time.
        limit: the number of moves that may be evaluated.
        uniforms: random numbers in [0, 1), up to ``UNIFORMS_PER_MOVE`` for each move.
        best: ``[1]`` the shortest makespan so far.
        best_order: ``[n]`` the order of that schedule.
        best_processor: ``[n]`` its processors.

    Returns:
        The number of moves evaluated.
    """
    n = g.comp.shape[0]
    length = makespan(g, s)
    load_price = _load_price(g, s, length, rules.load_weight)
    pass_over = max(PASS_OVER, 1.0 - NOT_PASSED_OVER / n)
    evaluated, at = 0, 0
    while evaluated < limit and at + UNIFORMS_PER_MOVE <= uniforms.shape[0]:
        t, chance = _scaled(uniforms[at], n)
        at += 1
        if s.path[t] < length * (1.0 - SLACK) and chance < pass_over:
            continue
        evaluated += 1
        q = _processor(c, t, s.processor[t], uniforms[at], rules.cost_bias)
        place = uniforms[at + 1]
        allowance = -temperature * math.log(1.0 - uniforms[at + 2])
        kind = uniforms[at + 3]
        at += 4
        if kind < rules.pair_share:
            edge, chance = kind / rules.pair_share, uniforms[at]
            at += 1
            moved = _try_edge(
                g, s, w, t, q, length, temperature, allowance, load_price, edge, place, chance
            )
        elif kind < rules.pair_share + rules.cluster_share:
            kin, chance = (kind - rules.pair_share) / rules.cluster_share, uniforms[at]
            at += 1
            moved = _try_cluster(g, s, b, t, q, length, allowance, load_price, kin, place, chance)
        else:
            moved = _try_one(g, s, t, q, length, allowance, load_price, place, rules.best_place)
        if moved:
            length = makespan(g, s)
            if length < best[0]:
                best[0] = length
                for k in range(n):
                    best_order[k] = s.order[k]
                    best_processor[k] = s.processor[k]
    return evaluated


@borrowing
def _load_price(g: InstanceArrays, s: Solution, length: float, weight: float) -> float:
    """What a unit of load on any processor counts in the objective, in units of the makespan.

    The load of processors that are busy all the time bounds the makespan. Single moves lower the
    load long before they shorten the schedule.
    """
    if length == 0.0:
        return 0.0
    p = g.comp.shape[1]
    return weight * (s.load[0] / (p * length)) ** SHARPNESS / p  # type: ignore[no-any-return]


@borrowing
def _move_price(g: InstanceArrays, s: Solution, t: int, q: int, load_price: float) -> float:
    """The price of the load that ``t`` adds on ``q``; negative where ``t`` costs less there."""
    if load_price == 0.0:  # not 0 * inf, where t is not eligible
        return 0.0
    return load_price * (g.comp[t, q] - g.comp[t, s.processor[t]])  # type: ignore[no-any-return]


@embedded
def _try_one(
    g: InstanceArrays,
    s: Solution,
    t: int,
    q: int,
    length: float,
    allowance: float,
    load_price: float,
    place: float,
    best_place: bool,
) -> bool:
    """Move ``t`` to ``q``, unless the schedule might become longer than allowed.

    ``place``, uniform in [0, 1), draws the position in the order: one of all that the edges of
    ``t`` allow, or one of those that belong to the best place on ``q``.
    """
    allowance -= _move_price(g, s, t, q, load_price)
    if allowance < 0.0:
        return False
    ceiling = length * (1.0 + SLACK) + allowance
    first, last, arrival, tail = surroundings(g, s, t, q)
    if arrival + g.comp[t, q] + tail > ceiling:
        return False
    # On its own processor the best place is mostly the one that it has.
    if best_place and q != s.processor[t]:
        previous = cheapest_place(g, s, t, q, first, last, arrival, tail)
        first, last = targets(s, t, previous, first, last)
        target = first + _scaled(place, last - first + 1)[0]
    else:
        target = first + _scaled(place, last - first + 1)[0]
        previous = last_before(s, t, q, target)
    if estimate(g, s, t, q, previous, arrival, tail) > ceiling:
        return False
    move(g, s, t, q, target, previous)
    return True


@borrowing
def _try_edge(
    g: InstanceArrays,
    s: Solution,
    w: PairPlaces,
    t: int,
    q: int,
    length: float,
    temperature: float,
    allowance: float,
    load_price: float,
    edge: float,
    place: float,
    chance: float,
) -> bool:
    """Move ``t`` and a neighbour in the graph to ``q``, unless the schedule became too long.

    ``edge``, uniform in [0, 1), draws the neighbour; ``chance`` and ``place`` are of ``try_pair``.
    """
    u, v = _edge(g, t, edge)
    allowance -= _move_price(g, s, u, q, load_price) + _move_price(g, s, v, q, load_price)
    ceiling = length * (1.0 + SLACK) + allowance
    return (
        u != v
        and allowance >= 0.0
        and try_pair(g, s, w, u, v, q, length, temperature, ceiling, chance, place)
    )


@borrowing
def _try_cluster(
    g: InstanceArrays,
    s: Solution,
    b: Cluster,
    t: int,
    q: int,
    length: float,
    allowance: float,
    load_price: float,
    kin: float,
    extent: float,
    chance: float,
) -> bool:
    """Move a cluster around ``t`` to ``q``, unless the schedule became too long.

    Where ``q`` is its own processor, it moves to that of a neighbour in the graph, which ``kin``
    draws. ``extent`` draws the size and ``chance`` the kind of cluster. All are uniform in [0, 1).
    """
    home = s.processor[t]
    if q == home:
        u, v = _edge(g, t, kin)
        q = s.processor[u if v == t else v]
    if q == home or not g.comp[t, q] < math.inf:
        return False
    most = int((s.order.shape[0] + 1) ** extent)
    size = gather(g, s, b, t, q, most, int(chance * KINDS))
    for k in range(size):
        allowance -= load_price * (g.comp[b.members[k], q] - g.comp[b.members[k], home])
    ceiling = length * (1.0 + SLACK) + allowance
    accepted = allowance >= 0.0 and longest_through(g, s, b, size, home, ceiling) <= ceiling
    settle(g, s, b, size, home, accepted)
    return accepted


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
    """A number in 0..n - 1, and the rest of the random number, again uniform in [0, 1)."""
    index = int(uniform * n)
    return index, uniform * n - index


@borrowing
def _processor(c: Eligibility, t: int, current: int, uniform: float, cost_bias: float) -> int:
    """The current processor with probability ``STAY``, else another one, see ``MoveRules``."""
    others = c.n_eligible[t] - 1
    if uniform < STAY or others == 0:
        return current
    rank = int(((uniform - STAY) / (1.0 - STAY)) ** cost_bias * others)
    for k in range(rank + 1):
        if c.eligible[t, k] == current:  # among the others, it is one rank less
            rank += 1
            break
    return c.eligible[t, rank]  # type: ignore[no-any-return]

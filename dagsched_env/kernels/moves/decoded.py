"""Moves in order and assignment that are judged by decoding, where tasks share processors.

With resources a processor has no sequence of tasks, so heads and tails do not tell what a move
gives. A decoding ends as soon as a task finishes too late for the move to be accepted.
"""

import math
from typing import NamedTuple

import numpy as np

from dagsched_env.kernels.arrays import Floats, InstanceArrays, Ints, Placements
from dagsched_env.kernels.graph.communication import arrival_time
from dagsched_env.kernels.graph.eligibility import Eligibility
from dagsched_env.kernels.jit import borrowing, kernel
from dagsched_env.kernels.lists.placements import clear_placements, put
from dagsched_env.kernels.schedules.crossover import open_places, shift

UNIFORMS_PER_MOVE = 4
"""Random numbers of a move: task, processor or place, which one, acceptance."""

MOVE_AWAY = 0.5
"""Share of the moves of a task to another processor, where it may run on several."""


class Decoded(NamedTuple):
    """A complete schedule as an order and an assignment; changed in place."""

    order: Ints  # [n] a topological order
    processor: Ints  # [n]
    makespan: Floats  # [1]
    behind: Floats  # [n] least time from the finish of a task to the end of any schedule
    trial_order: Ints  # [n] work space
    placements: Placements  # work space


@kernel
def least_behind(g: InstanceArrays) -> Floats:
    """``[n]`` longest path behind a task, at minimum costs without communication (time)."""
    n = g.topo.shape[0]
    behind = np.zeros(n)
    for i in range(n - 1, -1, -1):
        t = g.topo[i]
        for e in range(g.succ_ptr[t], g.succ_ptr[t + 1]):
            v = g.succ_task[e]
            behind[t] = max(behind[t], g.min_comp[v] + behind[v])
    return behind


@borrowing
def metropolis_by_decoding(
    g: InstanceArrays,
    c: Eligibility,
    s: Decoded,
    cost_bias: float,
    temperature: float,
    limit: int,
    uniforms: Floats,
    best: Floats,
    best_order: Ints,
    best_processor: Ints,
) -> int:
    """Make moves until the limit is reached or the random numbers are used up.

    A move gives one task another processor, or another place in the order between its predecessors
    and its successors. A schedule longer by d is accepted with probability min(1, exp(−d /
    temperature)). The arguments are those of ``metropolis.metropolis``.

    Returns:
        The number of schedules decoded.
    """
    n = s.order.shape[0]
    evaluated, at = 0, 0
    while evaluated < limit and at + UNIFORMS_PER_MOVE <= uniforms.shape[0]:
        u = uniforms[at : at + UNIFORMS_PER_MOVE]
        at += UNIFORMS_PER_MOVE
        k = int(u[0] * n)
        t = s.order[k]
        home = s.processor[t]
        for i in range(n):
            s.trial_order[i] = s.order[i]
        m = c.n_eligible[t]
        if m > 1 and u[1] < MOVE_AWAY:
            rank = int((m - 1) * u[2] ** cost_bias)
            s.processor[t] = _other(c, t, home, rank)
        else:
            first, last = open_places(g, s.trial_order, k)
            if first == last:
                continue
            target = first + int(u[2] * (last - first))
            shift(s.trial_order, k, target if target < k else target + 1)
        evaluated += 1
        ceiling = s.makespan[0] - temperature * math.log(1.0 - u[3])
        length = decode_below(g, s, ceiling)
        if length > ceiling:
            s.processor[t] = home
            continue
        for i in range(n):
            s.order[i] = s.trial_order[i]
        s.makespan[0] = length
        if length < best[0]:
            best[0] = length
            for i in range(n):
                best_order[i] = s.order[i]
                best_processor[i] = s.processor[i]
    return evaluated


@borrowing
def decode_below(g: InstanceArrays, s: Decoded, ceiling: float) -> float:
    """The makespan of ``trial_order``, or inf as soon as it is known to exceed the ceiling."""
    clear_placements(s.placements)
    makespan = 0.0
    for i in range(s.trial_order.shape[0]):
        t = s.trial_order[i]
        q = s.processor[t]
        ready = arrival_time(g, s.processor, s.placements.finish, t, q)
        put(g, s.placements, t, q, ready, True)
        finish = s.placements.finish[t]
        if finish + s.behind[t] > ceiling:
            return math.inf
        makespan = max(makespan, finish)
    return makespan


@borrowing
def _other(c: Eligibility, t: int, home: int, rank: int) -> int:
    """The eligible processor of this rank by cost, ``home`` left out."""
    for i in range(c.n_eligible[t]):
        q = c.eligible[t, i]
        if q == home:
            rank += 1
        elif i == rank:
            return q  # type: ignore[no-any-return]
    return home

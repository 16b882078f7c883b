"""Which edge of a node a simulation follows: by PUCT, by visits, or at the root by halving.

The caller holds the tree's lock. A child is finished when nothing below it can change the result:
it is TERMINAL or SOLVED, or its lower bound has reached the ``cut``.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aerl_trainer.search.tree import (
    NO_EDGE,
    NO_NODE,
    Q_MAX,
    Q_MIN,
    ROOT,
    SOLVED,
    TERMINAL,
    TreeArrays,
)
from dagsched_env.kernels.jit import inlined, kernel

__all__ = [
    "Rules",
    "considered_visits",
    "halving_edge",
    "is_finished",
    "most_visited_edge",
    "puct_edge",
]

RANGE_FLOOR = 1e-3
"""Smallest range (in SLR) over which Q is normalised: below it differences are noise."""
VISIT_OFFSET = 50.0
VALUE_SCALE = 0.1
"""σ(q̃) = (VISIT_OFFSET + max N)·VALUE_SCALE·q̃ weighs values against logits at the root."""


class Rules(NamedTuple):
    """What a search goes by; constant, and the same for all actors of a tree."""

    budget: int
    min_paths: int
    cap: int
    """Simulations that end the search, whatever is missing."""
    c_puct: float
    best_weight: float
    prune: bool
    considered: int
    """Most actions that sequential halving considers at the root; 0 = PUCT there too."""
    gumbel: npt.NDArray[np.float64]
    """``[K]`` added to the logits of the root's edges; not read without halving."""


@inlined
def puct_edge(t: TreeArrays, node: int, c_puct: float, best_weight: float, cut: float) -> int:
    """Edge of highest ``q̃ + c·P·sqrt(Σ(N + O)) / (1 + N + O)`` whose child is not finished.

    ``NO_EDGE`` where all are. An unvisited edge takes the node's mixed value: the mean of its own
    evaluation and of all completed visits below.
    """
    first, last = t.first_edge[node], t.first_edge[node] + t.n_edges[node]
    pending, visits, total = 0, 1, t.raw_value[node]
    for e in range(first, last):
        pending += t.edge_visits[e] + t.edge_in_flight[e]
        visits += t.edge_visits[e]
        total += t.edge_total[e]
    mixed = total / visits
    exploration = c_puct * np.sqrt(max(pending, 1))
    low = t.scalars[Q_MIN]
    width = max(t.scalars[Q_MAX] - low, RANGE_FLOOR)
    chosen, highest = NO_EDGE, -np.inf
    for e in range(first, last):
        child = t.edge_child[e]
        if child != NO_NODE and is_finished(t.status[child], t.lower_bound[child], cut):
            continue
        n_e = t.edge_visits[e]
        q = _value(n_e, t.edge_total[e], t.edge_best[e], mixed, best_weight)
        score = (q - low) / width + exploration * t.edge_prior[e] / (
            1.0 + n_e + t.edge_in_flight[e]
        )
        if score > highest:
            chosen, highest = e, score
    return int(chosen)


@kernel
def most_visited_edge(t: TreeArrays, node: int, cut: float) -> int:
    """Unfinished edge of most visits; ties go to the first: edges stand by the hand-made prior."""
    first, last = t.first_edge[node], t.first_edge[node] + t.n_edges[node]
    chosen, most = NO_EDGE, -1
    for e in range(first, last):
        child = t.edge_child[e]
        if child != NO_NODE and is_finished(t.status[child], t.lower_bound[child], cut):
            continue
        if t.edge_visits[e] > most:
            chosen, most = e, t.edge_visits[e]
    return int(chosen)


@kernel
def halving_edge(t: TreeArrays, rules: Rules, cut: float) -> int:
    """Root edge whose turn it is in sequential halving (Danihelka et al. 2022, algorithm 2).

    Of the edges with as many visits, completed or in flight, as the schedule asks for, the one of
    highest ``g + ln P + σ(q̃)``. ``NO_EDGE`` past the budget, and where every such edge is finished.
    """
    first, last = t.first_edge[ROOT], t.first_edge[ROOT] + t.n_edges[ROOT]
    done, most, visits, total = 0, 0, 1, t.raw_value[ROOT]
    for e in range(first, last):
        done += t.edge_visits[e] + t.edge_in_flight[e]
        most = max(most, t.edge_visits[e])
        visits += t.edge_visits[e]
        total += t.edge_total[e]
    simulations = rules.budget - 1  # one has gone into the root itself
    if done >= simulations:
        return NO_EDGE
    wanted = considered_visits(done, min(rules.considered, last - first), simulations)
    low = t.scalars[Q_MIN]
    scale = (VISIT_OFFSET + most) * VALUE_SCALE / max(t.scalars[Q_MAX] - low, RANGE_FLOOR)
    chosen, highest = NO_EDGE, -np.inf
    for e in range(first, last):
        child = t.edge_child[e]
        if child != NO_NODE and is_finished(t.status[child], t.lower_bound[child], cut):
            continue
        if t.edge_visits[e] + t.edge_in_flight[e] != wanted:
            continue
        best = t.edge_best[e]
        q = _value(t.edge_visits[e], t.edge_total[e], best, total / visits, rules.best_weight)
        score = rules.gumbel[e - first] + np.log(t.edge_prior[e]) + scale * (q - low)
        if score > highest:
            chosen, highest = e, score
    return int(chosen)


@kernel
def considered_visits(done: int, considered: int, simulations: int) -> int:
    """Visits that the next action must have had so far, after ``done`` of ``simulations``.

    Each phase gives all actions that are still considered equally many visits, an equal share of
    the simulations to each phase; then the worse half goes, down to two actions.
    """
    if considered == 1:
        return done
    phases = int(np.ceil(np.log2(considered)))
    visits = 0
    while True:
        extra = max(1, simulations // (phases * considered))
        if done < extra * considered:
            return visits + done // considered
        done -= extra * considered
        visits += extra
        considered = max(2, considered // 2)


@inlined
def is_finished(status: int, lower_bound: float, cut: float) -> bool:
    """Nothing below a node of this status and lower bound can change the result."""
    # No arrays: to count references to them in the innermost loop costs many times the rest of it.
    return status in (TERMINAL, SOLVED) or lower_bound >= cut


@inlined
def _value(visits: int, total: float, best: float, mixed: float, best_weight: float) -> float:
    if visits == 0:
        return mixed
    return (1.0 - best_weight) * total / visits + best_weight * best

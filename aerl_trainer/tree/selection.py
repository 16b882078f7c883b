"""Which edge of a node a simulation follows: by PUCT or by visits.

In the trees of ``solve``, of validations and of a network; those that the fast policy learns from
grow as ``variation`` says.

The caller holds the tree's lock. A child is finished when nothing below it can change the result:
it is TERMINAL or SOLVED, or its pruning bound has reached the ``cut``.

Edges are sorted by decreasing prior. Among those that have never been selected both PUCT and the
visits prefer the first, so only the opened edges and that one are considered (``_last``).
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aerl_trainer.tree.tree import (
    EVALUATING,
    NO_EDGE,
    NO_NODE,
    Q_MAX,
    Q_MIN,
    SOLVED,
    TERMINAL,
    TreeArrays,
)
from dagsched_env.kernels.jit import borrowing, inlined

IN_FLIGHT = -2
"""In place of an edge: every leaf that could be chosen is being evaluated."""
RANGE_FLOOR = 1e-3
"""Smallest range (in SLR) over which Q is normalised: below it differences are noise."""


class Rules(NamedTuple):
    """Settings of selection and of the trigger; constant, the same for all actors of a tree."""

    budget: int
    min_paths: int
    cap: int
    """Simulations that end the search, whatever is missing."""
    c_puct: float
    c_puct_base: float
    best_weight: float
    prune: bool


@inlined
def puct_edge(t: TreeArrays, node: int, rules: Rules, cut: float) -> int:
    """Open edge of highest ``q̃ + c·P·sqrt(Σ(N + O)) / (1 + N + O)``.

    c grows with ``Σ(N + O)``, see ``SearchConfig.c_puct_base`` (Silver et al. 2018). An unvisited
    edge takes the node's mixed value. A child that is being evaluated is passed over: the
    simulation takes the next best leaf, so that mini-batches are full with any number of actors.

    Args:
        node: an expanded node.
        rules: of the search.

    Returns:
        The edge; ``IN_FLIGHT`` where every open child is being evaluated, ``NO_EDGE`` where all are
        finished.
    """
    first, last = t.first_edge[node], _last(t, node)
    mixed, pending = _mixed_value(t, node, last)
    width = max(t.scalars[Q_MAX] - t.scalars[Q_MIN], RANGE_FLOOR)
    c = rules.c_puct + np.log((1.0 + pending + rules.c_puct_base) / rules.c_puct_base)
    exploration = width * c * np.sqrt(max(pending, 1))  # in units of Q rather than of q̃
    chosen, highest, in_flight = NO_EDGE, -np.inf, False
    for e in range(first, last):
        n_e = t.edge_visits[e]
        q = _value(n_e, t.edge_total[e], t.edge_best[e], mixed, rules.best_weight)
        score = q + exploration * t.edge_prior[e] / (1.0 + n_e + t.edge_in_flight[e])
        if score <= highest:
            continue
        child = t.edge_child[e]  # read last: it may lie anywhere in memory
        if child != NO_NODE and t.status[child] == EVALUATING:
            in_flight = True
        elif is_open(child, t.status, t.pruning_bound, cut):
            chosen, highest = e, score
    return IN_FLIGHT if chosen == NO_EDGE and in_flight else int(chosen)


@borrowing
def most_visited_edge(t: TreeArrays, node: int, cut: float) -> int:
    """Open edge of most visits, ties to the first.

    Args:
        node: an expanded node.

    Returns:
        The edge; ``NO_EDGE`` where all children are finished.
    """
    chosen, most = NO_EDGE, -1
    for e in range(t.first_edge[node], _last(t, node)):
        if t.edge_visits[e] > most and is_open(t.edge_child[e], t.status, t.pruning_bound, cut):
            chosen, most = e, t.edge_visits[e]
    return int(chosen)


@inlined
def is_open(
    child: int, status: npt.NDArray[np.int8], bound: npt.NDArray[np.float64], cut: float
) -> bool:
    """Whether a simulation may go to the child of an edge.

    Args:
        child: a node, or ``NO_NODE`` where it has not been made yet.
        status: of all nodes.
        bound: ``TreeArrays.pruning_bound`` of all nodes.
    """
    return child == NO_NODE or not is_finished(status[child], bound[child], cut)


@inlined
def is_finished(status: int, bound: float, cut: float) -> bool:
    """Whether nothing below a node can change the result.

    Args:
        status: of the node.
        bound: its pruning bound (time).
        cut: from ``cut_off`` (time).
    """
    return status in (TERMINAL, SOLVED) or bound >= cut


@inlined
def _last(t: TreeArrays, node: int) -> int:
    """One past the edges that may be selected next."""
    return t.first_edge[node] + min(t.opened[node] + 1, t.n_edges[node])  # type: ignore[no-any-return]


@inlined
def _mixed_value(t: TreeArrays, node: int, last: int) -> tuple[float, int]:
    """Mean of the node's own evaluation and all completed visits below; and Σ(N + O)."""
    pending, visits, total = 0, 1, t.raw_value[node]
    for e in range(t.first_edge[node], last):
        pending += t.edge_visits[e] + t.edge_in_flight[e]
        visits += t.edge_visits[e]
        total += t.edge_total[e]
    return total / visits, pending


@inlined
def _value(visits: int, total: float, best: float, mixed: float, best_weight: float) -> float:
    if visits == 0:
        return mixed
    return (1.0 - best_weight) * total / visits + best_weight * best

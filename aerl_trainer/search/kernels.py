"""Select, expand and back up on the shared tree. The caller holds the tree's lock throughout.

A simulation is three steps: ``gather`` selects a leaf by PUCT and marks its path as in flight;
the actor evaluates the leaf without the lock; ``commit`` expands it and backs its value up.
Selection is WU-UCT (Liu et al. 2020): simulations in flight count in the exploration term alone.
"""

import numpy as np
import numpy.typing as npt

from aerl_trainer.search.leaves import LeafArrays
from aerl_trainer.search.tree import (
    BROKEN,
    CAP,
    COMPLETE,
    EVALUATING,
    EXHAUSTED,
    EXPANDED,
    N_EDGES,
    N_NODES,
    NEW,
    NO_NODE,
    OUTCOME,
    Q_MAX,
    Q_MIN,
    ROOT,
    RUNNING,
    SIMS_DONE,
    SOLVED,
    TERMINAL,
    TERMINAL_PATHS,
    WRITER,
    TreeArrays,
)
from dagsched_env.kernels.jit import kernel

__all__ = ["commit", "forget", "gather"]

RANGE_FLOOR = 1e-3
"""Smallest range (in SLR) over which Q is normalised: below it differences are noise."""
NO_EDGE = -1


@kernel
def gather(
    t: TreeArrays, actor: int, limit: int, budget: int, c_puct: float, best_weight: float
) -> int:
    """Put up to ``limit`` leaves in flight for ``actor``; returns how many.

    It ends early at a collision with a leaf that is in flight already. The last edge of each path
    is written to the actor's journal, -1 for the root itself. Past the budget, paths follow the
    most visited actions, so that complete trajectories come about.
    """
    if t.counters[WRITER] != 0:  # somebody died while writing: the tree is not to be trusted
        t.counters[OUTCOME] = BROKEN
    if t.counters[OUTCOME] != RUNNING:
        return 0
    t.counters[WRITER] = actor + 1
    completing = t.counters[SIMS_DONE] >= budget
    count = 0
    while count < limit:
        found, edge = _select(t, completing, c_puct, best_weight)
        if not found:
            break
        t.journal_edge[actor, count] = edge
        _add_in_flight(t, edge, 1)
        count += 1
    t.journal_count[actor] = count
    t.counters[WRITER] = 0
    return count


@kernel
def commit(
    t: TreeArrays, actor: int, leaves: LeafArrays, budget: int, min_paths: int, cap: int
) -> None:
    """Expand and back up the evaluated leaves of ``actor``'s journal, then check the trigger.

    The tree is complete when the budget AND the minimum of terminal paths are reached; it also
    ends when nothing is left to explore, or at the safety cap.
    """
    if t.counters[WRITER] != 0:
        t.counters[OUTCOME] = BROKEN
        return
    t.counters[WRITER] = actor + 1
    for b in range(t.journal_count[actor]):
        edge = t.journal_edge[actor, b]
        node = ROOT if edge == NO_EDGE else t.edge_child[edge]
        if node != NO_NODE:
            t.raw_value[node] = leaves.value[b]
            if leaves.terminal[b]:
                t.status[node] = TERMINAL
            else:
                _expand(t, node, leaves, b)
        _add_in_flight(t, edge, -1)
        _back_up(t, edge, leaves.value[b], leaves.best[b])
        t.counters[SIMS_DONE] += 1
        if leaves.terminal[b]:
            t.counters[TERMINAL_PATHS] += 1
            _mark_solved(t, node)
    t.journal_count[actor] = 0
    _check_trigger(t, budget, min_paths, cap)
    t.counters[WRITER] = 0


@kernel
def forget(t: TreeArrays, actor: int) -> None:
    """Undo what a dead actor had in flight; its leaves may be selected again."""
    for b in range(t.journal_count[actor]):
        edge = t.journal_edge[actor, b]
        _add_in_flight(t, edge, -1)
        node = ROOT if edge == NO_EDGE else t.edge_child[edge]
        if node != NO_NODE and t.status[node] == EVALUATING:
            t.status[node] = NEW
    t.journal_count[actor] = 0


@kernel
def _select(t: TreeArrays, completing: bool, c_puct: float, best_weight: float) -> tuple[bool, int]:
    """Walk to a leaf and claim it. Returns whether one was free, and the last edge to it.

    Where the tree is full the last edge stays without a child: the simulation still counts.
    """
    node, edge = ROOT, NO_EDGE
    while t.status[node] == EXPANDED:
        if completing:
            edge = _most_visited_edge(t, node)
        else:
            edge = _puct_edge(t, node, c_puct, best_weight)
        if t.edge_child[edge] == NO_NODE:
            if t.counters[N_NODES] == t.status.shape[0]:
                return True, edge
            _add_node(t, node, edge)
        node = t.edge_child[edge]
    if t.status[node] != NEW:
        return False, edge
    t.status[node] = EVALUATING
    return True, edge


@kernel
def _puct_edge(t: TreeArrays, node: int, c_puct: float, best_weight: float) -> int:
    """Edge of highest ``q̃ + c·P·sqrt(Σ(N + O)) / (1 + N + O)`` whose child is not finished.

    An unvisited edge takes the node's mixed value: the mean of its own evaluation and of all
    completed visits below.
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
    chosen, highest = first, -np.inf
    for e in range(first, last):
        if _is_finished(t.status, t.edge_child[e]):
            continue
        n_e = t.edge_visits[e]
        q = mixed
        if n_e > 0:
            q = (1.0 - best_weight) * t.edge_total[e] / n_e + best_weight * t.edge_best[e]
        score = (q - low) / width + exploration * t.edge_prior[e] / (
            1.0 + n_e + t.edge_in_flight[e]
        )
        if score > highest:
            chosen, highest = e, score
    return int(chosen)


@kernel
def _most_visited_edge(t: TreeArrays, node: int) -> int:
    """Unfinished edge of most visits; ties go to the higher prior, as edges are sorted by it."""
    first, last = t.first_edge[node], t.first_edge[node] + t.n_edges[node]
    chosen, most = first, -1
    for e in range(first, last):
        if t.edge_visits[e] > most and not _is_finished(t.status, t.edge_child[e]):
            chosen, most = e, t.edge_visits[e]
    return int(chosen)


@kernel
def _is_finished(status: npt.NDArray[np.int8], node: int) -> bool:
    # The array alone: a call with the whole struct in the innermost loop costs some 30 times more.
    return node != NO_NODE and (status[node] == TERMINAL or status[node] == SOLVED)


@kernel
def _add_node(t: TreeArrays, parent: int, edge: int) -> None:
    node = t.counters[N_NODES]
    t.counters[N_NODES] += 1
    t.status[node] = NEW
    t.n_edges[node] = 0
    t.parent_edge[node] = edge
    t.depth[node] = t.depth[parent] + 1
    t.edge_child[edge] = node


@kernel
def _expand(t: TreeArrays, node: int, leaves: LeafArrays, b: int) -> None:
    """Give a node its candidate edges; one that finds no room stays a leaf."""
    count = leaves.n_candidates[b]
    first = t.counters[N_EDGES]
    if first + count > t.edge_parent.shape[0]:
        t.status[node] = NEW
        return
    t.counters[N_EDGES] += count
    t.first_edge[node] = first
    t.n_edges[node] = count
    t.status[node] = EXPANDED
    for k in range(count):
        e = first + k
        t.edge_parent[e] = node
        t.edge_action[e] = leaves.candidates[b, k]
        t.edge_child[e] = NO_NODE
        t.edge_visits[e] = 0
        t.edge_in_flight[e] = 0
        t.edge_total[e] = 0.0
        t.edge_best[e] = -np.inf
        t.edge_prior[e] = leaves.priors[b, k]


@kernel
def _add_in_flight(t: TreeArrays, edge: int, amount: int) -> None:
    while edge != NO_EDGE:
        t.edge_in_flight[edge] += amount
        edge = t.parent_edge[t.edge_parent[edge]]


@kernel
def _back_up(t: TreeArrays, edge: int, value: float, best: float) -> None:
    """Count one completed visit on every edge of the path, whatever its value."""
    t.scalars[Q_MIN] = min(t.scalars[Q_MIN], value)
    t.scalars[Q_MAX] = max(t.scalars[Q_MAX], value, best)
    while edge != NO_EDGE:
        t.edge_visits[edge] += 1
        t.edge_total[edge] += value
        t.edge_best[edge] = max(t.edge_best[edge], best)
        edge = t.parent_edge[t.edge_parent[edge]]


@kernel
def _mark_solved(t: TreeArrays, node: int) -> None:
    """Close every ancestor all of whose edges are finished."""
    edge = NO_EDGE if node == NO_NODE else t.parent_edge[node]
    while edge != NO_EDGE:
        parent = t.edge_parent[edge]
        for e in range(t.first_edge[parent], t.first_edge[parent] + t.n_edges[parent]):
            if not _is_finished(t.status, t.edge_child[e]):
                return
        t.status[parent] = SOLVED
        edge = t.parent_edge[parent]


@kernel
def _check_trigger(t: TreeArrays, budget: int, min_paths: int, cap: int) -> None:
    if t.counters[OUTCOME] != RUNNING:
        return
    if t.counters[SIMS_DONE] >= budget and t.counters[TERMINAL_PATHS] >= min_paths:
        t.counters[OUTCOME] = COMPLETE
    elif t.status[ROOT] == SOLVED or t.status[ROOT] == TERMINAL:
        t.counters[OUTCOME] = EXHAUSTED
    elif t.counters[SIMS_DONE] >= cap:
        t.counters[OUTCOME] = CAP

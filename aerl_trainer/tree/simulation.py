"""Select, expand and back up on the shared tree, for callers inside ``SharedTree.writing``.

A simulation is three steps: ``gather`` selects a leaf and marks its path as in flight; the actor
evaluates the leaf without the lock; ``expand_and_back_up`` expands it and backs its value up.
Selection is WU-UCT (Liu et al. 2020): simulations in flight count in the exploration term alone.
Visits of terminal states, which need no network, are not held back while network leaves wait: each
terminal state is visited once, in the same mini-batch as other leaves, and is finished after that.

With ``Rules.prune`` it is a branch and bound too: a node whose bound reaches the best makespan
known is finished. As the best makespan falls, more nodes are. That nothing is left below a node is
found when selection reaches it; the node is closed then.
"""

import numpy as np

from aerl_trainer.tree.leaves import LeafBatch
from aerl_trainer.tree.selection import (
    IN_FLIGHT,
    Rules,
    is_finished,
    is_open,
    most_visited_edge,
    puct_edge,
)
from aerl_trainer.tree.tree import (
    BATCHES,
    BEST_MAKESPAN,
    CAP,
    COMPLETE,
    EVALUATING,
    EXHAUSTED,
    EXPANDED,
    N_EDGES,
    N_NODES,
    NEW,
    NO_EDGE,
    NO_NODE,
    OUTCOME,
    Q_MAX,
    Q_MIN,
    ROOT,
    RUNNING,
    SEARCH_ROOT,
    SIMS_DONE,
    SOLVED,
    TERMINAL,
    TERMINAL_PATHS,
    TreeArrays,
    cut_off,
)
from dagsched_env.kernels.jit import borrowing, inlined


@borrowing
def gather(t: TreeArrays, actor: int, limit: int, rules: Rules) -> int:
    """Put leaves in flight for an actor.

    It ends early at a collision, where every leaf to be chosen is in flight already. The last edge
    of each path is written to the actor's journal, -1 for the root itself. Past the budget, paths
    follow the most visited actions, so that they become complete trajectories.

    Args:
        actor: who gathers; its journal is empty.
        limit: most leaves to put in flight.
        rules: of the search.

    Returns:
        How many leaves are in flight for the actor now; 0 where the search is over.
    """
    if t.counters[OUTCOME] != RUNNING:
        return 0
    cut = cut_off(t.scalars[BEST_MAKESPAN], rules.prune)
    count = 0
    start = _leave_finished_prefix(t, cut)
    while count < limit and not is_finished(t.status[start], t.pruning_bound[start], cut):
        found, edge = _select(t, rules, cut)
        if not found:
            break
        t.journal_edge[actor, count] = edge
        add_in_flight(t, edge, 1)
        count += 1
    t.journal_count[actor] = count
    _check_trigger(t, rules)
    return count


@borrowing
def expand_and_back_up(t: TreeArrays, actor: int, leaves: LeafBatch, rules: Rules) -> None:
    """Expand and back up the evaluated leaves of an actor's journal, then check the trigger.

    The tree is complete when the budget AND the minimum of terminal paths are reached; it also
    ends when nothing is left to explore, or at the safety cap.

    Args:
        actor: whose journal.
        leaves: row b is the evaluated leaf of entry b of the journal.
        rules: of the search.
    """
    cut = cut_off(t.scalars[BEST_MAKESPAN], rules.prune)
    for b in range(t.journal_count[actor]):
        edge = t.journal_edge[actor, b]
        node = ROOT if edge == NO_EDGE else t.edge_child[edge]
        if node != NO_NODE:
            t.raw_value[node] = leaves.value[b]
            t.pruning_bound[node] = leaves.pruning_bound[b]
            if leaves.states.terminal[b]:
                t.status[node] = TERMINAL
            else:
                _expand(t, node, leaves, b)
        add_in_flight(t, edge, -1)
        back_up(t, edge, leaves.value[b], leaves.best_return[b])
        t.counters[SIMS_DONE] += 1
        t.actor_simulations[actor] += 1
        if node != NO_NODE and leaves.states.terminal[b]:
            t.counters[TERMINAL_PATHS] += 1
        if node != NO_NODE and is_finished(t.status[node], t.pruning_bound[node], cut):
            _close_ancestors(t, node, cut)
    close_batch(t, actor)
    _check_trigger(t, rules)


@borrowing
def forget(t: TreeArrays, actor: int) -> None:
    """Undo what a dead actor had in flight; its leaves may be selected again."""
    for b in range(t.journal_count[actor]):
        edge = t.journal_edge[actor, b]
        add_in_flight(t, edge, -1)
        node = ROOT if edge == NO_EDGE else t.edge_child[edge]
        if node != NO_NODE and t.status[node] == EVALUATING:
            t.status[node] = NEW
    t.journal_count[actor] = 0


@inlined
def _leave_finished_prefix(t: TreeArrays, cut: float) -> int:
    """Move the search root up until something is left to find below it; returns it."""
    start = t.counters[SEARCH_ROOT]
    while start != ROOT and is_finished(t.status[start], t.pruning_bound[start], cut):
        start = t.edge_parent[t.parent_edge[start]]
    t.counters[SEARCH_ROOT] = start
    return start  # type: ignore[no-any-return]


@inlined
def _select(t: TreeArrays, rules: Rules, cut: float) -> tuple[bool, int]:
    """Walk to a leaf and claim it. Returns whether one was free, and the last edge to it.

    Where the tree is full the last edge stays without a child: the simulation still counts.
    """
    completing = t.counters[SIMS_DONE] >= rules.budget
    start = t.counters[SEARCH_ROOT]
    node, edge = start, t.parent_edge[start]
    while t.status[node] == EXPANDED:
        edge = most_visited_edge(t, node, cut) if completing else puct_edge(t, node, rules, cut)
        if edge == IN_FLIGHT:
            return False, edge
        if edge == NO_EDGE:  # cut off since it was expanded: start again without it
            _close(t, node)
            _close_ancestors(t, node, cut)
            node, edge = start, t.parent_edge[start]
            continue
        t.opened[node] = max(t.opened[node], edge - t.first_edge[node] + 1)
        if t.edge_child[edge] == NO_NODE:
            if t.counters[N_NODES] == t.status.shape[0]:
                return True, edge
            add_node(t, node, edge)
        node = t.edge_child[edge]
    if t.status[node] != NEW:
        return False, edge
    t.status[node] = EVALUATING
    return True, edge


@inlined
def add_node(t: TreeArrays, parent: int, edge: int) -> None:
    """Give an edge its child, not evaluated yet.

    Args:
        t: the tree, which has room for another node.
        parent: the node that the edge belongs to.
        edge: an edge without a child.
    """
    node = t.counters[N_NODES]
    t.counters[N_NODES] += 1
    t.status[node] = NEW
    t.pruning_bound[node] = -np.inf
    t.n_edges[node] = t.opened[node] = 0
    t.parent_edge[node] = edge
    t.depth[node] = t.depth[parent] + 1
    t.edge_child[edge] = node


@inlined
def _expand(t: TreeArrays, node: int, leaves: LeafBatch, b: int) -> None:
    """Give a node its candidate edges; one that finds no room stays a leaf."""
    states = leaves.states
    count = states.n_candidates[b]
    first = t.counters[N_EDGES]
    if first + count > t.edge_parent.shape[0]:
        t.status[node] = NEW
        return
    t.counters[N_EDGES] += count
    t.first_edge[node] = first
    t.n_edges[node] = count
    t.status[node] = EXPANDED
    t.dropped[node] = states.dropped[b]
    for k in range(count):
        e = first + k
        t.edge_parent[e] = node
        t.edge_action[e] = states.candidates[b, k]
        t.edge_child[e] = NO_NODE
        t.edge_visits[e] = 0
        t.edge_in_flight[e] = 0
        t.edge_total[e] = 0.0
        t.edge_best[e] = -np.inf
        t.edge_prior[e] = states.policy[b, k]


@inlined
def add_in_flight(t: TreeArrays, edge: int, amount: int) -> None:
    """Change O of every edge from the root to this one."""
    while edge != NO_EDGE:
        t.edge_in_flight[edge] += amount
        edge = t.parent_edge[t.edge_parent[edge]]


@inlined
def close_batch(t: TreeArrays, actor: int) -> None:
    """All leaves of an actor's journal are backed up."""
    latest = t.counters[BATCHES] % t.batches.shape[0]
    t.batches[latest, 0], t.batches[latest, 1] = actor, t.journal_count[actor]
    t.counters[BATCHES] += 1
    t.journal_count[actor] = 0


@inlined
def back_up(t: TreeArrays, edge: int, value: float, best: float) -> None:
    """Count one completed visit on every edge from the root to this one, whatever its value."""
    t.scalars[Q_MIN] = min(t.scalars[Q_MIN], value)
    t.scalars[Q_MAX] = max(t.scalars[Q_MAX], value, best)
    while edge != NO_EDGE:
        t.edge_visits[edge] += 1
        t.edge_total[edge] += value
        t.edge_best[edge] = max(t.edge_best[edge], best)
        edge = t.parent_edge[t.edge_parent[edge]]


@borrowing
def _close_ancestors(t: TreeArrays, node: int, cut: float) -> None:
    """Close every ancestor all of whose edges are finished."""
    edge = t.parent_edge[node]
    while edge != NO_EDGE:
        parent = t.edge_parent[edge]
        if t.opened[parent] < t.n_edges[parent]:
            return
        for e in range(t.first_edge[parent], t.first_edge[parent] + t.n_edges[parent]):
            if is_open(t.edge_child[e], t.status, t.pruning_bound, cut):
                return
        _close(t, parent)
        edge = t.parent_edge[parent]


@borrowing
def _close(t: TreeArrays, node: int) -> None:
    """Mark a node solved; unless actions are missing, its children bound it together."""
    t.status[node] = SOLVED
    if t.dropped[node]:
        return
    least = np.inf
    for e in range(t.first_edge[node], t.first_edge[node] + t.n_edges[node]):
        least = min(least, t.pruning_bound[t.edge_child[e]])
    t.pruning_bound[node] = max(t.pruning_bound[node], least)


@inlined
def _check_trigger(t: TreeArrays, rules: Rules) -> None:
    if t.counters[OUTCOME] != RUNNING:
        return
    cut = cut_off(t.scalars[BEST_MAKESPAN], rules.prune)
    if t.counters[SIMS_DONE] >= rules.budget and t.counters[TERMINAL_PATHS] >= rules.min_paths:
        t.counters[OUTCOME] = COMPLETE
    elif is_finished(t.status[ROOT], t.pruning_bound[ROOT], cut):
        t.counters[OUTCOME] = EXHAUSTED
    elif t.counters[SIMS_DONE] >= rules.cap:
        t.counters[OUTCOME] = CAP

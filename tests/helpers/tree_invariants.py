"""What must hold of every search tree whose lock nobody holds, whoever has grown it."""

from collections import Counter

import numpy as np
import pytest

from aerl_trainer.tree.tree import (
    BEST_MAKESPAN,
    EVALUATING,
    EXPANDED,
    N_EDGES,
    N_NODES,
    NEW,
    NO_NODE,
    ROOT,
    SIMS_DONE,
    SOLVED,
    TERMINAL,
    TERMINAL_PATHS,
    WRITER,
    TreeArrays,
)

FINISHED = (TERMINAL, SOLVED)
INNER = (EXPANDED, SOLVED)


def edges_of(t: TreeArrays, node: int) -> range:
    """Indices of a node's edges; none where it has not been expanded."""
    if t.status[node] not in INNER:
        return range(0)
    return range(t.first_edge[node], t.first_edge[node] + t.n_edges[node])


def path_to(t: TreeArrays, node: int) -> list[int]:
    """Edges from the root to a node."""
    path = []
    while (edge := int(t.parent_edge[node])) >= 0:
        path.append(edge)
        node = int(t.edge_parent[edge])
    return path[::-1]


def check_tree(
    t: TreeArrays, *, finished: bool = True, width: int = 1, prune: bool = False
) -> None:
    """Check structure, visit counts, values and bounds of a tree.

    Args:
        t: the tree.
        finished: nothing may be in flight; otherwise exactly what the journals say is.
        width: most edges that a node may want; matters where the tree has run out of edges.
        prune: nodes may have been cut off by their bounds.
    """
    assert t.counters[WRITER] == 0
    if finished:
        assert not t.journal_count.any()
    _check_structure(t)
    _check_closed(t, prune)
    _check_in_flight(t)
    _check_visits(t, width)
    _check_values(t)


def _check_structure(t: TreeArrays) -> None:
    n_nodes, n_edges = int(t.counters[N_NODES]), int(t.counters[N_EDGES])
    assert 1 <= n_nodes <= t.status.shape[0]
    assert n_edges <= t.edge_parent.shape[0]
    assert t.parent_edge[ROOT] == -1
    assert t.depth[ROOT] == 0
    owned = [edge for node in range(n_nodes) for edge in edges_of(t, node)]
    assert sorted(owned) == list(range(n_edges)), "every edge belongs to exactly one node"
    for node in range(n_nodes):
        edges = edges_of(t, node)
        if node != ROOT:
            parent = t.edge_parent[t.parent_edge[node]]
            assert t.edge_child[t.parent_edge[node]] == node
            assert t.depth[node] == t.depth[parent] + 1
        if t.status[node] not in INNER:
            continue
        assert len(edges) >= 1
        assert all(t.edge_parent[e] == node for e in edges)
        assert len({int(t.edge_action[e]) for e in edges}) == len(edges)
        priors = t.edge_prior[edges.start : edges.stop]
        assert (priors >= 0).all()
        assert priors.sum() == pytest.approx(1.0, abs=1e-5)
        assert (np.diff(priors) <= 0).all(), "edges stand by decreasing prior"
        unopened = slice(edges.start + int(t.opened[node]), edges.stop)
        assert (t.edge_child[unopened] == NO_NODE).all()
        assert not t.edge_visits[unopened].any()
        assert not t.edge_in_flight[unopened].any()


def _check_closed(t: TreeArrays, prune: bool) -> None:
    """A node is SOLVED if all its children are finished; with pruning, once that is noticed.

    What a solved node without missing actions proves is what its children prove together.
    """
    cut = t.scalars[BEST_MAKESPAN] * (1 - 1e-9) if prune else np.inf
    for node in range(int(t.counters[N_NODES])):
        if t.status[node] not in INNER:
            continue
        children = [int(t.edge_child[e]) for e in edges_of(t, node)]
        done = [
            c != NO_NODE and (t.status[c] in FINISHED or t.pruning_bound[c] >= cut)
            for c in children
        ]
        if t.status[node] == SOLVED:
            assert all(done)
            if not t.dropped[node]:
                assert t.pruning_bound[node] >= min(t.pruning_bound[c] for c in children)
        elif not prune:
            assert not all(done)


def _check_in_flight(t: TreeArrays) -> None:
    """O of every edge is the number of journalled paths through it; their ends are EVALUATING."""
    through: Counter[int] = Counter()
    held = []
    for actor in range(t.journal_edge.shape[0]):
        for edge in t.journal_edge[actor, : t.journal_count[actor]].tolist():
            node = ROOT if edge < 0 else int(t.edge_child[edge])
            held.append(node)
            while edge >= 0:
                through[edge] += 1
                edge = int(t.parent_edge[t.edge_parent[edge]])
    for edge in range(int(t.counters[N_EDGES])):
        assert t.edge_in_flight[edge] == through[edge]
    evaluating = np.flatnonzero(t.status[: t.counters[N_NODES]] == EVALUATING).tolist()
    assert sorted(node for node in held if node != NO_NODE) == evaluating


def _check_visits(t: TreeArrays, width: int) -> None:
    """N of an edge is one evaluation of its child plus the visits of the child's edges.

    An edge without a child has visits only where the tree is full. A NEW node has none, unless the
    tree had no room for its edges: then it is evaluated again at each visit.
    """
    nodes_full = t.counters[N_NODES] == t.status.shape[0]
    edges_short = t.counters[N_EDGES] + width > t.edge_parent.shape[0]
    for node in range(int(t.counters[N_NODES])):
        below = sum(int(t.edge_visits[e]) for e in edges_of(t, node))
        parent = int(t.parent_edge[node])
        visits = int(t.counters[SIMS_DONE] if parent < 0 else t.edge_visits[parent])
        if t.status[node] in INNER:
            assert visits == 1 + below, f"node {node}"
        elif t.status[node] == TERMINAL:
            assert visits == 1, f"terminal node {node}"
        elif not edges_short:
            assert visits == 0, f"unevaluated node {node}"
    for edge in range(int(t.counters[N_EDGES])):
        if t.edge_child[edge] == NO_NODE and not nodes_full:
            assert t.edge_visits[edge] == 0
    terminals = int((t.status[: t.counters[N_NODES]] == TERMINAL).sum())
    assert t.counters[TERMINAL_PATHS] == terminals


def _check_values(t: TreeArrays) -> None:
    """W of an edge is its child's evaluation plus W of the child's edges; `best` is their maximum.

    Where a child has been evaluated several times, or not at all, nothing is known of its W.
    """
    for node in range(1, int(t.counters[N_NODES])):
        edge, edges = int(t.parent_edge[node]), edges_of(t, node)
        if t.status[node] in (NEW, EVALUATING):
            continue
        if any(t.edge_child[e] == NO_NODE and t.edge_visits[e] for e in edges):
            continue
        total = t.raw_value[node] + sum(t.edge_total[e] for e in edges)
        assert t.edge_total[edge] == pytest.approx(total, rel=1e-9, abs=1e-9)
        assert t.edge_best[edge] >= max((t.edge_best[e] for e in edges), default=-np.inf)

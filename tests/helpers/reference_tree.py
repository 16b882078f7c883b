"""The search tree of AERL-DS in plain Python objects, written from its description.

It shares no code with ``aerl_trainer.tree``; ``assert_same_tree`` compares the two.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest

from aerl_trainer.tree.tree import (
    EVALUATING,
    EXPANDED,
    N_NODES,
    NEW,
    NO_NODE,
    OUTCOME,
    OUTCOMES,
    ROOT,
    SIMS_DONE,
    SOLVED,
    TERMINAL,
    TERMINAL_PATHS,
    TreeArrays,
)
from helpers.tree_invariants import edges_of

STATUS = {
    "new": NEW,
    "evaluating": EVALUATING,
    "expanded": EXPANDED,
    "terminal": TERMINAL,
    "solved": SOLVED,
}

RANGE_FLOOR = 1e-3


@dataclass(frozen=True)
class Evaluation:
    """What is known of a state once it has been evaluated."""

    actions: list[int]
    """Candidates; none in a terminal state."""
    priors: list[float]
    value: float
    best: float
    terminal: bool
    bound: float = 0.0
    """No completion is shorter."""
    dropped: bool = False
    """There are legal actions besides the candidates."""


@dataclass(eq=False)
class Node:
    parent: "Edge | None" = None
    status: str = "new"
    edges: list["Edge"] = field(default_factory=list)
    raw_value: float = 0.0
    bound: float = -math.inf
    dropped: bool = False


@dataclass(eq=False)
class Edge:
    parent: Node
    action: int
    prior: float
    child: Node | None = None
    visits: int = 0
    in_flight: int = 0
    total: float = 0.0
    best: float = -math.inf


@dataclass
class ReferenceTree:
    """PUCT with simulations in flight (WU-UCT) and branch and bound, for any number of actors."""

    c_puct: float
    best_weight: float
    budget: int
    min_paths: int
    cap: int
    c_puct_base: float = 8.0
    prune: bool = False
    max_nodes: int = 10**9
    max_edges: int = 10**9

    def __post_init__(self) -> None:
        self.root = self.top = Node()
        self.best_makespan = math.inf
        self.n_nodes, self.n_edges = 1, 0
        self.simulations = self.terminal_paths = 0
        self.low, self.high = math.inf, -math.inf
        self.outcome = "running"
        self.journal: dict[int, list[list[Edge]]] = {}

    # -- what an actor does ----------------------------------------------------------------------

    def gather(self, actor: int, limit: int) -> list[list[int]]:
        """Put up to ``limit`` paths in flight; returns the actions of each."""
        paths: list[list[Edge]] = []
        while self.outcome == "running" and self.top.parent and self._finished(self.top):
            self.top = self.top.parent.parent
        while self.outcome == "running" and len(paths) < limit and not self._finished(self.top):
            path, free = self._select()
            if not free:
                break
            for edge in path:
                edge.in_flight += 1
            paths.append(path)
        self.journal[actor] = paths
        self._end()
        return [[edge.action for edge in path] for path in paths]

    def expand_and_back_up(self, actor: int, evaluations: list[Evaluation]) -> None:
        for path, evaluation in zip(self.journal[actor], evaluations, strict=True):
            self._expand(path, evaluation)
            for edge in path:
                edge.in_flight -= 1
                edge.visits += 1
                edge.total += evaluation.value
                edge.best = max(edge.best, evaluation.best)
            self.low = min(self.low, evaluation.value)
            self.high = max(self.high, evaluation.value, evaluation.best)
            self.simulations += 1
            leaf = path[-1].child if path else self.root
            self.terminal_paths += evaluation.terminal and leaf is not None
            if leaf is not None and self._finished(leaf):
                self._close_ancestors(leaf)
        self.journal[actor] = []
        self._end()

    def forget(self, actor: int) -> None:
        for path in self.journal[actor]:
            for edge in path:
                edge.in_flight -= 1
            leaf = path[-1].child if path else self.root
            if leaf is not None:
                leaf.status = "new"
        self.journal[actor] = []

    # -- selection -------------------------------------------------------------------------------

    def _select(self) -> tuple[list[Edge], bool]:
        node, path = self.top, _path_to(self.top)
        while node.status == "expanded":
            open_edges = [edge for edge in node.edges if not self._finished(edge.child)]
            if not open_edges:
                self._close(node)
                self._close_ancestors(node)
                node, path = self.top, _path_to(self.top)
                continue
            if self.simulations >= self.budget:
                edge = max(open_edges, key=lambda e: e.visits)
            else:
                scores = self._scores(node)
                open_edges = [e for e in open_edges if not _under_evaluation(e)]
                if not open_edges:
                    return path, False
                edge = max(open_edges, key=lambda e: scores[e])
            path.append(edge)
            if edge.child is None:
                if self.n_nodes == self.max_nodes:
                    return path, True
                edge.child = Node(parent=edge)
                self.n_nodes += 1
            node = edge.child
        free = node.status == "new"
        if free:
            node.status = "evaluating"
        return path, free

    def _scores(self, node: Node) -> dict[Edge, float]:
        """PUCT."""
        pending = sum(edge.visits + edge.in_flight for edge in node.edges)
        c = self.c_puct + math.log((1 + pending + self.c_puct_base) / self.c_puct_base)
        explore = c * math.sqrt(max(pending, 1))
        return {
            edge: self._q(node, edge) + explore * edge.prior / (1 + edge.visits + edge.in_flight)
            for edge in node.edges
        }

    def _q(self, node: Node, edge: Edge) -> float:
        """On the min-max scale."""
        visits = sum(edge.visits for edge in node.edges)
        q = (node.raw_value + sum(edge.total for edge in node.edges)) / (1 + visits)
        if edge.visits:
            mean = edge.total / edge.visits
            q = (1 - self.best_weight) * mean + self.best_weight * edge.best
        return (q - self.low) / max(self.high - self.low, RANGE_FLOOR)

    # -- expansion and the end -------------------------------------------------------------------

    def _expand(self, path: list[Edge], evaluation: Evaluation) -> None:
        node = path[-1].child if path else self.root
        if node is None:  # the tree is full
            return
        node.raw_value, node.bound = evaluation.value, evaluation.bound
        if evaluation.terminal:
            node.status = "terminal"
        elif self.n_edges + len(evaluation.actions) > self.max_edges:
            node.status = "new"
        else:
            node.status, node.dropped = "expanded", evaluation.dropped
            self.n_edges += len(evaluation.actions)
            node.edges = [
                Edge(node, action, prior)
                for action, prior in zip(evaluation.actions, evaluation.priors, strict=True)
            ]

    def _finished(self, node: Node | None) -> bool:
        """Nothing below the node can change the result."""
        if node is None:
            return False
        cut_off = self.prune and node.bound >= self.best_makespan * (1.0 - 1e-9)
        return node.status in ("terminal", "solved") or cut_off

    def _close_ancestors(self, node: Node) -> None:
        for edge in reversed(_path_to(node)):
            if not all(self._finished(sibling.child) for sibling in edge.parent.edges):
                return
            self._close(edge.parent)

    def _close(self, node: Node) -> None:
        node.status = "solved"
        if not node.dropped:
            node.bound = max(node.bound, min(edge.child.bound for edge in node.edges if edge.child))

    def _end(self) -> None:
        if self.outcome != "running":
            return
        if self.simulations >= self.budget and self.terminal_paths >= self.min_paths:
            self.outcome = "complete"
        elif self._finished(self.root):
            self.outcome = "exhausted"
        elif self.simulations >= self.cap:
            self.outcome = "cap"


def _under_evaluation(edge: Edge) -> bool:
    return edge.child is not None and edge.child.status == "evaluating"


def _path_to(node: Node) -> list[Edge]:
    path = []
    while node.parent is not None:
        path.append(node.parent)
        node = node.parent.parent
    return path[::-1]


def assert_same_tree(t: TreeArrays, model: ReferenceTree, *, rel: float = 0.0) -> None:
    """Node by node and edge by edge; real numbers within ``rel`` (0 = exactly)."""

    def near(value: float) -> object:
        return pytest.approx(value, rel=rel, abs=rel)

    assert t.counters[N_NODES] == model.n_nodes
    assert t.counters[SIMS_DONE] == model.simulations
    assert t.counters[TERMINAL_PATHS] == model.terminal_paths
    assert OUTCOMES[t.counters[OUTCOME]] == model.outcome
    for node, twin in _nodes(t, ROOT, model.root):
        assert t.status[node] == STATUS[twin.status]
        if twin.status not in ("new", "evaluating"):
            assert t.raw_value[node] == near(twin.raw_value)
            assert t.pruning_bound[node] == near(twin.bound)
        edges = edges_of(t, node)
        assert [t.edge_action[e] for e in edges] == [edge.action for edge in twin.edges]
        for e, edge in zip(edges, twin.edges, strict=True):
            assert t.edge_prior[e] == near(np.float32(edge.prior))
            assert t.edge_visits[e] == edge.visits
            assert t.edge_in_flight[e] == edge.in_flight
            assert t.edge_total[e] == near(edge.total)
            assert t.edge_best[e] == near(edge.best)
            assert (t.edge_child[e] == NO_NODE) == (edge.child is None)


def _nodes(t: TreeArrays, node: int, twin: Node) -> Iterator[tuple[int, Node]]:
    yield node, twin
    for e, edge in zip(edges_of(t, node), twin.edges, strict=True):
        if edge.child is not None:
            yield from _nodes(t, int(t.edge_child[e]), edge.child)

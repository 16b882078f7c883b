"""The search tree of AERL-DS in plain Python objects, written from its description.

It shares no code with ``aerl_trainer.search``; ``assert_same_tree`` compares the two.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest
from tree_invariants import edges_of

from aerl_trainer.search.tree import (
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


@dataclass(eq=False)
class Node:
    parent: "Edge | None" = None
    status: str = "new"
    edges: list["Edge"] = field(default_factory=list)
    raw_value: float = 0.0

    @property
    def finished(self) -> bool:
        return self.status in ("terminal", "solved")


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

    @property
    def finished(self) -> bool:
        return self.child is not None and self.child.finished


@dataclass
class ReferenceTree:
    """PUCT with simulations in flight (WU-UCT), for any number of actors."""

    c_puct: float
    best_weight: float
    budget: int
    min_paths: int
    cap: int
    max_nodes: int = 10**9
    max_edges: int = 10**9

    def __post_init__(self) -> None:
        self.root = Node()
        self.n_nodes, self.n_edges = 1, 0
        self.simulations = self.terminal_paths = 0
        self.low, self.high = math.inf, -math.inf
        self.outcome = "running"
        self.journal: dict[int, list[list[Edge]]] = {}

    # -- what an actor does ----------------------------------------------------------------------

    def gather(self, actor: int, limit: int) -> list[list[int]]:
        """Put up to ``limit`` paths in flight; returns the actions of each."""
        paths: list[list[Edge]] = []
        while self.outcome == "running" and len(paths) < limit:
            path, free = self._select()
            if not free:
                break
            for edge in path:
                edge.in_flight += 1
            paths.append(path)
        self.journal[actor] = paths
        return [[edge.action for edge in path] for path in paths]

    def commit(self, actor: int, evaluations: list[Evaluation]) -> None:
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
            self.terminal_paths += evaluation.terminal
            self._solve_upwards(path)
        self.journal[actor] = []
        if self.outcome == "running":
            self.outcome = self._outcome()

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
        node, path = self.root, []
        while node.status == "expanded":
            open_edges = [edge for edge in node.edges if not edge.finished]
            if self.simulations >= self.budget:
                edge = max(open_edges, key=lambda e: e.visits)
            else:
                scores = self._scores(node)
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
        pending = sum(edge.visits + edge.in_flight for edge in node.edges)
        visits = sum(edge.visits for edge in node.edges)
        mixed = (node.raw_value + sum(edge.total for edge in node.edges)) / (1 + visits)
        width = max(self.high - self.low, RANGE_FLOOR)
        scores = {}
        for edge in node.edges:
            q = mixed
            if edge.visits:
                mean = edge.total / edge.visits
                q = (1 - self.best_weight) * mean + self.best_weight * edge.best
            explore = self.c_puct * math.sqrt(max(pending, 1)) * edge.prior
            scores[edge] = (q - self.low) / width + explore / (1 + edge.visits + edge.in_flight)
        return scores

    # -- expansion and the end -------------------------------------------------------------------

    def _expand(self, path: list[Edge], evaluation: Evaluation) -> None:
        node = path[-1].child if path else self.root
        if node is None:  # the tree is full
            return
        node.raw_value = evaluation.value
        if evaluation.terminal:
            node.status = "terminal"
        elif self.n_edges + len(evaluation.actions) > self.max_edges:
            node.status = "new"
        else:
            node.status = "expanded"
            self.n_edges += len(evaluation.actions)
            node.edges = [
                Edge(node, action, prior)
                for action, prior in zip(evaluation.actions, evaluation.priors, strict=True)
            ]

    def _solve_upwards(self, path: list[Edge]) -> None:
        for edge in reversed(path):
            if not all(sibling.finished for sibling in edge.parent.edges):
                return
            edge.parent.status = "solved"

    def _outcome(self) -> str:
        if self.simulations >= self.budget and self.terminal_paths >= self.min_paths:
            return "complete"
        if self.root.finished:
            return "exhausted"
        return "cap" if self.simulations >= self.cap else "running"


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

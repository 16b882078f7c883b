"""The search of ``aerl_trainer`` in plain Python, on any mapping; no benchmark itself.

Selection (WU-UCT, min-max Q), hand-made prior, rollouts, expansion, backup and solved
subtrees are those of ``aerl_trainer.tree`` without a network, one leaf at a time. Entries are
taken out of the mapping, changed and put back, as a ``multiprocessing.Manager().dict()`` wants it.
"""

import time
from collections.abc import MutableMapping
from contextlib import AbstractContextManager
from math import exp, inf, log, sqrt
from multiprocessing.synchronize import Barrier
from typing import Any

import numpy as np
from plain_schedule import Partial, Problem

from aerl_trainer.config import SearchConfig
from aerl_trainer.config.seeding import generator
from dagsched_env import Instance, Schedule

__all__ = ["PATIENCE_S", "EdgeTree", "NodeTree", "Store", "act", "clear", "incumbent", "search"]

PATIENCE_S = 600.0
COLLISION_WAIT_S = 0.0005
NOISE_LENGTH = 1 << 14
SHARPNESS = 10.0  # of the prior
RANGE_FLOOR = 1e-3  # of Q, in SLR
TOTALS, INCUMBENT = "totals", "incumbent"

Path = tuple[int, ...]
"""The actions ``task * p + processor`` that lead to a node."""
Edge = dict[str, Any]
"""Action, P, N, O, W, best, and whether nothing is left to explore below."""
Node = tuple[float, list[Edge]]
"""Its own evaluation, and its edges by decreasing prior."""
Store = MutableMapping[Any, Any]
"""What holds the tree, and under ``TOTALS`` and ``INCUMBENT`` counters and the best schedule."""


class EdgeTree:
    """The textbook's: an entry per state with its actions, and one per (state, action)."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def node(self, path: Path) -> Node | None:
        """All of an expanded node."""
        if (entry := self.store.get(path)) is None:
            return None
        value, actions = entry
        return value, [self.store[path, action] for action in actions]

    def add(self, path: Path, node: Node) -> None:
        self.store[path] = node[0], [edge["action"] for edge in node[1]]
        for edge in node[1]:
            self.store[path, edge["action"]] = edge

    def edge(self, path: Path, action: int) -> tuple[Any, Edge]:
        """An edge to change, and what ``save`` wants with it."""
        return None, self.store[path, action]

    def save(self, path: Path, _: Any, edge: Edge) -> None:
        self.store[path, edge["action"]] = edge


class NodeTree(EdgeTree):
    """Tuned: a node with all its edges is one entry, so that a step down is one access."""

    def node(self, path: Path) -> Node | None:
        return self.store.get(path)

    def add(self, path: Path, node: Node) -> None:
        self.store[path] = node

    def edge(self, path: Path, action: int) -> tuple[Any, Edge]:
        node = self.store[path]
        return node, next(edge for edge in node[1] if edge["action"] == action)

    def save(self, path: Path, node: Any, _: Edge) -> None:
        self.store[path] = node


def candidates(leaf: Partial, settings: SearchConfig) -> list[Edge]:
    """Edges that have not been visited, by decreasing prior."""
    problem, p = leaf.problem, leaf.problem.p
    totals = {t * p + q: leaf.total(t, q) for t in leaf.ready for q in problem.eligible[t]}
    first, top = min(totals.values()), max(problem.rank_u[t] for t in leaf.ready)
    delay = {a: total - first + top - problem.rank_u[a // p] for a, total in totals.items()}
    order = sorted(delay, key=lambda a: (delay[a], a))
    sharpness, least = SHARPNESS / problem.rank_scale, delay[order[0]]
    weights = [exp(sharpness * (least - delay[a])) for a in order]
    floor = settings.min_prior * sum(weights)
    kept = [w for w in weights[: settings.max_children] if w >= floor] or weights[:1]
    new = {"visits": 0, "in_flight": 0, "total": 0.0, "best": -inf, "finished": False}
    return [{"action": a, "prior": w / sum(kept), **new} for a, w in zip(order, kept, strict=False)]


def choose(node: Node, totals: dict[str, float], settings: SearchConfig) -> Edge | None:
    """Edge by PUCT; simulations in flight count in its second term alone.

    Leaves at which another actor is are passed over; None where there is nothing else.
    """
    value, edges = node
    visits = sum(edge["visits"] for edge in edges)
    mixed = (value + sum(edge["total"] for edge in edges)) / (1 + visits)
    width = max(totals["high"] - totals["low"], RANGE_FLOOR)
    pending = visits + sum(edge["in_flight"] for edge in edges)
    c = settings.c_puct + log((1 + pending + settings.c_puct_base) / settings.c_puct_base)
    exploration, w = c * sqrt(max(pending, 1)), settings.best_weight

    def score(edge: Edge) -> float:
        n = edge["visits"]
        q = (1 - w) * edge["total"] / n + w * edge["best"] if n else mixed
        return (q - totals["low"]) / width + exploration * edge["prior"] / (
            1 + n + edge["in_flight"]
        )

    free = (e for e in edges if not e["finished"] and (e["visits"] or not e["in_flight"]))
    return max(free, key=score, default=None)


def select(
    tree: EdgeTree, totals: dict[str, float], settings: SearchConfig, actor: int
) -> Path | None:
    """Put a path to a leaf in flight; None where others are at every leaf that could be chosen.

    The root, which no edge leads to, is left to actor 0.
    """
    path: Path = ()
    walked: list[tuple[Path, Node, Edge]] = []
    while (node := tree.node(path)) is not None:
        edge = choose(node, totals, settings)
        if edge is None:
            return None
        walked.append((path, node, edge))
        path = (*path, edge["action"])
    if not path and actor > 0:
        return None
    for key, node, edge in walked:
        edge["in_flight"] += 1
        tree.save(key, node, edge)
    return path


def expand_and_back_up(tree: EdgeTree, path: Path, edges: list[Edge], leaf: Partial) -> None:
    """Expand a leaf, count the visit on every edge of its path, keep the best schedule."""
    makespan = max(leaf.finish)
    value = 1 - makespan / leaf.problem.cp_min
    finished = not edges  # a complete schedule need not be visited again
    if edges:
        tree.add(path, (value, edges))
    for depth in range(len(path) - 1, -1, -1):
        node, edge = tree.edge(path[:depth], path[depth])
        edge["in_flight"] -= 1
        edge["visits"] += 1
        edge["total"] += value
        edge["best"] = max(edge["best"], value)
        edge["finished"] = finished
        tree.save(path[:depth], node, edge)
        finished = finished and all(edge["finished"] for edge in tree.node(path[:depth])[1])
    totals = tree.store[TOTALS]
    if makespan < totals["makespan"]:
        tree.store[INCUMBENT] = (leaf.processor, leaf.start, leaf.finish)
    tree.store[TOTALS] = {
        "simulations": totals["simulations"] + 1,
        "low": min(totals["low"], value),
        "high": max(totals["high"], value),
        "makespan": min(totals["makespan"], makespan),
        "solved": totals["solved"] or finished,
    }


def clear(store: Store) -> None:
    """Make the store that of an empty tree."""
    store.clear()
    store[TOTALS] = {"simulations": 0, "low": inf, "high": -inf, "makespan": inf, "solved": False}


def incumbent(store: Store) -> Schedule:
    """The best schedule found."""
    return Schedule(*map(np.array, store[INCUMBENT]), algorithm="plain-search")


def act(
    tree: EdgeTree,
    lock: AbstractContextManager[Any],
    instance: Instance,
    settings: SearchConfig,
    seed: int,
    actor: int,
    gate: Barrier,
) -> None:
    """Body of one of several processes, which begin together and wait for each other at the end."""
    problem = Problem(instance)
    gate.wait(PATIENCE_S)
    search(tree, lock, problem, settings, seed, actor)
    gate.wait(PATIENCE_S)


def search(
    tree: EdgeTree,
    lock: AbstractContextManager[Any],
    problem: Problem,
    settings: SearchConfig,
    seed: int,
    actor: int,
) -> None:
    """One actor: simulate until the budget is spent, with the draws of the actor it imitates."""
    rng = generator(seed, "actor", actor)
    draws = problem.n + problem.n * problem.p
    pool = rng.standard_normal(NOISE_LENGTH + draws).tolist()
    while True:
        with lock:
            totals = tree.store[TOTALS]
            if totals["simulations"] >= settings.budget or totals["solved"]:
                return
            path = select(tree, totals, settings, actor)
        if path is None:
            time.sleep(COLLISION_WAIT_S)
            continue
        leaf = Partial(problem, path)
        edges = candidates(leaf, settings) if leaf.ready else []
        offset = int(rng.integers(NOISE_LENGTH))
        leaf.complete(pool[offset : offset + draws])
        with lock:
            expand_and_back_up(tree, path, edges, leaf)

"""The search tree as a struct of arrays, and the names of its counters, scalars and statuses."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aerl_trainer.config import SearchConfig
from aerl_trainer.memory.shared_memory import ArraySpec
from dagsched_env.kernels.jit import borrowing

MAX_NODES = 200_000
"""Largest tree, about 0.3 GB if every node had 32 edges."""

BATCHES_KEPT = 1024
"""Mini-batches whose order a tree remembers."""

CUT_TOLERANCE = 1e-9
"""A schedule is better than another if it is shorter by more than this share of its makespan."""

ROOT = 0
NO_NODE = -1
NO_EDGE = -1

# Node status
NEW = 0  # not evaluated, not in flight
EVALUATING = 1  # one actor has it in flight
EXPANDED = 2  # has edges
TERMINAL = 3  # a complete schedule, visited
SOLVED = 4  # every kept child is finished: TERMINAL, SOLVED, or cut off by its bound
COMPLETED = 5  # completed by the policy, not expanded (see `variation`)

# counters[...]
N_NODES, N_EDGES, SIMS_DONE, TERMINAL_PATHS, OUTCOME = range(5)
WRITER = 5  # 0 = nobody, else 1 + the actor that is writing; -1 = the creator
SEARCH_ROOT = 6  # the node at which selection begins: the root, unless a prefix has been fixed
BATCHES = 7  # mini-batches backed up
N_COUNTERS = 8
# counters[OUTCOME]
RUNNING, COMPLETE, EXHAUSTED, CAP, BROKEN = range(5)
OUTCOMES = ("running", "complete", "exhausted", "cap", "broken")

# scalars[...]
Q_MIN, Q_MAX, BEST_MAKESPAN = range(3)


class TreeArrays(NamedTuple):
    """Shapes: C nodes, E edges, A actors, B leaves per mini-batch, T ``BATCHES_KEPT``, n tasks.

    ``edge_total`` sums root returns, ``G = 1 - SLR`` estimates of whole episodes, over the
    completed visits; Q(s, a) of the edge is its mean less the reward collected up to s, a constant
    among siblings. ``edge_best`` is the best G of a complete schedule seen below the edge.
    """

    counters: npt.NDArray[np.int64]  # [N_COUNTERS] see above
    scalars: npt.NDArray[np.float64]  # [3] see above
    status: npt.NDArray[np.int8]  # [C]
    first_edge: npt.NDArray[np.int32]  # [C] its edges are first_edge : first_edge + n_edges
    n_edges: npt.NDArray[np.int32]  # [C]
    opened: npt.NDArray[np.int32]  # [C] its first edges, by prior, that have ever been selected
    parent_edge: npt.NDArray[np.int32]  # [C] -1 at the root
    depth: npt.NDArray[np.int32]  # [C] placements made
    raw_value: npt.NDArray[np.float64]  # [C] its own evaluation, as a root return
    pruning_bound: npt.NDArray[np.float64]  # [C] lower bound on makespans (time); -∞ at first
    dropped: npt.NDArray[np.bool_]  # [C] legal actions are missing among its edges
    edge_parent: npt.NDArray[np.int32]  # [E]
    edge_action: npt.NDArray[np.int32]  # [E] task * p + processor
    edge_child: npt.NDArray[np.int32]  # [E] NO_NODE until selected
    edge_visits: npt.NDArray[np.int32]  # [E] N, completed
    edge_in_flight: npt.NDArray[np.int32]  # [E] O, under way
    edge_total: npt.NDArray[np.float64]  # [E] W
    edge_best: npt.NDArray[np.float64]  # [E]
    edge_prior: npt.NDArray[np.float32]  # [E] P
    journal_edge: npt.NDArray[np.int32]  # [A, B] last edge of each path in flight, see `gather`
    journal_count: npt.NDArray[np.int32]  # [A] paths in flight
    actor_simulations: npt.NDArray[np.int64]  # [A] completed by each actor; sums to SIMS_DONE
    batches: npt.NDArray[np.int32]  # [T, 2] actor, simulations of mini-batch i at i mod T
    incumbent_processor: npt.NDArray[np.int64]  # [n]
    incumbent_sequence: npt.NDArray[np.int64]  # [n] tasks in the order of their placement
    incumbent_start: npt.NDArray[np.float64]  # [n]
    incumbent_finish: npt.NDArray[np.float64]  # [n]


@borrowing
def cut_off(best_makespan: float, prune: bool = True) -> float:
    """The pruning bound from which on nothing better than ``best_makespan`` lies below a node.

    Without ``prune`` no node is cut off: ∞.
    """
    return best_makespan * (1.0 - CUT_TOLERANCE) if prune else np.inf


@dataclass(frozen=True)
class TreeSize:
    """Capacities of a tree: 38 bytes a node and 40 bytes an edge."""

    nodes: int
    edges: int
    actors: int
    batch: int
    tasks: int

    @classmethod
    def for_search(cls, config: SearchConfig, actors: int, tasks: int) -> "TreeSize":
        """Room for every simulation up to the safety cap and for a principal variation.

        At most ``MAX_NODES`` nodes, but for the latter.

        Args:
            config: budget, cap, width and size of mini-batches.
            actors: how many share the tree.
            tasks: of the largest problem.

        Pages that a search does not touch cost nothing. A full tree goes on without growing.
        """
        most = max(int(config.budget * config.cap_factor), config.min_trajectories)
        nodes = min(most + actors * config.batch_size, MAX_NODES)
        nodes += tasks + 1
        edges = nodes * config.max_children
        return cls(nodes, edges, actors, config.batch_size, tasks)

    def specs(self) -> dict[str, ArraySpec]:
        """Shape and dtype of every array of ``TreeArrays``."""
        c, e = (self.nodes,), (self.edges,)
        n = (self.tasks,)
        return {
            "counters": ((N_COUNTERS,), np.int64),
            "scalars": ((3,), np.float64),
            "status": (c, np.int8),
            "first_edge": (c, np.int32),
            "n_edges": (c, np.int32),
            "opened": (c, np.int32),
            "parent_edge": (c, np.int32),
            "depth": (c, np.int32),
            "raw_value": (c, np.float64),
            "pruning_bound": (c, np.float64),
            "dropped": (c, np.bool_),
            "edge_parent": (e, np.int32),
            "edge_action": (e, np.int32),
            "edge_child": (e, np.int32),
            "edge_visits": (e, np.int32),
            "edge_in_flight": (e, np.int32),
            "edge_total": (e, np.float64),
            "edge_best": (e, np.float64),
            "edge_prior": (e, np.float32),
            "journal_edge": ((self.actors, self.batch), np.int32),
            "journal_count": ((self.actors,), np.int32),
            "actor_simulations": ((self.actors,), np.int64),
            "batches": ((BATCHES_KEPT, 2), np.int32),
            "incumbent_processor": (n, np.int64),
            "incumbent_sequence": (n, np.int64),
            "incumbent_start": (n, np.float64),
            "incumbent_finish": (n, np.float64),
        }

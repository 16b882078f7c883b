"""The search tree that all actors of one task share: a struct of arrays, and the contract on it.

Constant during a search
    The shapes. Nothing of the problem is in here: each process holds its own ``SearchContext`` and
    its own ``Rules``, equal to those of the others.

Owned by others
    The memory and its name belong to the creator, who alone may ``reset`` or remove them; whoever
    attaches must let go of a tree before that. A row of the journal belongs to one actor while it
    lives, and to the creator, who calls ``kernels.forget``, when it is dead. A leaf's evaluation
    (``LeafArrays``) is the actor's alone until ``kernels.commit``.

Mutated under the lock
    Every array: by ``kernels.gather``, ``kernels.commit`` and ``kernels.forget``; the incumbent by
    ``offer`` and by the worker that has found it; ``TOP``, and nodes along the incumbent, by
    ``commitment``. An actor takes the lock for two short sections per mini-batch, and for a third
    where it commits; no inference, replay or feature building happens inside. ``counters[WRITER]``
    says who is at it: a death in there leaves its mark.

Read without the lock
    ``parent_edge``, ``edge_parent`` and ``edge_action`` of a path that the reader has in flight:
    nobody changes them once the leaf is handed out. ``counters`` and ``scalars`` as they come, one
    number at a time. The creator reads everything once the tree is finished and every actor has
    released it.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aerl_trainer.config import SearchConfig
from aerl_trainer.shared_memory import ArraySpec, BlockHandle, LocalBlock, SharedBlock
from dagsched_env.instance import Instance
from dagsched_env.kernels.jit import kernel
from dagsched_env.schedule import Schedule
from dagsched_env.schedulers.anytime import execution_order

__all__ = [
    "BEST_MAKESPAN",
    "BROKEN",
    "CAP",
    "COMPLETE",
    "EVALUATING",
    "EXHAUSTED",
    "EXPANDED",
    "MAX_NODES",
    "NEW",
    "NO_EDGE",
    "NO_NODE",
    "N_EDGES",
    "N_NODES",
    "OUTCOME",
    "Q_MAX",
    "Q_MIN",
    "ROOT",
    "RUNNING",
    "SIMS_DONE",
    "SOLVED",
    "TERMINAL",
    "TERMINAL_PATHS",
    "TOP",
    "TURNS",
    "TURNS_KEPT",
    "WRITER",
    "SharedTree",
    "TreeArrays",
    "TreeSize",
    "cut_off",
]

MAX_NODES = 200_000
"""Largest tree, about 0.3 GB if every node had 32 edges."""

TURNS_KEPT = 1024
"""Mini-batches whose order a tree remembers."""

CUT_TOLERANCE = 1e-9
"""A schedule is better than another if it is shorter by more than this share, as validity goes."""

ROOT = 0
NO_NODE = -1
NO_EDGE = -1

# Node status
NEW = 0  # not evaluated, nobody is at it
EVALUATING = 1  # one actor has it in flight
EXPANDED = 2  # has edges
TERMINAL = 3  # a complete schedule, visited
SOLVED = 4  # every kept child is finished: TERMINAL, SOLVED, or cut off by its lower bound

# counters[...]
N_NODES, N_EDGES, SIMS_DONE, TERMINAL_PATHS, OUTCOME, WRITER = range(6)
TOP = 6  # the node at which selection begins: the root, unless a prefix has been committed
TURNS = 7  # mini-batches committed
N_COUNTERS = 8
# counters[OUTCOME]
RUNNING, COMPLETE, EXHAUSTED, CAP, BROKEN = range(5)
OUTCOMES = ("running", "complete", "exhausted", "cap", "broken")

# scalars[...]
Q_MIN, Q_MAX, BEST_MAKESPAN = range(3)


class TreeArrays(NamedTuple):
    """Shapes: C nodes, E edges, A actors, B leaves per mini-batch, T turns, n tasks.

    ``edge_total`` sums root returns, ``G = 1 - SLR`` estimates of whole episodes, over the
    completed visits; Q(s, a) of the edge is its mean less the reward collected up to s, a constant
    among siblings. ``edge_best`` is the best G of a complete schedule seen below the edge.
    """

    counters: npt.NDArray[np.int64]  # [N_COUNTERS] see above
    scalars: npt.NDArray[np.float64]  # [3] see above
    status: npt.NDArray[np.int8]  # [C]
    first_edge: npt.NDArray[np.int32]  # [C] its edges are first_edge : first_edge + n_edges
    n_edges: npt.NDArray[np.int32]  # [C]
    opened: npt.NDArray[np.int32]  # [C] of its edges, by decreasing prior, have been selected ever
    parent_edge: npt.NDArray[np.int32]  # [C] -1 at the root
    depth: npt.NDArray[np.int32]  # [C] placements made
    raw_value: npt.NDArray[np.float64]  # [C] its own evaluation, as a root return
    lower_bound: npt.NDArray[np.float64]  # [C] on the makespan (time); -∞ until evaluated
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
    turns: npt.NDArray[np.int32]  # [T, 2] actor, simulations of mini-batch i at i mod T; the latest
    incumbent_processor: npt.NDArray[np.int64]  # [n]
    incumbent_sequence: npt.NDArray[np.int64]  # [n] tasks in the order of their placement
    incumbent_start: npt.NDArray[np.float64]  # [n]
    incumbent_finish: npt.NDArray[np.float64]  # [n]


@kernel
def cut_off(best_makespan: float, prune: bool = True) -> float:
    """Nothing better than ``best_makespan`` lies below a node whose lower bound is this large.

    Without ``prune`` that is to be no reason: ∞.
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
        """Room for every simulation up to the safety cap, at most ``MAX_NODES`` nodes.

        Pages that a search does not touch cost nothing. A full tree goes on without growing.
        """
        nodes = min(int(config.budget * config.cap_factor) + actors * config.batch_size, MAX_NODES)
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
            "lower_bound": (c, np.float64),
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
            "turns": ((TURNS_KEPT, 2), np.int32),
            "incumbent_processor": (n, np.int64),
            "incumbent_sequence": (n, np.int64),
            "incumbent_start": (n, np.float64),
            "incumbent_finish": (n, np.float64),
        }


class SharedTree:
    """One tree: ``create`` it in the parent, ``attach`` to it in the actors.

    ``local`` makes one that a single process searches, on private memory and without a lock.
    """

    def __init__(self, block: SharedBlock | LocalBlock) -> None:
        self._block = block
        self.arrays = TreeArrays(**block.arrays)
        self.lock = block.lock

    @classmethod
    def create(cls, size: TreeSize) -> "SharedTree":
        return cls(SharedBlock.create("tree", size.specs()))

    @classmethod
    def local(cls, size: TreeSize) -> "SharedTree":
        return cls(LocalBlock(size.specs()))

    @classmethod
    def attach(cls, handle: BlockHandle) -> "SharedTree":
        return cls(SharedBlock.attach(handle))

    @property
    def handle(self) -> BlockHandle:
        """What ``attach`` needs in another process."""
        if self._block.handle is None:
            raise RuntimeError("a local tree cannot be shared between processes")
        return self._block.handle

    def reset(self) -> None:
        """Empty the tree: a root that has not been evaluated, no incumbent."""
        a = self.arrays
        a.counters[:] = 0  # TOP is the root
        a.counters[N_NODES] = 1
        a.scalars[:] = (np.inf, -np.inf, np.inf)
        a.status[ROOT], a.n_edges[ROOT], a.opened[ROOT], a.depth[ROOT] = NEW, 0, 0, 0
        a.parent_edge[ROOT], a.lower_bound[ROOT] = -1, -np.inf
        a.journal_count[:] = 0
        a.actor_simulations[:] = 0
        a.turns[:] = 0

    def offer(self, instance: Instance, schedule: Schedule) -> None:
        """Make a known schedule the incumbent if it is better; it takes no part in the search."""
        with self.lock:
            a = self.arrays
            if schedule.makespan < a.scalars[BEST_MAKESPAN]:
                n = schedule.processor.shape[0]
                a.scalars[BEST_MAKESPAN] = schedule.makespan
                a.incumbent_processor[:n] = schedule.processor
                a.incumbent_sequence[:n] = execution_order(instance, schedule)
                a.incumbent_start[:n] = schedule.start
                a.incumbent_finish[:n] = schedule.finish

    def incumbent(self, n_tasks: int, *, algorithm: str) -> Schedule:
        """The best complete schedule that was seen or offered.

        Raises:
            RuntimeError: there is none yet.
        """
        with self.lock:
            a = self.arrays
            if self.best_makespan == np.inf:
                raise RuntimeError("nothing has been searched or offered: there is no schedule")
            return Schedule(
                a.incumbent_processor[:n_tasks],
                a.incumbent_start[:n_tasks],
                a.incumbent_finish[:n_tasks],
                algorithm=algorithm,
            )

    def counter(self, index: int) -> int:
        return int(self.arrays.counters[index])

    @property
    def interleaving(self) -> tuple[tuple[int, int], ...]:
        """(actor, simulations) of the latest mini-batches, in the order of their commits."""
        turns, done = self.arrays.turns, self.counter(TURNS)
        order = np.arange(max(0, done - TURNS_KEPT), done) % TURNS_KEPT
        return tuple((int(actor), int(count)) for actor, count in turns[order])

    @property
    def best_makespan(self) -> float:
        return float(self.arrays.scalars[BEST_MAKESPAN])

    @property
    def lower_bound(self) -> float:
        """No schedule is shorter, by what the search has seen (time); -∞ before that."""
        return float(self.arrays.lower_bound[ROOT])

    @property
    def proved(self) -> bool:
        """No schedule is shorter than the incumbent, by more than 1e-9 of its makespan."""
        return self.lower_bound >= cut_off(self.best_makespan)

    @property
    def finished(self) -> bool:
        return self.counter(OUTCOME) != RUNNING

    @property
    def outcome(self) -> str:
        """``"running"``, ``"complete"``, ``"exhausted"``, ``"cap"``, or ``"broken"``: an actor died
        while it held the lock, and the search must be started again."""
        return OUTCOMES[self.counter(OUTCOME)]

    def close(self) -> None:
        self.arrays = TreeArrays._make(np.empty(0) for _ in TreeArrays._fields)  # drop the views
        self._block.close()

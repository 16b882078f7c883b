"""The tree that all actors of one job share: its lock, and the contract on its arrays.

Constant during a search
    The shapes. Nothing of the problem is in here: each process holds its own ``SearchProblem`` and
    its own ``Rules``, equal to those of the others.

Ownership
    The memory and its name belong to the creator. The creator alone may ``reset`` or remove them,
    after every attached process has let go of the tree. A row of the journal belongs to one actor
    while it lives, and to the creator, who calls ``bury``, when it is dead. A mini-batch
    (``LeafBatch``) belongs to its actor.

Mutated inside ``with tree.writing(actor)``
    Every array, and only there (``reset`` and ``bury`` apart, which are the creator's). It holds
    the lock and marks the writer in ``counters[WRITER]``: a death in there leaves its mark, and
    the tree is broken. An actor writes twice per mini-batch: to gather leaves, and to back them
    up. No inference, replay or feature building happens inside.

Read without the lock
    ``parent_edge``, ``edge_parent`` and ``edge_action`` of a path that the reader has in flight:
    nobody changes them once the leaf is handed out. The nodes of a principal variation and the
    priors of their edges, once it has been added. ``counters`` and ``scalars`` as they come, one
    number at a time. The creator reads everything once the tree is finished and every actor has
    released it.
"""

import numpy as np

from aerl_trainer.memory.shared_memory import BlockHandle, LocalBlock, SharedBlock
from aerl_trainer.tree.simulation import forget
from aerl_trainer.tree.tree import (
    BATCHES,
    BATCHES_KEPT,
    BEST_MAKESPAN,
    BROKEN,
    N_NODES,
    NEW,
    OUTCOME,
    OUTCOMES,
    ROOT,
    RUNNING,
    SEARCH_ROOT,
    SIMS_DONE,
    WRITER,
    TreeArrays,
    TreeSize,
    cut_off,
)
from dagsched_env.kernels.arrays import Floats, Ints
from dagsched_env.problem.errors import InvalidScheduleError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers.anytime import execution_order

CREATOR = -2
"""The creator of a tree as a writer; actors are numbered from 0."""


class BrokenTreeError(RuntimeError):
    """An actor died while it wrote to the tree: the search must be started again."""


class _Writing:
    """Context of a change: the tree's lock is held and its writer is marked inside.

    Entering it raises ``BrokenTreeError`` where somebody has died while writing, and marks the tree
    as broken. An exception inside leaves the mark: it may have left half a change. (A generator
    would do, but this takes half as long, twice per mini-batch.)
    """

    __slots__ = ("_actor", "_tree")

    def __init__(self, tree: "SharedTree", actor: int) -> None:
        self._tree, self._actor = tree, actor

    def __enter__(self) -> TreeArrays:
        tree = self._tree
        tree.lock.__enter__()
        counters = tree.arrays.counters
        if counters[WRITER] != 0:
            counters[OUTCOME] = BROKEN
            tree.lock.__exit__()
            raise BrokenTreeError("an actor died while it wrote to this tree")
        counters[WRITER] = 1 + self._actor
        return tree.arrays

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._tree.arrays.counters[WRITER] = 0
        self._tree.lock.__exit__()


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
        """Empty the tree: a root that has not been evaluated, no incumbent, no writer."""
        a = self.arrays
        a.counters[:] = 0  # the search root is the root
        a.counters[N_NODES] = 1
        a.scalars[:] = (np.inf, -np.inf, np.inf)
        a.status[ROOT], a.n_edges[ROOT], a.opened[ROOT], a.depth[ROOT] = NEW, 0, 0, 0
        a.parent_edge[ROOT], a.pruning_bound[ROOT] = -1, -np.inf
        a.journal_count[:] = 0
        a.actor_simulations[:] = 0
        a.batches[:] = 0

    def writing(self, actor: int = CREATOR) -> "_Writing":
        """The one way to change a tree: ``with tree.writing(actor) as arrays``.

        Args:
            actor: who writes; the creator by default.
        """
        return _Writing(self, actor)

    def bury(self, actor: int) -> None:
        """Undo what a dead actor had in flight; a tree that it was writing to is broken."""
        with self.lock:
            if self.counter(WRITER) == 1 + actor:
                self.arrays.counters[OUTCOME] = BROKEN
            else:
                forget(self.arrays, actor)

    def offer(self, instance: Instance, schedule: Schedule) -> None:
        """Make a known schedule the incumbent if it is shorter; it takes no part in the search.

        Raises:
            BrokenTreeError: as ``writing``.
        """
        if schedule.makespan >= self.best_makespan:
            return
        sequence = execution_order(instance, schedule)
        with self.writing():
            self.improve_incumbent(
                schedule.makespan, schedule.processor, sequence, schedule.start, schedule.finish
            )

    def improve_incumbent(
        self, makespan: float, processor: Ints, sequence: Ints, start: Floats, finish: Floats
    ) -> None:
        """Store a complete schedule if it is shorter than the incumbent, inside ``writing``.

        Args:
            makespan: its length (time).
            processor: ``[n]`` of each task.
            sequence: ``[n]`` tasks in the order of their placement.
            start: ``[n]`` (time).
            finish: ``[n]`` (time).
        """
        a = self.arrays
        if makespan < a.scalars[BEST_MAKESPAN]:
            n = processor.shape[0]
            a.scalars[BEST_MAKESPAN] = makespan
            a.incumbent_processor[:n] = processor
            a.incumbent_sequence[:n] = sequence
            a.incumbent_start[:n] = start
            a.incumbent_finish[:n] = finish

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

    def salvage(self, instance: Instance) -> Schedule | None:
        """What the incumbent of a broken tree holds; None if it was only half written."""
        if self.best_makespan == np.inf:
            return None
        found = self.incumbent(instance.n_tasks, algorithm="tree")
        try:
            found.validate(instance)
        except InvalidScheduleError:
            return None
        return found

    def counter(self, index: int) -> int:
        """One of ``arrays.counters``, by its name above."""
        return int(self.arrays.counters[index])

    @property
    def simulations(self) -> int:
        """Completed so far."""
        return self.counter(SIMS_DONE)

    @property
    def fixed_depth(self) -> int:
        """Placements of the prefix behind which selection begins."""
        return int(self.arrays.depth[self.counter(SEARCH_ROOT)])

    @property
    def interleaving(self) -> tuple[tuple[int, int], ...]:
        """(actor, simulations) of the latest mini-batches, in the order of their backup."""
        batches, done = self.arrays.batches, self.counter(BATCHES)
        order = np.arange(max(0, done - BATCHES_KEPT), done) % BATCHES_KEPT
        return tuple((int(actor), int(count)) for actor, count in batches[order])

    @property
    def best_makespan(self) -> float:
        return float(self.arrays.scalars[BEST_MAKESPAN])

    @property
    def lower_bound(self) -> float:
        """Lower bound on the makespan that the search has proved (time); -∞ at first."""
        return float(self.arrays.pruning_bound[ROOT])

    @property
    def proved(self) -> bool:
        """No schedule is shorter than the incumbent, by more than 1e-9 of its makespan."""
        return self.lower_bound >= cut_off(self.best_makespan)

    @property
    def finished(self) -> bool:
        """The search is over, or the tree is broken."""
        return self.counter(OUTCOME) != RUNNING

    @property
    def broken(self) -> bool:
        """An actor has died while it wrote: nothing in here can be trusted.

        To be asked when nobody works on the tree: the mark of a live writer looks the same.
        """
        return self.counter(OUTCOME) == BROKEN or self.counter(WRITER) != 0

    @property
    def outcome(self) -> str:
        """``"running"``, ``"complete"``, ``"exhausted"``, ``"cap"``, or ``"broken"``: an actor died
        while it wrote, and the search must be started again."""
        return OUTCOMES[self.counter(OUTCOME)]

    def close(self) -> None:
        self.arrays = TreeArrays._make(np.empty(0) for _ in TreeArrays._fields)  # drop the views
        self._block.close()

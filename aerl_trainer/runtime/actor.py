"""The loop of one actor: works on whichever trees are open, until told to stop."""

import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import NamedTuple

from aerl_trainer.config import SearchConfig
from aerl_trainer.policy.encoding.evaluator import Evaluator
from aerl_trainer.policy.encoding.states import EncodedStates
from aerl_trainer.tree.records import SearchJob
from aerl_trainer.tree.shared_tree import SharedTree
from aerl_trainer.tree.variation_worker import VariationWorker
from aerl_trainer.tree.worker import SearchWorker

IDLE_WAIT_S = 0.1
COLLISION_WAIT_S = 0.0005


class Assignment(NamedTuple):
    """Parent to actor: a job slot holds a new problem."""

    slot: int
    generation: int
    job: SearchJob
    rollout_weight: float
    config: SearchConfig
    explore: bool
    network: bool
    variations: bool
    """Search along the principal variation."""


class Released(NamedTuple):
    """Actor to parent: the tree in this slot is finished, and this actor has let go of it."""

    slot: int
    generation: int


class Actor:
    """Actor number ``index``.

    Args:
        index: into the journals of the trees.
        trees: all job slots.
        states: the batch to work in.
        evaluator_for: makes the evaluator of a job slot.
        parent: assignments come in, releases go out.
        running: False once the parent is gone.
    """

    def __init__(
        self,
        index: int,
        trees: list[SharedTree],
        states: EncodedStates,
        evaluator_for: Callable[[int], Evaluator],
        parent: "Connection[Released, Assignment | None]",
        running: Callable[[], bool],
    ) -> None:
        self._index, self._trees, self._states = index, trees, states
        self._evaluator_for, self._parent, self._running = evaluator_for, parent, running
        self._open: dict[int, tuple[Assignment, SearchWorker | VariationWorker]] = {}

    def run(self) -> None:
        """Search until the parent says stop or is gone."""
        while self._running():
            if not self._read_assignments():
                return
            done = sum(self._work(slot) for slot in list(self._open))
            if self._open and done == 0:
                time.sleep(COLLISION_WAIT_S)  # the others hold every leaf that is wanted

    def _read_assignments(self) -> bool:
        """Take new problems; sleeps while there is none. False = stop."""
        while self._parent.poll(0 if self._open else IDLE_WAIT_S):
            assignment = self._parent.recv()
            if assignment is None:
                return False
            slot = assignment.slot
            self._open[slot] = (assignment, self._worker_of(assignment))
        return True

    def _worker_of(self, assignment: Assignment) -> SearchWorker | VariationWorker:
        slot, job, config = assignment.slot, assignment.job, assignment.config
        if assignment.variations:
            return VariationWorker(self._index, job, self._trees[slot], config)
        return SearchWorker(
            self._index,
            job,
            self._trees[slot],
            self._states,
            self._evaluator_for(slot),
            config,
            explore=assignment.explore,
            network=assignment.network,
        )

    def _work(self, slot: int) -> int:
        """One mini-batch on one tree; lets go of it once it is finished."""
        assignment, worker = self._open[slot]
        if self._trees[slot].finished:
            del self._open[slot]
            self._parent.send(Released(slot, assignment.generation))
            return 1
        return worker.run_batch(assignment.rollout_weight)

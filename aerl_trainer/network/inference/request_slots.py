"""Slots in shared memory through which actors and inference workers exchange states.

Each actor owns one slot. Its search encodes leaves straight into the slot, posts it, and
reads the answer from the same arrays: nothing is pickled or copied on the way. Actor a is served by
worker ``a % workers`` alone.

Requests are numbered; a slot waits while its last request has not been answered, and an answer
repeats the number. The numbers continue after an actor is replaced, so an answer to the dead one is
never taken for an answer to its successor. The bells only wake sleepers; the numbers
are the truth, so a wake-up lost with a dead process delays but never loses a request. Whoever sees
a number sees what was written before it, as on x86 stores become visible in the order of the
program (total store order); a processor that reorders them would need a barrier there.
"""

import time
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aerl_trainer.memory.shared_memory import ArraySpec, BlockHandle, SharedBlock
from aerl_trainer.network.inference.bell import Bell
from aerl_trainer.network.inference.metrics import LATENCY_BUCKETS, N_COUNTS, InferenceTotals
from aerl_trainer.policy.encoding.states import EncodedStates, state_specs

# control[actor, ...]; the actor writes all but the last two
REQUEST, TREE, COUNT, POSTED_NS, ANSWER, VERSION = range(6)


class RequestSlotsHandle(NamedTuple):
    """What another process needs to attach; picklable when it is started."""

    block: BlockHandle
    work: list[Bell]
    answers: list[Bell]


class Ticket(NamedTuple):
    """One request as it was found or posted."""

    actor: int
    number: int
    tree: int
    """Slot of its tree."""
    rows: int
    """States posted."""
    posted_ns: int
    """By ``time.monotonic_ns``, which all processes share."""


class RequestSlots:
    """All request slots: ``create`` in the parent, ``attach`` in actors and inference workers."""

    def __init__(self, handle: RequestSlotsHandle, block: SharedBlock) -> None:
        self.handle = handle
        self.work, self.answers = handle.work, handle.answers
        """One bell a worker, and one an actor."""
        self._block = block
        self._control: npt.NDArray[np.int64] = block.arrays["control"]
        self.counts: npt.NDArray[np.int64] = block.arrays["counts"]
        """``[workers, N_COUNTS]``, as ``latencies`` written by each worker for itself."""
        self.latencies: npt.NDArray[np.int64] = block.arrays["latencies"]
        """``[workers, LATENCY_BUCKETS]``"""
        self.states = [
            EncodedStates(
                **{name: block.arrays[f"{actor}.{name}"] for name in EncodedStates._fields}
            )
            for actor in range(self.actors)
        ]

    @classmethod
    def create(
        cls, actors: int, batch: int, width: int, tasks: int, workers: int = 1
    ) -> "RequestSlots":
        """Allocate the slots.

        Args:
            actors: clients, one slot each.
            batch: states that a slot holds.
            width: candidates of a state at most.
            tasks: of a state at most.
            workers: inference workers.
        """
        specs: dict[str, ArraySpec] = {
            "control": ((actors, 6), np.int64),
            "counts": ((workers, N_COUNTS), np.int64),
            "latencies": ((workers, LATENCY_BUCKETS), np.int64),
        }
        for actor in range(actors):
            for name, spec in state_specs(batch, width, tasks).items():
                specs[f"{actor}.{name}"] = spec
        block = SharedBlock.create("requests", specs)
        work, answers = [Bell() for _ in range(workers)], [Bell() for _ in range(actors)]
        return cls(RequestSlotsHandle(block.handle, work, answers), block)

    @classmethod
    def attach(cls, handle: RequestSlotsHandle) -> "RequestSlots":
        return cls(handle, SharedBlock.attach(handle.block))

    @property
    def actors(self) -> int:
        return len(self.answers)

    @property
    def workers(self) -> int:
        return len(self.work)

    def post(self, actor: int, tree: int, count: int) -> Ticket:
        """Ask for an evaluation; only the actor that owns the slot may.

        Args:
            actor: whose slot.
            tree: slot of its tree, by which the worker knows the instance.
            count: how many rows of the slot.
        """
        control = self._control[actor]
        ticket = Ticket(actor, int(control[REQUEST]) + 1, tree, count, time.monotonic_ns())
        control[TREE], control[COUNT], control[POSTED_NS] = tree, count, ticket.posted_ns
        control[REQUEST] = ticket.number  # last: from here on it is seen
        self.work[actor % self.workers].ring()
        return ticket

    def waiting(self, worker: int) -> list[Ticket]:
        """Requests to a worker that have no answer yet."""
        # Element by element from the left: what follows a REQUEST was written before it.
        rows = self._control[worker :: self.workers].tolist()
        return [
            Ticket(worker + i * self.workers, row[REQUEST], row[TREE], row[COUNT], row[POSTED_NS])
            for i, row in enumerate(rows)
            if row[REQUEST] != row[ANSWER]
        ]

    def answer(self, ticket: Ticket, version: int) -> None:
        """Hand the slot back to its actor, if it still waits for this."""
        control = self._control[ticket.actor]
        control[VERSION] = version
        control[ANSWER] = ticket.number
        self.answers[ticket.actor].ring()

    def version_of(self, ticket: Ticket) -> int | None:
        """Version of the model that has answered; None = there is no answer yet."""
        control = self._control[ticket.actor]
        return int(control[VERSION]) if control[ANSWER] == ticket.number else None

    def clear(self, actor: int) -> None:
        """Withdraw what a dead actor may have posted."""
        self._control[actor, ANSWER] = self._control[actor, REQUEST]

    def totals(self) -> InferenceTotals:
        """What the workers have counted so far."""
        return InferenceTotals(self.counts, self.latencies).copy()

    def close(self) -> None:
        """Let go of the memory and the bells."""
        self.work, self.answers = [], []
        self.handle = self.handle._replace(work=[], answers=[])
        self.states.clear()
        self._control = self.counts = self.latencies = np.empty((0, 0), dtype=np.int64)
        self._block.close()

"""Slots in shared memory through which actors and the inference worker exchange leaves.

Each actor owns one slot. Its search writes leaf features straight into the slot, posts it, and
reads the answer from the same arrays: nothing is pickled or copied on the way.

A slot is IDLE, then POSTED by its actor, then IDLE again once the worker has answered. The
semaphores only wake sleepers; the status is the truth, so a wake-up lost with a dead process delays
but never loses a request.
"""

from multiprocessing.context import SpawnContext
from multiprocessing.synchronize import Semaphore
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aerl_trainer.search.leaves import LeafArrays, leaf_specs
from aerl_trainer.shared_memory import ArraySpec, BlockHandle, SharedBlock

__all__ = ["IDLE", "POSTED", "Arena", "ArenaHandle"]

IDLE, POSTED = 0, 1
STATUS, SLOT, COUNT, VERSION = range(4)
# totals[...]
BATCHES, LEAVES, BUSY_NS = range(3)


class ArenaHandle(NamedTuple):
    """What another process needs to attach; picklable when it is started."""

    block: BlockHandle
    actors: int
    work: Semaphore
    answers: list[Semaphore]


class Arena:
    """All slots. ``create`` in the parent, ``attach`` in the actors and the inference worker."""

    def __init__(self, handle: ArenaHandle, block: SharedBlock) -> None:
        self.handle = handle
        self.work, self.answers = handle.work, handle.answers
        self._block = block
        self.control: npt.NDArray[np.int64] = block.arrays["control"]
        """``[actors, 4]`` status, tree slot, leaves posted, version of the answer."""
        self.totals: npt.NDArray[np.int64] = block.arrays["totals"]
        """``[3]`` batches and leaves evaluated, nanoseconds spent on it."""
        self.leaves = [
            LeafArrays(**{name: block.arrays[f"{actor}.{name}"] for name in LeafArrays._fields})
            for actor in range(handle.actors)
        ]

    @classmethod
    def create(cls, context: SpawnContext, actors: int, batch: int, width: int) -> "Arena":
        """Slots for ``actors``, each for ``batch`` leaves of at most ``width`` candidates."""
        specs: dict[str, ArraySpec] = {
            "control": ((actors, 4), np.int64),
            "totals": ((3,), np.int64),
        }
        for actor in range(actors):
            for name, spec in leaf_specs(batch, width).items():
                specs[f"{actor}.{name}"] = spec
        block = SharedBlock.create("arena", specs)
        answers = [context.Semaphore(0) for _ in range(actors)]
        return cls(ArenaHandle(block.handle, actors, context.Semaphore(0), answers), block)

    @classmethod
    def attach(cls, handle: ArenaHandle) -> "Arena":
        return cls(handle, SharedBlock.attach(handle.block))

    def posted(self) -> list[int]:
        """Actors whose request waits for an answer."""
        return [int(actor) for actor in np.flatnonzero(self.control[:, STATUS] == POSTED)]

    def clear(self, actor: int) -> None:
        """Withdraw what a dead actor may have posted."""
        self.control[actor, STATUS] = IDLE

    def close(self) -> None:
        self.leaves.clear()
        self.control = self.totals = np.empty(0, dtype=np.int64)
        self._block.close()

"""The network's weights as published by the learner: a versioned vector in shared memory."""

import numpy as np
import numpy.typing as npt

from aerl_trainer.memory.shared_memory import BlockHandle, SharedBlock


class WeightBuffer:
    """One writer, many readers; a reader copies the vector only when the version has changed."""

    def __init__(self, block: SharedBlock) -> None:
        self._block = block

    @classmethod
    def create(cls, size: int) -> "WeightBuffer":
        """Room for ``size`` parameters; version 0 means that nothing has been published."""
        specs = {"version": ((1,), np.int64), "weights": ((size,), np.float32)}
        return cls(SharedBlock.create("weights", specs))

    @classmethod
    def attach(cls, handle: BlockHandle) -> "WeightBuffer":
        return cls(SharedBlock.attach(handle))

    @property
    def handle(self) -> BlockHandle:
        return self._block.handle

    @property
    def version(self) -> int:
        return int(self._block.arrays["version"][0])

    def publish(self, weights: npt.NDArray[np.float32]) -> int:
        """Replace the weights; returns the new version."""
        with self._block.lock:
            self._block.arrays["weights"][:] = weights
            self._block.arrays["version"][0] += 1
            return self.version

    def read(self) -> tuple[npt.NDArray[np.float32], int]:
        """A copy of the weights, and their version."""
        with self._block.lock:
            return self._block.arrays["weights"].copy(), self.version

    def close(self) -> None:
        self._block.close()

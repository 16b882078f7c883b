"""The replay buffer of experiences: ``learning.replay`` with their packing for checkpoints."""

from collections.abc import Sequence

import numpy as np

from aerl_trainer.config import ReplayConfig
from aerl_trainer.learning import packing
from aerl_trainer.learning.records import Experience
from aerl_trainer.learning.replay.buffer import PrioritizedReplay, ReplayBatch
from aerl_trainer.learning.replay.stores import ItemStore

Experiences = tuple[Experience, ...]


class ExperienceBatch(ReplayBatch[Experiences]):
    """A sample of B experiences."""

    @property
    def experiences(self) -> Experiences:
        """The experiences."""
        return self.content


class ExperienceReplay(PrioritizedReplay[Experience, Sequence[Experience], Experiences]):
    """Prioritised replay of experiences; saved instances are stored once."""

    def __init__(self, config: ReplayConfig) -> None:
        super().__init__(config, ItemStore(packing.pack, packing.unpack))

    def sample(self, batch_size: int, rng: np.random.Generator, beta: float) -> ExperienceBatch:
        """Draw a stratified sample.

        Args:
            batch_size: B ≥ 1.
            rng: source of the B draws.
            beta: exponent of the importance weights, in [0, 1].
        """
        batch = super().sample(batch_size, rng, beta)
        return ExperienceBatch(batch.content, batch.weights, batch.slots, batch.generations)

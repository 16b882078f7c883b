"""A trained attention model as a scheduler."""

import numpy as np
import torch

from aerl_trainer.baselines.attention.policy import AttentionPolicy
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule


class AttentionScheduler:
    """Schedules by an attention model.

    Args:
        policy: trained or not; not changed.
    """

    def __init__(self, policy: AttentionPolicy) -> None:
        self._policy = policy

    def schedule(self, instance: Instance) -> Schedule:
        """One greedy pass: the most probable pair in every state."""
        return self._shortest(instance, 1, None)

    def best_of(self, instance: Instance, k: int, rng: np.random.Generator) -> Schedule:
        """The shortest of the greedy schedule and k that are sampled.

        Args:
            k: schedules to sample, ≥ 1.
            rng: of the samples.
        """
        generator = torch.Generator().manual_seed(int(rng.integers(2**63)))
        sampled = self._shortest(instance, k, generator)
        return min(self.schedule(instance), sampled, key=lambda schedule: schedule.makespan)

    def _shortest(
        self, instance: Instance, starts: int, generator: torch.Generator | None
    ) -> Schedule:
        with torch.no_grad():
            encoded = self._policy.encode([instance])
            lanes, _ = self._policy.roll_out(encoded, starts, generator=generator)
        return lanes.schedule(0, int(lanes.makespans[0].argmin()))

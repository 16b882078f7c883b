"""A trained attention model as a scheduler."""

import numpy as np
import torch

from aerl_trainer.baselines.attention.policy import AttentionPolicy
from aerl_trainer.checkpoint import Checkpoint, CheckpointError, take
from aerl_trainer.config import AttentionConfig
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


def read_policy(saved: Checkpoint, config: AttentionConfig) -> AttentionPolicy:
    """The policy of a checkpoint; one of another size than it says is never given memory.

    Args:
        saved: with the tensors of the group ``policy``.
        config: sizes.

    Raises:
        CheckpointError: a tensor is missing or does not fit.
    """
    size = len(saved.tensors.get("policy", ()))
    if config.layers > size:
        raise CheckpointError(f"{config.layers} layers do not fit {size} tensors")
    with torch.device("meta"):
        like = AttentionPolicy(config).state_dict()
    tensors = take(saved, "policy", like)
    policy = AttentionPolicy(config)
    policy.load_state_dict(tensors)
    return policy

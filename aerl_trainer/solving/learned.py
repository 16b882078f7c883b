"""What has been learned: a policy with the settings that it was trained under, or a rival."""

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from aerl_trainer.config import Config
from aerl_trainer.policy.encoding.evaluator import Evaluator, PriorEvaluator
from aerl_trainer.policy.fast import FastPolicy

if TYPE_CHECKING:
    from aerl_trainer.baselines.attention.scheduler import AttentionScheduler
    from aerl_trainer.network.network import Network

__all__ = [
    "DamageWarning",
    "Policy",
    "Trained",
    "evaluator_of",
    "rollout_weight_of",
]


class DamageWarning(RuntimeWarning):
    """A checkpoint is damaged, and another one of its run is used instead."""


class Policy(NamedTuple):
    """What a training run has learned; of weights alone the fast policy and default settings."""

    fast: FastPolicy
    network: "Network | None" = None
    """None where the run has trained none."""
    config: Config = Config()
    rollout_weight: float = 1.0
    """λ at the end of training."""


Trained: TypeAlias = "Policy | AttentionScheduler"
"""What a run leaves: of AERL-DS, or of a rival that schedules but guides no search."""


def evaluator_of(policy: Policy | None) -> Evaluator:
    """The network of a policy in this process, if it has one."""
    network = None if policy is None else policy.network
    if network is None:
        return PriorEvaluator()
    from aerl_trainer.network.evaluator import TorchEvaluator

    return TorchEvaluator(network)


def rollout_weight_of(policy: Policy | None) -> float:
    """λ of a search."""
    return 1.0 if policy is None or policy.network is None else policy.rollout_weight

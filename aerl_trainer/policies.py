"""What has been learned: a policy with the settings that it was trained under, or a rival.

torch takes longer to load than all else together, so it is loaded only where there is a network or
a run to read: a shipped policy needs none.
"""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from aerl_trainer.config import Config
from aerl_trainer.encoding.evaluator import Evaluator, PriorEvaluator
from aerl_trainer.policy.fast import FastPolicy
from aerl_trainer.policy.files import load_weights
from aerl_trainer.policy.shipped import find_weights
from dagsched_env.errors import DAGSchedError

if TYPE_CHECKING:
    from aerl_trainer.baselines.attention.scheduler import AttentionScheduler
    from aerl_trainer.nn.network import Network

__all__ = [
    "DamageWarning",
    "Policy",
    "Trained",
    "evaluator_of",
    "load_policy",
    "load_trained",
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


def load_policy(directory: str | Path) -> Policy:
    """Read what was trained: a run directory, a checkpoint in it, a file of weights, or by name.

    The names are those of ``policy.shipped``, such as ``"default"``; ``./default`` is a directory.
    Of a run the ``last`` checkpoint is taken: its fast policy is the last one that has passed the
    paired test. Where it is damaged, a ``DamageWarning`` says so, and the ``previous`` or the
    ``best`` one is taken. Only the policy, the network and the settings are read: other files may
    be damaged.

    Raises:
        CheckpointError: there is nothing of this name (the message lists the shipped policies), or
            no checkpoint can be read; names the damaged files.
        DAGSchedError: it is of a rival, which guides no search.
        FormatError: a file that holds no weights of this policy.
    """
    trained = _load(directory)
    if not isinstance(trained, Policy):
        raise DAGSchedError(
            f"{directory}: an attention model, which schedules but guides no search: compare it by "
            "aerl evaluate, or by dagsched compare --checkpoint"
        )
    return trained


def load_trained(directory: str | Path) -> Trained:
    """As ``load_policy``, but of a run of any algorithm."""
    return _load(directory)


def _load(directory: str | Path) -> Trained:
    if (weights := find_weights(directory)) is not None:
        return Policy(FastPolicy(load_weights(weights)[0]))
    from aerl_trainer.trained import read_run

    return read_run(Path(directory))


def evaluator_of(policy: Policy | None) -> Evaluator:
    """The network of a policy in this process, if it has one."""
    network = None if policy is None else policy.network
    if network is None:
        return PriorEvaluator()
    from aerl_trainer.nn.evaluator import TorchEvaluator

    return TorchEvaluator(network)


def rollout_weight_of(policy: Policy | None) -> float:
    """λ of a search."""
    return 1.0 if policy is None or policy.network is None else policy.rollout_weight

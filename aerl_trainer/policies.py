"""What a run has learned: a policy with the settings that it was trained under, or a rival."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import torch

from aerl_trainer import checkpoint as checkpoints
from aerl_trainer import config as settings
from aerl_trainer.baselines.attention.scheduler import AttentionScheduler, read_policy
from aerl_trainer.checkpoint import Checkpoint, CheckpointError, take
from aerl_trainer.config import Config
from aerl_trainer.encoding.evaluator import Evaluator, PriorEvaluator
from aerl_trainer.nn.evaluator import TorchEvaluator
from aerl_trainer.nn.network import Network
from aerl_trainer.policy.fast import FastPolicy
from aerl_trainer.policy.files import load_weights
from aerl_trainer.policy.shipped import find_weights, shipped_names
from aerl_trainer.stored import share, stored
from dagsched_env.errors import DAGSchedError

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
    network: Network | None = None
    """None where the run has trained none."""
    config: Config = Config()
    rollout_weight: float = 1.0
    """λ at the end of training."""


Trained = Policy | AttentionScheduler
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
    place = Path(directory)
    candidates = _candidates(place)
    if not any(map(checkpoints.exists, (place, *candidates))):
        raise CheckpointError(
            f"no run, file or shipped policy {str(directory)!r}: shipped are "
            f"{', '.join(shipped_names())}"
        )
    try:
        return checkpoints.read_first(candidates, _read, _warn)
    except CheckpointError as error:
        if others := _others(place):
            raise CheckpointError(f"{error}; of this run there is also {others}") from None
        raise


def evaluator_of(policy: Policy | None) -> Evaluator:
    """The network of a policy in this process, if it has one."""
    network = None if policy is None else policy.network
    return PriorEvaluator() if network is None else TorchEvaluator(network)


def rollout_weight_of(policy: Policy | None) -> float:
    """λ of a search."""
    return 1.0 if policy is None or policy.network is None else policy.rollout_weight


def _read(source: Path) -> Trained:
    saved = checkpoints.load(source, groups=("policy", "model"))
    try:
        config = settings.from_dict(stored(saved.state, "config", dict))
        if config.run.algorithm == "reinforce":
            return AttentionScheduler(read_policy(saved, config.attention))
        like = {"weights": torch.from_numpy(FastPolicy().weights)}
        fast = FastPolicy(take(saved, "policy", like)["weights"].numpy())
        network = _network(config, saved) if config.learner.network else None
        return Policy(fast, network, config, share(saved.state, "rollout_weight"))
    except DAGSchedError as error:
        raise CheckpointError(f"{source}: not the checkpoint of a run: {error}") from None


def _network(config: Config, saved: Checkpoint) -> Network:
    """The network of a checkpoint; one of another size than it says is never given memory."""
    size = len(saved.tensors.get("model", ()))
    if config.network.layers > size:
        raise CheckpointError(f"{config.network.layers} layers do not fit {size} tensors")
    with torch.device("meta"):
        like = Network(config.network).state_dict()
    tensors = take(saved, "model", like)
    network = Network(config.network)
    network.load_state_dict(tensors)
    return network


def _warn(message: str) -> None:
    warnings.warn(message, DamageWarning, stacklevel=5)  # at the caller of load_…


def _candidates(directory: Path) -> Sequence[Path]:
    """Checkpoints to read, the best one first: those of a run, or the one that is named."""
    for parent in (directory / "checkpoints", directory):
        if any(map(checkpoints.exists, checkpoints.generations(parent))):
            return checkpoints.generations(parent)
    return checkpoints.generations(directory.parent) if directory.name == "last" else (directory,)


def _others(place: Path) -> str:
    """The other checkpoints of the run, where one of them is named that is damaged."""
    of_run = checkpoints.generations(place.parent)
    if place == of_run[0] or place not in of_run or not checkpoints.exists(place):
        return ""
    return ", ".join(str(other) for other in of_run if other != place and other.is_dir())

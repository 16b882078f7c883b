"""What a training run has left, read from its checkpoints."""

import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import torch

from aerl_trainer import checkpoint as checkpoints
from aerl_trainer import config as settings
from aerl_trainer.baselines.attention.policy import AttentionPolicy
from aerl_trainer.baselines.attention.scheduler import AttentionScheduler
from aerl_trainer.checkpoint import CheckpointError, take, take_module
from aerl_trainer.config.stored import share, stored
from aerl_trainer.network.network import Network, require_status
from aerl_trainer.policy.fast import FastPolicy
from aerl_trainer.policy.shipped import shipped_names
from aerl_trainer.solving.learned import DamageWarning, Policy, Trained
from dagsched_env.problem.errors import DAGSchedError


def read_run(place: Path) -> Trained:
    """What is trained in a run directory, or in a checkpoint of one.

    Warns of a damaged checkpoint, see ``loading.load_policy``.

    Raises:
        CheckpointError: there is none, or none can be read; names the damaged files.
    """
    candidates = _candidates(place)
    if not any(map(checkpoints.exists, (place, *candidates))):
        raise CheckpointError(
            f"no run, file or shipped policy {str(place)!r}: shipped are "
            f"{', '.join(shipped_names())}"
        )
    if candidates == (place,) and place.is_dir() and not (place / checkpoints.MANIFEST).exists():
        raise CheckpointError(
            f"{place}: neither a run of aerl train nor a checkpoint: it has no "
            f"{checkpoints.MANIFEST}"
        )
    try:
        return checkpoints.read_first(candidates, _read, _warn)
    except CheckpointError as error:
        if others := _others(place):
            raise CheckpointError(f"{error}; of this run there is also {others}") from None
        raise


def _read(source: Path) -> Trained:
    saved = checkpoints.load(source, groups=("policy", "model"))
    require_status(source, saved.tensors.get("model", ()))
    try:
        config = settings.from_dict(stored(saved.state, "config", dict))
        if config.run.algorithm == "reinforce":
            make = partial(AttentionPolicy, config.attention)
            return AttentionScheduler(take_module(saved, "policy", make, config.attention.layers))
        like = {"weights": torch.from_numpy(FastPolicy().weights)}
        fast = FastPolicy(take(saved, "policy", like)["weights"].numpy())
        network = None
        if config.learner.network:
            make_network = partial(Network, config.network)
            network = take_module(saved, "model", make_network, config.network.layers)
        return Policy(fast, network, config, share(saved.state, "rollout_weight"))
    except DAGSchedError as error:
        raise CheckpointError(f"{source}: not the checkpoint of a run: {error}") from None


def _warn(message: str) -> None:
    warnings.warn(message, DamageWarning, stacklevel=6)  # at the caller of load_…


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

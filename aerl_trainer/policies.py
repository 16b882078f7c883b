"""A trained policy with the settings that it was trained under."""

import warnings
from pathlib import Path
from typing import NamedTuple

from aerl_trainer import checkpoint as checkpoints
from aerl_trainer import config as settings
from aerl_trainer.checkpoint import CheckpointError
from aerl_trainer.config import Config
from aerl_trainer.encoding.evaluator import Evaluator, PriorEvaluator
from aerl_trainer.nn.evaluator import TorchEvaluator
from aerl_trainer.nn.network import Network
from aerl_trainer.policy.fast import FastPolicy
from aerl_trainer.policy.files import load_weights
from aerl_trainer.policy.shipped import find_weights
from dagsched_env.errors import DAGSchedError

__all__ = ["Policy", "evaluator_of", "load_policy", "rollout_weight_of"]


class Policy(NamedTuple):
    """What a training run has learned."""

    fast: FastPolicy
    network: Network | None
    """None where the run has trained none."""
    config: Config
    rollout_weight: float
    """λ at the end of training."""


def load_policy(directory: str | Path) -> Policy:
    """Read what was trained: a run directory, a checkpoint in it, a file of weights, or by name.

    The names are those of ``policy.shipped``, such as ``"default"``; ``./default`` is a directory.
    Of a run the ``last`` checkpoint is taken: its fast policy is the last one that has passed the
    paired test. Where it is damaged, a warning says so and the ``previous`` one is taken.

    Raises:
        CheckpointError: there is no checkpoint, or it cannot be read.
        FormatError: a file that holds no weights of this policy.
    """
    if (weights := find_weights(directory)) is not None:
        return Policy(FastPolicy(load_weights(weights)[0]), None, Config(), 1.0)
    source = _find_checkpoint(Path(directory))
    if source.name == "last":
        previous = source.with_name("previous")
        saved = checkpoints.load_or_previous(source, previous, _warn)
    else:
        saved = checkpoints.load(source)
    try:
        config = settings.from_dict(saved.state["config"])
        fast = FastPolicy(saved.tensors["policy"]["weights"].numpy())
        network = None
        if "model" in saved.tensors:
            network = Network(config.network)
            network.load_state_dict(saved.tensors["model"])
        return Policy(fast, network, config, float(saved.state["rollout_weight"]))
    except (KeyError, TypeError, RuntimeError, DAGSchedError) as error:
        reason = str(error).splitlines()[0]
        raise CheckpointError(f"{source}: not the checkpoint of a run: {reason}") from None


def evaluator_of(policy: Policy | None) -> Evaluator:
    """The network of a policy in this process, if it has one."""
    network = None if policy is None else policy.network
    return PriorEvaluator() if network is None else TorchEvaluator(network)


def rollout_weight_of(policy: Policy | None) -> float:
    """λ of a search."""
    return 1.0 if policy is None or policy.network is None else policy.rollout_weight


def _warn(message: str) -> None:
    warnings.warn(message, RuntimeWarning, stacklevel=4)  # at the caller of load_policy


def _find_checkpoint(directory: Path) -> Path:
    for parent in (directory / "checkpoints", directory):
        for name in ("last", "best"):
            if checkpoints.exists(parent / name):
                return parent / name
    return directory

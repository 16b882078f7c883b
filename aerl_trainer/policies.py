"""A trained network with the settings that it was trained under."""

from pathlib import Path
from typing import NamedTuple

from aerl_trainer import checkpoint as checkpoints
from aerl_trainer import config as settings
from aerl_trainer.checkpoint import CheckpointError
from aerl_trainer.config import Config
from aerl_trainer.encoding.evaluator import Evaluator, PriorEvaluator
from aerl_trainer.nn.evaluator import TorchEvaluator
from aerl_trainer.nn.network import Network

__all__ = ["Policy", "evaluator_of", "load_policy", "rollout_weight_of"]


class Policy(NamedTuple):
    """What a search needs of a training run."""

    network: Network
    config: Config
    rollout_weight: float
    """λ at the end of training."""


def load_policy(directory: str | Path) -> Policy:
    """Read the network of a checkpoint, a run directory, or its ``checkpoints`` folder.

    Of a run, the ``last`` checkpoint is taken: ``best`` is the best of the greedy policy, which
    says little about how well a network guides the search.

    Raises:
        CheckpointError: there is no checkpoint, or it cannot be read.
    """
    source = _find_checkpoint(Path(directory))
    saved = checkpoints.load(source)
    try:
        config = settings.from_dict(saved.state["config"])
        network = Network(config.network)
        network.load_state_dict(saved.tensors["model"])
        return Policy(network, config, float(saved.state["rollout_weight"]))
    except (KeyError, TypeError, RuntimeError) as error:
        reason = str(error).splitlines()[0]
        raise CheckpointError(f"{source}: not the checkpoint of a run: {reason}") from None


def evaluator_of(policy: Policy | None) -> Evaluator:
    """The network of a policy in this process; None = the hand-made prior."""
    return PriorEvaluator() if policy is None else TorchEvaluator(policy.network)


def rollout_weight_of(policy: Policy | None) -> float:
    """λ of a search; a value head that has learned rank rewards knows nothing of makespans."""
    if policy is None or policy.config.search.value_target == "rank":
        return 1.0
    return policy.rollout_weight


def _find_checkpoint(directory: Path) -> Path:
    for parent in (directory / "checkpoints", directory):
        for name in ("last", "best"):
            if checkpoints.exists(parent / name):
                return parent / name
    return directory

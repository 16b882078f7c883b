"""A trained policy in one safetensors file, with the sizes of its network."""

import dataclasses
import json
from pathlib import Path

import safetensors
import safetensors.torch

from aerl_trainer.checkpoint import Checkpoint, take
from dagsched_env.io.atomic import write_bytes
from dagsched_env.problem.errors import FormatError
from tsp.attention import AttentionPolicy, ModelSettings

__all__ = ["load_policy", "save_policy"]

KEY = "model"


def save_policy(policy: AttentionPolicy, path: Path) -> None:
    """Write a policy.

    Raises:
        OSError: the file cannot be written; an old one is unchanged.
    """
    metadata = {KEY: json.dumps(dataclasses.asdict(policy.settings))}
    write_bytes(path, safetensors.torch.save(dict(policy.state_dict()), metadata))


def load_policy(path: Path) -> AttentionPolicy:
    """Read a policy, in the mode of evaluation.

    Raises:
        FormatError: the file holds none, or one with other tensors than its sizes ask for.
        OSError: it cannot be read.
    """
    path.stat()  # an error of its own where it is missing
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            settings = ModelSettings(**json.loads((file.metadata() or {})[KEY]))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        policy = AttentionPolicy(settings)
        policy.load_state_dict(take(Checkpoint({KEY: tensors}, {}, {}), KEY, policy.state_dict()))
    except (safetensors.SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise FormatError(f"{path}: not a policy for tours: {error}") from None
    return policy.eval()

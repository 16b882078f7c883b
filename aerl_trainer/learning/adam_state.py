"""The moments of an Adam optimiser as named tensors, for checkpoints."""

import torch

from aerl_trainer.checkpoint import Checkpoint, CheckpointError, take

ADAM_KEYS = ("step", "exp_avg", "exp_avg_sq")


def moments(optimizer: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    """``"<number of the parameter>.<key>"`` → tensor; nothing before the first step."""
    return {
        f"{number}.{key}": tensor
        for number, of_parameter in optimizer.state_dict()["state"].items()
        for key, tensor in of_parameter.items()
    }


def load_moments(optimizer: torch.optim.Optimizer, saved: Checkpoint, group: str) -> None:
    """The inverse of ``moments``; the rates of the optimiser stay as they are.

    Args:
        optimizer: Adam or AdamW without AMSGrad.
        saved: a checkpoint.
        group: name of the group of tensors that holds the moments.

    Raises:
        CheckpointError: a tensor is missing, does not fit its parameter, or holds negative squares.
    """
    parameters = [p for settings in optimizer.param_groups for p in settings["params"]]
    like = {
        f"{number}.{key}": torch.zeros(()) if key == "step" else parameter
        for number, parameter in enumerate(parameters)
        for key in ADAM_KEYS
    }
    found = {} if saved.tensors.get(group) == {} else take(saved, group, like)
    state: dict[int, dict[str, torch.Tensor]] = {}
    for name, tensor in found.items():
        number, key = name.split(".")
        if key == "exp_avg_sq" and (tensor < 0).any():
            raise CheckpointError(f"tensor {name!r} of {group!r} holds negative squares")
        state.setdefault(int(number), {})[key] = tensor
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": state, "param_groups": groups})

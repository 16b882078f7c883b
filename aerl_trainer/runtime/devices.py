"""Which devices the inference workers run on."""

from collections.abc import Sequence

import torch

from aerl_trainer.config import ConfigError


def resolve_devices(names: Sequence[str]) -> list[str]:
    """One name of a torch device for each worker; ``auto`` is every GPU there is, else the CPU.

    Raises:
        ConfigError: a name that torch does not know, or a GPU that is not there.
    """
    gpus = [f"cuda:{i}" for i in range(_gpu_count())]
    if list(names) == ["auto"]:
        return gpus or ["cpu"]
    return [_checked(name, gpus) for name in names]


def _gpu_count() -> int:
    return torch.cuda.device_count() if torch.cuda.is_available() else 0


def _checked(name: str, gpus: list[str]) -> str:
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ConfigError(
            f'inference.devices: {name!r} is no torch device; take "auto", "cpu" or "cuda:0"'
        ) from None
    if device.type == "cuda":
        known = f"cuda:{device.index or 0}"
        if known not in gpus:
            there = f"there are {', '.join(gpus)}" if gpus else 'there is none; take "cpu"'
            raise ConfigError(f"inference.devices: no GPU {name!r}: {there}")
        return known
    return str(device)

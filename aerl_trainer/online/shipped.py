"""The trained weights that come with the package, and dispatchers by name."""

from functools import cache
from pathlib import Path

from aerl_trainer.online.dispatcher import LearnedOrder
from aerl_trainer.online.files import WEIGHTS_FILE, load_online
from dagsched_env.kernels.arrays import Floats
from dagsched_env.problem.instance import Instance

__all__ = ["learned", "shipped_weights"]

FILE = Path(__file__).resolve().parent.parent / "data" / "online.safetensors"


@cache
def shipped_weights() -> Floats:
    """``[N_WEIGHTS]`` read once."""
    weights = load_online(FILE).weights
    weights.flags.writeable = False
    return weights


def learned(instance: Instance, file: str | None = None) -> LearnedOrder:
    """The learned dispatcher for a problem, as the commands name it.

    Args:
        instance: the problem; its durations are those that are expected.
        file: a run of one's own, or its weights; None: those that come with the package.

    Raises:
        FormatError: the file is none of ``aerl train --online``, or is damaged.
        OSError: the file cannot be read.
    """
    weights = shipped_weights() if file is None else _weights_of(file)
    return LearnedOrder(instance, weights)


@cache
def _weights_of(file: str) -> Floats:
    path = Path(file)
    return load_online(path / WEIGHTS_FILE if path.is_dir() else path).weights

"""What a checkpoint holds as schedulers of the command ``dagsched``.

``dagsched`` finds ``from_checkpoint`` by the entry-point group ``dagsched.policies``.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from aerl_trainer.policy.fast import FastPolicy
from aerl_trainer.policy.files import load_weights
from aerl_trainer.policy.shipped import find_weights
from dagsched_env.compare import Scheduler
from dagsched_env.instance import Instance
from dagsched_env.schedule import Schedule

if TYPE_CHECKING:
    from aerl_trainer.baselines.attention.scheduler import AttentionScheduler

__all__ = ["from_checkpoint"]


def from_checkpoint(checkpoint: Path, samples: int, seed: int) -> dict[str, Scheduler]:
    """``policy``, one greedy pass, and ``policy_sampled``, the best of it and of samples.

    Args:
        checkpoint: a run directory, a checkpoint in it, a file of ``policy.files``, or the name of
            a shipped policy.
        samples: schedules drawn for an instance, ≥ 1.
        seed: of the samples; they are the same whatever was scheduled before.

    Raises:
        DAGSchedError: it holds no policy that can be read.
        OSError: the file cannot be read.
    """
    policy = _read(checkpoint)

    def best_of(instance: Instance) -> Schedule:
        return policy.best_of(instance, samples, np.random.default_rng(seed))

    return {"policy": policy.schedule, "policy_sampled": best_of}


def _read(checkpoint: Path) -> "FastPolicy | AttentionScheduler":
    weights = find_weights(checkpoint)
    if weights is not None:
        return FastPolicy(load_weights(weights)[0])
    # A file needs no torch, which takes seconds to load.
    from aerl_trainer.policies import Policy, load_trained

    trained = load_trained(checkpoint)
    return trained.fast if isinstance(trained, Policy) else trained

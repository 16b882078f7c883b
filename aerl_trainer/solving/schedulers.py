"""What a checkpoint holds as schedulers of the command ``dagsched``.

``dagsched`` finds ``from_checkpoint`` by the entry-point group ``dagsched.policies``.
"""

from pathlib import Path

import numpy as np

from aerl_trainer.solving.learned import Policy
from aerl_trainer.solving.loading import load_trained
from dagsched_env.comparison.compare import Scheduler
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule


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
    trained = load_trained(checkpoint)
    policy = trained.fast if isinstance(trained, Policy) else trained

    def best_of(instance: Instance) -> Schedule:
        return policy.best_of(instance, samples, np.random.default_rng(seed))

    return {"policy": policy.schedule, "policy_sampled": best_of}

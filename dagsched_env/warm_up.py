"""Compile the kernels of this package beforehand, so that whatever follows starts at once."""

import numpy as np

from dagsched_env.bounds import lower_bounds
from dagsched_env.env import DAGSchedEnv
from dagsched_env.generators import TopcuogluGenerator
from dagsched_env.schedulers import SCHEDULERS, SEARCHERS
from dagsched_env.solver import load_kernels
from dagsched_env.vector import DAGSchedVectorEnv

__all__ = ["warm_up"]


def warm_up() -> None:
    """Take one small problem through every kernel; the machine code is kept on disk."""
    instance = TopcuogluGenerator(n_tasks=6, n_processors=2)(np.random.default_rng(0))
    for name, scheduler in SCHEDULERS.items():
        scheduler(instance, **({"max_evaluations": 200} if name in SEARCHERS else {}))
    load_kernels()
    lower_bounds(instance)
    float(instance.lower_bound)  # computed when it is first asked for
    for environment in (DAGSchedEnv(instance), DAGSchedVectorEnv(instance, num_envs=2)):
        _, info = environment.reset(seed=0)
        environment.step(info["action_mask"].argmax(axis=-1))

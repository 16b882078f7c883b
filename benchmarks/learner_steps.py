"""Gradient steps of the learner of the checkout that Python finds; ``learner.py`` runs them.

    PYTHONPATH=CHECKOUT python benchmarks/learner_steps.py < REQUESTS

One step for each line of the input; the answer is its number of states and its seconds of CPU time.
Nothing newer than commit 9b013a4 is used, so that learners from then on can be compared.
"""

import dataclasses
import sys
import time

import numpy as np
import torch

from aerl_trainer.config import Config
from aerl_trainer.learning.experiences import make_experiences
from aerl_trainer.learning.network_learner import NetworkLearner
from aerl_trainer.learning.records import Experience
from aerl_trainer.policy.fast import FastPolicy
from aerl_trainer.tree.records import Trajectory
from dagsched_env.generators import TopcuogluGenerator

__all__ = ["filled_learner"]

JOBS = 90
TRAJECTORIES = 12


def draw_job(seed: int, config: Config) -> list[Experience]:
    """Trajectories that a policy has drawn; to rebuild them takes as long as those of a search."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(20, 41)), int(rng.choice([3, 4, 6]))
    instance = TopcuogluGenerator(n_tasks=n, n_processors=p, ccr=(0.5, 1.0, 2.0, 5.0))(rng)
    group = FastPolicy().sample(instance, TRAJECTORIES, rng)
    trajectories = []
    for actions, makespan in zip(group.actions, group.makespans.tolist(), strict=True):
        pairs = np.stack(np.divmod(actions, p), axis=1).astype(np.int32)
        trajectories.append(Trajectory(pairs, candidates=(), policies=(), makespan=makespan))
    return make_experiences(instance, trajectories, config)


def filled_learner(batch_size: int) -> NetworkLearner:
    """A learner with ``JOBS`` problems of 20 to 40 tasks in its replay.

    Args:
        batch_size: trajectories in a step; single states at commit 9b013a4.
    """
    config = Config()
    settings = dataclasses.replace(config.learner, batch_size=batch_size)
    config = dataclasses.replace(config, learner=settings)
    learner = NetworkLearner(config)
    for seed in range(JOBS):
        learner.add(draw_job(seed, config))
    return learner


def main() -> None:
    torch.set_num_threads(1)
    learner = filled_learner(64)
    states = 0
    build = learner._builder.build

    def count(experiences, weights):  # type: ignore[no-untyped-def]
        nonlocal states
        whole = not hasattr(experiences[0], "depth")
        states = sum(e.instance.n_tasks if whole else 1 for e in experiences)
        return build(experiences, weights)

    learner._builder.build = count  # type: ignore[method-assign]
    learner.step()  # compiles and allocates
    print("ready", flush=True)
    for _ in sys.stdin:
        started = time.process_time()
        learner.step()
        print(states, time.process_time() - started, flush=True)


if __name__ == "__main__":
    main()

"""What the fast policy learns fastest from: its own schedules, those of the shared trees, or both.

    python benchmarks/rank_groups.py [--groups rollouts tree both] [--seconds 100] [--seeds 2]
        [--trees 2] [--ratio-clip 1]

Trains on the default mixture of ``aerl train`` in one process; seconds are its CPU time, searches
included. A step on both has ``--trees`` finished trees; one on trees alone has 16. The columns are
those of ``benchmarks/fast_policy.py``.
"""

import argparse
import dataclasses
import time

import numpy as np
from fast_policy import Unseen

from aerl_trainer.config import Config
from aerl_trainer.curriculum import Curriculum
from aerl_trainer.learning.policy_gradient import PolicyGradient
from aerl_trainer.lifecycle import JobLifecycle
from aerl_trainer.policy.fast import FastPolicy
from aerl_trainer.problems import Problems
from aerl_trainer.runtime.pool import LockstepPool
from dagsched_env import suites

GROUPS = ("rollouts", "tree", "both")
GUIDE_EVERY = 50
"""Steps between new weights for the searches."""


def train(groups: str, arguments: argparse.Namespace, seed: int) -> tuple[FastPolicy, int, int]:
    """The policy after its seconds, its gradient steps and the trees that it learned from."""
    base = Config()
    config = dataclasses.replace(
        base,
        policy=dataclasses.replace(base.policy, ratio_clip=arguments.ratio_clip),
        learner=dataclasses.replace(base.learner, groups=groups),
        run=dataclasses.replace(base.run, actors=1, seed=seed),
    )
    curriculum = Curriculum(config.curriculum, Problems(config.curriculum.levels, seed=seed))
    lifecycle = JobLifecycle(config, LockstepPool(config), curriculum, None)
    wanted = {"rollouts": 0, "tree": config.policy.instances, "both": arguments.trees}[groups]
    training = PolicyGradient(
        curriculum.make_instance,
        np.random.default_rng([7, seed]),
        config.policy,
        rollouts=groups != "tree",
    )
    trees = 0
    started = time.process_time()
    while (progress := (time.process_time() - started) / arguments.seconds) < 1.0:
        while lifecycle.waiting_groups < wanted:
            lifecycle.advance(0.0)
        trees += training.step(progress, lifecycle.take_groups(wanted)).trees
        if training.steps % GUIDE_EVERY == 0:
            lifecycle.guide(training.policy)
    return training.policy, training.steps, trees


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--groups", nargs="+", default=list(GROUPS), choices=GROUPS)
    parser.add_argument("--seconds", type=float, default=100.0)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--trees", type=int, default=2)
    parser.add_argument("--ratio-clip", type=float, default=1.0)
    arguments = parser.parse_args()
    valid = [i for i in suites.load("valid") if i.n_tasks in (100, 200)]
    sets = [Unseen("heldout", list(suites.load("heldout"))), Unseen("valid, 100 and 200", valid)]
    print("                    / HEFT                           / portfolio")
    print("                   one pass    samples best of 32     one pass   best of 32")
    for groups in arguments.groups:
        for seed in range(arguments.seeds):
            policy, steps, trees = train(groups, arguments, seed)
            print(f"{groups}, seed {seed}: {steps} steps, {trees} trees", flush=True)
            for unseen in sets:
                unseen.measure(policy)


if __name__ == "__main__":
    main()

"""Compile all kernels in one process before others start: the cache on disk serves them all."""

import dataclasses
from functools import partial

import numpy as np

from aerl_trainer.baselines.attention.learner import AttentionLearner
from aerl_trainer.config import Config, PolicyConfig, ReplayConfig
from aerl_trainer.learning.experiences import group_of, make_experiences
from aerl_trainer.learning.learner import Learner
from aerl_trainer.learning.policy_gradient import PolicyGradient
from aerl_trainer.nn.evaluator import TorchEvaluator
from aerl_trainer.nn.network import Network
from aerl_trainer.policy.fast import FastPolicy
from aerl_trainer.records import SearchJob
from aerl_trainer.replay import PrioritizedReplay, RowStore
from aerl_trainer.search.alone import search_alone
from aerl_trainer.search.prefix import fix_prefix
from aerl_trainer.search.trajectories import complete_by_network, sample_trajectories
from dagsched_env.generators import TopcuogluGenerator
from dagsched_env.simulator import State
from dagsched_env.warm_up import warm_up as warm_up_environment

__all__ = ["warm_up"]


def warm_up() -> None:
    """Take one small problem through every kernel of both packages."""
    config = Config()
    search = dataclasses.replace(config.search, budget=8, min_trajectories=2)
    config = dataclasses.replace(config, search=search)
    rng = np.random.default_rng(0)
    instance = TopcuogluGenerator(n_tasks=6, n_processors=2)(rng)
    warm_up_environment()
    evaluator = TorchEvaluator(Network(config.network))
    job = SearchJob(0, instance, seed=0)
    tree, _ = search_alone(job, evaluator, search, rollout_weight=1.0, explore=True)
    tree.bury(0)
    with tree.writing() as arrays:
        fix_prefix(arrays, 1, instance.n_processors, False)
    complete_by_network(instance, [State(instance)], evaluator, search, rng)
    complete = partial(FastPolicy().complete, instance, rng=rng)
    trajectories = sample_trajectories(instance, tree.arrays, complete, search, rng)
    training = PolicyGradient(lambda _: instance, rng, PolicyConfig(instances=1, schedules=2))
    training.step(trees=[group_of(instance, trajectories)])
    training.policy.schedule(instance)
    AttentionLearner(config, lambda _: instance).step(0.0)
    learner = Learner(config)
    learner.add(make_experiences(instance, trajectories, config))
    learner.step()
    warm_up_replay(rng)


def warm_up_replay(rng: np.random.Generator) -> None:
    """The kernels of rank-based replay and of rows, which the learner's defaults do not need."""
    config = ReplayConfig(capacity=4, min_size=1, kind="rank")
    replay = PrioritizedReplay(config, RowStore(4, {"number": ((), np.float64)}))
    replay.add({"number": 1.0})
    replay.add_many({"number": np.ones(2)})
    batch = replay.sample(2, rng, 0.5)
    replay.update(batch.slots, batch.generations, [1.0, 2.0])

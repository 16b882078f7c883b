"""Compile all kernels beforehand: the cache on disk serves every process."""

import dataclasses
from collections.abc import Callable
from functools import partial

import numpy as np

from aerl_trainer.baselines.attention.learner import AttentionLearner
from aerl_trainer.config import Config, PolicyConfig, ReplayConfig, SearchConfig
from aerl_trainer.learning.experiences import make_experiences
from aerl_trainer.learning.network_learner import NetworkLearner
from aerl_trainer.learning.policy_learner import PolicyLearner
from aerl_trainer.learning.replay import PrioritizedReplay, RowStore
from aerl_trainer.network.evaluator import TorchEvaluator
from aerl_trainer.network.network import Network
from aerl_trainer.online.dispatcher import LearnedOrder
from aerl_trainer.online.rollout import Runs
from aerl_trainer.online.weights import initial_weights
from aerl_trainer.policy.fast import FastPolicy
from aerl_trainer.solving.learned import Policy
from aerl_trainer.solving.solver import solve
from aerl_trainer.tree.alone import search_alone, vary_alone
from aerl_trainer.tree.prefix import fix_prefix
from aerl_trainer.tree.records import SearchJob
from aerl_trainer.tree.trajectories import complete_by_network, sample_trajectories
from aerl_trainer.tree.variation import group_of
from dagsched_env.cli.compilation import (
    STEPS,
    Step,
    call_all,
    call_environments,
    call_schedulers,
    call_searchers,
    sharing_problem,
    small_problem,
)
from dagsched_env.online import World, simulate
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.simulator import State


def warm_up(*, training: bool = False) -> None:
    """Take one small problem through every kernel of both packages.

    Args:
        training: only those of a training by default, on problems without resources.
    """
    steps: list[Step] = [call_policy, call_solve, call_replay]
    steps += [call_environments, call_schedulers, call_searchers]
    if not training:
        shared = [partial(step, sharing_problem) for step in (call_policy, call_solve)]
        steps += [call_search, *shared, call_online, call_attention]
        steps += [step for step in STEPS if step not in steps]
    call_all(steps)


def call_search() -> None:
    """The tree search, and what the network learns from it."""
    config = Config()
    search = dataclasses.replace(config.search, budget=8, min_trajectories=2)
    config = dataclasses.replace(config, search=search)
    rng, instance = np.random.default_rng(0), small_problem()
    evaluator = TorchEvaluator(Network(config.network))
    job = SearchJob(0, instance, seed=0)
    tree, _ = search_alone(job, evaluator, search, rollout_weight=1.0, explore=True)
    tree.bury(0)
    with tree.writing() as arrays:
        fix_prefix(arrays, 1, instance.n_processors, False)
    complete_by_network(instance, [State(instance)], evaluator, search, rng)
    complete = partial(complete_by_network, instance, evaluator=evaluator, config=search, rng=rng)
    trajectories = sample_trajectories(instance, tree.arrays, complete, search, rng)
    learner = NetworkLearner(config)
    learner.add(make_experiences(instance, trajectories, config))
    learner.step()


def call_policy(make: Callable[[], Instance] = small_problem) -> None:
    """The fast policy: from schedules that it draws and from a tree; one pass."""
    instance, config = make(), PolicyConfig(instances=1, schedules=2)
    training = PolicyLearner(lambda _: instance, np.random.default_rng(0), config)
    training.step()
    job = SearchJob(0, instance, seed=0, policy=training.present.weights)
    tree, _ = vary_alone(job, SearchConfig(budget=8))
    training.step(trees=[group_of(job, tree.arrays)])
    training.policy.schedule(instance)


def call_solve(make: Callable[[], Instance] = small_problem) -> None:
    """Trees that are searched without a policy and with one."""
    for checkpoint in (None, Policy(FastPolicy())):
        solve(make(), simulations=8, checkpoint=checkpoint, anneal=False)


def call_online() -> None:
    """The learned dispatcher: runs with gradients, and decisions."""
    for problem in (small_problem(), sharing_problem()):
        world, rng = World(problem), np.random.default_rng(0)
        weights = initial_weights(rng)
        Runs(world).sample(weights, 2, rng)
        simulate(world, LearnedOrder(problem, weights))


def call_attention() -> None:
    """The attention model, a rival."""
    AttentionLearner(Config(), lambda _: small_problem()).step(0.0)


def call_replay() -> None:
    """The kernels of each kind of prioritised replay, and of rows."""
    for kind in ("proportional", "rank"):
        config = ReplayConfig(capacity=4, min_size=1, kind=kind)
        replay = PrioritizedReplay(config, RowStore(4, {"number": ((), np.float64)}))
        replay.add({"number": 1.0})
        replay.add_many({"number": np.ones(2)})
        batch = replay.sample(2, np.random.default_rng(0), 0.5)
        replay.update(batch.slots, batch.generations, [1.0, 2.0])

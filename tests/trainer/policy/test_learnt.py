"""A context that learns from schedules: what it holds, when it forgets, and that it pays."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from aerl_trainer.policy.context import policy_context
from aerl_trainer.policy.fast import VARIETY, FastPolicy
from aerl_trainer.policy.learnt import IN_VAIN, LearntContext
from aerl_trainer.policy.rollout import roll_out_group
from aerl_trainer.policy.shipped import shipped_policy
from aerl_trainer.policy.workspace import allocate_policy
from dagsched_env import suites
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers import heft, peft
from dagsched_env.schedulers.iterated_lists import Estimates
from helpers.small_runs import problem
from helpers.strategies import instances


@given(instances(max_tasks=10, max_processors=4), st.integers(0, 2**32 - 1))
def test_it_holds_the_estimates_of_the_schedules_before(instance: Instance, seed: int) -> None:
    learnt, first = LearntContext(instance), policy_context(instance)
    estimates = Estimates(instance, instance.rank_u)
    np.testing.assert_array_equal(learnt.now().c.rank_u, first.c.rank_u)
    np.testing.assert_array_equal(learnt.now().through, first.through)
    n, weights = instance.n_tasks, FastPolicy().weights
    w, rng = allocate_policy(n, instance.n_processors, 0), np.random.default_rng(seed)
    made = np.empty(1), np.empty((1, n), dtype=np.int64), w.no_gradient
    for _ in range(3):
        roll_out_group(learnt.now(), w, weights, rng.random((1, n)), *made)
        schedule = Schedule(w.state.processor, w.state.start, w.state.finish)
        schedule.validate(instance)
        learnt.learn(schedule)
        estimates.learn(schedule)
        context = learnt.now()
        np.testing.assert_array_equal(context.c.rank_u, estimates.rank)
        np.testing.assert_array_equal(context.c.oct, estimates.costs_to_go)
        np.testing.assert_array_equal(context.through, instance.comp + estimates.costs_to_go)
    # Nobody else's context has changed.
    np.testing.assert_array_equal(policy_context(instance).c.oct, instance.oct)
    assert policy_context(instance) is first


def test_what_no_longer_pays_is_forgotten() -> None:
    instance = problem(20, 3)
    learnt, first = LearntContext(instance), policy_context(instance)
    shorter, longer = sorted((heft(instance), peft(instance)), key=lambda made: made.makespan)
    assert shorter.makespan < longer.makespan
    learnt.learn(longer)
    learnt.learn(shorter)
    for _ in range(IN_VAIN - 1):
        learnt.learn(longer)
        assert (learnt.now().c.rank_u != first.c.rank_u).any()
    learnt.learn(longer)
    np.testing.assert_array_equal(learnt.now().c.rank_u, first.c.rank_u)
    learnt.learn(longer)  # the shortest one of the next series
    for _ in range(IN_VAIN - 1):
        learnt.learn(longer)
    assert (learnt.now().c.rank_u != first.c.rank_u).any()


def test_learning_pays() -> None:
    """As many schedules as plain samples, on graphs on which it was not chosen."""
    policy, ratios = shipped_policy("default"), []
    names = [name for name in suites.names("train") if "-n200-" in name][1::5]
    for seed, name in enumerate(names):
        instance = suites.instance("train", name)
        learning = policy.best_of(instance, 32, np.random.default_rng(seed)).makespan
        varied = policy.softened(VARIETY * policy.temperature(instance))
        sampled = varied.sample(instance, 32, np.random.default_rng(seed))
        plain = min(sampled.makespans.min(), policy.schedule(instance).makespan)
        ratios.append(learning / plain)
    assert len(ratios) == 32
    assert np.exp(np.mean(np.log(ratios))) < 0.995

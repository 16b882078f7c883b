"""A search guided by the fast policy: its prior, its rollouts, and what it leaves alone."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from aerl_trainer.config import SearchConfig
from aerl_trainer.policy.context import policy_context
from aerl_trainer.policy.encoding.evaluator import PriorEvaluator
from aerl_trainer.policy.fast import FastPolicy
from aerl_trainer.policy.scoring import begin, score, take_pairs
from aerl_trainer.policy.weights import N_WEIGHTS, SCALE, Weights, initial_weights
from aerl_trainer.policy.workspace import allocate_policy
from aerl_trainer.tree import worker
from aerl_trainer.tree.alone import search_alone
from aerl_trainer.tree.preparation import CLASSIC, POLICY, prepare_leaves
from aerl_trainer.tree.records import SearchJob
from aerl_trainer.tree.shared_tree import SharedTree
from aerl_trainer.tree.tree import ROOT
from dagsched_env.generators import TopcuogluGenerator
from dagsched_env.kernels.state.transitions import reset
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.simulator import replay

CONFIG = SearchConfig(budget=60, min_trajectories=2, batch_size=4).for_solving(60)
INSTANCE = TopcuogluGenerator(n_tasks=12, n_processors=3)(np.random.default_rng(5))


def some_weights() -> Weights:
    """Not the hand-made prior, and no pair is certain."""
    rng = np.random.default_rng(1)
    weights = initial_weights(rng)
    weights += (0.2 * rng.normal(size=N_WEIGHTS)).astype(np.float32)
    weights[SCALE] = -1.0
    return weights


def search(
    config: SearchConfig, weights: Weights | None, instance: Instance = INSTANCE
) -> SharedTree:
    job = SearchJob(0, instance, seed=3, policy=weights)
    tree, _ = search_alone(job, PriorEvaluator(), config, rollout_weight=1.0, explore=False)
    return tree


@pytest.mark.parametrize("temperature", [1.0, 4.0])
def test_the_priors_at_the_root_are_the_policy_s(temperature: float) -> None:
    weights = some_weights()
    tree = search(dataclasses.replace(CONFIG, prior_temperature=temperature), weights).arrays
    edges = slice(tree.first_edge[ROOT], tree.first_edge[ROOT] + tree.n_edges[ROOT])
    f, w = policy_context(INSTANCE), allocate_policy(*INSTANCE.shape, width=32)
    reset(f.c.g, w.state)
    begin(f, w, w.state)
    actions = tree.edge_action[edges].astype(np.int32)
    take_pairs(f, w, w.state, actions, len(actions))
    score(f, w, w.state, weights, len(actions))
    logits = w.logits[: len(actions)] / temperature
    expected = np.exp(logits - logits.max())
    assert np.allclose(tree.edge_prior[edges], expected / expected.sum(), atol=1e-6)
    assert np.ptp(expected) > 0.1


def test_the_first_rollout_is_the_greedy_schedule() -> None:
    weights = some_weights()
    tree = search(dataclasses.replace(CONFIG, budget=1, batch_size=1), weights)
    assert tree.simulations == 1
    assert tree.best_makespan == FastPolicy(weights).schedule(INSTANCE).makespan


@pytest.mark.parametrize("rollout", ["policy", "list"])
def test_the_incumbent_is_a_schedule_of_the_instance(rollout: str) -> None:
    config = dataclasses.replace(CONFIG, rollout=rollout)
    for seed in range(10):
        instance = TopcuogluGenerator(n_tasks=(2, 15), n_processors=3)(np.random.default_rng(seed))
        tree = search(config, some_weights(), instance)
        order = tree.arrays.incumbent_sequence[: instance.n_tasks]
        pairs = [(int(t), int(tree.arrays.incumbent_processor[t])) for t in order]
        schedule = replay(instance, pairs)
        schedule.validate(instance)
        assert schedule.makespan == pytest.approx(tree.best_makespan, rel=1e-12)


@pytest.mark.parametrize(("share", "least", "most"), [(1.0, 1, 1), (0.5, 0.4, 0.6), (0.0, 0, 0.02)])
def test_list_scheduling_completes_the_other_leaves(
    share: float, least: float, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    completed_by: list[int] = []

    def prepare(*arguments: Any) -> None:
        completed_by.extend(arguments[7])
        prepare_leaves(*arguments)

    monkeypatch.setattr(worker, "prepare_leaves", prepare)
    instance = TopcuogluGenerator(n_tasks=30, n_processors=3)(np.random.default_rng(5))
    search(dataclasses.replace(CONFIG, budget=400, policy_rollouts=share), some_weights(), instance)
    assert len(completed_by) >= 400
    assert set(completed_by) <= {CLASSIC, POLICY}
    assert completed_by[0] == POLICY  # the root's first one is the greedy schedule
    assert least <= completed_by.count(POLICY) / len(completed_by) <= most


def test_the_hand_made_prior_can_be_kept() -> None:
    """With its rollouts turned off as well, a policy has no part in the search."""
    config = dataclasses.replace(CONFIG, prior="hand", rollout="list")
    guided, unguided = search(config, some_weights()), search(CONFIG, None)
    for one, other in zip(guided.arrays, unguided.arrays, strict=True):
        assert np.array_equal(one, other)


def test_a_guided_search_is_a_function_of_its_seed() -> None:
    a, b = (search(CONFIG, some_weights()).arrays for _ in range(2))
    assert np.array_equal(a.edge_visits, b.edge_visits)
    assert not np.array_equal(a.edge_visits, search(CONFIG, None).arrays.edge_visits)

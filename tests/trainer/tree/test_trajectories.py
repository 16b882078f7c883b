"""Trajectories of a finished tree: complete, legal, distinct, drawn by visits, truly replayed."""

import dataclasses
from collections import Counter
from functools import partial

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from aerl_trainer.config import SearchConfig
from aerl_trainer.policy.encoding.evaluator import PriorEvaluator
from aerl_trainer.tree.alone import search_alone
from aerl_trainer.tree.records import SearchJob, Trajectory
from aerl_trainer.tree.shared_tree import SharedTree
from aerl_trainer.tree.trajectories import (
    MIN_POLICY_VISITS,
    Completion,
    complete_by_network,
    sample_trajectories,
)
from aerl_trainer.tree.tree import N_NODES, NO_NODE, ROOT, TERMINAL, TreeArrays
from dagsched_env.generators import TopcuogluGenerator
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.simulator import State, replay
from dagsched_env.schedulers import SCHEDULERS
from helpers.strategies import instances
from helpers.tree_invariants import edges_of

CONFIG = SearchConfig(
    budget=200,
    min_trajectories=8,
    cap_factor=4.0,
    batch_size=8,
    c_puct=1.5,
    best_weight=0.5,
    max_children=32,
    min_prior=0.002,
    trajectory_temperature=0.5,
    incumbent_trajectory=True,
)


def problem(n: int = 15, p: int = 3, seed: int = 0) -> Instance:
    return TopcuogluGenerator(n_tasks=n, n_processors=p)(np.random.default_rng(seed))


def grow(instance: Instance, config: SearchConfig = CONFIG, seed: int = 0) -> SharedTree:
    task = SearchJob(0, instance, seed)
    tree, _ = search_alone(task, PriorEvaluator(), config, rollout_weight=1.0, explore=True)
    return tree


def sample(
    instance: Instance, tree: SharedTree, config: SearchConfig = CONFIG, seed: int = 0
) -> list[Trajectory]:
    rng = np.random.default_rng(seed)
    return sample_trajectories(instance, tree.arrays, by_prior(instance, config, rng), config, rng)


def by_prior(
    instance: Instance, config: SearchConfig, rng: np.random.Generator | None
) -> Completion:
    """Goes on as a network would that has learned nothing."""
    return partial(
        complete_by_network, instance, evaluator=PriorEvaluator(), config=config, rng=rng
    )


def flat(instance: Instance, trajectory: Trajectory) -> tuple[int, ...]:
    pairs = trajectory.actions.tolist()
    return tuple(task * instance.n_processors + processor for task, processor in pairs)


def check(instance: Instance, trajectories: list[Trajectory], config: SearchConfig) -> None:
    """Everything that holds of any sample of any tree."""
    assert 1 <= len(trajectories) <= config.min_trajectories
    assert len({flat(instance, t) for t in trajectories}) == len(trajectories), "distinct"
    for t in trajectories:
        assert t.actions.shape == (instance.n_tasks, 2)
        schedule = replay(instance, t.actions)  # raises on an illegal action
        schedule.validate(instance)
        assert t.makespan == schedule.makespan
        assert len(t.policies) == len(t.candidates) <= instance.n_tasks
        check_policies(instance, t)


def check_policies(instance: Instance, t: Trajectory) -> None:
    state = State(instance)
    for depth, (candidates, policy) in enumerate(zip(t.candidates, t.policies, strict=True)):
        assert policy.dtype == np.float32
        assert policy.shape == candidates.shape
        assert (policy >= 0).all()
        assert policy.sum() == pytest.approx(1.0, abs=1e-5)
        assert len(set(candidates.tolist())) == len(candidates)
        assert all(state.legal()[divmod(a, instance.n_processors)] for a in candidates.tolist())
        state.apply(*t.actions[depth].tolist())


def child_of(t: TreeArrays, node: int, action: int) -> tuple[int, int]:
    """Edge of an action and the node below it; (-1, NO_NODE) where the tree has no such edge."""
    for e in edges_of(t, node):
        if t.edge_action[e] == action:
            return e, int(t.edge_child[e])
    return -1, NO_NODE


# -- their number --------------------------------------------------------------------------------


@pytest.mark.parametrize("incumbent", [False, True])
def test_terminal_nodes_make_up_the_number(
    monkeypatch: pytest.MonkeyPatch, incumbent: bool
) -> None:
    """One round of draws repeats itself; the tree holds as many sequences as are wanted."""
    monkeypatch.setattr("aerl_trainer.tree.trajectories.MAX_ROUNDS", 1)
    instance = problem(4, 2)
    config = dataclasses.replace(CONFIG, min_trajectories=16, incumbent_trajectory=incumbent)
    made_up = 0
    for seed in range(5):
        tree = grow(instance, config, seed)
        terminals = int((tree.arrays.status[: tree.counter(N_NODES)] == TERMINAL).sum())
        assert terminals >= 16
        drawn = sample(instance, tree, config, seed)
        check(instance, drawn, config)
        assert len(drawn) == 16
        monkeypatch.setattr("aerl_trainer.tree.trajectories.TERMINAL", -1)  # nothing to add
        made_up += len(drawn) - len(sample(instance, tree, config, seed))
        monkeypatch.setattr("aerl_trainer.tree.trajectories.TERMINAL", TERMINAL)
    assert made_up > 0


# -- validity ------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(
    instance=instances(max_tasks=8),
    budget=st.sampled_from([1, 20, 100]),
    wanted=st.integers(1, 10),
    incumbent=st.booleans(),
    seed=st.integers(0, 2**31 - 1),
)
def test_trajectories_of_any_tree(
    instance: Instance, budget: int, wanted: int, incumbent: bool, seed: int
) -> None:
    config = dataclasses.replace(
        CONFIG, budget=budget, min_trajectories=wanted, incumbent_trajectory=incumbent
    )
    tree = grow(instance, config, seed)
    check(instance, sample(instance, tree, config, seed), config)


@pytest.mark.parametrize("seed", range(12))
def test_k_trajectories_come_back(seed: int) -> None:
    instance = problem(n=10 + seed, p=2 + seed % 4, seed=seed)
    trajectories = sample(instance, grow(instance, seed=seed), seed=seed)
    assert len(trajectories) == CONFIG.min_trajectories
    check(instance, trajectories, CONFIG)


@pytest.mark.parametrize(("n", "p", "seed"), [(5, 3, 13), (8, 2, 40), (6, 2, 50), (10, 2, 102)])
def test_sequences_that_a_sharp_policy_repeats_are_drawn_again(n: int, p: int, seed: int) -> None:
    """In these, a trajectory below a shallow tree is completed to the incumbent's sequence."""
    instance = problem(n, p, seed)
    config = dataclasses.replace(CONFIG, budget=10, min_trajectories=12, trajectory_temperature=0.2)
    trajectories = sample(instance, grow(instance, config, seed), config, seed)
    assert len(trajectories) == 12
    check(instance, trajectories, config)


def test_a_problem_with_one_sequence_gives_one_trajectory() -> None:
    instance = Instance([[2.0], [3.0], [4.0]], [(0, 1), (1, 2)], [1, 1])
    trajectories = sample(instance, grow(instance))
    assert [t.makespan for t in trajectories] == [9.0]
    assert trajectories[0].actions.tolist() == [[0, 0], [1, 0], [2, 0]]


def test_a_seed_gives_the_same_trajectories() -> None:
    instance = problem()
    tree = grow(instance)
    one, two, other = (sample(instance, tree, seed=seed) for seed in (1, 1, 2))
    for left, right in zip(one, two, strict=True):
        assert np.array_equal(left.actions, right.actions)
    assert {flat(instance, t) for t in one} != {flat(instance, t) for t in other}


# -- what they follow ----------------------------------------------------------------------------


def test_they_follow_visited_edges_as_far_as_there_are_any() -> None:
    """And carry the visit distributions of the nodes on the way, without a gap from the root."""
    instance = problem()
    config = dataclasses.replace(CONFIG, incumbent_trajectory=False)
    tree = grow(instance, config)
    t = tree.arrays
    deepest = 0
    for trajectory in sample(instance, tree, config):
        node, with_policy = ROOT, True
        for depth, action in enumerate(flat(instance, trajectory)):
            visits = np.array([t.edge_visits[e] for e in edges_of(t, node)])
            if visits.sum() == 0:
                break
            deepest = max(deepest, depth)
            edge, below = child_of(t, node, action)
            assert t.edge_visits[edge] > 0
            with_policy = with_policy and visits.sum() >= MIN_POLICY_VISITS
            assert (depth < len(trajectory.policies)) == with_policy
            if with_policy:
                expected = [int(t.edge_action[e]) for e in edges_of(t, node)]
                assert trajectory.candidates[depth].tolist() == expected
                assert trajectory.policies[depth] == pytest.approx(visits / visits.sum(), rel=1e-6)
            node = below
        assert len(trajectory.policies) >= 1
    assert deepest >= 3


def draw_first_actions(
    instance: Instance, tree: SharedTree, draws: int, seed: int
) -> Counter[tuple[int, int]]:
    """First two actions of many single trajectories."""
    config = dataclasses.replace(CONFIG, min_trajectories=1, incumbent_trajectory=False)
    rng = np.random.default_rng(seed)
    pairs: Counter[tuple[int, int]] = Counter()
    for _ in range(draws):
        complete = by_prior(instance, config, rng)
        (one,) = sample_trajectories(instance, tree.arrays, complete, config, rng)
        first, second, *_ = flat(instance, one)
        pairs[first, second] += 1
    return pairs


def test_actions_are_drawn_in_proportion_to_their_visits() -> None:
    """χ² over the first two actions; a pair's probability is N(root, a)/ΣN · N(a, b)/ΣN."""
    instance = problem(n=6, p=2, seed=2)
    tree = grow(instance, dataclasses.replace(CONFIG, budget=150, min_prior=0.01))
    t = tree.arrays
    total = sum(int(t.edge_visits[e]) for e in edges_of(t, ROOT))
    expected = {}
    for e in edges_of(t, ROOT):
        child = int(t.edge_child[e])
        below = {int(t.edge_action[f]): int(t.edge_visits[f]) for f in edges_of(t, child)}
        for action, visits in below.items():
            share = t.edge_visits[e] / total * visits / max(sum(below.values()), 1)
            expected[int(t.edge_action[e]), action] = share
    draws = 1500
    drawn = draw_first_actions(instance, tree, draws, seed=0)
    assert all(expected[pair] > 0 for pair in drawn)
    common = [pair for pair, share in expected.items() if draws * share >= 5]
    assert len(common) >= 4
    observed = [drawn[pair] for pair in common]
    wanted = [draws * expected[pair] for pair in common]
    rest = draws - sum(wanted)
    if rest > 1e-6:
        observed, wanted = [*observed, draws - sum(observed)], [*wanted, rest]
    assert scipy.stats.chisquare(observed, wanted).pvalue > 1e-3


# -- the incumbent -------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_the_best_schedule_of_the_search_is_the_first_trajectory(seed: int) -> None:
    instance = problem(seed=seed)
    tree = grow(instance, seed=seed)
    first, *others = sample(instance, tree, seed=seed)
    best = tree.incumbent(instance.n_tasks, algorithm="search")
    assert first.makespan == tree.best_makespan == best.makespan
    assert replay(instance, first.actions) == best
    assert all(other.makespan >= first.makespan for other in others)


def test_an_offered_schedule_can_be_the_trajectory() -> None:
    instance = problem()
    config = dataclasses.replace(CONFIG, budget=2, min_trajectories=1, cap_factor=1.0)
    strong = grow(instance, dataclasses.replace(CONFIG, budget=2000))
    offer = strong.incumbent(instance.n_tasks, algorithm="offered")
    task = SearchJob(0, instance, 3)
    tree, _ = search_alone(
        task, PriorEvaluator(), config, rollout_weight=1.0, explore=False, incumbent=offer
    )
    assert tree.best_makespan == offer.makespan
    (only,) = sample(instance, tree, config)
    assert only.makespan <= offer.makespan * (1 + 1e-12)


def test_a_search_that_has_met_no_schedule_has_trajectories() -> None:
    """At its cap, without rollouts: there is no incumbent to be one of them."""
    instance = problem()
    config = dataclasses.replace(
        CONFIG, budget=4, cap_factor=1.0, backup="value", rollout="none", incumbent_trajectory=True
    )
    tree = grow(instance, config)
    assert tree.best_makespan == np.inf
    check(instance, sample(instance, tree, config), config)


def test_without_the_incumbent_only_the_tree_speaks() -> None:
    instance = problem(n=20, seed=1)
    config = dataclasses.replace(CONFIG, incumbent_trajectory=False, trajectory_temperature=2.0)
    tree = grow(instance, config)
    trajectories = sample(instance, tree, config)
    assert len(trajectories) == config.min_trajectories
    assert min(t.makespan for t in trajectories) > tree.best_makespan


# -- the policy below the tree -------------------------------------------------------------------


def play(
    instance: Instance, config: SearchConfig, rng: np.random.Generator | None, copies: int = 3
) -> list[list[int]]:
    states = [State(instance) for _ in range(copies)]
    actions = by_prior(instance, config, rng)(states)
    assert all(state.terminal for state in states)
    for state, sequence in zip(states, actions, strict=True):
        pairs = [divmod(action, instance.n_processors) for action in sequence]
        assert replay(instance, pairs).makespan == state.makespan
    return actions


def test_the_greedy_policy_is_deterministic_and_sensible() -> None:
    """Without a network it takes the most probable action of the hand-made prior."""
    ratios = []
    for seed in range(10):
        instance = problem(n=20, seed=seed)
        one, *others = play(instance, CONFIG, None)
        assert all(other == one for other in others)
        pairs = [divmod(action, instance.n_processors) for action in one]
        heft = SCHEDULERS["heft"](instance).makespan
        ratios.append(replay(instance, pairs).makespan / heft)
    assert np.mean(ratios) < 1.1


def test_temperature_moves_between_greedy_and_random() -> None:
    instance = problem()
    greedy = play(instance, CONFIG, None, copies=1)[0]
    agreement = []
    for temperature in (0.001, 0.2, 1.0, 100.0):
        config = dataclasses.replace(CONFIG, trajectory_temperature=temperature)
        played = play(instance, config, np.random.default_rng(0), copies=40)
        agreement.append(np.mean([common_prefix(greedy, sequence) for sequence in played]))
    assert agreement == sorted(agreement, reverse=True)
    assert agreement[0] == instance.n_tasks
    assert agreement[-1] < 2


def common_prefix(one: list[int], other: list[int]) -> int:
    return sum(np.cumprod([a == b for a, b in zip(one, other, strict=True)]))


def test_states_are_completed_from_where_they_are() -> None:
    instance = problem()
    full = play(instance, CONFIG, None, copies=1)[0]
    states = []
    for depth in (0, 4, instance.n_tasks):
        state = State(instance)
        for action in full[:depth]:
            state.apply(*divmod(action, instance.n_processors))
        states.append(state)
    assert by_prior(instance, CONFIG, None)(states) == [full, full[4:], []]

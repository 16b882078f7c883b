"""The principal variation of a tree, other actions along it, and what the policy learns from it."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerl_trainer.config import PolicyConfig, ReplayConfig, SearchConfig
from aerl_trainer.learning.group_gradients import grade_tree
from aerl_trainer.learning.policy_learner import PolicyLearner
from aerl_trainer.learning.problem_replay import ProblemReplay
from aerl_trainer.learning.rank_reward import rank_rewards
from aerl_trainer.policy.context import policy_context
from aerl_trainer.policy.fast import FastPolicy
from aerl_trainer.policy.scoring import begin, score, short_list
from aerl_trainer.policy.weights import N_WEIGHTS, Weights
from aerl_trainer.policy.workspace import allocate_policy
from aerl_trainer.tree.alone import vary_alone
from aerl_trainer.tree.records import SearchJob, TreeGroup
from aerl_trainer.tree.shared_tree import SharedTree
from aerl_trainer.tree.tree import N_EDGES, N_NODES, TreeSize
from aerl_trainer.tree.variation import claim, claim_root, group_of
from aerl_trainer.tree.variation_worker import VariationWorker
from dagsched_env.generators import TopcuogluGenerator
from dagsched_env.kernels.arrays import Floats
from dagsched_env.kernels.state.transitions import reset
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.simulator import State
from dagsched_env.schedulers import heft
from helpers.policies import some_weights
from helpers.strategies import instances

EVERYTHING = SearchConfig(budget=100_000, min_trajectories=1)


def problem(n: int = 8, p: int = 3, seed: int = 0) -> Instance:
    return TopcuogluGenerator(n_tasks=n, n_processors=p)(np.random.default_rng(seed))


def job_of(instance: Instance, seed: int = 0) -> SearchJob:
    return SearchJob(0, instance, seed, policy=some_weights())


def grown(job: SearchJob, config: SearchConfig) -> TreeGroup:
    tree, _ = vary_alone(job, config)
    return group_of(job, tree.arrays)


def same(one: TreeGroup, other: TreeGroup) -> bool:
    return all(
        np.array_equal(getattr(one, field.name), getattr(other, field.name))
        for field in dataclasses.fields(TreeGroup)
        if field.name != "instance"
    )


def completed(instance: Instance, actions: list[int]) -> float:
    """Makespan where the policy goes on greedily behind these actions."""
    state, policy = State(instance), FastPolicy(some_weights())
    for action in actions:
        state.apply(*divmod(action, instance.n_processors))
    while not state.terminal:
        state.apply(*policy.action(state))
    return state.makespan


def probabilities(instance: Instance, actions: list[int], weights: Weights) -> dict[int, float]:
    """Of the actions that the policy considers behind these."""
    f, w = policy_context(instance), allocate_policy(*instance.shape)
    state = State(instance)
    for action in actions:
        state.apply(*divmod(action, instance.n_processors))
    reset(f.c.g, w.state)
    begin(f, w, state.arrays)
    count = short_list(f, w, state.arrays)
    score(f, w, state.arrays, weights, count)
    logits = w.logits[:count] - w.logits[:count].max()
    shares = np.exp(logits) / np.exp(logits).sum()
    return dict(zip(w.actions[:count].tolist(), shares.tolist(), strict=True))


@given(instances(max_tasks=8, max_processors=3), st.integers(0, 2**31 - 1), st.integers(1, 20))
def test_every_simulation_is_a_schedule_of_the_policy(
    instance: Instance, seed: int, budget: int
) -> None:
    """Greedy behind the principal variation, which is greedy itself, and one other action."""
    job = job_of(instance, seed)
    tree, report = vary_alone(job, SearchConfig(budget=budget, min_trajectories=1))
    group = group_of(job, tree.arrays)
    path = group.actions.tolist()
    assert group.makespan == pytest.approx(completed(instance, []), rel=1e-12, abs=1e-12)
    assert report.simulations == report.terminal_paths == 1 + len(group.depths)
    for depth, other, makespan in zip(
        group.depths.tolist(), group.others.tolist(), group.makespans.tolist(), strict=True
    ):
        assert other != path[depth]
        expected = completed(instance, [*path[:depth], other])
        assert makespan == pytest.approx(expected, rel=1e-12, abs=1e-12)
    shortest = min([group.makespan, *group.makespans.tolist()])
    incumbent = tree.incumbent(instance.n_tasks, algorithm="tree")
    incumbent.validate(instance)
    assert incumbent.makespan == pytest.approx(shortest, rel=1e-12, abs=1e-12)
    if report.outcome == "complete":
        assert report.simulations == budget
    else:
        assert report.outcome == "exhausted"


def test_a_tree_that_is_searched_out_holds_every_action_of_the_short_lists() -> None:
    instance = problem()
    group = grown(job_of(instance), EVERYTHING)
    path = group.actions.tolist()
    tried = set(zip(group.depths.tolist(), group.others.tolist(), strict=True))
    listed = {
        (depth, action)
        for depth in range(instance.n_tasks)
        for action in probabilities(instance, path[:depth], some_weights())
    }
    assert tried == listed - set(enumerate(path))
    assert (group.inclusion == 1.0).all()


def test_visits_are_conserved() -> None:
    job = job_of(problem(20, 4))
    tree, report = vary_alone(job, SearchConfig(budget=50))
    t = tree.arrays
    assert report.simulations == 50
    edges, nodes = int(t.counters[N_EDGES]), int(t.counters[N_NODES])
    assert nodes == 20 + 1 + 49
    assert not t.edge_in_flight[:edges].any()
    for node in range(20):
        mine = slice(t.first_edge[node], t.first_edge[node] + t.n_edges[node])
        above = 50 if node == 0 else t.edge_visits[t.parent_edge[node]]
        assert t.edge_visits[mine].sum() == above
        assert t.edge_prior[mine].sum() == pytest.approx(1.0, abs=1e-5)


def test_the_number_of_actors_and_their_deaths_change_nothing() -> None:
    """What is tried is a function of the job; here actor 1 dies with claims, and twice at work."""
    job, config = job_of(problem(15, 3), 7), SearchConfig(budget=40, batch_size=5)
    alone = grown(job, config)
    tree = SharedTree.local(TreeSize.for_search(config, 3, 15))
    tree.reset()
    workers = [VariationWorker(actor, job, tree, config) for actor in range(3)]
    rng = np.random.default_rng(0)
    assert workers[0].run_batch() == 1
    assert workers[1].run_batch() == 5
    with tree.writing(1) as arrays:
        assert claim(arrays, 1, 5, workers[1]._agenda, 40) == 5  # type: ignore[arg-type]
    tree.bury(1)
    workers[1] = VariationWorker(1, job, tree, config)
    while not tree.finished:
        workers[rng.integers(3)].run_batch()
    assert (tree.arrays.actor_simulations > 0).all()
    assert tree.arrays.actor_simulations.sum() == 40
    assert same(group_of(job, tree.arrays), alone)


@pytest.mark.parametrize("budget", [1, 5])
def test_a_problem_without_a_choice(budget: int) -> None:
    """A chain on one processor: nothing can be tried, and learning from it changes nothing."""
    chain = Instance(np.ones((3, 1)), [(0, 1), (1, 2)], [1.0, 1.0])
    group = grown(job_of(chain), SearchConfig(budget=budget, min_trajectories=1))
    assert (group.makespan, group.depths.size) == (3.0, 0)
    replay = ProblemReplay(ReplayConfig(min_size=1))
    training = PolicyLearner(lambda _: chain, np.random.default_rng(0), replay=replay)
    report = training.step(trees=[group])
    assert (report.gradient_norm, report.schedules, len(replay)) == (0.0, 1, 1)


def test_a_tree_has_room_for_its_trajectories_and_ends_when_it_is_full() -> None:
    instance = problem(20, 4)
    wanted = SearchConfig(budget=4, min_trajectories=120, cap_factor=1.0, batch_size=1)
    assert len(grown(job_of(instance), wanted).depths) == 119
    tree = SharedTree.local(TreeSize(nodes=30, edges=20 * 32, actors=1, batch=8, tasks=20))
    tree.reset()
    worker = VariationWorker(0, job_of(instance), tree, SearchConfig(budget=100))
    while not tree.finished:
        worker.run_batch()
    assert tree.outcome == "cap"
    assert tree.simulations == 30 - 20


def test_problems_come_back_with_their_priority_and_their_best_makespan() -> None:
    replay = ProblemReplay(ReplayConfig(share=1.0, min_size=2, alpha=1.0))
    groups = [grown(job_of(problem(seed=seed)), SearchConfig(budget=20)) for seed in range(3)]
    assert replay.draw(np.random.default_rng(0)) is None
    replay.learned(groups, [0.0, 1.0, 3.0])
    rng = np.random.default_rng(1)
    drawn = [replay.draw(rng) for _ in range(400)]
    counts = [sum(d is not None and d[1][0] == k for d in drawn) for k in range(3)]
    assert counts[0] < 5
    assert counts[2] == pytest.approx(300, abs=40)
    known, place = next(d for d in drawn if d is not None and d[1][0] == 2)
    assert known.instance is groups[2].instance
    assert known.makespan == min([groups[2].makespan, *groups[2].makespans.tolist()])
    better = dataclasses.replace(groups[2], makespan=known.makespan / 2, place=place)
    replay.learned([better], [0.0])
    assert known.makespan == better.makespan
    assert len(replay) == 3
    replay.learned([dataclasses.replace(better, makespan=0.1, place=(2, 99))], [5.0])
    assert known.makespan == better.makespan, "it has been overwritten in the meantime"
    again = ProblemReplay(replay.config)
    again.load_state_arrays(replay.state_arrays())
    assert {p.makespan for p in again.sample(30, rng, 0.0).content} <= {
        p.makespan for p in replay.sample(300, rng, 0.0).content
    }


def test_the_best_known_schedule_of_a_problem_is_a_member_of_its_group() -> None:
    group, policy = grown(job_of(problem()), SearchConfig(budget=20)), FastPolicy(some_weights())
    one = grade_tree(policy, group, rank_rewards)
    known = grade_tree(policy, dataclasses.replace(group, known=group.makespan / 2), rank_rewards)
    assert not np.array_equal(one.gradient, known.gradient)
    assert one.schedules == known.schedules == 20


def test_a_dead_actor_gives_the_root_back() -> None:
    job, config = job_of(problem()), SearchConfig(budget=10)
    tree = SharedTree.local(TreeSize.for_search(config, 2, 8))
    tree.reset()
    with tree.writing(0) as arrays:
        assert claim_root(arrays, 0)
    other = VariationWorker(1, job, tree, config)
    assert other.run_batch() == 0
    tree.bury(0)
    assert other.run_batch() == 1


def test_a_job_without_a_policy_is_refused() -> None:
    job = SearchJob(0, problem(), 0)
    with pytest.raises(DAGSchedError, match="needs a policy"):
        vary_alone(job, SearchConfig())


def minus_makespan(makespans: Floats) -> Floats:
    """A reward that does not depend on the other schedules."""
    return -makespans


def test_the_gradient_is_that_of_the_expected_reward_of_one_decision() -> None:
    """Against finite differences of Σ_s Σ_a π(a | s) · reward over the whole tree."""
    instance = problem(6, 2)
    group = grown(job_of(instance), EVERYTHING)
    path = group.actions.tolist()
    makespans = {
        (depth, other): makespan
        for depth, other, makespan in zip(
            group.depths.tolist(), group.others.tolist(), group.makespans.tolist(), strict=True
        )
    }

    def expected_reward(weights: Weights) -> float:
        total = 0.0
        for depth in range(instance.n_tasks):
            for action, share in probabilities(instance, path[:depth], weights).items():
                total -= share * makespans.get((depth, action), group.makespan)
        return total

    weights, rng, step = some_weights(), np.random.default_rng(2), 1e-3
    gradient = grade_tree(FastPolicy(weights), group, minus_makespan).gradient
    assert np.abs(gradient).max() > 0.0
    for _ in range(10):
        direction = rng.normal(size=N_WEIGHTS).astype(np.float32)
        direction /= np.linalg.norm(direction)
        ends = [expected_reward(weights + sign * step * direction) for sign in (1, -1)]
        slope = (ends[0] - ends[1]) / (2 * step)
        assert float(gradient @ direction) == pytest.approx(slope, rel=0.05, abs=0.05)


def test_the_estimate_from_a_part_of_the_actions_is_unbiased() -> None:
    """The mean over many small trees of one problem is the gradient of the whole tree."""
    instance, policy = problem(6, 2), FastPolicy(some_weights())
    exact = grade_tree(policy, grown(job_of(instance), EVERYTHING), minus_makespan).gradient
    config = SearchConfig(budget=5, min_trajectories=1)
    estimates = np.array(
        [
            grade_tree(policy, grown(job_of(instance, seed), config), minus_makespan).gradient
            for seed in range(2000)
        ]
    )
    directions = np.random.default_rng(1).normal(size=(10, N_WEIGHTS))
    along = estimates @ directions.T
    error = along.std(axis=0) / np.sqrt(len(along))
    assert (error < 0.2 * np.abs(directions @ exact)).sum() >= 5  # precise enough to see a bias
    assert (np.abs(along.mean(axis=0) - directions @ exact) < 4.0 * error).all()


def test_trees_alone_shorten_schedules_of_problems_that_were_not_seen() -> None:
    draw = TopcuogluGenerator(n_tasks=15, n_processors=3, ccr=(1.0, 5.0))
    rng, config = np.random.default_rng(0), SearchConfig(budget=32)
    training = PolicyLearner(draw, np.random.default_rng(1), PolicyConfig())
    unseen = [draw(np.random.default_rng(1000 + i)) for i in range(150)]

    def ratios(policy: FastPolicy) -> Floats:
        return np.array([policy.schedule(i).makespan / heft(i).makespan for i in unseen])

    before = ratios(training.policy)
    for step in range(150):
        jobs = [
            SearchJob(k, draw(rng), seed=step * 8 + k, policy=training.present.weights)
            for k in range(8)
        ]
        training.step(step / 150, [grown(job, config) for job in jobs])
    gains = before - ratios(training.policy)
    assert gains.mean() > 4.0 * gains.std(ddof=1) / np.sqrt(len(gains))
    assert gains.mean() > 0.02

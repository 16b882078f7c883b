"""The learner: targets mean what they say, the loss is its formula and falls, a resume is exact."""

import dataclasses
import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from aerl_trainer import checkpoint
from aerl_trainer.checkpoint import Checkpoint, CheckpointError
from aerl_trainer.config import Config
from aerl_trainer.learning.batches import BatchBuilder, TrainBatch
from aerl_trainer.learning.experience_replay import ExperienceReplay
from aerl_trainer.learning.experiences import make_experiences
from aerl_trainer.learning.losses import VALUE_DELTA, Losses, compute_losses
from aerl_trainer.learning.network_learner import NetworkLearner, make_network
from aerl_trainer.learning.rank_reward import rank_rewards, rank_weights
from aerl_trainer.learning.records import Experience
from aerl_trainer.network.evaluator import flat_weights
from aerl_trainer.policy.encoding.context import encoding_context
from aerl_trainer.policy.encoding.states import (
    EncodedStates,
    allocate_states,
    allocate_workspace,
    encode_state,
)
from aerl_trainer.tree.answers import take_answers
from aerl_trainer.tree.leaves import leaves_around
from aerl_trainer.tree.records import Trajectory
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.simulator import State
from helpers import references
from helpers.small_runs import experiences_of, problem, replaced, small_config, trajectories_of
from helpers.strategies import instances

CONFIG = small_config()
EVERY_ACTION = small_config(search={"min_prior": 0.0, "max_children": 64})
CPU = torch.device("cpu")


def filled_learner(config: Config = CONFIG, problems: int = 2) -> NetworkLearner:
    learner = NetworkLearner(config)
    for seed in range(problems):
        learner.add(experiences_of(problem(seed=seed), config, seed))
    return learner


def batch_of(experiences: list[Experience], config: Config = CONFIG) -> TrainBatch:
    return BatchBuilder(config.search, CPU).build(experiences, np.ones(len(experiences)))


def states_of(experiences: list[Experience]) -> Iterator[tuple[int, Experience, int]]:
    """Row of a batch, experience and depth of every state."""
    pairs = [(e, depth) for e in experiences for depth in range(e.instance.n_tasks)]
    for row, (experience, depth) in enumerate(pairs):
        yield row, experience, depth


def rebuilt(experience: Experience, depth: int, config: Config = CONFIG) -> EncodedStates:
    """A state of an experience as the search would write it, by way of the simulator."""
    instance, state = experience.instance, State(experience.instance)
    for task, processor in experience.actions[:depth].tolist():
        state.apply(task, processor)
    leaves = allocate_states(1, config.search.max_children, instance.n_tasks)
    workspace = allocate_workspace(*instance.shape)
    context, search = encoding_context(instance), config.search
    prior = search.prior != "none"
    encode_state(context, workspace, state.arrays, leaves, 0, search.min_prior, prior, True)
    return leaves


def partial_of(experience: Experience, depth: int) -> references.Partial:
    """A state of an experience, by the slow reference."""
    partial = references.Partial(experience.instance, insertion=True)
    for task, processor in experience.actions[:depth].tolist():
        partial.place(task, processor)
    return partial


def list_completion(experience: Experience, depth: int) -> float:
    """Makespan of the list completion of a state, by the slow reference."""
    instance, partial = experience.instance, partial_of(experience, depth)
    noise = np.zeros(instance.n_tasks + instance.comp.size)
    return references.complete(partial, instance.rank_u, instance.oct, 0.0, noise)


def random_experience(instance: Instance, seed: int) -> Experience:
    """A random sequence, nothing of it searched, all of it to be imitated."""
    rng, state, actions = np.random.default_rng(seed), State(instance), []
    while not state.terminal:
        actions.append(rng.choice(np.argwhere(state.legal())).tolist())
        state.apply(*actions[-1])
    trajectory = Trajectory(
        actions=np.array(actions, dtype=np.int32),
        candidates=(),
        policies=(),
        makespan=float(state.schedule().makespan),
    )
    (experience,) = make_experiences(instance, [trajectory], CONFIG)
    return experience


# -- experiences ---------------------------------------------------------------------------------


def test_every_trajectory_becomes_an_experience() -> None:
    instance = problem()
    trajectories = trajectories_of(instance, CONFIG)
    experiences = make_experiences(instance, trajectories, CONFIG)
    makespans = np.array([t.makespan for t in trajectories])
    rewards = rank_rewards(makespans, temperature=CONFIG.learner.rank_temperature)
    weights = rank_weights(makespans, temperature=CONFIG.learner.rank_temperature)
    assert np.ptp(makespans) > 0
    for i, (e, trajectory) in enumerate(zip(experiences, trajectories, strict=True)):
        assert e.actions is trajectory.actions
        assert e.makespan == trajectory.makespan
        assert e.reward == pytest.approx(rewards[i])
        assert e.weight == pytest.approx(weights[i] * len(trajectories))
    assert np.mean([e.weight for e in experiences]) == pytest.approx(1.0)
    best = min(experiences, key=lambda e: e.makespan)
    assert best.reward == max(e.reward for e in experiences) > 0


def test_visits_are_kept_and_the_best_schedule_is_imitated_from_the_start() -> None:
    instance = problem()
    trajectories = trajectories_of(instance, CONFIG)
    experiences = make_experiences(instance, trajectories, CONFIG)
    best = int(np.argmin([t.makespan for t in trajectories]))
    for k, (e, trajectory) in enumerate(zip(experiences, trajectories, strict=True)):
        ends = np.cumsum(e.visited)[:-1]
        assert 0 < len(trajectory.policies) < instance.n_tasks
        assert e.imitated_from == (0 if k == best else len(trajectory.policies))
        for stored, parts in (
            (e.candidates, trajectory.candidates),
            (e.policy, trajectory.policies),
        ):
            for one, other in zip(np.split(stored, ends), parts, strict=True):
                assert np.array_equal(one, other)


# -- batches -------------------------------------------------------------------------------------


def test_a_batch_holds_the_states_as_the_search_sees_them() -> None:
    experiences = experiences_of(problem(), CONFIG) + experiences_of(problem(9, 2, 1), CONFIG)
    batch = batch_of(experiences)
    assert batch.graphs.n_graphs == 2
    assert batch.graphs.task.shape[0] == 8 + 9
    assert batch.mask.any(dim=1).all(), "there is no terminal state among them"
    assert batch.first.tolist() == [0, 8, 16, 24, 33, 42]
    states = batch.states
    for row, experience, depth in states_of(experiences):
        leaves = rebuilt(experience, depth)
        k = int(leaves.n_candidates[0])
        assert batch.mask[row].sum() == k
        assert batch.mask[row, :k].all()
        assert np.array_equal(batch.prior_logits[row, :k], leaves.prior_logits[0, :k])
        assert np.array_equal(states.state_features[row], leaves.state_features[0])
        own = slice(*states.first[row : row + 2].tolist())
        assert np.array_equal(states.pair_features[own], leaves.pair_features[0, :k])
        first = 0 if experience.instance.n_tasks == 8 else 8
        tasks, processors = np.divmod(leaves.candidates[0, :k], experience.instance.n_processors)
        assert states.task[own].tolist() == (tasks + first).tolist()
        assert states.processor[own].tolist() == (processors + (3 if first else 0)).tolist()
        assert states.graph[row] == (first > 0)
        statuses = states.status[slice(*states.first_task[row : row + 2].tolist())]
        own_tasks = first + np.arange(experience.instance.n_tasks)
        assert statuses.tolist() == (3 * own_tasks + leaves.status[0]).tolist()
    assert states.first[-1] == states.task.shape[0] == batch.mask.sum()
    assert states.first_task[-1] == states.status.shape[0] == 3 * (8 * 8 + 9 * 9)


@given(instances(), st.integers(0, 2**32 - 1))
def test_a_list_completion_that_goes_on_unchanged_is_that_of_the_state(
    instance: Instance, seed: int
) -> None:
    experience = random_experience(instance, seed)
    builder = BatchBuilder(CONFIG.search, CPU)
    builder.build([experience], np.ones(1))
    for row, _, depth in states_of([experience]):
        expected = rebuilt(experience, depth).completion_makespan[0]
        assert builder._encoded.completion_makespan[row] == expected


def test_without_a_prior_batches_have_none() -> None:
    config = small_config(search={"prior": "none", "min_prior": 0.0, "max_children": 64})
    experiences = experiences_of(problem(), config)
    batch = batch_of(experiences, config)
    assert not batch.prior_logits[batch.mask].any()
    for row, experience, depth in states_of(experiences):
        partial = partial_of(experience, depth)
        assert (
            batch.mask[row].sum() == len(partial.ready_tasks()) * experience.instance.n_processors
        )


def test_a_builder_writes_every_batch_anew() -> None:
    """Its arrays are reused, whatever was in them."""
    builder, experiences = BatchBuilder(CONFIG.search, CPU), experiences_of(problem(), CONFIG)
    builder.build(experiences_of(problem(9, 2, 1), CONFIG), np.ones(3))
    found = builder.build(experiences[:1], np.ones(1))
    expected = batch_of(experiences[:1])
    for one, other in zip(found.states, expected.states, strict=True):
        assert np.array_equal(one, other)
    for name in ("mask", "visits", "consistent", "value_target"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name
    assert np.array_equal(found.prior_logits[found.mask], expected.prior_logits[expected.mask])


def test_features_of_an_instance_live_as_long_as_its_experiences() -> None:
    """A training draws new instances for days."""
    learner = filled_learner(problems=3)
    learner.step()
    assert 1 <= len(learner._builder._static) <= 3
    learner.replay = ExperienceReplay(CONFIG.replay)
    gc.collect()
    assert not learner._builder._static


def test_visits_align_with_the_candidates() -> None:
    experiences = experiences_of(problem(), CONFIG)
    batch = batch_of(experiences)
    ends = {id(e): np.concatenate([[0], np.cumsum(e.visited)]) for e in experiences}
    for row, e, depth in states_of(experiences):
        target, leaves = batch.visits[row], rebuilt(e, depth)
        if depth >= e.visited.shape[0]:
            assert not target.any()
            continue
        own = slice(*ends[id(e)][depth : depth + 2])
        expected = dict(zip(e.candidates[own].tolist(), e.policy[own].tolist(), strict=True))
        k = int(leaves.n_candidates[0])
        known = sum(expected.get(a, 0.0) for a in leaves.candidates[0, :k].tolist())
        assert known > 0
        assert target.sum() == pytest.approx(1.0, abs=1e-6)
        assert not target[k:].any()
        for action, share in zip(
            leaves.candidates[0, :k].tolist(), target[:k].tolist(), strict=True
        ):
            assert share == pytest.approx(expected.get(action, 0.0) / known, abs=1e-6)


def test_a_target_outside_the_candidates_is_left_out() -> None:
    experience = experiences_of(problem(), CONFIG)[0]
    searched = experience.candidates[: experience.visited[0]]
    assert len(searched) >= 2
    stranger = 10_000
    mixed, alien = (
        dataclasses.replace(
            experience,
            visited=np.array([len(candidates)], dtype=np.int32),
            candidates=np.array(candidates, dtype=np.int32),
            policy=np.array(policy, dtype=np.float32),
        )
        for candidates, policy in (
            ([searched[1], stranger, searched[0]], [0.25, 0.5, 0.25]),
            ([stranger], [1.0]),
        )
    )
    batch = batch_of([mixed, alien])
    target = batch.visits[batch.first]
    assert target[0, :2].tolist() == [0.5, 0.5]
    assert not target[0, 2:].any()
    assert not target[1].any()


@given(instances(), st.integers(0, 2**32 - 1))
def test_the_actions_to_imitate_are_those_of_the_slow_reference(
    instance: Instance, seed: int
) -> None:
    experience = random_experience(instance, seed)
    schedule = partial_of(experience, instance.n_tasks)
    batch = batch_of([experience], EVERY_ACTION)
    for row, _, depth in states_of([experience]):
        leaves = rebuilt(experience, depth, EVERY_ACTION)
        actions = leaves.candidates[0][batch.consistent[row].numpy().nonzero()]
        found = {divmod(int(action), instance.n_processors) for action in actions}
        assert found == partial_of(experience, depth).consistent(schedule)
        assert tuple(experience.actions[depth]) in found


@given(instances(), st.integers(0, 2**32 - 1))
def test_consistent_actions_in_any_order_end_in_the_schedule(instance: Instance, seed: int) -> None:
    experience = random_experience(instance, seed)
    schedule = partial_of(experience, instance.n_tasks)
    rng, partial = np.random.default_rng(seed), references.Partial(instance, insertion=True)
    for _ in range(instance.n_tasks):
        choices = sorted(partial.consistent(schedule))
        partial.place(*choices[rng.integers(len(choices))])
    assert partial.placed == schedule.placed


def test_nothing_is_imitated_before_its_first_state() -> None:
    experiences = experiences_of(problem(), CONFIG)
    assert {e.imitated_from > 0 for e in experiences} == {True, False}
    batch = batch_of(experiences)
    for row, experience, depth in states_of(experiences):
        assert batch.consistent[row].any() or depth < experience.imitated_from
        assert not batch.consistent[row].any() or depth >= experience.imitated_from
        assert not (batch.consistent[row] & ~batch.mask[row]).any()


def test_the_return_target_is_the_improvement_on_the_list_completion() -> None:
    experiences = experiences_of(problem(), CONFIG)
    batch = batch_of(experiences)
    for row, experience, depth in states_of(experiences):
        gain = list_completion(experience, depth) - experience.makespan
        expected = gain / experience.instance.rank_u.max()
        assert batch.value_target[row].item() == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_a_perfect_value_head_makes_the_search_back_up_the_return_to_go() -> None:
    """The learner's unit and the search's are the same."""
    experiences = experiences_of(problem(), CONFIG)
    batch = batch_of(experiences)
    for row, experience, depth in states_of(experiences):
        leaves = leaves_around(rebuilt(experience, depth))
        leaves.states.prediction[0] = batch.value_target[row].item()
        leaves.rollout_makespan[0] = experience.makespan
        context = encoding_context(experience.instance)
        take_answers(context, leaves, 1, np.zeros(0), 0.0, 0.0, True, False)
        return_to_go = (leaves.states.lower_bound[0] - experience.makespan) / context.cp_min
        assert leaves.value[0] == pytest.approx(return_to_go, rel=1e-5, abs=1e-5)


def test_the_rank_target_is_the_reward() -> None:
    config = small_config(search={"backup": "value", "value_target": "rank"})
    experiences = experiences_of(problem(), config)
    assert len({e.reward for e in experiences}) > 1
    found = batch_of(experiences, config).value_target
    expected = [e.reward for _, e, _ in states_of(experiences)]
    assert found.tolist() == pytest.approx(expected, rel=1e-6)


def test_weights_of_a_trajectory_are_those_of_its_states() -> None:
    experiences = experiences_of(problem(), CONFIG) + experiences_of(problem(9, 2, 1), CONFIG)
    importance = np.random.default_rng(0).random(len(experiences))
    batch = BatchBuilder(CONFIG.search, CPU).build(experiences, importance)
    lengths = [e.instance.n_tasks for e in experiences]
    assert batch.importance.tolist() == pytest.approx(np.repeat(importance, lengths).tolist())
    weights = [e.weight for e in experiences]
    assert batch.elite.tolist() == pytest.approx(np.repeat(weights, lengths).tolist())


# -- the loss ------------------------------------------------------------------------------------


def numpy_losses(
    logits: np.ndarray, prediction: np.ndarray, batch: TrainBatch, config: Config
) -> dict[str, Any]:
    """The formula, state by state."""
    learner, first = config.learner, batch.states.first.tolist()
    policy, value, entropy, errors = [], [], [], []
    for row in range(len(prediction)):
        own = slice(first[row], first[row + 1])
        k = own.stop - own.start
        total = logits[own] + batch.prior_logits[row, :k].numpy()
        log_p = total - np.log(np.exp(total - total.max()).sum()) - total.max()
        target = batch.visits[row, :k].numpy()
        used = target > 0
        imitated = (target[used] * (np.log(target[used]) - log_p[used])).sum()
        if (consistent := batch.consistent[row, :k].numpy()).any():
            imitated -= np.log(np.exp(log_p[consistent]).sum())
        error = abs(prediction[row] - batch.value_target[row].item())
        huber = error**2 / 2 if error <= VALUE_DELTA else VALUE_DELTA * (error - VALUE_DELTA / 2)
        weight, elite = batch.importance[row].item(), batch.elite[row].item()
        policy.append(weight * elite * imitated)
        value.append(weight * huber)
        entropy.append(-(np.exp(log_p) * log_p).sum())
        errors.append(elite * imitated + learner.value_coefficient * huber)
    parts = {"policy": policy, "value": value, "entropy": entropy}
    means = {name: float(np.mean(values)) for name, values in parts.items()}
    total_loss = means["policy"] + learner.value_coefficient * means["value"]
    return {
        **means,
        "total": total_loss - learner.entropy_coefficient * means["entropy"],
        "errors": np.array(errors),
    }


def test_the_loss_is_its_formula() -> None:
    rng = np.random.default_rng(0)
    config = small_config(learner={"value_coefficient": 0.7, "entropy_coefficient": 0.05})
    experiences = experiences_of(problem(), config) + experiences_of(problem(9, 2, 1), config)
    batch = BatchBuilder(config.search, CPU).build(experiences, rng.random(len(experiences)))
    assert (batch.visits.any(dim=1) & batch.consistent.any(dim=1)).any()
    n, count = batch.states.task.shape[0], batch.mask.shape[0]
    logits = torch.tensor(rng.normal(size=n), dtype=torch.float32, requires_grad=True)
    prediction = torch.tensor(rng.normal(size=count) * 0.2, dtype=torch.float32)
    losses = compute_losses(logits, prediction, batch, config.learner)
    expected = numpy_losses(logits.detach().numpy(), prediction.numpy(), batch, config)
    for name in Losses._fields:
        found = getattr(losses, name).detach().numpy()
        assert found == pytest.approx(expected[name], rel=1e-4, abs=1e-5), name
    assert (losses.errors >= -1e-6).all()
    losses.total.backward()
    assert torch.isfinite(logits.grad).all()
    assert (logits.grad != 0).any()


def test_the_right_policy_and_value_leave_no_error() -> None:
    experiences = [
        dataclasses.replace(e, imitated_from=len(e.actions))
        for e in experiences_of(problem(), CONFIG)
    ]
    batch = batch_of(experiences)
    found = (batch.visits.clamp(min=1e-12).log() - batch.prior_logits)[batch.mask]
    losses = compute_losses(found, batch.value_target, batch, CONFIG.learner)
    assert losses.errors.tolist() == pytest.approx([0.0] * len(losses.errors), abs=1e-5)


def test_any_policy_on_the_consistent_actions_leaves_no_error() -> None:
    batch = batch_of([random_experience(problem(20, 4), seed=1)], EVERY_ACTION)
    several = batch.consistent.sum(dim=1) > 1
    assert several.any(), "a choice is left"
    rng = torch.Generator().manual_seed(0)
    spread = torch.rand(batch.consistent.shape, generator=rng) * 3
    found = torch.where(batch.consistent, spread, -40.0) - batch.prior_logits
    losses = compute_losses(found[batch.mask], batch.value_target, batch, CONFIG.learner)
    assert losses.errors.tolist() == pytest.approx([0.0] * len(losses.errors), abs=1e-5)


# -- the learner ---------------------------------------------------------------------------------


def test_a_small_replay_is_learned_by_heart() -> None:
    """One trajectory of each of four tasks, so no two targets disagree: all errors fall."""
    config = small_config(
        search={"min_trajectories": 1},
        network={"width": 32, "layers": 2},
        learner={"batch_size": 4, "learning_rate": 0.003, "entropy_coefficient": 0.0},
        replay={"alpha": 0.0},
    )
    learner = filled_learner(config, problems=4)
    assert len(learner.replay) == 4
    reports = [learner.step() for _ in range(250)]
    for name in ("loss", "policy_loss", "value_loss"):
        values = [getattr(report, name) for report in reports]
        assert np.isfinite(values).all()
        assert np.mean(values[-10:]) < 0.4 * np.mean(values[:10]), name
    assert [report.step for report in reports] == list(range(1, 251))
    correlations = [report.value_correlation for report in reports]
    assert correlations[0] == 0.0, "at the start the value head says the same of every state"
    assert 0.5 < np.mean(correlations[-10:]) <= 1.0
    norms = [report.gradient_norm for report in reports]
    assert np.isfinite(norms).all()
    assert min(norms) > 0


def stored(learner: NetworkLearner, path: Path) -> Checkpoint:
    """Its state after a way through the disk."""
    state = learner.state()
    checkpoint.save(path / "last", tensors=state.tensors, arrays=state.arrays, state=state.state)
    return checkpoint.load(path / "last")


@pytest.mark.parametrize("replay", [{"kind": "rank"}, {"kind": "uniform"}, {"normalise": "buffer"}])
def test_every_kind_of_replay_learns_and_is_restored(replay: dict, tmp_path: Path) -> None:
    config = small_config(replay=replay)
    learner = filled_learner(config)
    learner.step()
    twin = NetworkLearner(config)
    twin.restore(stored(learner, tmp_path))
    assert [learner.step().loss for _ in range(2)] == [twin.step().loss for _ in range(2)]


def test_a_step_changes_the_weights_and_the_priorities() -> None:
    learner = filled_learner()
    before, priorities = learner.weights(), learner.replay.state_arrays()["priorities"].copy()
    learner.step()
    assert not np.array_equal(learner.weights(), before)
    assert not np.array_equal(learner.replay.state_arrays()["priorities"], priorities)
    assert learner.replay.counters.updated == CONFIG.learner.batch_size


def test_training_is_a_function_of_the_seed() -> None:
    one, two, other = (filled_learner(replaced(CONFIG, "run", seed=seed)) for seed in (1, 1, 2))
    torch.manual_seed(99)  # nobody listens to the global generator
    reports = [[learner.step() for _ in range(5)] for learner in (one, two, other)]
    assert reports[0] == reports[1] != reports[2]
    assert np.array_equal(one.weights(), two.weights())
    assert not np.array_equal(one.weights(), other.weights())


def test_a_fresh_network_leaves_the_global_generator_alone() -> None:
    torch.manual_seed(5)
    state = torch.get_rng_state()
    one = flat_weights(make_network(CONFIG))
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(6)
    assert np.array_equal(flat_weights(make_network(CONFIG)), one)


def test_priorities_are_the_mean_errors_of_trajectories(monkeypatch: pytest.MonkeyPatch) -> None:
    learner, seen = filled_learner(), []

    def spy(*arguments: Any) -> Losses:
        losses = compute_losses(*arguments)
        seen.append((arguments[2].first, losses.errors.numpy()))
        return losses

    monkeypatch.setattr("aerl_trainer.learning.network_learner.compute_losses", spy)
    monkeypatch.setattr(learner.replay, "update", lambda *given: seen.append(given))
    learner.step()
    (first, errors), (_, _, priorities) = seen
    parts = np.split(errors, first[1:])
    assert [len(part) for part in parts] == [8] * CONFIG.learner.batch_size
    assert priorities == pytest.approx([part.mean() for part in parts], rel=1e-6)


def test_it_waits_for_enough_experience() -> None:
    learner = NetworkLearner(CONFIG)
    experiences = experiences_of(problem(), CONFIG) + experiences_of(problem(seed=1), CONFIG)
    needed = CONFIG.replay.min_size
    assert len(experiences) >= needed
    learner.add(experiences[: needed - 1])
    assert not learner.ready
    learner.add(experiences[:1])
    assert learner.ready


def test_lambda_falls_linearly_and_stays() -> None:
    decay = {"rollout_weight": 1.0, "rollout_weight_end": 0.5, "rollout_decay_steps": 10}
    learner = NetworkLearner(small_config(search=decay))
    found = []
    for learner.steps in (0, 5, 10, 1000):
        found.append(learner.rollout_weight)
    assert found == pytest.approx([1.0, 0.75, 0.5, 0.5])
    assert (
        NetworkLearner(small_config(search={**decay, "rollout_decay_steps": 0})).rollout_weight
        == 0.5
    )
    ranks = {"backup": "value", "value_target": "rank", "rollout_decay_steps": 0}
    assert NetworkLearner(small_config(search={**decay, **ranks})).rollout_weight == 1.0


def test_a_restored_learner_goes_on_exactly(tmp_path: Path) -> None:
    learner = filled_learner()
    for _ in range(6):
        learner.step()
    twin = NetworkLearner(replaced(CONFIG, "run", seed=77))  # its own start is overwritten
    twin.restore(stored(learner, tmp_path))
    assert twin.steps == 6
    assert np.array_equal(twin.weights(), learner.weights())
    extra = experiences_of(problem(seed=5), CONFIG, 5)
    for one in (learner, twin):
        one.add(extra)
    for _ in range(6):
        assert learner.step() == twin.step()
        assert np.array_equal(learner.weights(), twin.weights())
    one, other = learner.replay.state_arrays(), twin.replay.state_arrays()
    assert one.keys() == other.keys()
    assert all(np.array_equal(one[key], other[key]) for key in one)


def test_a_network_of_another_size_is_not_restored(tmp_path: Path) -> None:
    saved = stored(filled_learner(), tmp_path)
    wider = NetworkLearner(replaced(CONFIG, "network", width=12))
    with pytest.raises(CheckpointError, match=r"tensor .* of 'model' is .*, expected"):
        wider.restore(saved)
    without = dataclasses.replace(saved, state={})
    with pytest.raises(DAGSchedError, match="'learner' is missing"):
        wider.restore(without)

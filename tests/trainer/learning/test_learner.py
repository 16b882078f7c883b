"""The learner: targets mean what they say, the loss is its formula and falls, a resume is exact."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch

from aerl_trainer import checkpoint
from aerl_trainer.checkpoint import Checkpoint, CheckpointError
from aerl_trainer.config import Config
from aerl_trainer.encoding.context import encoding_context
from aerl_trainer.encoding.states import (
    EncodedStates,
    allocate_states,
    allocate_workspace,
    encode_state,
)
from aerl_trainer.learning.batches import BatchBuilder, TrainBatch
from aerl_trainer.learning.experiences import make_experiences
from aerl_trainer.learning.learner import Learner, make_network
from aerl_trainer.learning.losses import VALUE_DELTA, compute_losses
from aerl_trainer.learning.ranking import rank_rewards
from aerl_trainer.nn.evaluator import flat_weights
from aerl_trainer.records import Experience
from aerl_trainer.search.answers import take_answers
from aerl_trainer.search.leaves import leaves_around
from dagsched_env.simulator import State
from helpers import references
from helpers.small_runs import experiences_of, problem, replaced, small_config, trajectories_of

CONFIG = small_config()
CPU = torch.device("cpu")


def filled_learner(config: Config = CONFIG, problems: int = 2) -> Learner:
    learner = Learner(config)
    for seed in range(problems):
        learner.add(experiences_of(problem(seed=seed), config, seed))
    return learner


def batch_of(experiences: list[Experience], config: Config = CONFIG) -> TrainBatch:
    return BatchBuilder(config.search, CPU).build(experiences, np.ones(len(experiences)))


def rebuilt(experience: Experience, config: Config = CONFIG) -> EncodedStates:
    """The state of an experience as the search would write it, by way of the simulator."""
    instance, state = experience.instance, State(experience.instance)
    for task, processor in experience.actions[: experience.depth].tolist():
        state.apply(task, processor)
    leaves = allocate_states(1, config.search.max_children)
    workspace = allocate_workspace(*instance.comp.shape)
    context, threshold = encoding_context(instance), config.search.min_prior
    encode_state(context, workspace, state.arrays, leaves, 0, threshold, True)
    return leaves


def list_completion(experience: Experience) -> float:
    """Makespan of the list completion from the experience's state, by the slow reference."""
    instance = experience.instance
    partial = references.Partial(instance, insertion=True)
    for task, processor in experience.actions[: experience.depth].tolist():
        partial.place(task, processor)
    noise = np.zeros(instance.n_tasks + instance.comp.size)
    return references.complete(partial, instance.rank_u, instance.oct, 0.0, noise)


# -- experiences ---------------------------------------------------------------------------------


def test_every_state_of_every_trajectory_becomes_an_experience() -> None:
    instance = problem()
    trajectories = trajectories_of(instance, CONFIG)
    experiences = make_experiences(instance, trajectories, CONFIG)
    assert len(experiences) == len(trajectories) * instance.n_tasks
    makespans = np.array([t.makespan for t in trajectories])
    rewards, weights = rank_rewards(makespans, temperature=CONFIG.learner.rank_temperature)
    assert np.ptp(makespans) > 0
    for i, trajectory in enumerate(trajectories):
        own = experiences[i * instance.n_tasks : (i + 1) * instance.n_tasks]
        assert [e.depth for e in own] == list(range(instance.n_tasks))
        for e in own:
            assert e.actions is trajectory.actions
            assert e.makespan == trajectory.makespan
            assert e.reward == pytest.approx(rewards[i])
            assert e.weight == pytest.approx(weights[i] * len(trajectories))
    assert np.mean([e.weight for e in experiences]) == pytest.approx(1.0)
    best = min(experiences, key=lambda e: e.makespan)
    assert best.reward == max(e.reward for e in experiences) > 0


def test_policy_targets_are_the_visits_and_below_them_the_own_action() -> None:
    instance = problem()
    trajectories = trajectories_of(instance, CONFIG)
    experiences = iter(make_experiences(instance, trajectories, CONFIG))
    below = 0
    for trajectory in trajectories:
        for depth in range(instance.n_tasks):
            e = next(experiences)
            if depth < len(trajectory.policies):
                assert np.array_equal(e.candidates, trajectory.candidates[depth])
                assert np.array_equal(e.policy, trajectory.policies[depth])
            else:
                below += 1
                task, processor = trajectory.actions[depth].tolist()
                assert e.candidates.tolist() == [task * instance.n_processors + processor]
                assert e.policy.tolist() == [1.0]
    assert below > 0


# -- batches -------------------------------------------------------------------------------------


def test_a_batch_holds_the_states_as_the_search_sees_them() -> None:
    experiences = experiences_of(problem(), CONFIG) + experiences_of(problem(9, 2, 1), CONFIG)
    batch = batch_of(experiences)
    assert batch.graphs.n_graphs == 2
    assert batch.graphs.task.shape[0] == 8 + 9
    assert batch.states.mask.any(dim=1).all(), "there is no terminal state among them"
    for row, experience in enumerate(experiences):
        leaves = rebuilt(experience)
        k = int(leaves.n_candidates[0])
        mask = batch.states.mask[row]
        assert mask.sum() == k
        assert mask[:k].all()
        assert np.array_equal(batch.prior_logits[row, :k], leaves.prior_logits[0, :k])
        assert np.array_equal(batch.states.state_features[row], leaves.state_features[0])
        assert np.array_equal(batch.states.pair_features[row, :k], leaves.pair_features[0, :k])
        first = 0 if experience.instance.n_tasks == 8 else 8
        tasks = leaves.candidates[0, :k] // experience.instance.n_processors + first
        assert batch.states.task[row, :k].tolist() == tasks.tolist()
        assert batch.states.graph[row] == (first > 0)


def test_policy_targets_align_with_the_candidates() -> None:
    experiences = experiences_of(problem(), CONFIG)
    batch = batch_of(experiences)
    for row, experience in enumerate(experiences):
        target, leaves = batch.policy_target[row], rebuilt(experience)
        k = int(leaves.n_candidates[0])
        expected = dict(
            zip(experience.candidates.tolist(), experience.policy.tolist(), strict=True)
        )
        known = sum(expected.get(a, 0.0) for a in leaves.candidates[0, :k].tolist())
        if known == 0:  # a rolled-out action below the prior's threshold
            assert not target.any()
            continue
        assert target.sum() == pytest.approx(1.0, abs=1e-6)
        assert not target[k:].any()
        for action, share in zip(
            leaves.candidates[0, :k].tolist(), target[:k].tolist(), strict=True
        ):
            assert share == pytest.approx(expected.get(action, 0.0) / known, abs=1e-6)


def test_a_target_outside_the_candidates_is_left_out() -> None:
    experience = experiences_of(problem(), CONFIG)[0]
    searched = experience.candidates
    assert len(searched) >= 2
    stranger = 10_000
    mixed = dataclasses.replace(
        experience,
        candidates=np.array([searched[1], stranger, searched[0]], dtype=np.int32),
        policy=np.array([0.25, 0.5, 0.25], dtype=np.float32),
    )
    alien = dataclasses.replace(
        experience,
        candidates=np.array([stranger], dtype=np.int32),
        policy=np.ones(1, dtype=np.float32),
    )
    target = batch_of([mixed, alien]).policy_target
    assert target[0, :2].tolist() == [0.5, 0.5]
    assert not target[0, 2:].any()
    assert not target[1].any()


def test_the_return_target_is_the_improvement_on_the_list_completion() -> None:
    experiences = experiences_of(problem(), CONFIG)
    batch = batch_of(experiences)
    for row, experience in enumerate(experiences):
        gain = list_completion(experience) - experience.makespan
        expected = gain / experience.instance.rank_u.max()
        assert batch.value_target[row].item() == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_a_perfect_value_head_makes_the_search_back_up_the_return_to_go() -> None:
    """The learner's unit and the search's are the same."""
    experiences = experiences_of(problem(), CONFIG)
    batch = batch_of(experiences)
    for row, experience in enumerate(experiences):
        leaves = leaves_around(rebuilt(experience))
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
    assert found.tolist() == pytest.approx([e.reward for e in experiences], rel=1e-6)


# -- the loss ------------------------------------------------------------------------------------


def numpy_losses(
    logits: np.ndarray, prediction: np.ndarray, batch: TrainBatch, config: Config
) -> dict[str, float]:
    """The formula, sample by sample."""
    learner = config.learner
    policy, value, entropy, priority = [], [], [], []
    for row in range(len(prediction)):
        k = int(batch.states.mask[row].sum())
        total = logits[row, :k] + batch.prior_logits[row, :k].numpy()
        log_p = total - np.log(np.exp(total - total.max()).sum()) - total.max()
        target = batch.policy_target[row, :k].numpy()
        used = target > 0
        divergence = (target[used] * (np.log(target[used]) - log_p[used])).sum()
        error = abs(prediction[row] - batch.value_target[row].item())
        huber = error**2 / 2 if error <= VALUE_DELTA else VALUE_DELTA * (error - VALUE_DELTA / 2)
        weight, elite = batch.importance[row].item(), batch.elite[row].item()
        policy.append(weight * elite * divergence)
        value.append(weight * huber)
        entropy.append(-(np.exp(log_p) * log_p).sum())
        priority.append(elite * divergence + learner.value_coefficient * huber)
    parts = {name: float(np.mean(v)) for name, v in locals().items() if name in PARTS}
    total_loss = parts["policy"] + learner.value_coefficient * parts["value"]
    return {
        **parts,
        "total": total_loss - learner.entropy_coefficient * parts["entropy"],
        "priority": priority,  # type: ignore[dict-item]
    }


PARTS = ("policy", "value", "entropy")


def test_the_loss_is_its_formula() -> None:
    rng = np.random.default_rng(0)
    config = small_config(learner={"value_coefficient": 0.7, "entropy_coefficient": 0.05})
    experiences = experiences_of(problem(), config)[::2]
    batch = BatchBuilder(config.search, CPU).build(experiences, rng.random(len(experiences)))
    shape = tuple(batch.prior_logits.shape)
    logits = torch.tensor(rng.normal(size=shape), dtype=torch.float32, requires_grad=True)
    prediction = torch.tensor(rng.normal(size=shape[0]) * 0.2, dtype=torch.float32)
    losses = compute_losses(logits, prediction, batch, config.learner)
    expected = numpy_losses(logits.detach().numpy(), prediction.numpy(), batch, config)
    for name in ("total", "policy", "value", "entropy", "priority"):
        found = getattr(losses, name).detach().numpy()
        assert found == pytest.approx(np.array(expected[name]), rel=1e-4, abs=1e-5), name
    assert (losses.priority >= -1e-6).all()
    losses.total.backward()
    assert torch.isfinite(logits.grad).all()
    assert not logits.grad[~batch.states.mask].any(), "no gradient where there is no candidate"


def test_the_right_policy_and_value_leave_no_priority() -> None:
    batch = batch_of([e for e in experiences_of(problem(), CONFIG) if len(e.candidates) > 1])
    found = batch.policy_target.clamp(min=1e-12).log() - batch.prior_logits
    losses = compute_losses(found, batch.value_target, batch, CONFIG.learner)
    assert losses.priority.tolist() == pytest.approx([0.0] * len(losses.priority), abs=1e-5)


# -- the learner ---------------------------------------------------------------------------------


def test_a_small_replay_is_learned_by_heart() -> None:
    """One trajectory of each of four tasks, so no two targets disagree: all errors fall."""
    config = small_config(
        search={"min_trajectories": 1},
        network={"width": 32, "layers": 2},
        learner={"batch_size": 32, "learning_rate": 0.003, "entropy_coefficient": 0.0},
        replay={"alpha": 0.0},
    )
    learner = filled_learner(config, problems=4)
    assert len(learner.replay) == 4 * 8
    reports = [learner.step() for _ in range(150)]
    for name in ("loss", "policy_loss", "value_loss"):
        values = [getattr(report, name) for report in reports]
        assert np.isfinite(values).all()
        assert np.mean(values[-10:]) < 0.4 * np.mean(values[:10]), name
    assert [report.step for report in reports] == list(range(1, 151))
    norms = [report.gradient_norm for report in reports]
    assert np.isfinite(norms).all()
    assert min(norms) > 0


def stored(learner: Learner, path: Path) -> Checkpoint:
    """Its state after a way through the disk."""
    state = learner.state()
    checkpoint.save(path / "last", tensors=state.tensors, arrays=state.arrays, state=state.state)
    return checkpoint.load(path / "last")


@pytest.mark.parametrize("replay", [{"kind": "rank"}, {"kind": "uniform"}, {"normalise": "buffer"}])
def test_every_kind_of_replay_learns_and_is_restored(replay: dict, tmp_path: Path) -> None:
    config = small_config(replay=replay)
    learner = filled_learner(config)
    learner.step()
    twin = Learner(config)
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


def test_it_waits_for_enough_experience() -> None:
    learner = Learner(CONFIG)
    experiences = experiences_of(problem(), CONFIG)
    needed = CONFIG.replay.min_size
    assert len(experiences) >= needed
    learner.add(experiences[: needed - 1])
    assert not learner.ready
    learner.add(experiences[:1])
    assert learner.ready


def test_lambda_falls_linearly_and_stays() -> None:
    decay = {"rollout_weight": 1.0, "rollout_weight_end": 0.5, "rollout_decay_steps": 10}
    learner = Learner(small_config(search=decay))
    found = []
    for learner.steps in (0, 5, 10, 1000):
        found.append(learner.rollout_weight)
    assert found == pytest.approx([1.0, 0.75, 0.5, 0.5])
    assert Learner(small_config(search={**decay, "rollout_decay_steps": 0})).rollout_weight == 0.5


def test_a_restored_learner_goes_on_exactly(tmp_path: Path) -> None:
    learner = filled_learner()
    for _ in range(6):
        learner.step()
    twin = Learner(replaced(CONFIG, "run", seed=77))  # its own start is overwritten
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
    wider = Learner(replaced(CONFIG, "network", width=12))
    with pytest.raises(CheckpointError, match="its network is of another size"):
        wider.restore(saved)
    without = dataclasses.replace(saved, state={})
    with pytest.raises(CheckpointError, match="has trained no network"):
        wider.restore(without)

"""The attention model: what it may choose, what it depends on, and its log-probabilities."""

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aerl_trainer.baselines.attention.graphs import MOST_RELATIONS, graphs_of
from aerl_trainer.baselines.attention.learner import AttentionLearner
from aerl_trainer.baselines.attention.model import CLIPPING, AttentionModel
from aerl_trainer.baselines.attention.policy import AttentionPolicy, states_of
from aerl_trainer.baselines.attention.scheduler import AttentionScheduler
from aerl_trainer.baselines.attention.states import NO_ACTION, Lanes, replayed
from aerl_trainer.checkpoint import Checkpoint, CheckpointError, take_module
from aerl_trainer.config import AttentionConfig, Config, ReinforceConfig, RunConfig
from aerl_trainer.policy.encoding.context import encoding_context
from dagsched_env.generators import TopcuogluGenerator
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.simulator import State
from dagsched_env.schedulers import heft
from helpers.small_runs import problem
from helpers.strategies import instances

SMALL = AttentionConfig(width=8, heads=2, layers=2, candidates=5)
EVERY = 10_000
"""More pairs than any problem here has."""


def policy(**changes):
    """With random weights, also where training begins with zeros."""
    torch.manual_seed(0)
    made = AttentionPolicy(AttentionConfig(**{**vars(SMALL), **changes}))
    with torch.no_grad():
        made.decoder.direct.weight.normal_(std=0.3)
    return made


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def sampled(made, problems, starts=3, seed=0):
    with torch.no_grad():
        encoded = made.encode(problems)
        return encoded, made.rollouts(encoded, starts, generator=generator(seed))


def log_p(made, problems, actions):
    with torch.no_grad():
        return made.log_probabilities(made.encode(problems), actions)


def played(instance, actions):
    """The state that the simulator reaches; it raises where an action is illegal."""
    state = State(instance)
    for action in actions[: instance.n_tasks].tolist():
        state.apply(*divmod(action, instance.n_processors))
    assert state.terminal
    return state


def renamed(instance, rng):
    """The same problem with tasks and processors in another order, and the new names."""
    tasks = rng.permutation(instance.n_tasks)
    processors = rng.permutation(instance.n_processors)
    comp = np.empty_like(instance.comp)
    comp[np.ix_(tasks, processors)] = instance.comp
    return Instance(comp, tasks[instance.edges], instance.data), tasks, processors


@pytest.fixture(scope="module")
def problems():
    """Of different sizes; one has pairs that are not eligible."""
    drawn = TopcuogluGenerator(n_tasks=9, n_processors=3, ccr=1.0)(np.random.default_rng(5))
    comp = drawn.comp.copy()
    comp[3, 0] = comp[4, 1] = np.inf
    return [Instance(comp, drawn.edges, drawn.data), problem(5, 2), problem(12, 4, seed=1)]


# -- states --------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [3, EVERY])
def test_the_listed_pairs_are_legal_and_the_first_ones_of_the_prior(problems, width):
    lanes, states = Lanes(problems, 2, width), [State(instance) for instance in problems]
    rng = np.random.default_rng(0)
    while (active := lanes.active).size:
        pairs = lanes.pairs(active)
        chosen = (rng.random(pairs.counts.shape) * pairs.counts).astype(np.int64).reshape(-1, 2)
        chosen[:, 1] = chosen[:, 0]
        for row, b in enumerate(active):
            legal = states[b].legal()
            count = pairs.counts[2 * row]
            assert count == min(width, legal.sum())
            listed = (pairs.tasks[2 * row, :count], pairs.processors[2 * row, :count])
            assert legal[listed].all()
            assert len(set(zip(*map(tuple, listed), strict=True))) == count
            pick = chosen[row, 0]
            states[b].apply(int(listed[0][pick]), int(listed[1][pick]))
        lanes.place(active, chosen)
    for b, state in enumerate(states):
        assert lanes.makespans[b].tolist() == [state.makespan] * 2
        assert lanes.schedule(b, 1) == state.schedule(algorithm="reinforce")


def test_a_replay_sees_what_the_rollout_has_seen(problems):
    lanes, rng, seen = Lanes(problems, 2, 4), np.random.default_rng(0), {}
    actions = np.full((3, 2, 12), NO_ACTION)
    for step in range(12):
        active = lanes.active
        pairs = lanes.pairs(active)
        chosen = (rng.random(pairs.counts.shape) * pairs.counts).astype(np.int64)
        for m, b in enumerate(pairs.problem):
            seen[b, m % 2, step] = [a[m] for a in (*pairs[:4], chosen)]
        actions[active, :, step] = lanes.place(active, chosen.reshape(-1, 2))
    again, places = replayed(problems, actions, 4)
    order = [(b, s, t) for b, i in enumerate(problems) for s in range(2) for t in range(i.n_tasks)]
    assert order == sorted(seen)
    for m, key in enumerate(order):
        x, tasks, processors, count, chosen = seen[key]
        assert again.counts[m] == count
        assert places[m] == chosen
        np.testing.assert_array_equal(again.x[m, :count], x[:count])
        np.testing.assert_array_equal(again.tasks[m, :count], tasks[:count])
        np.testing.assert_array_equal(again.processors[m, :count], processors[:count])


# -- rollouts ------------------------------------------------------------------------------------


@given(st.lists(instances(max_tasks=8), min_size=1, max_size=3), st.integers(0, 99))
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_schedules_are_legal_and_cost_what_the_simulator_says(problems, seed):
    made = policy()
    encoded, rollouts = sampled(made, problems, seed=seed)
    log_p = made.log_probabilities(encoded, rollouts.actions)
    assert rollouts.actions.shape == (len(problems), 3, max(i.n_tasks for i in problems))
    assert torch.isfinite(log_p).all()
    assert (log_p <= 1e-6).all()
    for b, instance in enumerate(problems):
        unit = max(
            encoding_context(instance).rank_scale,
            instance.arrays.mean_comp.sum() / instance.n_processors,
        )
        for s in range(3):
            assert (rollouts.actions[b, s, instance.n_tasks :] == NO_ACTION).all()
            makespan = played(instance, rollouts.actions[b, s]).makespan
            assert rollouts.costs[b, s].item() == pytest.approx(makespan / unit, rel=1e-6)


@pytest.mark.parametrize("width", [5, EVERY])
def test_probabilities_of_all_schedules_sum_to_one(width):
    """Each complete sequence of pairs that may be chosen, found by hand."""
    made = policy(candidates=width)
    instance = Instance([[1.0, 2.0], [2.0, 1.5], [3.0, 1.0]], [(0, 2)], [1.0])
    complete, growing = [], [(State(instance), [])]
    while growing:
        state, actions = growing.pop()
        if state.terminal:
            complete.append(actions)
            continue
        for task, processor in zip(*np.nonzero(state.legal()), strict=True):
            after = state.clone()
            after.apply(int(task), int(processor))
            growing.append((after, [*actions, int(task) * 2 + int(processor)]))
    total = log_p(made, [instance], torch.tensor([complete])).exp()
    assert len(complete) == 24
    assert total.sum().item() == pytest.approx(1.0, abs=1e-5)


def test_samples_have_the_frequencies_of_their_log_probabilities():
    made = policy(candidates=4)
    instance = Instance([[1.0, 2.0], [2.0, 1.5]], [], [])
    _, rollouts = sampled(made, [instance], starts=4000)
    found, counts = torch.unique(rollouts.actions[0], dim=0, return_counts=True)
    expected = log_p(made, [instance], found[None])[0].exp()
    assert expected.sum().item() == pytest.approx(1.0, abs=1e-5)
    assert len(found) == 8
    error = (expected * (1 - expected) / 4000).sqrt()
    assert ((counts / 4000 - expected).abs() < 4 * error).all()
    assert sampled(made, [instance], starts=5)[1].actions.tolist() == [
        sampled(made, [instance], starts=5)[1].actions[0].tolist()
    ]


def test_the_greedy_schedule_takes_the_most_probable_pair(problems):
    made = policy()
    with torch.no_grad():
        encoded = made.encode(problems)
        greedy = made.rollouts(encoded, 1, generator=None).actions
        pairs, chosen = replayed(problems, greedy.numpy(), SMALL.candidates)
        log_p = made.decode(encoded.embedding, states_of(pairs)).numpy()
    states = np.arange(len(chosen))
    assert (log_p[states, chosen] > log_p.max(axis=1) - 1e-5).all()
    assert (chosen > 0).any()  # not the first one of the list alone
    assert (log_p[np.arange(5) >= pairs.counts[:, None]] < -1e8).all()


def test_a_pair_outside_of_the_candidates_has_no_chance(problems):
    made = policy(candidates=1)
    _, rollouts = sampled(made, problems[:1])
    assert log_p(made, problems[:1], rollouts.actions).abs().max() < 1e-6
    instance, actions = problems[0], rollouts.actions.clone()
    task, processor = divmod(actions[0, 1, 0].item(), instance.n_processors)
    other = next(q for q in np.flatnonzero(np.isfinite(instance.comp[task])) if q != processor)
    actions[0, 1, 0] = task * instance.n_processors + int(other)
    assert (log_p(made, problems[:1], actions)[0] == -torch.inf).tolist() == [False, True, False]


# -- what the probabilities depend on ------------------------------------------------------------


def test_a_problem_is_the_same_alone_and_in_a_batch(problems):
    made = policy()
    _, rollouts = sampled(made, problems)
    together = log_p(made, problems, rollouts.actions)
    for b, instance in enumerate(problems):
        alone = log_p(made, [instance], rollouts.actions[b : b + 1, :, : instance.n_tasks])
        torch.testing.assert_close(alone[0], together[b], rtol=1e-4, atol=1e-4)
    backwards = log_p(made, problems[::-1], rollouts.actions.flip(0))
    torch.testing.assert_close(backwards.flip(0), together, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("width", [6, EVERY])
def test_names_and_units_change_nothing(problems, width):
    made, rng = policy(candidates=width), np.random.default_rng(0)
    for instance in problems:
        _, rollouts = sampled(made, [instance])
        expected = log_p(made, [instance], rollouts.actions)
        other, tasks, processors = renamed(instance, rng)
        task, processor = np.divmod(rollouts.actions.numpy(), instance.n_processors)
        actions = tasks[task] * instance.n_processors + processors[processor]
        found = log_p(made, [other], torch.from_numpy(actions))
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
        scaled = Instance(1000.0 * instance.comp, instance.edges, 1000.0 * instance.data)
        found = log_p(made, [scaled], rollouts.actions)
        torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)
        costs = made.rollouts(made.encode([scaled]), 1, generator=None).costs
        torch.testing.assert_close(
            costs, made.rollouts(made.encode([instance]), 1, generator=None).costs
        )


def test_attention_follows_the_graph():
    """A task sees its ancestors and descendants, and not its siblings; closures by hand."""
    chain = Instance(np.ones((5, 2)), [(0, 1), (1, 2), (0, 3)], [1.0] * 3)
    attends = graphs_of([chain]).attends[0].numpy()
    related = {(0, 1), (0, 2), (0, 3), (1, 2)}
    for a in range(5):
        for b in range(5):
            assert attends[a, b] == (a == b or (min(a, b), max(a, b)) in related), (a, b)
    assert attends[5:, :].all()
    assert attends[:, 5:].all()


@pytest.mark.parametrize(("other", "seen"), [(2, True), (4, False)])
def test_a_task_sees_its_descendants_and_no_strangers(other, seen):
    """Its embedding changes with what is said of them, where processors pass nothing on."""
    graphs = graphs_of([Instance(np.ones((5, 2)), [(0, 1), (1, 2), (3, 4)], [1.0] * 3)])
    attends, task = graphs.attends.clone(), graphs.task.clone()
    attends[:, :5, 5:] = attends[:, 5:, :5] = False
    task[0, other] += 1.0
    made = policy()
    with torch.no_grad():
        before, after = (
            AttentionModel.encode(made, graphs._replace(attends=attends, task=features)).task[0, 0]
            for features in (graphs.task, task)
        )
    assert torch.equal(before, after) is not seen


def test_logits_are_clipped(problems):
    made = policy()
    with torch.no_grad():
        made.decoder.direct.weight.fill_(1e6)
    pairs, _ = replayed(problems, sampled(made, problems)[1].actions.numpy(), 5)
    states = states_of(pairs)
    with torch.no_grad():
        logits = made.decoder(made.encode(problems).embedding, states)[states.listed]
    assert logits.abs().max() == pytest.approx(CLIPPING)


@pytest.mark.parametrize(
    "instance",
    [
        Instance([[0.0]], [], []),
        Instance([[0.0, 0.0]] * 3, [(0, 1)], [0.0]),
        Instance([[np.inf, 2.0]], [], []),
        Instance(np.ones((40, 1)), [], []),
    ],
    ids=["one task", "no durations", "one eligible processor", "one processor"],
)
def test_odd_problems_are_scheduled(instance):
    schedule = AttentionScheduler(policy()).best_of(instance, 4, np.random.default_rng(0))
    schedule.validate(instance)


def test_a_problem_too_large_for_the_memory_is_refused():
    n = int(MOST_RELATIONS**0.5) + 1
    with pytest.raises(DAGSchedError, match=f"of {n} tasks: .* takes at most 3161; in training"):
        graphs_of([Instance(np.ones((n, 1)), [], [])])


# -- schedulers and learning ---------------------------------------------------------------------


def test_the_scheduler_is_the_policy(problems):
    made = policy()
    scheduler = AttentionScheduler(made)
    for instance in problems:
        with torch.no_grad():
            greedy = made.rollouts(made.encode([instance]), 1, generator=None)
        schedule = scheduler.schedule(instance)
        schedule.validate(instance)
        assert schedule.makespan == played(instance, greedy.actions[0, 0]).makespan
        best = scheduler.best_of(instance, 30, np.random.default_rng(0))
        best.validate(instance)
        assert best.makespan <= schedule.makespan
        assert best == scheduler.best_of(instance, 30, np.random.default_rng(0))


def learner(baseline, seed=0, **sizes):
    settings = ReinforceConfig(
        **{"baseline": baseline, "problems": 4, "starts": 4, "epoch_steps": 2, **sizes}
    )
    config = Config(attention=SMALL, reinforce=settings, run=RunConfig(seed=seed))
    return AttentionLearner(config, lambda rng: problem(int(rng.integers(5, 9)), 2))


@pytest.mark.parametrize("baseline", ["shared", "rollout"])
def test_every_weight_is_trained(baseline):
    made = learner(baseline)
    before = {name: value.clone() for name, value in made.policy.state_dict().items()}
    report = made.step(0.0)
    made.step(0.5)
    assert report.spread > 0
    after = made.policy.state_dict()
    assert all(not torch.equal(before[name], after[name]) for name in before)


@pytest.mark.parametrize("baseline", ["shared", "rollout"])
def test_a_learner_goes_on_exactly(baseline):
    whole, first, second = (learner(baseline) for _ in range(3))
    for _ in range(3):
        whole.step(0.1)
        first.step(0.1)
    second.restore(first.state())
    for _ in range(3):
        assert whole.step(0.2) == second.step(0.2)
    for name, value in whole.policy.state_dict().items():
        assert torch.equal(value, second.policy.state_dict()[name])


def test_it_learns_to_beat_heft():
    """One family, a hundred short steps: from worse than HEFT to better."""
    draw = TopcuogluGenerator(n_tasks=(8, 12), n_processors=3, ccr=5.0)
    settings = ReinforceConfig(problems=4, starts=8, learning_rate=0.005)
    config = Config(attention=AttentionConfig(width=16, heads=2, layers=1), reinforce=settings)
    made = AttentionLearner(config, draw)
    unseen = [draw(np.random.default_rng([9, i])) for i in range(30)]
    by_heft = np.array([heft(instance).makespan for instance in unseen])

    def mean_ratio():
        scheduler = AttentionScheduler(made.policy)
        return np.mean([scheduler.schedule(i).makespan for i in unseen] / by_heft)

    before = mean_ratio()
    for step in range(100):
        made.step(step / 100)
    after = mean_ratio()
    assert before > 1.0
    assert after < 0.98


def test_a_policy_is_read_from_its_tensors_and_nothing_else(problems):
    def read(saved, config):
        return take_module(saved, "policy", lambda: AttentionPolicy(config), config.layers)

    made = policy()
    saved = Checkpoint({"policy": made.state_dict()}, {}, {})
    again = read(saved, SMALL)
    _, rollouts = sampled(made, problems)
    assert torch.equal(
        log_p(again, problems, rollouts.actions), log_p(made, problems, rollouts.actions)
    )
    with pytest.raises(CheckpointError, match="1000 layers do not fit"):
        read(saved, AttentionConfig(layers=1000))
    with pytest.raises(CheckpointError, match="of 'policy' is"):
        read(saved, AttentionConfig(**{**vars(SMALL), "width": 16}))
    broken = {**made.state_dict(), "norm.bias": torch.full((8,), torch.nan)}
    with pytest.raises(CheckpointError, match=r"'norm.bias' .* not finite"):
        read(Checkpoint({"policy": broken}, {}, {}), SMALL)

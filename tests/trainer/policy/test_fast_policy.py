"""The fast policy: its caches, its probabilities, its gradient, and that it learns."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerl_trainer.encoding.features import index_of
from aerl_trainer.learning.policy_gradient import PolicyGradient
from aerl_trainer.policy.context import SHORT_LIST, allocate_policy, policy_context
from aerl_trainer.policy.fast import FastPolicy
from aerl_trainer.policy.rollout import GREEDY, choose
from aerl_trainer.policy.scoring import begin, follow, score, short_list
from aerl_trainer.policy.weights import (
    BIAS,
    HIDDEN,
    INITIAL_SCALE,
    INPUT,
    LINEAR,
    N_FEATURES,
    N_WEIGHTS,
    OUTPUT,
    SCALE,
    Weights,
    initial_weights,
)
from dagsched_env.errors import DAGSchedError
from dagsched_env.generators import TopcuogluGenerator
from dagsched_env.instance import Instance
from dagsched_env.kernels.state.transitions import place, reset
from dagsched_env.schedulers import heft
from dagsched_env.simulator import replay
from helpers import references
from helpers.small_runs import problem
from helpers.strategies import instances


def some_weights(seed: int = 0) -> Weights:
    """All parts matter, and no pair is certain."""
    rng = np.random.default_rng(seed)
    weights = initial_weights(rng)
    weights += (0.2 * rng.normal(size=N_WEIGHTS)).astype(np.float32)
    weights[SCALE] = -1.5
    return weights


@given(instances(max_tasks=8, max_processors=3), st.integers(0, 2**32 - 1))
def test_the_caches_are_those_of_a_fresh_start(instance: Instance, seed: int) -> None:
    """After every placement, and the short list is that of the sorted pairs."""
    check_caches(instance, np.random.default_rng(seed))


@pytest.mark.parametrize("seed", range(100))
def test_the_caches_of_tasks_without_duration(seed: int) -> None:
    """Several of them begin at the same time."""
    rng = np.random.default_rng(seed)
    edges = [(i, j) for i in range(8) for j in range(i + 1, 8) if rng.random() < 0.25]
    comp = rng.integers(0, 3, (8, 2)).astype(float)
    check_caches(Instance(comp=comp, edges=edges, data=rng.integers(0, 3, len(edges))), rng)


def check_caches(instance: Instance, rng: np.random.Generator) -> None:
    n, p = instance.comp.shape
    f, w, fresh = policy_context(instance), allocate_policy(n, p), allocate_policy(n, p)
    s = w.state
    reset(f.c.g, s)
    begin(f, w, s)
    while s.counts[1] > 0:
        begin(f, fresh, s)
        ready = s.ready[: s.counts[1]]
        for name in ("start", "least_start", "least_finish", "least_total"):
            assert np.array_equal(getattr(w, name)[ready], getattr(fresh, name)[ready]), name
        legal = np.isfinite(w.start[ready])
        assert np.array_equal(w.gap[ready][legal], fresh.gap[ready][legal])
        assert np.allclose(w.load, fresh.load)
        assert np.allclose(w.placed_data, fresh.placed_data)
        count = short_list(f, w, s)
        assert list(w.actions[:count]) == by_prior(instance, w, ready)[:SHORT_LIST]
        task, q = divmod(int(w.actions[rng.integers(count)]), p)
        before = int(s.counts[1])
        place(f.c.g, s, task, q, True, False)
        follow(f, w, s, task, q, before)


def by_prior(instance: Instance, w: object, ready: np.ndarray) -> list[int]:
    """All legal pairs, best first."""
    p, start = instance.n_processors, w.start  # type: ignore[attr-defined]
    unit = float(np.max(instance.rank_u)) or 1.0
    top = max(0.0, *(instance.rank_u[t] for t in ready))
    delay = {}
    for t in ready.tolist():
        total = start[t] + instance.comp[t] + instance.oct[t]
        for q in np.flatnonzero(np.isfinite(instance.comp[t])).tolist():
            lag = top - instance.rank_u[t]
            delay[t * p + q] = (total[q] - np.min(total[np.isfinite(total)]) + lag) / unit
    return sorted(delay, key=lambda a: (delay[a], a))


def test_the_logit_is_the_formula() -> None:
    instance, weights = problem(12, 3), some_weights()
    f, w = policy_context(instance), allocate_policy(12, 3)
    reset(f.c.g, w.state)
    begin(f, w, w.state)
    count = short_list(f, w, w.state)
    score(f, w, w.state, weights, count)
    hidden_weights = weights[INPUT:].reshape(N_FEATURES, HIDDEN)
    for k in range(count):
        x = w.x[k].astype(np.float64)
        hidden = np.maximum(weights[BIAS : BIAS + HIDDEN] + x @ hidden_weights, 0.0)
        value = weights[LINEAR:BIAS] @ x + weights[OUTPUT : OUTPUT + HIDDEN] @ hidden
        expected = INITIAL_SCALE * np.exp(weights[SCALE]) * (value - w.delays[k])
        assert w.logits[k] == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_features_of_a_known_state() -> None:
    """One task is placed; the other waits for its data from P0."""
    instance = Instance([[2.0, 4.0], [3.0, 5.0]], [(0, 1)], [10.0])
    f, w = policy_context(instance), allocate_policy(2, 2)
    reset(f.c.g, w.state)
    begin(f, w, w.state)
    place(f.c.g, w.state, 0, 0, True, False)
    follow(f, w, w.state, 0, 0, 1)
    count = short_list(f, w, w.state)
    score(f, w, w.state, initial_weights(np.random.default_rng(0)), count)
    assert w.actions[:count].tolist() == [2, 3]  # P0 at 2, P1 at 12
    unit = max(references.rank_u(instance))
    local, remote = w.x[0], w.x[1]
    expected = {
        "eft_delay": (0.0, 12.0 / unit),
        "est_delay": (0.0, 10.0 / unit),
        "comp_excess": (0.0, 2.0 / unit),
        "growth": (3.0 / unit, 3.0 / unit),
        "gap": (0.0, 12.0 / unit),
        "load_excess": (1.0 / unit, -1.0 / unit),
        "local_inputs": (1.0, 0.0),
        "placed": (0.5, 0.5),
        "rank_lag": (0.0, 0.0),
    }
    for name, values in expected.items():
        column = index_of("policy", name)
        assert (local[column], remote[column]) == pytest.approx(values, abs=1e-6), name


def log_probability(instance: Instance, weights: Weights, actions: list[int]) -> float:
    n, p = instance.comp.shape
    f, w = policy_context(instance), allocate_policy(n, p)
    reset(f.c.g, w.state)
    begin(f, w, w.state)
    total = 0.0
    for action in actions:
        count = short_list(f, w, w.state)
        score(f, w, w.state, weights, count)
        logits = w.logits[:count] - w.logits[:count].max()
        total += logits[w.actions[:count].tolist().index(action)] - np.log(np.exp(logits).sum())
        task, q = divmod(action, p)
        before = int(w.state.counts[1])
        place(f.c.g, w.state, task, q, True, False)
        follow(f, w, w.state, task, q, before)
    return float(total)


def test_the_gradient_is_that_of_the_log_probability() -> None:
    """Along random directions, by central differences."""
    instance, weights = problem(10, 3), some_weights()
    group = FastPolicy(weights).sample(instance, 2, np.random.default_rng(1), gradients=True)
    rng, step = np.random.default_rng(2), 1e-3
    for k in range(2):
        actions = group.actions[k].tolist()
        for _ in range(10):
            direction = rng.normal(size=N_WEIGHTS).astype(np.float32)
            direction /= np.linalg.norm(direction)
            ends = [
                log_probability(instance, weights + sign * step * direction, actions)
                for sign in (1, -1)
            ]
            expected = float(group.gradients[k] @ direction)
            assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(expected, rel=0.05, abs=0.05)


def test_pairs_are_drawn_by_their_probabilities() -> None:
    w = allocate_policy(2, 2)
    logits = np.log([0.5, 0.3, 0.2])
    counts = np.zeros(3)
    for uniform in (np.arange(1000) + 0.5) / 1000:
        w.logits[:3] = logits
        counts[choose(w, 3, float(uniform))] += 1
    assert counts.tolist() == [500, 300, 200]
    w.logits[:3] = logits[::-1]
    assert choose(w, 3, GREEDY) == 2


@given(instances(max_tasks=10, max_processors=4), st.integers(0, 2**32 - 1))
def test_every_schedule_is_valid(instance: Instance, seed: int) -> None:
    policy, rng = FastPolicy(some_weights()), np.random.default_rng(seed)
    policy.schedule(instance).validate(instance)
    best = policy.best_of(instance, 3, rng)
    best.validate(instance)
    assert best.makespan <= policy.schedule(instance).makespan
    group = policy.sample(instance, 3, rng)
    for makespan, actions in zip(group.makespans, group.actions, strict=True):
        pairs = np.stack(np.divmod(actions, instance.n_processors), axis=1)
        assert replay(instance, pairs).makespan == makespan


def test_it_depends_on_weights_and_seed_alone() -> None:
    instance = problem(15, 3)
    one, other = (
        FastPolicy(some_weights()).sample(instance, 4, np.random.default_rng(5), gradients=True)
        for _ in range(2)
    )
    assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_bad_arguments_are_named() -> None:
    with pytest.raises(DAGSchedError, match=f"the policy takes {N_WEIGHTS}"):
        FastPolicy(np.zeros(3))
    with pytest.raises(DAGSchedError, match="finite"):
        FastPolicy(np.full(N_WEIGHTS, np.nan))
    with pytest.raises(DAGSchedError, match="schedules=1"):
        PolicyGradient(lambda _: problem(), np.random.default_rng(0), schedules=1)


def test_training_shortens_schedules_it_has_not_seen() -> None:
    """A few seconds on small graphs: sampled schedules become clearly shorter."""
    draw = TopcuogluGenerator(n_tasks=15, n_processors=3, ccr=(1.0, 5.0))
    training = PolicyGradient(draw, np.random.default_rng(0), instances=8, schedules=16)
    unseen = [draw(np.random.default_rng(1000 + i)) for i in range(30)]

    def mean_ratio(policy: FastPolicy) -> float:
        rng = np.random.default_rng(1)
        ratios = [policy.sample(i, 16, rng).makespans.mean() / heft(i).makespan for i in unseen]
        return float(np.mean(ratios))

    before = mean_ratio(training.policy)
    reports = [training.step(i / 60) for i in range(60)]
    assert [report.step for report in reports] == list(range(1, 61))
    assert all(np.isfinite(report.gradient_norm) for report in reports)
    assert mean_ratio(training.policy) < before - 0.03

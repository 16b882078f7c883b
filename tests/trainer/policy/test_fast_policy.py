"""The fast policy: its caches, its probabilities, its gradient, and that it learns."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aerl_trainer.config import PolicyConfig
from aerl_trainer.learning.policy_learner import PolicyLearner
from aerl_trainer.learning.rank_reward import rank_rewards
from aerl_trainer.policy.choosing import draw, most_probable
from aerl_trainer.policy.context import PATH, policy_context
from aerl_trainer.policy.encoding.features import index_of, names_of
from aerl_trainer.policy.fast import FastPolicy
from aerl_trainer.policy.rollout import HOTTEST, write_variation
from aerl_trainer.policy.scoring import begin, follow, score, short_list
from aerl_trainer.policy.shipped import shipped_policy
from aerl_trainer.policy.weights import (
    BIAS,
    HIDDEN,
    INITIAL_SCALE,
    INPUT,
    LINEAR,
    N_FEATURES,
    N_UNSHARED,
    N_WEIGHTS,
    OUTPUT,
    SCALE,
    Weights,
    initial_weights,
)
from aerl_trainer.policy.workspace import allocate_policy, list_length
from dagsched_env.generators import TopcuogluGenerator
from dagsched_env.kernels.arrays import N_READY, Floats
from dagsched_env.kernels.state.transitions import place, reset
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.platforms.altered import altered
from dagsched_env.problem.schedule import Schedule
from dagsched_env.problem.simulator import replay
from dagsched_env.schedulers import heft
from helpers import references
from helpers.policies import some_weights
from helpers.sharing import sharing_instance
from helpers.small_runs import problem
from helpers.strategies import instances, released, sharing_instances


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


@settings(max_examples=25)
@given(sharing_instances(max_tasks=9, max_processors=2), st.integers(0, 2**32 - 1))
def test_the_caches_of_tasks_that_share_processors(instance: Instance, seed: int) -> None:
    check_caches(instance, np.random.default_rng(seed))


@settings(max_examples=25)
@given(
    released(st.one_of(instances(max_tasks=9), sharing_instances(max_tasks=9, max_processors=2))),
    st.integers(0, 2**32 - 1),
)
def test_the_caches_of_released_tasks(instance: Instance, seed: int) -> None:
    check_caches(instance, np.random.default_rng(seed))
    FastPolicy().schedule(instance).validate(instance)


def test_the_policy_places_tasks_side_by_side() -> None:
    policy = FastPolicy()
    for seed in range(3):
        instance = sharing_instance(25, seed, [[5, 2.0], [4, 9.0]])
        schedule = policy.schedule(instance)
        schedule.validate(instance)
        one_at_a_time = altered(instance, demands=[[1, 0]] * 25, capacities=[[1, 1]] * 2)
        assert schedule.makespan < policy.schedule(one_at_a_time).makespan


def test_the_short_list_holds_all_processors_of_a_task() -> None:
    rng = np.random.default_rng(0)
    check_caches(Instance(rng.uniform(1, 2, (4, 17)), [(0, 3)], [1.0]), rng)
    f, w = policy_context(instance := Instance(np.ones((3, 17)), [], [])), allocate_policy(3, 17, 0)
    reset(instance.arrays, w.state)
    begin(f, w, w.state)
    assert short_list(f, w, w.state) == list_length(17) == 21


def check_caches(instance: Instance, rng: np.random.Generator) -> None:
    shape, p = instance.shape, instance.n_processors
    f, w, fresh = policy_context(instance), allocate_policy(*shape), allocate_policy(*shape)
    s = w.state
    reset(f.c.g, s)
    begin(f, w, s)
    while s.counts[N_READY] > 0:
        begin(f, fresh, s)
        ready = s.ready[: s.counts[N_READY]]
        for name in ("start", "finish", "total"):
            assert np.array_equal(getattr(w, name)[ready], getattr(fresh, name)[ready]), name
        least = ("least_start", "least_finish", "least_total", "next_finish", "next_total")
        settled = ready[~w.stale[ready]]
        for name in least:
            assert np.array_equal(getattr(w, name)[settled], getattr(fresh, name)[settled]), name
            assert (getattr(w, name)[ready] <= getattr(fresh, name)[ready]).all(), name
        assert np.array_equal(w.order[: len(ready)], fresh.order[: len(ready)])
        assert w.first[0] == fresh.first[0] == fresh.least_finish[ready].min()
        legal = np.isfinite(w.start[ready])
        assert np.array_equal(w.gap[ready][legal], fresh.gap[ready][legal])
        assert np.array_equal(w.beside[ready][legal], fresh.beside[ready][legal])
        assert np.allclose(w.load, fresh.load)
        assert np.allclose(w.placed_data, fresh.placed_data)
        for name in ("known", "least_known", "available"):
            assert np.array_equal(getattr(w, name), getattr(fresh, name)), name
        count = short_list(f, w, s)
        delay = delays(instance, w, ready)
        best = sorted(delay, key=lambda a: (delay[a], a))[: list_length(p)]
        found = w.actions[:count].tolist()
        if found != best:  # delays that differ by a rounding error may change places
            assert len(set(found)) == len(best)
            assert [delay[a] for a in found] == pytest.approx([delay[a] for a in best], rel=1e-12)
        listed = np.unique(w.tasks[:count])
        for name in least:
            assert np.array_equal(getattr(w, name)[listed], getattr(fresh, name)[listed]), name
        for t in listed:
            children = f.c.g.succ_task[f.c.g.succ_ptr[t] : f.c.g.succ_ptr[t + 1]]
            assert w.opened[t] == np.count_nonzero(s.missing[children] == 1)
            assert np.allclose(w.near[t], w.placed_data[children].sum(axis=0))
        task, q = divmod(int(w.actions[rng.integers(count)]), p)
        before = int(s.counts[N_READY])
        place(f.c.g, s, task, q, True, False)
        follow(f, w, s, task, q, before)


def delays(instance: Instance, w: object, ready: np.ndarray) -> dict[int, float]:
    """All legal pairs with what the short list sorts them by."""
    p, start = instance.n_processors, w.start  # type: ignore[attr-defined]
    unit = policy_context(instance).step
    top = max(0.0, *(instance.rank_u[t] for t in ready))
    delay = {}
    for t in ready.tolist():
        total = start[t] + instance.comp[t] + instance.oct[t]
        for q in np.flatnonzero(np.isfinite(instance.comp[t])).tolist():
            lag = top - instance.rank_u[t]
            delay[t * p + q] = (total[q] - np.min(total[np.isfinite(total)]) + lag) / unit
    return delay


def test_the_logit_is_the_formula() -> None:
    instance, weights = problem(12, 3), some_weights()
    f, w = policy_context(instance), allocate_policy(12, 3, 0)
    reset(f.c.g, w.state)
    begin(f, w, w.state)
    count = short_list(f, w, w.state)
    score(f, w, w.state, weights, count)
    hidden_weights = weights[INPUT:].reshape(N_FEATURES, HIDDEN)
    for k in range(count):
        x = w.x[k, :N_FEATURES].astype(np.float64)
        hidden = np.maximum(weights[BIAS : BIAS + HIDDEN] + x @ hidden_weights, 0.0)
        value = weights[LINEAR:BIAS] @ x + weights[OUTPUT : OUTPUT + HIDDEN] @ hidden
        expected = INITIAL_SCALE * np.exp(weights[SCALE]) * (value - w.delays[k])
        assert w.logits[k] == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_features_of_a_known_state() -> None:
    """One task is placed; the other waits for its data from P0."""
    instance = Instance([[2.0, 4.0], [3.0, 5.0]], [(0, 1)], [10.0])
    f, w = policy_context(instance), allocate_policy(2, 2, 0)
    reset(f.c.g, w.state)
    begin(f, w, w.state)
    place(f.c.g, w.state, 0, 0, True, False)
    follow(f, w, w.state, 0, 0, 1)
    count = short_list(f, w, w.state)
    score(f, w, w.state, initial_weights(np.random.default_rng(0)), count)
    assert w.actions[:count].tolist() == [2, 3]  # P0 at 2, P1 at 12
    unit = max(references.rank_u(instance)) * PATH / 2
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
        "advantage": (12.0 / unit, -12.0 / unit),
        "path_advantage": (12.0 / unit, -12.0 / unit),
        "child_delay": (0.0, 0.0),
        "crowd": (-np.log(2), -np.log(2)),
        "busy": (2.0 / unit, 0.0),
        "inserted": (0.0, 0.0),
        "log_out": (0.0, 0.0),
        "relative_comp": (3.0 / 4.0, 5.0 / 4.0),
        "slowness": ((2.0 / 3.0 + 3.0 / 4.0) / 2, (4.0 / 3.0 + 5.0 / 4.0) / 2),
    }
    for name, values in expected.items():
        column = index_of("policy", name)
        assert (local[column], remote[column]) == pytest.approx(values, abs=1e-6), name


def described(instance: Instance, placements: list[tuple[int, int]]) -> dict[int, dict[str, float]]:
    """Action → its features, after some placements."""
    f, w = policy_context(instance), allocate_policy(*instance.shape)
    reset(f.c.g, w.state)
    begin(f, w, w.state)
    for task, q in placements:
        before = int(w.state.counts[N_READY])
        place(f.c.g, w.state, task, q, True, False)
        follow(f, w, w.state, task, q, before)
    count = short_list(f, w, w.state)
    score(f, w, w.state, initial_weights(np.random.default_rng(0)), count)
    names = names_of("policy")
    return {
        int(w.actions[k]): dict(zip(names, w.x[k, :N_FEATURES], strict=True)) for k in range(count)
    }


def test_features_of_shared_processors() -> None:
    """Task 0 is on P0 from 0 to 4 with half of the cores and most of the memory."""
    instance = Instance(
        comp=[[4.0, 6.0], [2.0, 3.0], [1.0, 1.0]],
        edges=[],
        data=[],
        demands=[[2, 3], [1, 1], [1, 2]],
        capacities=[[4, 4], [2, 8]],
    )
    found = described(instance, [(0, 0)])
    # Task 1 starts beside it; task 2 finds no memory before 4.
    assert {a: (x["spare"], x["beside"]) for a, x in found.items()} == {
        2: (0.75, 0.75),
        3: (0.5, 0.0),
        4: (0.5, 0.0),
        5: (0.5, 0.0),
    }
    assert all(x["gap"] == 0.0 for x in found.values())
    crowds = [np.log(waiting / 2) for waiting in (0.25 + 0.5, 0.5 + 0.5)]
    assert [found[a]["crowd"] for a in (2, 3, 4, 5)] == pytest.approx(crowds * 2)


@pytest.mark.parametrize("seed", range(5))
def test_weights_of_shared_processors_are_of_no_matter_elsewhere(seed: int) -> None:
    """Their features are 0: no decision changes, and none learns from them."""
    instance, weights = problem(20, 3, seed=seed), some_weights(seed)
    others = weights.copy()
    of_sharing = np.r_[
        LINEAR + N_UNSHARED : LINEAR + N_FEATURES,
        INPUT + N_UNSHARED * HIDDEN : INPUT + N_FEATURES * HIDDEN,
    ]
    others[of_sharing] = 7.0
    groups = [
        FastPolicy(given).sample(instance, 4, np.random.default_rng(seed), gradients=True)
        for given in (weights, others)
    ]
    for ours, theirs in zip(*groups, strict=True):
        assert np.array_equal(ours, theirs)
    assert not groups[0].gradients[:, of_sharing].any()
    assert {(x["spare"], x["beside"]) for x in described(instance, []).values()} == {(0.0, 0.0)}


def test_a_pair_looks_ahead_to_the_successor() -> None:
    """Task 2 needs tasks 0 and 1; task 1 is on P1 until 6, and its data is on P0 at 16."""
    instance = Instance([[2.0, 4.0], [6.0, 6.0], [3.0, 5.0]], [(0, 2), (1, 2)], [10.0, 10.0])
    unit = max(references.rank_u(instance)) * PATH / 2
    found = described(instance, [(1, 1)])
    # On P0 task 0 ends at 2, with an OCT of 3: task 2 follows on P1, from 12 to 17.
    assert found[0]["child_delay"] == pytest.approx((17 - (2 + 3)) / unit)
    assert found[0]["child_wait"] == pytest.approx((6 - 2) / unit)
    # On P1 it ends at 10, with an OCT of 5: task 2 follows there, from 10 to 15.
    assert found[1]["child_delay"] == found[1]["child_wait"] == 0.0
    assert found[0]["opens"] == pytest.approx(np.log(2))
    assert described(instance, [])[0]["opens"] == 0.0


@given(instances(max_tasks=10, max_processors=4), st.integers(0, 2**32 - 1))
def test_rivals_and_successors_by_plain_loops(instance: Instance, seed: int) -> None:
    """In every state: over the list, and over the processors for each critical successor."""
    rng, (n, p) = np.random.default_rng(seed), instance.comp.shape
    g, f, w, weights = (
        instance.arrays,
        policy_context(instance),
        allocate_policy(n, p, 0),
        some_weights(),
    )
    s = w.state
    reset(g, s)
    begin(f, w, s)
    gain, rival, delay = (
        index_of("policy", name) for name in ("path_advantage", "rival", "child_delay")
    )
    while s.counts[N_READY] > 0:
        count = short_list(f, w, s)
        score(f, w, s, weights, count)
        pairs = [divmod(int(action), p) for action in w.actions[:count]]
        for k, (t, q) in enumerate(pairs):
            others = [w.x[i, gain] for i, (u, r) in enumerate(pairs) if r == q and u != t]
            assert w.x[k, rival] == max([0.0, *others])
            paths = [w.total[t, q]]
            for e in f.heirs[t][f.heirs[t] >= 0]:
                child = g.succ_task[e]
                sent = w.finish[t, q] + g.latency[q] + g.succ_data[e] * g.inv_bandwidth[q]
                start = np.maximum(np.maximum(sent, w.known[child]), w.available)
                paths.append(np.min(start + f.through[child]))
            longest = (max(paths) - w.total[t, q]) / f.step
            assert w.x[k, delay] == pytest.approx(longest, rel=1e-5, abs=1e-9)
        task, q = pairs[rng.integers(count)]
        before = int(s.counts[N_READY])
        place(g, s, task, q, True, False)
        follow(f, w, s, task, q, before)


def test_a_rival_is_another_task_that_gains_by_the_processor() -> None:
    """P0 saves task 0 four units of time, and task 1 two of them."""
    found = described(Instance([[1.0, 5.0], [2.0, 4.0]], [], []), [])
    unit = 3.0 * PATH
    rivals = [found[action]["rival"] for action in range(4)]
    assert rivals == pytest.approx([2.0 / unit, 0.0, 4.0 / unit, 0.0])


def test_a_pair_may_go_into_a_gap() -> None:
    """P1 waits for data until 12 and is busy until 17; task 2 fits in before."""
    instance = Instance([[2.0, 4.0], [3.0, 5.0], [3.0, 3.0]], [(0, 1)], [10.0])
    f = policy_context(instance)
    found = described(instance, [(0, 0), (1, 1)])
    assert found[5]["inserted"] == pytest.approx(17.0 / f.step)
    assert found[4]["inserted"] == 0.0


def test_the_heirs_are_the_most_critical_successors() -> None:
    comp = np.array([1.0, 5.0, 9.0, 2.0, 7.0])[:, None] * np.ones(2)
    f = policy_context(Instance(comp, [(0, 1), (0, 2), (0, 3), (0, 4)], [0.0, 0.0, 8.0, 0.0]))
    assert f.c.g.succ_task[f.heirs[0]].tolist() == [3, 2, 4]  # 8 + 2, 9 and 7
    assert (f.heirs[1:] == -1).all()
    assert f.step == pytest.approx(11.0 * PATH / 2)


def log_probability(instance: Instance, weights: Weights, actions: list[int]) -> float:
    n, p = instance.comp.shape
    f, w = policy_context(instance), allocate_policy(n, p, 0)
    reset(f.c.g, w.state)
    begin(f, w, w.state)
    total = 0.0
    for action in actions:
        count = short_list(f, w, w.state)
        score(f, w, w.state, weights, count)
        logits = w.logits[:count] - w.logits[:count].max()
        total += logits[w.actions[:count].tolist().index(action)] - np.log(np.exp(logits).sum())
        task, q = divmod(action, p)
        before = int(w.state.counts[N_READY])
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


def test_what_the_policy_never_takes_counts_nothing() -> None:
    """Of many pairs, the one of lowest prior is outside the short list."""
    comp = np.outer(np.arange(1, 21), [1.0, 2.0])
    instance, policy = Instance(comp, np.zeros((0, 2), dtype=int), []), FastPolicy(some_weights())
    path = policy.sample(instance, 1, np.random.default_rng(0)).actions[0]
    f, w = policy_context(instance), allocate_policy(20, 2, 0)
    reset(f.c.g, w.state)
    begin(f, w, w.state)
    listed = w.actions[: short_list(f, w, w.state)]
    for other, counts in ((1, False), (int(listed[-1]), True)):  # the lowest rank, when slow
        assert (other in listed) == counts
        gradient = policy.grade(instance, path, np.zeros(1, int), np.array([other]), np.ones(1))
        assert gradient.any() == counts


def test_pairs_are_drawn_by_their_probabilities() -> None:
    logits = np.log([0.5, 0.3, 0.2])
    counts = np.zeros(3)
    for uniform in (np.arange(1000) + 0.5) / 1000:
        counts[draw(logits.copy(), 3, float(uniform))] += 1
    assert counts.tolist() == [500, 300, 200]
    assert most_probable(logits[::-1].copy(), 3) == 2


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


def test_samples_end_with_their_time() -> None:
    """The greedy schedule is always made; with time enough nothing is left out."""
    instance, policy = problem(40, 4, 2), shipped_policy("default")

    def best_of(**limit: float) -> Schedule:
        return policy.best_of(instance, 20, np.random.default_rng(1), **limit)

    assert best_of(budget_s=1e-9) == policy.schedule(instance)
    assert best_of(budget_s=3600.0) == best_of()
    assert best_of().makespan < policy.schedule(instance).makespan


def test_a_softened_policy_divides_its_logits() -> None:
    instance = problem(12, 3)
    f, w, policy = policy_context(instance), allocate_policy(12, 3, 0), FastPolicy(some_weights())
    reset(f.c.g, w.state)
    begin(f, w, w.state)
    count = short_list(f, w, w.state)
    score(f, w, w.state, policy.weights, count)
    expected = w.logits[:count] / 2.5
    score(f, w, w.state, policy.softened(2.5).weights, count)
    assert w.logits[:count] == pytest.approx(expected, rel=1e-5)
    assert policy.softened(2.5).schedule(instance).makespan == policy.schedule(instance).makespan


@pytest.mark.parametrize("name", ["default", "fft", "many_processors"])
def test_samples_are_expected_to_leave_the_greedy_schedule_in_root_n_decisions(name: str) -> None:
    policy = shipped_policy(name)
    for graph in (problem(20, 3), problem(40, 4), sharing_instance(20, 3, [[6, 3.0], [6, 3.0]])):
        n = graph.n_tasks
        softened = policy.softened(policy.temperature(graph))
        f, w = policy_context(graph), allocate_policy(*graph.shape)
        listed = np.empty((n, w.actions.size), dtype=np.int64)
        probabilities, counts = np.empty(listed.shape), np.empty(n, dtype=np.int64)
        chosen = counts.copy()
        write_variation(f, w, softened.weights, listed, probabilities, counts, chosen)
        others = float((1.0 - probabilities[np.arange(n), chosen]).sum())
        assert others == pytest.approx(np.sqrt(n), rel=0.05)


def test_where_there_is_nothing_to_choose_the_temperature_is_the_highest() -> None:
    chain = Instance([[1.0]] * 3, [(0, 1), (1, 2)], [1.0, 1.0])
    assert FastPolicy().temperature(chain) == pytest.approx(HOTTEST, rel=0.02)
    assert FastPolicy().best_of(chain, 4, np.random.default_rng(0)).makespan == 3.0


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
    with pytest.raises(DAGSchedError, match="schedules must be"):
        PolicyConfig(schedules=1)


def test_the_reward_of_makespans_decides_what_is_learned() -> None:
    def learned(reward: Callable[[Floats], Floats]) -> Weights:
        rng, config = np.random.default_rng(0), PolicyConfig(average=0.0)
        training = PolicyLearner(lambda _: problem(8, 2), rng, config, reward=reward)
        training.step()
        return training.policy.weights

    by_default = learned(partial(rank_rewards, temperature=1.0))
    assert not np.array_equal(learned(np.negative), by_default)
    assert np.array_equal(learned(np.zeros_like), FastPolicy().weights)
    assert np.array_equal(learned(rank_rewards), by_default)


def test_threads_and_a_restart_change_nothing() -> None:
    def training(threads: int) -> PolicyLearner:
        draw, config = TopcuogluGenerator(n_tasks=9), PolicyConfig(instances=4, schedules=4)
        return PolicyLearner(draw, np.random.default_rng(0), config, threads=threads)

    straight, interrupted = training(1), training(3)
    for _ in range(4):
        straight.step()
    for _ in range(2):
        interrupted.step()
    resumed = training(2)
    resumed.restore(*interrupted.state())
    for _ in range(2):
        resumed.step()
    assert resumed.steps == 4
    assert np.array_equal(resumed.policy.weights, straight.policy.weights)


def test_training_shortens_schedules_it_has_not_seen() -> None:
    """A few seconds on small graphs: sampled schedules become clearly shorter."""
    draw = TopcuogluGenerator(n_tasks=15, n_processors=3, ccr=(1.0, 5.0))
    training = PolicyLearner(draw, np.random.default_rng(0), PolicyConfig(8, 16))
    unseen = [draw(np.random.default_rng(1000 + i)) for i in range(30)]

    def mean_ratio(policy: FastPolicy) -> float:
        rng = np.random.default_rng(1)
        ratios = [policy.sample(i, 16, rng).makespans.mean() / heft(i).makespan for i in unseen]
        return float(np.mean(ratios))

    before = mean_ratio(training.policy)
    reports = [training.step(i / 60) for i in range(60)]
    assert training.policy.weights[SCALE] == 0.0
    assert [report.step for report in reports] == list(range(1, 61))
    assert all(np.isfinite(report.gradient_norm) for report in reports)
    assert mean_ratio(training.policy) < before - 0.03

"""Release dates: every part of the package obeys them; slow references and equal problems."""

import json
import math
import pickle

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagsched_env import DAGSchedEnv, exact, io
from dagsched_env.environment.vector import DAGSchedVectorEnv
from dagsched_env.generators import TopcuogluGenerator
from dagsched_env.kernels.schedules import decoding
from dagsched_env.problem.bounds import lower_bounds
from dagsched_env.problem.critical import critical_chain
from dagsched_env.problem.durations import execute
from dagsched_env.problem.errors import (
    DAGSchedError,
    FormatError,
    InvalidInstanceError,
    InvalidScheduleError,
)
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.platforms.altered import altered
from dagsched_env.problem.schedule import Schedule
from dagsched_env.problem.simulator import State
from dagsched_env.schedulers import CONSTRUCTIVE, SCHEDULERS, SEARCHERS, annealing, heft
from dagsched_env.solver import solve
from helpers import reference_profile, references, references_dynamic, references_rank
from helpers.brute_force import optimum
from helpers.strategies import instances, released, sharing_instances

SEEDS = st.integers(0, 2**32 - 1)
PROBLEMS = released(st.one_of(instances(max_tasks=8), sharing_instances()))
TINY = Instance([[1.0, 2.0], [3.0, 1.0]], [(0, 1)], [1.0])
SLOW = {
    name: reference
    for module in (references_dynamic, references_rank, references)
    for name in CONSTRUCTIVE
    if (reference := getattr(module, name, None)) and name != "dsc"
}


def random_walk(instance: Instance, seed: int) -> tuple[State, list[float]]:
    """A complete state and the lower bounds on the way to it."""
    rng, state = np.random.default_rng(seed), State(instance)
    bounds = [state.lower_bound]
    while not state.terminal:
        state.apply(*rng.choice(np.argwhere(state.legal())).tolist())
        bounds.append(state.lower_bound)
    return state, bounds


# -- schedulers and searches ---------------------------------------------------------------------


@given(PROBLEMS, st.booleans())
def test_every_scheduler_makes_valid_schedules(instance, insertion):
    for name, scheduler in CONSTRUCTIVE.items():
        schedule = scheduler(instance, insertion=insertion)
        schedule.validate(instance)
        tasks = np.arange(instance.n_tasks)
        assert (schedule.start >= instance.earliest[tasks, schedule.processor]).all(), name
        assert schedule.makespan >= instance.cp_min * (1 - 1e-12)


@given(PROBLEMS, SEEDS)
@settings(max_examples=10)
def test_searches_make_valid_schedules(instance, seed):
    limit = heft(instance).makespan * (1 + 1e-12)
    for scheduler in SEARCHERS.values():
        schedule = scheduler(instance, max_evaluations=300, seed=seed)
        schedule.validate(instance)
        assert schedule.makespan <= limit
    rules = {"pair_share": 0.3, "cluster_share": 0.3, "best_place": True, "load_weight": 8.0}
    annealing(instance, max_evaluations=500, seed=seed, **rules).validate(instance)
    found = solve(instance, max_evaluations=500, seed=seed)
    found.schedule.validate(instance)
    assert found.lower_bound <= found.makespan <= limit


@pytest.mark.parametrize("name", sorted(SLOW))
@given(instance=released(instances(max_tasks=8)), insertion=st.booleans())
@settings(max_examples=20)
def test_each_is_the_algorithm_of_its_paper(name: str, instance, insertion):
    schedule = CONSTRUCTIVE[name](instance, insertion=insertion)
    placed = SLOW[name](instance, insertion=insertion).placed
    for t, (q, start, _) in placed.items():
        assert schedule.processor[t] == q
        assert schedule.start[t] == pytest.approx(start, rel=1e-12)


@given(released(sharing_instances()), SEEDS, st.booleans())
def test_decodings_are_those_of_the_reference(instance, seed, insertion):
    state = random_walk(instance, seed)[0].arrays
    made = decoding.decode(instance.arrays, state.sequence, state.processor, insertion)
    placed = reference_profile.decode(
        instance, state.sequence.tolist(), state.processor.tolist(), insertion=insertion
    )
    assert made[1].tolist() == [placed[t][1] for t in range(instance.n_tasks)]


@given(st.one_of(instances(max_tasks=8), sharing_instances()))
@settings(max_examples=15)
def test_release_dates_of_0_change_nothing(instance):
    zeros = altered(instance, release=np.zeros(instance.n_tasks))
    assert zeros.has_release
    assert zeros == instance
    assert zeros.fingerprint == instance.fingerprint
    assert lower_bounds(zeros) == lower_bounds(instance)
    for name, scheduler in SCHEDULERS.items():
        options = {"max_evaluations": 300} if name in SEARCHERS else {}
        if name == "genetic" and instance.n_resources:
            continue  # it justifies schedules only without release dates
        assert scheduler(zeros, **options).makespan == scheduler(instance, **options).makespan
    if not instance.n_resources:
        for name in SEARCHERS:
            options = {"max_evaluations": 300, "seed": 1}
            assert SCHEDULERS[name](zeros, **options) == SCHEDULERS[name](instance, **options)


# -- bounds and states ---------------------------------------------------------------------------


@given(PROBLEMS, SEEDS)
def test_bounds_of_states_rise_to_the_makespan(instance, seed):
    state, bounds = random_walk(instance, seed)
    schedule = state.schedule()
    schedule.validate(instance)
    assert bounds == sorted(bounds)
    assert bounds[0] == instance.cp_min == pytest.approx(references.critical_path(instance))
    assert bounds[-1] == schedule.makespan
    found = lower_bounds(instance)
    assert found.best <= schedule.makespan * (1 + 1e-12)
    assert found.critical_path <= found.path * (1 + 1e-12)
    while state.n_scheduled:
        state.undo()
    assert state.lower_bound == instance.cp_min


@given(PROBLEMS, SEEDS)
def test_executions_obey_release_dates(instance, seed):
    schedule = heft(instance)
    factors = np.random.default_rng(seed).uniform(0, 2, (2, instance.n_tasks))
    factors[0] = 1.0
    same, other = execute(schedule, instance, factors)
    assert same <= schedule.makespan * (1 + 1e-12)
    assert other >= instance.earliest[np.arange(instance.n_tasks), schedule.processor].max()


@given(released(instances()))
def test_critical_chains_begin_at_0_or_at_a_release(instance):
    schedule = heft(instance, insertion=False)
    first = critical_chain(schedule, instance)[0].task
    slack = 1e-8 * schedule.makespan
    assert schedule.start[first] <= instance.earliest[first, schedule.processor[first]] + slack


# -- optima --------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(
    st.one_of(
        released(instances(max_tasks=5, max_processors=3)),
        released(sharing_instances(max_tasks=4, max_processors=2)),
    )
)
def test_optima_are_those_of_exhaustive_search(instance):
    pytest.importorskip("ortools")
    by_trying = reference_profile.optimum if instance.n_resources else optimum
    best = by_trying(instance)
    slack = 1e-6 * best
    result = exact.solve(instance, time_limit_s=30.0, workers=1)
    result.schedule.validate(instance)
    assert result.optimal
    assert abs(result.schedule.makespan - best) <= slack + result.tolerance
    assert lower_bounds(instance).best <= best + slack
    assert instance.lower_bound <= best + slack


def with_clock(instance: Instance, release: np.ndarray) -> Instance:
    """Release dates by one more processor: a chain of tasks there, each ends at one of them."""
    n, p = instance.comp.shape
    times = np.unique(release)
    comp = np.full((n + times.size, p + 1), np.inf)
    comp[:n, :p] = instance.comp
    comp[n:, p] = np.diff(times, prepend=0.0)
    chain = [(n + i, n + i + 1) for i in range(times.size - 1)]
    waits = [(n + int(i), t) for t, i in enumerate(np.searchsorted(times, release))]
    links = {name: np.zeros((p + 1, p + 1)) for name in ("latency", "inv_bandwidth")}
    for name, link in links.items():
        link[:p, :p] = getattr(instance, name)
    edges = [*map(tuple, instance.edges.tolist()), *chain, *waits]
    data = [*instance.data.tolist(), *[0.0] * (len(chain) + len(waits))]
    return Instance(comp, edges, data, **links)


def with_senders(instance: Instance) -> Instance:
    """Release dates by one more processor for each task, from which it waits for a transfer."""
    n, p = instance.comp.shape
    comp = np.full((2 * n, p + n), np.inf)
    comp[:n, :p] = instance.comp
    comp[n + np.arange(n), p + np.arange(n)] = 0.0
    links = {name: np.zeros((p + n, p + n)) for name in ("latency", "inv_bandwidth")}
    for name, link in links.items():
        link[:p, :p] = getattr(instance, name)
    links["latency"][p:, :p] = instance.earliest
    edges = [*map(tuple, instance.edges.tolist()), *((n + t, t) for t in range(n))]
    return Instance(comp, edges, [*instance.data.tolist(), *[0.0] * n], **links)


@settings(max_examples=20, deadline=None)
@given(instances(max_tasks=6, max_processors=3), st.data())
def test_a_clock_or_senders_give_the_same_optimum(instance, data):
    pytest.importorskip("ortools")
    n, p = instance.comp.shape
    whole = st.integers(0, 12).map(float)
    release = np.array(data.draw(st.lists(whole, min_size=n, max_size=n)))
    free = data.draw(st.lists(whole, min_size=p, max_size=p))
    by_task = altered(instance, release=release)
    by_pair = altered(instance, release=release, available_from=free)
    for ours, other in ((by_task, with_clock(by_task, release)), (by_pair, with_senders(by_pair))):
        first, second = (exact.solve(x, time_limit_s=30.0, workers=1) for x in (ours, other))
        assert first.optimal
        assert second.optimal
        slack = first.tolerance + second.tolerance + 1e-9
        assert first.schedule.makespan == pytest.approx(second.schedule.makespan, abs=slack)


# -- the environment -----------------------------------------------------------------------------


@given(st.lists(st.one_of(released(instances(6)), instances(6)), min_size=2, max_size=4), SEEDS)
@settings(max_examples=15)
def test_the_vector_form_equals_single_environments(problems, seed):
    rng = np.random.default_rng(seed)
    many = DAGSchedVectorEnv(problems, num_envs=3)
    singles = gymnasium.vector.SyncVectorEnv([lambda: DAGSchedEnv(problems)] * 3)
    (seen, info), (expected, _) = many.reset(seed=seed), singles.reset(seed=seed)
    for _ in range(30):
        for part, values in seen.items():
            np.testing.assert_array_equal(values, expected[part], err_msg=part)
        mask = info["action_mask"]
        actions = np.array([rng.choice(np.flatnonzero(row)) if row.any() else 0 for row in mask])
        seen, rewards, ended, _, info = many.step(actions)
        expected, wanted, also_ended, _, _ = singles.step(actions)
        assert np.array_equal(ended, also_ended)
        assert np.allclose(rewards, wanted)
        for i in np.flatnonzero(ended):
            info["schedule"][i].validate(many.instances[i])


# -- validity ------------------------------------------------------------------------------------


def test_validate_finds_every_early_start():
    rng, found = np.random.default_rng(0), 0
    while found < 50:
        drawn = TopcuogluGenerator(n_tasks=12, n_processors=3)(rng)
        latest = heft(drawn).makespan
        instance = altered(
            drawn,
            release=rng.uniform(0, latest, (12, 3) if found % 2 else 12),
            available_from=rng.uniform(0, latest, 3),
        )
        schedule = heft(instance)
        schedule.validate(instance)
        t = int(rng.integers(12))
        earliest = instance.earliest[t, schedule.processor[t]]
        by = schedule.start[t] - earliest + 1e-6 * schedule.makespan
        if by > schedule.start[t]:
            continue
        moved = [times - by * (np.arange(12) == t) for times in (schedule.start, schedule.finish)]
        found += 1
        with pytest.raises(
            InvalidScheduleError, match=rf"task {t} starts .* not start there before"
        ):
            Schedule(schedule.processor, *moved).validate(instance)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"release": [0, -1]}, r"release\[1\] is -1.0: it is finite and >= 0"),
        ({"release": [[0, 0], [0, math.nan]]}, r"release\[1, 1\] is nan"),
        ({"release": [math.inf, 0]}, r"release\[0\] is inf"),
        ({"release": [0, 0, 0]}, r"release needs shape \[2\] or \[2, 2\], got \[3\]"),
        ({"release": 1}, r"release needs shape \[2\] or \[2, 2\], got \[\]"),
        ({"release": [[0], [0, 1]]}, "release is not a rectangular array"),
        ({"available_from": [0, -1]}, r"available_from\[1\] is -1.0"),
        ({"available_from": [[0, 1]]}, r"available_from needs shape \[2\], got \[1, 2\]"),
        ({"release": [1e308, 0]}, "overflow"),
    ],
)
def test_errors_name_the_index(arguments: dict, message: str) -> None:
    with pytest.raises(InvalidInstanceError, match=message):
        altered(TINY, **arguments)


# -- equality and files --------------------------------------------------------------------------


@given(PROBLEMS)
def test_they_survive_json_pickle_and_other_names(instance):
    for again in (
        Instance.from_json(instance.to_json()),
        pickle.loads(pickle.dumps(instance)),
        instance.renamed("other").renamed(instance.name),
        altered(instance),
    ):
        assert again.has_release
        assert np.array_equal(again.earliest, instance.earliest)
        assert again.fingerprint == instance.fingerprint
    assert json.loads(instance.to_json())["version"] == 3


def test_they_are_a_part_of_the_problem() -> None:
    later = altered(TINY, release=[1, 2], available_from=[0, 1.5])
    assert later.earliest.tolist() == [[1, 1.5], [2, 2]]
    assert later.first_start == 1
    assert later != TINY
    assert later.fingerprint != TINY.fingerprint
    assert altered(TINY, release=later.earliest) == later
    assert not TINY.has_release
    assert not TINY.earliest.any()
    assert TINY.arrays.earliest.shape == (2, 0)
    assert json.loads(TINY.to_json())["version"] == 1


def test_files_without_a_place_for_them_are_refused(tmp_path) -> None:
    later = altered(TINY, release=[1, 2])
    io.save(later, tmp_path / "later.json")
    assert io.load(tmp_path / "later.json") == later
    with pytest.raises(DAGSchedError, match="no place for release dates: write JSON"):
        io.save(later, tmp_path / "later.dot")
    record = json.loads(later.to_json())
    with pytest.raises(FormatError, match="version 4 is not 1, 2 or 3"):
        Instance.from_json(json.dumps(record | {"version": 4}))
    with pytest.raises(FormatError, match="did you mean 'release'"):
        Instance.from_json(json.dumps(record | {"relase": [1, 2]}))

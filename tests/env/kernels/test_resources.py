"""Tasks that share processors: kernels and validity against a slow reference."""

import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dagsched_env import exact
from dagsched_env.kernels.arrays import Floats
from dagsched_env.kernels.lists.placements import allocate_placements
from dagsched_env.kernels.schedules import decoding
from dagsched_env.problem.bounds import lower_bounds
from dagsched_env.problem.durations import execute
from dagsched_env.problem.errors import InvalidScheduleError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.platforms.altered import altered
from dagsched_env.problem.schedule import Schedule
from dagsched_env.problem.simulator import State
from dagsched_env.schedulers import CONSTRUCTIVE, SEARCHERS, heft
from dagsched_env.solver import solve
from helpers import reference_profile as reference
from helpers.strategies import instances, sharing_instances

SEEDS = st.integers(0, 2**32 - 1)


def topological(instance: Instance, rank: Floats) -> list[int]:
    """A topological order: the task of the smallest rank that is ready comes first."""
    left, order = set(range(instance.n_tasks)), list[int]()
    while left:
        ready = [t for t in left if not any(v == t and u in left for u, v in instance.edges)]
        order.append(min(ready, key=lambda t: (rank[t], instance.arrays.topo_position[t])))
        left.remove(order[-1])
    return order


def random_decisions(instance: Instance, seed: int) -> tuple[list[int], list[int]]:
    """A topological order, and an eligible processor of each task."""
    rng = np.random.default_rng(seed)
    order = topological(instance, rng.random(instance.n_tasks))
    return order, [int(rng.choice(np.flatnonzero(np.isfinite(row)))) for row in instance.comp]


def profile(state: State) -> list[list[tuple[float, float, tuple[int, ...]]]]:
    """The busy intervals of each processor, with their loads."""
    a = state.arrays
    return [
        [
            (a.slot_start[q, i], a.slot_finish[q, i], tuple(a.slot_load[q, i].tolist()))
            for i in range(a.slot_count[q])
        ]
        for q in range(state.instance.n_processors)
    ]


def placed_by(schedule: Schedule) -> reference.Placed:
    columns = schedule.processor.tolist(), schedule.start.tolist(), schedule.finish.tolist()
    return dict(enumerate(zip(*columns, strict=True)))


NO_TIME_IN_A_FULL_INTERVAL = Instance(
    [[0.0], *[[1.0]] * 6], [], [], demands=[[2.0]] * 7, capacities=[[4.0]]
)


@given(sharing_instances(), SEEDS, st.booleans())
@example(NO_TIME_IN_A_FULL_INTERVAL, 0, False)
def test_decodings_and_states_are_those_of_the_reference(instance, seed, insertion):
    order, processor = random_decisions(instance, seed)
    expected = reference.decode(instance, order, processor, insertion=insertion)
    made = Schedule(
        *decoding.decode(instance.arrays, np.array(order), np.array(processor), insertion)
    )
    state = State(instance, insertion=insertion)
    for t in order:
        before = profile(state), state.makespan, state.lower_bound
        state.apply(t, processor[t])
        state.undo()
        assert (profile(state), state.makespan, state.lower_bound) == before
        state.apply(t, processor[t])
    assert placed_by(made) == expected == placed_by(state.schedule())
    made.validate(instance)


@given(sharing_instances(), SEEDS)
def test_a_profile_is_the_load_at_every_moment(instance, seed):
    order, processor = random_decisions(instance, seed)
    state = State(instance)
    for t in order:
        state.apply(t, processor[t])
    placed = placed_by(state.schedule())
    for q, intervals in enumerate(profile(state)):
        for (_, end, load), (start, _, other) in itertools.pairwise(intervals):
            assert end <= start
            assert end < start or load != other
        for moment in {start for _, start, _ in placed.values()}:
            running = [t for t, (w, s, f) in placed.items() if w == q and s <= moment < f]
            expected = instance.arrays.demand[running].sum(axis=0)
            found = [load for start, end, load in intervals if start <= moment < end]
            assert expected.tolist() == list(found[0] if found else np.zeros_like(expected))


@given(sharing_instances(), st.booleans())
def test_every_scheduler_makes_valid_schedules(instance, insertion):
    for name, scheduler in CONSTRUCTIVE.items():
        schedule = scheduler(instance, insertion=insertion)
        schedule.validate(instance)
        assert not reference.overloaded(instance, placed_by(schedule)), name


@settings(max_examples=10)
@given(sharing_instances(), SEEDS)
def test_searches_make_valid_schedules(instance, seed):
    limit = heft(instance).makespan * (1 + 1e-12)
    for scheduler in SEARCHERS.values():
        schedule = scheduler(instance, max_evaluations=300, seed=seed)
        schedule.validate(instance)
        assert schedule.makespan <= limit


@given(instances(), st.booleans())
def test_one_unit_of_one_resource_is_one_task_at_a_time(instance, insertion):
    comp = np.where(instance.comp == 0, 1.0, instance.comp)  # tasks of duration 0 need nothing
    unary = altered(instance, comp=comp)
    shared = altered(
        unary,
        demands=np.ones((unary.n_tasks, 1)),
        capacities=np.ones((unary.n_processors, 1)),
    )
    for name, scheduler in CONSTRUCTIVE.items():
        expected, found = (scheduler(each, insertion=insertion) for each in (unary, shared))
        assert found == expected, name


@given(sharing_instances(), SEEDS)
def test_justification_never_lengthens(instance, seed):
    g, back = instance.arrays, instance.backwards
    order, processor = map(np.array, random_decisions(instance, seed))
    placements = allocate_placements(*instance.shape)
    before = decoding.decode_into(g, placements, order, processor, True)
    after = decoding.justify(g, back, placements, order, processor)
    assert after <= before * (1 + 1e-12)
    assert decoding.decode_into(g, placements, order, processor, True) == after


def overload(instance: Instance, schedule: Schedule, rng: np.random.Generator) -> Schedule | None:
    """The schedule with one task moved onto others of its processor, if that is too much there."""
    start, finish = schedule.start.copy(), schedule.finish.copy()
    t, u = rng.choice(instance.n_tasks, 2, replace=False)
    duration = finish[t] - start[t]
    start[t] = start[u] + rng.random() * (finish[u] - start[u])
    finish[t] = start[t] + duration
    moved = Schedule(schedule.processor, start, finish)
    return moved if reference.overloaded(instance, placed_by(moved)) else None


def test_validate_finds_every_injected_overload():
    rng, found = np.random.default_rng(0), 0
    while found < 200:
        n, p = 20, int(rng.integers(1, 4))
        instance = Instance(
            rng.uniform(1.0, 9.0, (n, p)),
            [],
            [],
            demands=np.column_stack([rng.integers(1, 5, n), rng.choice([0.1, 0.2, 0.7], n)]),
            capacities=np.column_stack([np.full(p, 8), np.full(p, 1.3)]),
        )
        schedule = heft(instance)
        schedule.validate(instance)
        moved = overload(instance, schedule, rng)
        if moved is None:
            continue
        found += 1
        with pytest.raises(InvalidScheduleError, match=r"run on processor .* and need"):
            moved.validate(instance)


@settings(max_examples=15, deadline=None)
@given(
    st.one_of(
        sharing_instances(max_tasks=4, max_processors=2),
        sharing_instances(max_tasks=6, max_processors=1),
    )
)
def test_optima_are_those_of_exhaustive_search(instance):
    pytest.importorskip("ortools")
    best = reference.optimum(instance)
    slack = 1e-6 * best
    result = exact.solve(instance, time_limit_s=30.0, workers=1)
    result.schedule.validate(instance)
    assert result.optimal
    assert abs(result.schedule.makespan - best) <= slack + result.tolerance
    assert lower_bounds(instance).best <= best + slack
    assert instance.lower_bound <= best + slack
    found = solve(instance, max_evaluations=2000)
    found.schedule.validate(instance)
    assert found.lower_bound <= best + slack
    assert best - slack <= found.schedule.makespan <= heft(instance).makespan + slack


@given(sharing_instances(), SEEDS)
def test_executions_keep_the_order_of_starts(instance, seed):
    schedule = heft(instance)
    rng = np.random.default_rng(seed)
    factors = np.stack([np.ones(instance.n_tasks), rng.uniform(0.0, 2.0, instance.n_tasks)])
    makespans = execute(schedule, instance, factors)
    assert makespans[0] <= schedule.makespan * (1 + 1e-12)
    order = topological(instance, schedule.start)
    comp = np.where(np.isfinite(instance.comp), instance.comp, 0.0) * factors[1][:, None]
    slower = altered(instance, comp=np.where(np.isfinite(instance.comp), comp, np.inf))
    expected = reference.decode(slower, order, schedule.processor.tolist(), insertion=False)
    assert makespans[1] == max(finish for _, _, finish in expected.values())

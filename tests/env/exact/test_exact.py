"""Exact solving: published optima, brute force, and the error bound of the rounding."""

import importlib.util
import math
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagsched_env import exact, suites
from dagsched_env.exact.grid import MAX_HORIZON, choose_grid
from dagsched_env.generators import TopcuogluGenerator
from dagsched_env.problem.errors import DAGSchedError, InvalidScheduleError, MissingExtraError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.platforms.altered import altered
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers import best_of_portfolio, random_order
from helpers.brute_force import optimum
from helpers.oracles import GRAPHS, paper_instance
from helpers.strategies import instances

INF = math.inf

HARD = TopcuogluGenerator(n_tasks=60, n_processors=4, ccr=2.0)


@pytest.fixture(scope="module", autouse=True)
def ortools():
    pytest.importorskip("ortools")


def check(instance: Instance, result: exact.ExactResult) -> None:
    """What holds of every result."""
    result.schedule.validate(instance)
    assert result.lower_bound <= result.schedule.makespan
    assert result.schedule.makespan <= best_of_portfolio(instance).makespan
    assert 0 <= result.gap <= 1
    if result.optimal:
        assert result.schedule.makespan - result.lower_bound <= result.tolerance


@pytest.mark.parametrize("name", GRAPHS)
def test_optima_of_the_paper_graphs(name):
    instance = paper_instance(name)
    result = exact.solve(instance)
    check(instance, result)
    assert result.optimal
    assert result.tolerance == 0
    assert result.schedule.makespan == GRAPHS[name]["makespan"]["optimum"] == result.lower_bound
    assert result.schedule.algorithm is not None


def test_optimum_of_ft06():
    instance = suites.instance("jobshop", "ft06")
    result = exact.solve(instance)
    check(instance, result)
    assert result.optimal
    assert result.schedule.makespan == 55


@given(instances(max_tasks=5, max_processors=3))
@settings(max_examples=40)
def test_brute_force_finds_nothing_better(instance):
    result = exact.solve(instance, workers=1)
    check(instance, result)
    assert result.optimal
    shortest = optimum(instance)
    assert result.schedule.makespan == pytest.approx(shortest, abs=result.tolerance, rel=1e-9)
    assert result.lower_bound <= shortest * (1 + 1e-9)


def test_one_worker_always_finds_the_same_schedule():
    instance = TopcuogluGenerator(n_tasks=15, n_processors=3)(np.random.default_rng(5))
    first, second = exact.solve(instance, workers=1), exact.solve(instance, workers=1)
    assert first.optimal
    assert first.schedule == second.schedule
    assert first.lower_bound == second.lower_bound == exact.solve(instance).lower_bound


# -- the grid ------------------------------------------------------------------------------------


def test_whole_times_need_no_scale():
    grid = choose_grid(np.array([0.0, 3.0, 41.0]), 100.0)
    assert grid == (0, True)
    assert grid.tolerance(50) == 0


def test_binary_fractions_are_exact():
    grid = choose_grid(np.array([0.25, 1.5]), 10.0)
    assert grid == (2, True)
    assert grid.floor(np.array([0.25, 1.5])).tolist() == [1, 6]
    assert grid.time(6) == 1.5


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6), st.floats(1e-9, 1e12))
def test_a_grid_fits_the_horizon_and_rounds_down(shares, horizon):
    times = np.array(shares) * horizon
    grid = choose_grid(times, horizon)
    steps = grid.floor(times)
    assert grid.floor(np.array(horizon)) <= MAX_HORIZON
    error = times - [grid.time(int(step)) for step in steps]
    assert (error >= 0).all()
    assert (error < grid.time(1)).all()
    assert grid.exact == (not error.any())
    if not grid.exact:
        assert grid.floor(np.array(2.01 * horizon)) > MAX_HORIZON / 2
        assert 0 < grid.tolerance(10) < 1e-7 * horizon


def test_tenths_are_optimal_within_the_tolerance():
    graph = GRAPHS["Topcuoglu2002"]
    edges = [(u, v) for u, v, _ in graph["edges"]]
    data = [0.1 * amount for _, _, amount in graph["edges"]]
    tenths = Instance(0.1 * np.array(graph["comp"]), edges, data)
    result = exact.solve(tenths)
    check(tenths, result)
    assert result.optimal
    assert 0 < result.tolerance < 1e-6
    assert result.schedule.makespan == pytest.approx(7.3, abs=result.tolerance)
    assert result.lower_bound <= 7.3


def test_sizes_far_apart():
    # The transfer takes forever, the work next to nothing, and one processor is hopeless.
    instance = Instance([[1e-3, 1e15], [1e-3, 2e-3], [0.0, 0.0]], [(0, 1), (1, 2)], [1e200, 1e-9])
    result = exact.solve(instance)
    check(instance, result)
    assert result.optimal
    assert result.schedule.makespan == pytest.approx(2e-3, abs=result.tolerance)


# -- what a caller relies on ---------------------------------------------------------------------


def test_no_work_at_all():
    result = exact.solve(Instance([[0.0, INF], [0.0, 0.0]], [(0, 1)], [0.0]))
    assert (result.schedule.makespan, result.lower_bound, result.gap) == (0, 0, 0)
    assert result.optimal


def test_an_idle_processor():
    result = exact.solve(Instance([[2.0, INF, 3.0], [2.0, INF, 3.0]], [], []))
    assert result.optimal
    assert result.schedule.makespan == 3


def test_too_little_time_gives_the_best_schedule_and_a_bound():
    instance = HARD(np.random.default_rng(1))
    result = exact.solve(instance, time_limit_s=0.3)
    check(instance, result)
    assert not result.optimal
    assert result.lower_bound >= instance.lower_bound
    assert 0 < result.gap < 1


def test_it_ends_when_it_is_asked_to():
    asked = []
    instance = HARD(np.random.default_rng(1))
    result = exact.solve(
        instance, time_limit_s=3600.0, workers=1, stop=lambda: len(asked) > 3 or asked.append(1)
    )
    check(instance, result)
    assert not result.optimal
    assert len(asked) == 4


def test_a_hint_is_a_start():
    instance = HARD(np.random.default_rng(2))
    better = exact.solve(instance, time_limit_s=2.0)
    again = exact.solve(instance, time_limit_s=1e-6, hint=better.schedule)
    assert again.schedule.makespan <= better.schedule.makespan
    assert again.schedule.makespan < best_of_portfolio(instance).makespan


def test_slack_in_a_hint_is_taken_out():
    instance = paper_instance("PEFT2014")
    best = exact.solve(instance).schedule
    late = Schedule(best.processor, best.start + 500.0, best.finish + 500.0)
    assert exact.solve(instance, time_limit_s=1e-6, hint=late).schedule.makespan == best.makespan


def test_a_hint_must_be_valid():
    instance = paper_instance("PEFT2014")
    other = random_order(paper_instance("Ahmad"))
    with pytest.raises(InvalidScheduleError, match="9 tasks, but the instance has 10"):
        exact.solve(instance, hint=other)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"time_limit_s": 0}, "time_limit_s is 0: give a number > 0"),
        ({"time_limit_s": math.nan}, "time_limit_s is nan"),
        ({"work_limit": -1.0}, "work_limit is -1.0: give a number > 0"),
        ({"workers": 0}, "workers is 0: give a whole number >= 1"),
    ],
)
def test_limits_out_of_range(limits, message):
    with pytest.raises(DAGSchedError, match=message):
        exact.solve(Instance([[1.0]], [], []), **limits)


def test_an_interrupt_stops_the_solver(monkeypatch):
    """Ctrl-C reaches the waiting thread as an exception; the solver must not outlive it."""

    def interrupted(future):
        time.sleep(0.3)
        raise KeyboardInterrupt

    monkeypatch.setattr("concurrent.futures.Future.result", interrupted)
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        exact.solve(HARD(np.random.default_rng(1)), time_limit_s=250)
    assert threading.active_count() == before


def test_without_ortools(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"'ortools'.*aerl-ds\[exact\]"):
        exact.solve(Instance([[1.0]], [], []))


def test_a_limit_of_work_is_the_same_again() -> None:
    instance = HARD(np.random.default_rng(1))
    started = time.perf_counter()
    one, two = (exact.solve(instance, work_limit=0.2, workers=1) for _ in range(2))
    assert time.perf_counter() - started < 60.0
    assert not one.optimal
    assert (one.schedule, one.lower_bound) == (two.schedule, two.lower_bound)


def test_an_optimal_hint_with_resources_is_no_contradiction():
    """OR-Tools 9.15 has called such models infeasible, with steps of 2⁻³⁰ of the makespan."""
    rng = np.random.default_rng(0)
    drawn = TopcuogluGenerator(n_tasks=20, n_processors=2)(rng)
    demands = np.column_stack([rng.integers(0, 6, 20), rng.choice([0.1, 0.3, 0.7, 1.5], 20)])
    instance = altered(drawn, demands=demands, capacities=[[16, 2.0]] * 2)
    first = exact.solve(instance, time_limit_s=10.0, workers=1)
    again = exact.solve(instance, time_limit_s=10.0, workers=1, hint=first.schedule)
    check(instance, again)
    assert again.schedule.makespan <= first.schedule.makespan

"""CP-SAT in turns with a race: where it has turns, how long they are, and what ends them."""

import dataclasses
import math
import threading
from typing import Any

import numpy as np
import pytest

from dagsched_env import exact
from dagsched_env.generators import JobShopGenerator
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers import heft
from dagsched_env.solver import Best, proof, solve
from dagsched_env.solver.proof import GROWTH, SHARE, SHARE_SMALL, CpSatTurns, may_prove
from dagsched_env.solver.race import _Track
from dagsched_env.solver.threads import race_in_threads
from helpers.small_runs import problem

FOREVER_S = 3600.0


@pytest.fixture(scope="module", autouse=True)
def ortools() -> None:
    pytest.importorskip("ortools")


def job_shop(jobs: int, in_place: bool) -> Instance:
    instance = JobShopGenerator(n_jobs=jobs, n_machines=10)(np.random.default_rng(0))
    if in_place:
        return instance
    comp = np.where(np.isfinite(instance.comp), instance.comp, 1.0)
    return Instance(comp, instance.edges, instance.data)


@pytest.mark.parametrize(
    ("jobs", "in_place", "least_s", "small"),
    [
        (2, False, 0.114, True),
        (5, False, 0.475, False),
        (10, True, 0.1125, True),
        (11, True, 0.104, False),
    ],
)
def test_the_least_time_grows_with_the_number_of_choices(
    jobs: int, in_place: bool, least_s: float, small: bool
) -> None:
    instance = job_shop(jobs, in_place)
    assert may_prove(instance, 1.01 * least_s)
    assert not may_prove(instance, 0.99 * least_s)
    assert may_prove(instance, math.inf) == small


class Times(list[float]):
    """The time of each turn of CP-SAT (s), which finds nothing; else the clock stands still."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, optimal: bool = False) -> None:
        self.now, self.optimal = 0.0, optimal
        monkeypatch.setattr("time.perf_counter", lambda: self.now)
        monkeypatch.setattr(proof, "run_cp_sat", self.run)

    def run(self, best: Best, time_s: float) -> exact.ExactResult:
        self.append(time_s)
        self.now += time_s
        return exact.ExactResult(best.schedule, best.lower_bound, self.optimal, tolerance=0.0)


def waiting(instance: Instance, **limits: float) -> Best:
    best = Best(instance, **limits)
    best.offer(heft(instance), "heft")
    best.prove(0.6 * best.schedule.makespan)  # near enough for 30 tasks
    return best


def test_turns_grow_and_the_race_has_as_much_time_between_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    times = Times(monkeypatch)
    instance = problem(30, 4)
    turns = CpSatTurns(waiting(instance, budget_s=100.0))
    least = 1.5e-4 * 4 * (30 + instance.n_edges)
    for number in range(4):
        times.now += 0.9 * least * GROWTH**number
        turns.between(math.inf)
        assert len(times) == number
        times.now += 0.2 * least * GROWTH**number
        turns.between(math.inf)
        assert times[number:] == [pytest.approx(least * GROWTH**number)]


@pytest.mark.parametrize("limit", ["budget_s", "patience_s"])
@pytest.mark.parametrize(("tasks", "share"), [(30, SHARE), (20, SHARE_SMALL)])
def test_turns_have_a_share_of_the_time_that_is_left_at_most(
    monkeypatch: pytest.MonkeyPatch, limit: str, tasks: int, share: float
) -> None:
    times = Times(monkeypatch)
    best = waiting(problem(tasks), **{"budget_s": 100.0, limit: 1.0})
    turns = CpSatTurns(best)
    while best.over is None:
        left_s, before = 1.0 - times.now, len(times)
        turns.between(math.inf)
        assert all(time_s <= share * left_s + 1e-9 for time_s in times[before:])
        times.now += 0.01
    assert len(times) > 1
    assert times.now < 1.0 + 0.02


def test_a_turn_that_is_too_long_has_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    times = Times(monkeypatch)
    turns = CpSatTurns(waiting(problem(30), budget_s=100.0))
    times.now = 10.0
    turns.between(1e-3)
    assert not times
    turns.between(1.0)
    assert len(times) == 1


def test_there_is_no_turn_after_a_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where its schedule is above the bound by what the rounding of CP-SAT allows."""
    times = Times(monkeypatch, optimal=True)
    turns = CpSatTurns(waiting(problem(30), budget_s=100.0))
    for times.now in (10.0, 20.0):
        turns.between(math.inf)
    assert len(times) == 1


def test_a_turn_with_no_more_time_begins_with_another_schedule(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    times = Times(monkeypatch)
    instance = problem(20)
    best = waiting(instance, budget_s=1.0)
    turns = CpSatTurns(best)
    monkeypatch.setattr(proof, "GROWTH", 1.0)
    for times.now in (0.2, 0.4):
        turns.between(math.inf)
    assert len(times) == 1
    best.offer(solve(instance).schedule, "other")
    times.now = 0.6
    turns.between(math.inf)
    assert len(times) == 2


@pytest.mark.parametrize(("tasks", "bound", "expected"), [(30, 0.94, 0), (30, 0.96, 1), (20, 0, 1)])
def test_a_turn_before_the_race_is_for_small_problems_and_schedules_near_the_bound(
    monkeypatch: pytest.MonkeyPatch, tasks: int, bound: float, expected: int
) -> None:
    times = Times(monkeypatch)
    best = waiting(problem(tasks), budget_s=100.0)
    assert best.lower_bound < 0.94 * best.schedule.makespan
    best.prove(bound * best.schedule.makespan)
    CpSatTurns(best).begin()
    assert len(times) == expected


@pytest.mark.parametrize(("bound", "expected"), [(0.70, 0), (0.72, 1)])
def test_with_more_tasks_a_schedule_has_to_be_nearer_to_the_bound(
    monkeypatch: pytest.MonkeyPatch, bound: float, expected: int
) -> None:
    """By (40 / 50)⁴ = 0.41 of it at most."""
    times = Times(monkeypatch)
    best = waiting(problem(50), budget_s=100.0)
    assert best.lower_bound < 0.70 * best.schedule.makespan
    best.prove(bound * best.schedule.makespan)
    turns = CpSatTurns(best)
    times.now = 10.0
    turns.between(math.inf)
    assert len(times) == expected


def test_links_that_differ_take_more_time() -> None:
    """A pair of processors is a constraint of each edge then."""
    like = problem(20, 16)
    slow = np.ones((16, 16))
    slow[0, 1] = 2.0
    unlike = Instance(like.comp, like.edges, like.data, inv_bandwidth=slow)
    least = 1.5e-4 * 16 * (20 + like.n_edges)
    more = least + 2e-5 * 256 * like.n_edges
    assert may_prove(like, 2.02 * least)
    assert not may_prove(unlike, 2.02 * least)
    assert may_prove(unlike, 2.02 * more)
    assert not may_prove(unlike, 1.98 * more)


def test_a_problem_of_30_tasks_is_proved_long_before_the_end() -> None:
    instance = problem(30, 4, 7)
    result = solve(instance, budget_s=60.0)
    assert result.stopped_by == "optimal"
    other = solve(instance, max_evaluations=10**6, seed=1)
    assert other.makespan >= result.lower_bound == pytest.approx(result.makespan)


@pytest.mark.parametrize("shorter", [True, False])
def test_a_turn_gives_the_race_what_is_shorter_only(
    monkeypatch: pytest.MonkeyPatch, shorter: bool
) -> None:
    """Else the race would go on from a schedule of another race."""
    times = Times(monkeypatch)
    instance = problem(20)
    best = waiting(instance, budget_s=100.0)
    known = solve(instance).schedule
    best.offer(known, "other race")
    optimum = dataclasses.replace(known, finish=0.5 * known.finish) if shorter else known
    monkeypatch.setattr(
        proof, "run_cp_sat", lambda *_: exact.ExactResult(optimum, 0.0, False, tolerance=0.0)
    )
    turns = CpSatTurns(best)
    times.now = 10.0
    assert turns.between(math.inf) is (optimum if shorter else None)


def test_the_race_goes_on_from_what_cp_sat_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of two races: the other keeps to its own schedules."""
    instance = problem(60, 4, 2)
    shorter = solve(instance, max_evaluations=3 * 10**6).schedule

    def find(best: Best, time_s: float) -> exact.ExactResult:
        best.offer(shorter, "cp_sat")
        return exact.ExactResult(shorter, best.lower_bound, optimal=False, tolerance=0.0)

    monkeypatch.setattr(proof, "run_cp_sat", find)
    taken: dict[str, list[Schedule]] = {}
    take = _Track.take

    def taking(track: _Track, schedule: Schedule) -> None:
        take(track, schedule)
        taken.setdefault(threading.current_thread().name, []).append(schedule)
        assert track._incumbent.makespan <= schedule.makespan

    monkeypatch.setattr(_Track, "take", taking)
    monkeypatch.setattr(proof, "EASY_TASKS", 10**6)
    monkeypatch.setattr(proof, "_least_time_s", lambda instance: 1e-3)  # before a race finds it
    best = Best(instance, budget_s=3.0)
    best.offer(heft(instance), "heft")
    rngs = [np.random.default_rng(seed) for seed in range(2)]
    race_in_threads(best, rngs, 3.0, None, CpSatTurns(best))
    with_cp_sat = [any(found is shorter for found in of_one) for of_one in taken.values()]
    assert sorted(with_cp_sat) == [False, True]


def test_a_limit_of_moves_leaves_no_time_to_cp_sat_after_them() -> None:
    """A problem that takes it minutes."""
    instance = problem(60, 4, 2)
    result = solve(instance, budget_s=FOREVER_S, max_evaluations=1000)
    assert result.stopped_by == "budget"
    assert result.elapsed_s < 0.1 * FOREVER_S


def test_a_target_ends_a_turn_when_cp_sat_has_reached_it() -> None:
    """Of an hour; what CP-SAT finds is offered at once."""
    instance = problem(40, 4, 2)
    first = heft(instance).makespan
    best = Best(instance, budget_s=FOREVER_S, target=0.97 * first)
    best.offer(heft(instance), "heft")
    proof.run_cp_sat(best, FOREVER_S)
    assert best.over == "target"
    assert best.trace[-1].found_by == "cp_sat"
    assert 0.5 * first < best.schedule.makespan <= 0.97 * first
    best.schedule.validate(instance)


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_turn_ends_when_the_solve_is_interrupted(
    monkeypatch: pytest.MonkeyPatch, threads: int, before: bool
) -> None:
    """Within a turn of an hour, before the race or in it, of a problem that takes it minutes."""
    inside = threading.Event()
    run = exact.solve

    def entered(*arguments: Any, **options: Any) -> Any:
        inside.set()
        return run(*arguments, **options)

    def interrupt(*_: Any) -> None:
        if inside.is_set():
            raise ArithmeticError("here")

    monkeypatch.setattr(proof, "CHOICE_S", FOREVER_S / 1e4)
    monkeypatch.setattr(proof, "NEAR", math.inf if before else 0.0)
    monkeypatch.setattr(proof, "EASY_TASKS", 10**6)
    monkeypatch.setattr(proof.exact, "solve", entered)
    best = Best(problem(60, 4, 2), budget_s=100 * FOREVER_S, callback=interrupt)
    best.offer(heft(best.instance), "heft")
    turns = CpSatTurns(best)
    monkeypatch.setattr(turns, "_ended_s", -math.inf)  # a turn is due
    rngs = [np.random.default_rng(seed) for seed in range(threads)]
    with pytest.raises(ArithmeticError, match="here"):
        race_in_threads(best, rngs, None, 10**9, turns)
    assert inside.is_set()

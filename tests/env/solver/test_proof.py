"""CP-SAT in turns with a race: where it has turns, how long they are, and what ends them."""

import math
import threading
from typing import Any

import numpy as np
import pytest

from dagsched_env import exact
from dagsched_env.generators import JobShopGenerator
from dagsched_env.instance import Instance
from dagsched_env.schedule import Schedule
from dagsched_env.schedulers import heft
from dagsched_env.solver import Best, proof, solve
from dagsched_env.solver.proof import GROWTH, SHARE, SHARE_SMALL, Proofs, may_prove
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
        (10, True, 0.057, True),
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


class Turns(list[float]):
    """The time of each turn of CP-SAT (s), which finds nothing; else the clock stands still."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr("time.perf_counter", lambda: self.now)
        monkeypatch.setattr(proof, "prove", self.turn)

    def turn(self, best: Best, time_s: float) -> None:
        self.append(time_s)
        self.now += time_s


def waiting(instance: Instance, budget_s: float) -> Best:
    best = Best(instance, budget_s=budget_s)
    best.offer(heft(instance), "heft")
    return best


def test_turns_grow_and_the_race_has_as_much_time_between_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    turns = Turns(monkeypatch)
    instance = problem(30, 4)
    proofs = Proofs(waiting(instance, 100.0))
    least = 1.5e-4 * 4 * (30 + instance.n_edges)
    for number in range(4):
        turns.now += 0.9 * least * GROWTH**number
        proofs.between(math.inf)
        assert len(turns) == number
        turns.now += 0.2 * least * GROWTH**number
        proofs.between(math.inf)
        assert turns[number:] == [pytest.approx(least * GROWTH**number)]


@pytest.mark.parametrize(("instance", "share"), [(problem(30), SHARE), (problem(20), SHARE_SMALL)])
def test_turns_have_a_share_of_the_time_that_is_left_at_most(
    monkeypatch: pytest.MonkeyPatch, instance: Instance, share: float
) -> None:
    turns = Turns(monkeypatch)
    best = waiting(instance, 1.0)
    proofs = Proofs(best)
    while best.over is None:
        left_s, before = best.left_s, len(turns)
        proofs.between(math.inf)
        assert all(time_s <= share * left_s for time_s in turns[before:])
        turns.now += 0.01
    assert len(turns) > 1
    assert turns.now < 1.0 + 0.02


@pytest.mark.parametrize(("tasks", "bound", "expected"), [(30, 0.94, 0), (30, 0.96, 1), (20, 0, 1)])
def test_a_turn_before_the_race_is_for_small_problems_and_schedules_near_the_bound(
    monkeypatch: pytest.MonkeyPatch, tasks: int, bound: float, expected: int
) -> None:
    turns = Turns(monkeypatch)
    best = waiting(problem(tasks), 100.0)
    assert best.lower_bound < 0.94 * best.schedule.makespan
    best.prove(bound * best.schedule.makespan)
    Proofs(best).begin()
    assert len(turns) == expected


def test_a_turn_that_is_too_long_has_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = Turns(monkeypatch)
    proofs = Proofs(waiting(problem(30), 100.0))
    turns.now = 10.0
    assert not proofs.between(1e-3)
    assert not turns
    assert proofs.between(1.0)
    assert len(turns) == 1


def test_a_problem_of_30_tasks_is_proved_long_before_the_end() -> None:
    instance = problem(30, 4, 7)
    result = solve(instance, budget_s=FOREVER_S)
    assert result.stopped_by == "optimal"
    other = solve(instance, max_evaluations=10**6, seed=1)
    assert other.makespan >= result.lower_bound == pytest.approx(result.makespan)


def test_the_race_goes_on_from_what_cp_sat_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Annealings begin a turn there: the next one finds it again, or something shorter."""
    instance = problem(60, 4, 2)
    shorter = solve(instance, max_evaluations=10**6).schedule
    monkeypatch.setattr(proof, "prove", lambda best, time_s: best.offer(shorter, "cp_sat"))
    taken: list[float] = []
    take = _Track.take

    def taking(track: _Track, schedule: Schedule) -> None:
        take(track, schedule)
        taken.append(track._incumbent.makespan)

    monkeypatch.setattr(_Track, "take", taking)
    best = waiting(instance, 1.0)
    race_in_threads(best, [np.random.default_rng(0)], 1.0, None, Proofs(best))
    assert min(taken) <= shorter.makespan


@pytest.mark.parametrize("threads", [1, 2])
def test_a_turn_ends_when_the_solve_is_interrupted(
    monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    """Within a turn of an hour, of a problem that CP-SAT does not prove so soon."""
    inside = threading.Event()
    run = exact.solve

    def entered(*arguments: Any, **options: Any) -> Any:
        inside.set()
        return run(*arguments, **options)

    def interrupt(*_: Any) -> None:
        if inside.is_set():
            raise ArithmeticError("here")

    monkeypatch.setattr(proof, "CHOICE_S", FOREVER_S / 1e4)
    monkeypatch.setattr(proof.exact, "solve", entered)
    best = Best(problem(60, 4, 2), budget_s=100 * FOREVER_S, callback=interrupt)
    best.offer(heft(best.instance), "heft")
    proofs = Proofs(best)
    monkeypatch.setattr(proofs, "_ended_s", -math.inf)  # a turn is due
    rngs = [np.random.default_rng(seed) for seed in range(threads)]
    with pytest.raises(ArithmeticError, match="here"):
        race_in_threads(best, rngs, None, 10**9, proofs)
    assert inside.is_set()

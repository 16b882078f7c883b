"""Tabu searches from mixtures of schedules, in job shops and elsewhere."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagsched_env import solver
from dagsched_env.generators.job_shop import JobShopGenerator, benchmark
from dagsched_env.problem.instance import Instance
from dagsched_env.schedulers.anytime import Budget, Incumbent
from dagsched_env.solver import relinking
from dagsched_env.solver.relinking import Relinking
from helpers.strategies import instances


def run(instance: Instance, moves: int, seed: int = 0) -> tuple[Relinking, Incumbent]:
    """Tabu searches with so many moves in all."""
    budget = Budget(None, relinking.MOVES_OF_OTHERS * moves, 1)
    incumbent = Incumbent(instance, budget, algorithm="tabu", insertion=True, trace=None)
    entrant = Relinking(incumbent, np.random.default_rng(seed))
    results = []
    while budget.progress < 1.0:
        results.append(entrant.advance(budget.progress))
    entrant.end()
    assert results[-1] >= incumbent.makespan * (1 - 1e-12)
    return entrant, incumbent


@settings(max_examples=20)
@given(instances(), st.integers(0, 2**32 - 1))
def test_every_problem_gets_a_valid_schedule(instance: Instance, seed: int) -> None:
    _, incumbent = run(instance, 300, seed)
    incumbent.schedule.validate(instance)


def test_searches_from_mixtures_end_in_schedules_that_are_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(relinking, "PATIENCE", 50)
    entrant, incumbent = run(benchmark("ft10"), 4000)
    incumbent.schedule.validate(incumbent.instance)
    kept = entrant._kept
    assert 2 <= len(kept) <= relinking.KEPT
    assert all((a.before != b.before).any() for i, a in enumerate(kept) for b in kept[:i])
    assert max(schedule.makespan for schedule in kept) < 1.1 * incumbent.makespan


def test_the_same_seed_finds_the_same_schedule() -> None:
    instance = JobShopGenerator(10, 5)(np.random.default_rng(3))
    (_, first), (_, second), (_, other) = run(instance, 2000), run(instance, 2000), run(instance, 7)
    assert first.schedule == second.schedule
    assert first.makespan <= other.makespan


def test_shops_are_recognised() -> None:
    assert solver.is_shop(benchmark("ft06"))
    comp, jobs = np.array([[1.0, 2.0], [3.0, 1.0], [2.0, 2.0], [1.0, 1.0]]), [(0, 1), (2, 3)]
    assert solver.is_shop(Instance(comp, jobs, [0.0, 0.0]))
    assert not solver.is_shop(Instance(comp, jobs, [0.0, 4.0]))
    assert not solver.is_shop(Instance(comp, [], []))
    assert not solver.is_shop(Instance(comp, [(0, 1), (0, 2)], [0.0, 0.0]))
    shared = Instance(comp, jobs, [0.0, 0.0], demands=[[1]] * 4, capacities=[[2], [1]])
    assert not solver.is_shop(shared)


@pytest.mark.parametrize(("name", "optimum", "above"), [("la21", 1046, 0.012), ("ft20", 1165, 0.0)])
def test_solve_comes_near_the_optimum_of_a_job_shop(
    name: str, optimum: float, above: float
) -> None:
    found = solver.solve(benchmark(name), max_evaluations=600_000)
    assert found.found_by == "tabu"
    assert optimum <= found.makespan <= optimum * (1 + above)

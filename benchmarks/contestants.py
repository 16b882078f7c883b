"""The solvers that are compared at equal wall time, each behind the same signature."""

import importlib.util
from collections.abc import Callable
from typing import Any

import torch
from problems import draw
from rival import RIVALS

import aerl_trainer
from dagsched_env import Instance, exact, solver
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers import (
    annealing,
    best_of_portfolio,
    genetic,
    hill_climbing,
    noisy_heft,
)

OURS, PORTFOLIO, EXACT = "solve", "portfolio", "cp_sat"
VARIANTS = ("solve_env", "solve_untrained")
"""Of ``solve``: no rivals."""

Solver = Callable[[Instance, float, int], tuple[Schedule, bool]]
"""Problem, budget (s) and seed → its schedule, and whether that is proved optimal."""


def contestants() -> dict[str, Solver]:
    """Name → solver, those that are installed."""
    found: dict[str, Solver] = {
        PORTFOLIO: lambda instance, _, __: (best_of_portfolio(instance), False),
        "noisy_heft": searcher(noisy_heft),
        "hill_climbing": searcher(hill_climbing),
        "annealing": searcher(annealing),
        "annealing_same_moves": searcher(annealing, **RIVALS["same-moves"]),
        "genetic": searcher(genetic),
        EXACT: cp_sat,
        "solve_env": anytime(solver.solve),
        "solve_untrained": anytime(aerl_trainer.solve, checkpoint=None),
        OURS: anytime(aerl_trainer.solve, checkpoint="auto"),
    }
    if importlib.util.find_spec("ortools") is None:
        del found[EXACT]
    return found


def searcher(scheduler: Callable[..., Schedule], **options: Any) -> Solver:
    """A scheduler that searches for as long as its budget."""

    def run(instance: Instance, budget_s: float, seed: int) -> tuple[Schedule, bool]:
        return scheduler(instance, budget_s=budget_s, seed=seed, **options), False

    return run


def anytime(solve: Callable[..., solver.SolveResult], **options: Any) -> Solver:
    """A ``solve`` of one of the packages."""

    def run(instance: Instance, budget_s: float, seed: int) -> tuple[Schedule, bool]:
        result = solve(instance, budget_s=budget_s, seed=seed, **options)
        return result.schedule, result.optimal

    return run


def cp_sat(instance: Instance, budget_s: float, _seed: int) -> tuple[Schedule, bool]:
    """CP-SAT with one worker; it does the same with each seed."""
    result = exact.solve(instance, time_limit_s=budget_s, workers=1)
    return result.schedule, result.optimal


def get_ready(solvers: dict[str, Solver]) -> None:
    """Load all kernels and policies, as in a process that has solved before; keep to one core."""
    torch.set_num_threads(1)
    for n in (12, 100):
        for solve in solvers.values():
            solve(draw(n, 4, 1.0), 0.1, 0)

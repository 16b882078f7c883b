"""A run of CP-SAT that ends in time and can be interrupted; needs ortools to be imported."""

import os
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import NamedTuple

from ortools.sat.python import cp_model

from dagsched_env.exact.grid import Grid
from dagsched_env.exact.model import Model
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule

POLL_S = 0.05
"""Seconds between two calls that stop a solver."""


class Limits(NamedTuple):
    """Of a run."""

    deadline: float
    """On the clock of ``time.perf_counter``."""
    work: float | None
    """Deterministic time of CP-SAT; None: no limit."""
    workers: int | None
    """Threads; None: as many as the machine has processors."""
    stop: Callable[[], bool] | None
    """Asked now and then whether to end; None: only the other limits count."""
    steps: int
    """Of the search for windows, before the model is made."""


def search(
    instance: Instance,
    grid: Grid,
    incumbent: Schedule,
    bound: float,
    limits: Limits,
    found: Callable[[Schedule], None] | None,
) -> tuple[Schedule, float]:
    """The best schedule of CP-SAT at the end, and the bound that it has proved.

    Args:
        grid: the unit of time.
        incumbent: a valid, semi-active schedule to start from.
        bound: lower bound on the makespan (time).
        found: called with the decisions of each solution; None: nobody is told.

    Returns:
        The decisions of a schedule, its times on the grid; a lower bound on the makespan (time).
    """
    model = Model(instance, grid, incumbent, bound, limits.steps)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = limits.workers or os.cpu_count() or 1
    solver.parameters.max_time_in_seconds = max(limits.deadline - time.perf_counter(), 0.0)
    if limits.work is not None:
        solver.parameters.max_deterministic_time = limits.work
    solver.parameters.catch_sigint_signal = False  # else the caller would not receive it
    solutions = None if found is None else _Solutions(model, found)
    status = _run(solver, model.cp, limits.stop, solutions)
    mistaken = status == cp_model.INFEASIBLE and instance.n_resources  # see MAX_HORIZON_SHARING
    if status == cp_model.UNKNOWN or mistaken:
        return incumbent, bound
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        raise RuntimeError(f"CP-SAT calls a feasible model {solver.status_name(status)}")
    decisions = model.solution(solver.boolean_value, solver.value)
    return decisions, grid.time(solver.best_objective_bound)


class _Solutions(cp_model.CpSolverSolutionCallback):
    """Passes each solution on."""

    def __init__(self, model: Model, found: Callable[[Schedule], None]) -> None:
        super().__init__()
        self._model, self._found = model, found

    def on_solution_callback(self) -> None:
        """Called by the solver."""
        self._found(self._model.solution(self.boolean_value, self.value))


def _run(
    solver: cp_model.CpSolver,
    model: cp_model.CpModel,
    stop: Callable[[], bool] | None,
    solutions: _Solutions | None,
) -> cp_model.CpSolverStatus:
    """Solve in a thread, so that this one can stop the solver: also at an exception, as Ctrl-C."""
    with ThreadPoolExecutor(max_workers=1) as executor:
        running = executor.submit(solver.solve, model, solutions)
        try:
            while stop and wait([running], POLL_S).not_done:
                if stop():
                    _stop(solver, running)
            return running.result()
        except BaseException:
            _stop(solver, running)
            raise


def _stop(solver: cp_model.CpSolver, running: "Future[cp_model.CpSolverStatus]") -> None:
    """Repeat the call, which a solver that has not begun yet ignores, until it has ended."""
    while not running.done():
        solver.stop_search()
        time.sleep(POLL_S)

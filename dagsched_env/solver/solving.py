"""``solve``: list schedulers, a race of searches, and CP-SAT where it may prove the optimum."""

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from dagsched_env.kernels.interrupts import interrupts
from dagsched_env.problem.bounds import lower_bounds
from dagsched_env.problem.destructive import STEP_S, destructive_bound
from dagsched_env.problem.errors import expect
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers.anytime import (
    MOVES,
    Budget,
    Incumbent,
    check_count,
    check_positive,
    generator,
)
from dagsched_env.solver.best import Best
from dagsched_env.solver.lists import run_list_schedulers
from dagsched_env.solver.proof import CpSatTurns, load_cp_sat, may_prove, run_cp_sat
from dagsched_env.solver.race import MANY
from dagsched_env.solver.relinking import Relinking
from dagsched_env.solver.result import Callback, SolveResult
from dagsched_env.solver.threads import race_in_threads

QUICKLY_BOUNDED = 1000
"""Tasks times processors of a problem whose better bounds take a few milliseconds at most."""
BOUND_S = 2e-7
"""Most time of them for each choice of a processor for a task or an end of an edge (s)."""
BOUNDS_SHARE = 0.2
"""Most of the budget that they may be expected to take; usually it is half of that."""
DESTRUCTIVE_SHARE = 0.05
"""Most of the budget that it may be expected to take; usually it is half of that."""
STEPS = 2**20
"""Of it, without a budget."""
LEAST_STEPS = 100
"""With fewer of them for each choice it is not worth while."""
LOADING_MOVES = 10 * MANY * 3
"""Enough for all entrants of a race for three tasks."""


def solve(
    instance: Instance,
    *,
    budget_s: float | None = None,
    max_evaluations: int | None = None,
    threads: int = 1,
    seed: int = 0,
    start: Schedule | None = None,
    target: float | None = None,
    patience_s: float | None = None,
    callback: Callback | None = None,
) -> SolveResult:
    """Search for a short schedule; never worse than a list schedule for which there is time.

    First come the lower bounds, if the budget affords them, the list schedulers that pay most for
    their time, and list schedules that learn from each other. Then a genetic algorithm, descents
    from many starts and annealings with several settings have short heats, and the best of them the
    rest of the time. A tabu search on critical paths follows where one of them has shortened the
    best schedule; in job shops, tabu searches have all of the time. Where CP-SAT is installed and
    may prove the optimum in the time that is left, it has turns between theirs; without any limit
    it follows for some seconds at most on small problems.
    The solve ends early when a schedule is proved optimal.
    Ctrl-C ends it, too: the result is the best schedule so far.

    Args:
        instance: the problem.
        budget_s: wall time in seconds, > 0; the time to load kernels, once in a process, is not
            counted.
        max_evaluations: moves of the searches, ≥ 1, of all threads together; 200 000 when both
            limits are None. Without ``budget_s`` the makespan is a function of the arguments.
        threads: races at the same time, one core each, ≥ 1.
        seed: of all randomness, ≥ 0.
        start: a schedule that is known already; the result is not worse.
        target: end when the makespan is at most this (time), > 0.
        patience_s: end after so many seconds without an improvement, > 0.
        callback: see ``Callback``; an exception in it ends the solve and is passed on.

    Raises:
        DAGSchedError: ``instance`` is something else, or an argument is out of its range; the
            message names it.
        InvalidScheduleError: ``start`` is not a schedule of the instance.
    """
    call = "solve(instance), with instance = dagsched_env.io.load(path) for a file"
    expect("instance", instance, Instance, call)
    if start is not None:
        expect("start", start, Schedule, "solve(instance, start=schedule)")
    if max_evaluations is not None:
        check_count("max_evaluations", max_evaluations)
    check_count("threads", threads)
    load_for(instance, budget_s)
    moves = MOVES if budget_s is None and max_evaluations is None else max_evaluations
    best = Best(
        instance, budget_s=budget_s, target=target, patience_s=patience_s, callback=callback
    )
    if start is not None:
        start.validate(instance)
        best.offer(start, start.algorithm or "start")
    try:
        with interrupts():
            prove_bounds(best)
            run_list_schedulers(best)
            improve(best, generator(seed).spawn(threads), moves, prove_too=max_evaluations is None)
    except KeyboardInterrupt:
        best.interrupt()
    return SolveResult(**best.summary())


def prove_bounds(best: Best) -> None:
    """Compute the lower bounds, if the budget affords them.

    Their time is estimated by counts and they come first, so that a busy moment changes no bound.
    """
    instance, left_s = best.instance, best.left_s
    size = instance.comp.size
    choices = size * (1 + instance.n_edges / instance.n_tasks)
    if size > QUICKLY_BOUNDED and BOUND_S * choices > BOUNDS_SHARE * left_s:
        return
    best.prove(lower_bounds(instance).best)
    steps = STEPS if left_s == math.inf else int(DESTRUCTIVE_SHARE * left_s / STEP_S)
    if steps >= LEAST_STEPS * choices:
        best.prove(destructive_bound(instance, steps=steps))


def improve(
    best: Best, rngs: Sequence[np.random.Generator], moves: int | None, *, prove_too: bool = True
) -> None:
    """Spend what is left on races and, where it promises something, on CP-SAT.

    Args:
        best: begins with a schedule.
        rngs: one generator per race, each on one core.
        moves: of all races together; None = no limit but the time that is left.
        prove_too: where nothing limits the time, CP-SAT may follow the moves.
    """
    promising = may_prove(best.instance, best.left_s)
    limited = best.left_s < math.inf
    of_each = None if moves is None else -(-moves // len(rngs))
    turns = CpSatTurns(best) if promising and limited else None
    race_in_threads(best, rngs, best.left_s if limited else None, of_each, turns)
    if promising and not limited and prove_too and best.over is None:
        run_cp_sat(best, math.inf)


def load_for(instance: Instance, budget_s: float | None) -> None:
    """Load what a solve with this budget may use, so that it is not charged for it."""
    if budget_s is not None:
        check_positive("budget_s", budget_s)
    load_kernels(resources=instance.n_resources > 0, release=instance.has_release)
    if budget_s is not None and may_prove(instance, budget_s):
        load_cp_sat()


@cache
def load_kernels(*, resources: bool = False, release: bool = False) -> None:
    """Solve a tiny problem, so that no kernel has to be loaded or compiled within a budget.

    Args:
        resources: load those for problems with resources.
        release: load those for problems with release dates.
    """
    shared: dict[str, Any] = (
        {"demands": [[1], [2], [1]], "capacities": [[2], [2]]} if resources else {}
    )
    comp, edges, data = [[2.0, 3.0], [4.0, 3.0], [1.0, 2.0]], [(0, 1), (0, 2)], [5.0, 1.0]
    released = [0.0, 1.0, 0.0] if release else None
    best = Best(Instance(comp, edges, data, release=released, **shared))
    run_list_schedulers(best)
    destructive_bound(best.instance)
    race_in_threads(best, [generator(0)], None, LOADING_MOVES)
    if not resources:
        budget = Budget(None, 1, MOVES)
        own = Incumbent(best.instance, budget, algorithm="", insertion=True, trace=None)
        Relinking(own, generator(0)).advance(0.0)

"""First-improvement local search with random restarts, on the moves of simulated annealing."""

import numpy as np

from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers.anytime import (
    MOVES,
    Budget,
    Improvement,
    Incumbent,
    execution_order,
    generator,
)
from dagsched_env.schedulers.noisy_heft import draw_list
from dagsched_env.schedulers.simulated_annealing import Chain

PATIENCE = 100
"""Evaluations per task without improvement after which a climb ends."""


def hill_climbing(
    instance: Instance,
    *,
    budget_s: float | None = None,
    max_evaluations: int | None = None,
    seed: int | np.random.Generator = 0,
    insertion: bool = True,
    start: Schedule | None = None,
    trace: list[Improvement] | None = None,
) -> Schedule:
    """Random moves of one task, accepted unless they lengthen the schedule.

    The first climb starts from the best of HEFT, PEFT and ``start``. A climb without improvement
    for 100·n evaluations ends; the next one starts from a list schedule with noise on the ranks.
    The search ends early when a schedule reaches a lower bound. With resources each move is judged
    by decoding the whole schedule.

    Args:
        instance: the problem.
        budget_s: wall time in seconds, > 0, all included.
        max_evaluations: moves evaluated, ≥ 1; with the same ``seed`` and without ``budget_s`` the
            result is always the same. With neither limit: 200 000.
        seed: a seed or a generator to draw from.
        insertion: the best order is decoded with insertion into idle gaps; False appends only. The
            climbs themselves append.
        start: a schedule that is known already; the result is not longer.
        trace: a list to which every improvement is appended.

    Raises:
        DAGSchedError: an argument is out of its range; the message names it.
        InvalidScheduleError: ``start`` is not a schedule of the instance.
    """
    budget = Budget(budget_s, max_evaluations, MOVES)
    rng = generator(seed)
    incumbent = Incumbent(
        instance, budget, algorithm="hill_climbing", insertion=insertion, trace=trace, start=start
    )
    chain = Chain(incumbent, rng)
    last_improved = 0
    while incumbent.running:
        if chain.advance(0.0):
            last_improved = budget.evaluations
        elif budget.evaluations - last_improved > PATIENCE * instance.n_tasks:
            fresh = draw_list(instance, rng, insertion)
            chain.restart(execution_order(instance, fresh), fresh.processor)
            last_improved = budget.evaluations
    chain.hand_over()
    return incumbent.schedule

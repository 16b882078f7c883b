"""Simulated annealing on order × assignment: Kirkpatrick, Gelatt, Vecchi 1983, Science 220(4598).

The moves and their evaluation are those of ``kernels.neighbourhood``.
"""

import math

import numpy as np

from dagsched_env.errors import DAGSchedError
from dagsched_env.instance import Instance
from dagsched_env.kernels.annealing import MoveRules
from dagsched_env.schedule import Schedule
from dagsched_env.schedulers.anytime import (
    MOVES,
    Budget,
    Improvement,
    Incumbent,
    check_positive,
    generator,
)
from dagsched_env.schedulers.walk import Walk

__all__ = ["annealing"]


def annealing(
    instance: Instance,
    *,
    budget_s: float | None = None,
    max_evaluations: int | None = None,
    seed: int | np.random.Generator = 0,
    insertion: bool = True,
    start_temperature: float = 1.0,
    end_temperature: float = 0.3,
    pair_share: float = 0.0,
    cost_bias: float = 1.0,
    best_place: bool = False,
    load_weight: float = 0.0,
    start: Schedule | None = None,
    trace: list[Improvement] | None = None,
) -> Schedule:
    """Random moves of one task; those that lengthen the schedule are made ever more seldom.

    A move puts a task elsewhere in the order, between its predecessors and its successors, and in
    most cases on another processor. The temperature falls geometrically over the budget, by the
    clock if there is a ``budget_s``. It ends early on a schedule that reaches a lower bound.

    By default moves are drawn and judged as in the textbook. On unrelated processors a
    ``cost_bias`` of 4, where communication matters a ``pair_share`` of 0.2, with many tasks
    ``best_place`` and a ``load_weight`` of 8 find shorter schedules in the same time.

    Args:
        instance: the problem.
        budget_s: wall time in seconds, > 0, all included.
        max_evaluations: moves evaluated, ≥ 1; with the same ``seed`` and without ``budget_s`` the
            result is always the same. With neither limit: 200 000.
        seed: a seed or a generator to draw from.
        insertion: the final order is decoded with idle gaps in use; False appends only. The search
            itself appends: all schedules that leave no task a chance to start earlier can be
            reached so.
        start_temperature: in units of (makespan of the first schedule / n), > 0.
        end_temperature: in the same units, > 0 and at most ``start_temperature``.
        pair_share: share of the moves that take a predecessor or a successor of the task along to
            the same processor, in [0, 1].
        cost_bias: ≥ 1; of the m other processors a move goes to that of rank ``m * u ** cost_bias``
            by the cost of the task, u uniform in [0, 1).
        best_place: a task that moves alone takes the best place on its processor, not a random one.
        load_weight: what the mean load of the processors counts beside the makespan, ≥ 0, times
            the 16th power of their mean utilisation: it leads to shorter schedules where the
            processors are hardly ever idle.
        start: a schedule to begin with, if it is shorter than HEFT's and PEFT's.
        trace: a list to which every improvement is appended.

    Raises:
        DAGSchedError: an argument is out of its range; the message names it.
    """
    budget = Budget(budget_s, max_evaluations, MOVES)
    rng = generator(seed)
    _check_temperatures(start_temperature, end_temperature)
    rules = _rules(pair_share, cost_bias, best_place, load_weight)
    incumbent = Incumbent(
        instance, budget, algorithm="annealing", insertion=insertion, trace=trace, start=start
    )
    walk = Walk(incumbent, rng, rules)
    unit = incumbent.makespan / instance.n_tasks
    while incumbent.running:
        cooled = (end_temperature / start_temperature) ** budget.progress
        walk.advance(unit * start_temperature * cooled)
    return incumbent.schedule


def _rules(pair_share: float, cost_bias: float, best_place: bool, load_weight: float) -> MoveRules:
    if isinstance(pair_share, bool | str) or not 0 <= pair_share <= 1:
        raise DAGSchedError(f"pair_share is {pair_share!r}: give a number in [0, 1]")
    check_positive("cost_bias", cost_bias)
    if cost_bias < 1:
        raise DAGSchedError(f"cost_bias is {cost_bias!r}: give a number >= 1")
    if not isinstance(best_place, bool):
        raise DAGSchedError(f"best_place is {best_place!r}: give True or False")
    if isinstance(load_weight, bool | str) or not 0 <= load_weight < math.inf:
        raise DAGSchedError(f"load_weight is {load_weight!r}: give a number >= 0, finite")
    return MoveRules(float(pair_share), float(cost_bias), best_place, float(load_weight))


def _check_temperatures(start: float, end: float) -> None:
    check_positive("start_temperature", start)
    check_positive("end_temperature", end)
    if end > start:
        raise DAGSchedError(
            f"end_temperature is {end!r}: it may not exceed start_temperature, {start!r}"
        )

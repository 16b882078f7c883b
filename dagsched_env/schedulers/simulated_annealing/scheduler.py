"""The scheduler ``annealing``: one chain that cools once.

Source: Kirkpatrick, Gelatt, Vecchi 1983, Science 220(4598). The moves are those of
``kernels.moves``.
"""

import numpy as np

from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers.anytime import (
    MOVES,
    Budget,
    Improvement,
    Incumbent,
    check_positive,
    generator,
)
from dagsched_env.schedulers.simulated_annealing.chain import Chain
from dagsched_env.schedulers.simulated_annealing.cooling import Cooling
from dagsched_env.schedulers.simulated_annealing.moves import checked_rules


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
    cluster_share: float = 0.0,
    cost_bias: float = 1.0,
    best_place: bool = False,
    load_weight: float = 0.0,
    start: Schedule | None = None,
    trace: list[Improvement] | None = None,
) -> Schedule:
    """Simulated annealing on order × assignment; by default with random moves of one task.

    A move puts a task at another place of the order, between its predecessors and its successors,
    and in most cases on another processor. Moves that lengthen the schedule become less and less
    likely, because the temperature falls geometrically over the budget; by the clock if there is a
    ``budget_s``. The search ends early when a schedule reaches a lower bound.

    By default moves are drawn and judged as in the textbook. These settings find shorter schedules
    in the same time: a ``cost_bias`` of 4 on unrelated processors, a ``pair_share`` of 0.2 and a
    ``cluster_share`` of 0.1 where communication matters, ``best_place`` and a ``load_weight`` of 8
    with many tasks.

    Args:
        instance: the problem.
        budget_s: wall time in seconds, > 0, all included.
        max_evaluations: moves evaluated, ≥ 1; with the same ``seed`` and without ``budget_s`` the
            result is always the same. With neither limit: 200 000.
        seed: a seed or a generator to draw from.
        insertion: the best order is decoded with insertion into idle gaps; False appends only. The
            search itself appends, which suffices to reach every schedule in which no task can start
            earlier.
        start_temperature: in units of (makespan of the first schedule / n), > 0.
        end_temperature: in the same units, > 0 and at most ``start_temperature``.
        pair_share: share of the moves that take a predecessor or a successor of the task along to
            the same processor, in [0, 1].
        cluster_share: share of the moves that take a cluster along: up to all tasks on the same
            processor that edges join to the task; in [0, 1 - ``pair_share``].
        cost_bias: ≥ 1; of the m other processors a move goes to that of rank ``m * u ** cost_bias``
            by the cost of the task, u uniform in [0, 1).
        best_place: a task that moves alone to another processor takes the best place there, not a
            random one.
        load_weight: ≥ 0; weight of the mean load of the processors beside the makespan, times the
            16th power of their mean utilisation. It leads to shorter schedules where the
            processors are rarely idle.
        start: a schedule to begin with, if it is shorter than HEFT's and PEFT's.
        trace: a list to which every improvement is appended.

    Raises:
        DAGSchedError: an argument is out of its range; the message names it.
    """
    budget = Budget(budget_s, max_evaluations, MOVES)
    rng = generator(seed)
    _check_temperatures(start_temperature, end_temperature)
    rules = checked_rules(pair_share, cluster_share, cost_bias, best_place, load_weight)
    incumbent = Incumbent(
        instance, budget, algorithm="annealing", insertion=insertion, trace=trace, start=start
    )
    chain = Chain(incumbent, rng, rules)
    cooling = Cooling(start_temperature, end_temperature)
    unit = incumbent.makespan / instance.n_tasks
    while incumbent.running:
        chain.advance(unit * cooling.at(budget.progress))
    chain.hand_over()
    return incumbent.schedule


def _check_temperatures(start: float, end: float) -> None:
    check_positive("start_temperature", start)
    check_positive("end_temperature", end)
    if end > start:
        raise DAGSchedError(
            f"end_temperature is {end!r}: it may not exceed start_temperature, {start!r}"
        )

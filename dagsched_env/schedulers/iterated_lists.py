"""List schedules in turn, each with what the ones before have taught about ranks and costs to go.

The idea is that of Liu, Poh, Xie 2005, "Iterative list scheduling for heterogeneous computing",
J. Parallel and Distributed Computing 65(5): the mean times in the ranks give way to those of the
last schedule. Here ranks and PEFT's costs to go move a little towards those of each schedule, the
load of the processors has a price, which adapts, and tasks that waited too long become more urgent.
"""

import math

import numpy as np

from dagsched_env.kernels.arrays import Floats
from dagsched_env.kernels.graph import cost_tables
from dagsched_env.kernels.lists import iterated
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers.anytime import (
    DECODINGS,
    Budget,
    Improvement,
    Incumbent,
    execution_order,
    generator,
)

RANK_STEP, COST_STEP = 0.3, 0.05
"""Shares of each schedule in ranks and in costs to go; chosen in docs/notes/search.md."""
URGENCY_STEP, SLACK, DECAY = 0.05, 0.01, 0.97
"""Of ``learn_urgency``; the step is for one task, and falls with the root of their number."""

FIRST_PRICE = 0.25
LEAST_PRICE, HIGHEST_PRICE = 0.01, 10.0
SPREAD = 0.5
"""Standard deviation of the logarithm of a price around the one that did well."""
FORGETTING = 1.001
"""What did well is forgotten: the makespan that a price has to reach grows by so much each time."""


class Estimates:
    """Ranks and costs to go of a problem that learn from its schedules.

    Before there is a schedule, both count mean times over all processors. Each schedule says which
    durations and transfers really come behind a task, and which tasks wait too long for a
    processor.

    Args:
        rank: ``[n]`` to begin with (time); copied. The costs to go begin with PEFT's.
    """

    def __init__(self, instance: Instance, rank: Floats) -> None:
        self._instance = instance
        self._rank = rank.copy()
        self._urgency = np.zeros(instance.n_tasks)
        self.costs_to_go = instance.oct.copy()
        """``[n, p]`` behind a task on a processor (time), finite."""

    @property
    def rank(self) -> Floats:
        """``[n]`` how much comes behind a task, itself included, and how urgent it is (time)."""
        return self._rank + self._urgency

    def learn(self, schedule: Schedule) -> None:
        """Move towards what a schedule of the instance says."""
        g, s = self._instance.arrays, schedule
        iterated.learn_from(g, s.processor, self._rank, self.costs_to_go, RANK_STEP, COST_STEP)
        step = URGENCY_STEP / math.sqrt(self._instance.n_tasks)
        iterated.learn_urgency(g, s.processor, s.start, s.finish, self._urgency, step, SLACK, DECAY)


class ListSeries:
    """A series of list schedules that learns from each of them. Begins as PEFT with a load price.

    Args:
        rng: draws the prices.
        insertion: use idle gaps; False appends only.
    """

    def __init__(self, instance: Instance, rng: np.random.Generator, insertion: bool) -> None:
        self._instance = instance
        self._rng = rng
        self._insertion = insertion
        rank = cost_tables.mean_over_eligible(instance.arrays, instance.oct)
        self._estimates = Estimates(instance, rank)
        self._price = FIRST_PRICE
        self._to_reach = math.inf

    def next(self) -> Schedule:
        """The next schedule of the series."""
        learnt = self._estimates
        drawn = self._price * math.exp(SPREAD * self._rng.standard_normal())
        price = min(max(drawn, LEAST_PRICE), HIGHEST_PRICE)
        made = iterated.priced_list(
            self._instance.arrays, learnt.rank, learnt.costs_to_go, price, self._insertion
        )
        schedule = Schedule.adopt(*made)
        learnt.learn(schedule)
        if schedule.makespan <= self._to_reach:
            self._price, self._to_reach = price, schedule.makespan
        else:
            self._to_reach *= FORGETTING
        return schedule


def iterated_lists(
    instance: Instance,
    *,
    budget_s: float | None = None,
    max_evaluations: int | None = None,
    seed: int | np.random.Generator = 0,
    insertion: bool = True,
    start: Schedule | None = None,
    trace: list[Improvement] | None = None,
) -> Schedule:
    """List schedules whose ranks and costs to go come from the schedules before them.

    Begins with the ranks and the optimistic costs to go of PEFT. After each schedule both move
    towards what its placements say: the longest paths over edges, with the durations and transfers
    that were chosen. Tasks on a nearly longest path that waited for their processor come earlier in
    the lists that follow. Each task goes where its finish time + cost to go + price · duration is
    least; prices are drawn around the last one that did well. The search ends early when a schedule
    reaches a lower bound. With resources a task has waited for its processor if it starts later
    than its inputs arrive.

    Args:
        instance: the problem.
        budget_s: wall time in seconds, > 0, all included.
        max_evaluations: list schedules made, ≥ 1; with the same ``seed`` and without ``budget_s``
            the result is always the same. With neither limit: 20 000.
        seed: a seed or a generator to draw from.
        insertion: use idle gaps; False appends only.
        start: a schedule that is known already; the result is not longer.
        trace: a list to which every improvement is appended.

    Raises:
        DAGSchedError: an argument is out of its range; the message names it.
        InvalidScheduleError: ``start`` is not a schedule of the instance.
    """
    budget = Budget(budget_s, max_evaluations, DECODINGS)
    rng = generator(seed)
    incumbent = Incumbent(
        instance, budget, algorithm="iterated_lists", insertion=insertion, trace=trace, start=start
    )
    series = ListSeries(instance, rng, insertion)
    while incumbent.running:
        budget.evaluations += 1
        schedule = series.next()
        if schedule.makespan < incumbent.makespan:
            incumbent.offer(execution_order(instance, schedule), schedule.processor)
    return incumbent.schedule

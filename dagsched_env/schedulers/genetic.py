"""A genetic algorithm on order × assignment: Wang et al. 1997, JPDC 47(1).

The operators are those of ``kernels.schedules.crossover``.
"""

import numpy as np

from dagsched_env.kernels.graph import eligibility
from dagsched_env.kernels.lists.placements import allocate_placements
from dagsched_env.kernels.schedules import crossover
from dagsched_env.kernels.schedules.crossover import Population
from dagsched_env.problem.errors import DAGSchedError
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
from dagsched_env.schedulers.noisy_heft import batch_size, default_sigma, draw_lists


def genetic(
    instance: Instance,
    *,
    budget_s: float | None = None,
    max_evaluations: int | None = None,
    seed: int | np.random.Generator = 0,
    insertion: bool = True,
    population: int = 200,
    start: Schedule | None = None,
    trace: list[Improvement] | None = None,
) -> Schedule:
    """Crossover and mutation of orders and assignments; a child competes with its mother.

    The first generation consists of the best of HEFT, PEFT and ``start``, and of list schedules
    with noise on the ranks. The search ends early when a schedule reaches a lower bound. With
    resources, and without release dates, children are justified to both sides.

    Args:
        instance: the problem.
        budget_s: wall time in seconds, > 0, all included.
        max_evaluations: individuals decoded, ≥ 1; with the same ``seed`` and without ``budget_s``
            the result is always the same. With neither limit: 20 000.
        seed: a seed or a generator to draw from.
        insertion: individuals are decoded with idle gaps in use; False appends only.
        population: individuals, ≥ 2; each has one child in a generation.
        start: a schedule that is known already; the result is not longer.
        trace: a list to which every improvement is appended.

    Raises:
        DAGSchedError: an argument is out of its range; the message names it.
        InvalidScheduleError: ``start`` is not a schedule of the instance.
    """
    budget = Budget(budget_s, max_evaluations, DECODINGS)
    rng = generator(seed)
    if not isinstance(population, int | np.integer) or population < 2:
        raise DAGSchedError(f"population is {population!r}: give a whole number >= 2")
    incumbent = Incumbent(
        instance, budget, algorithm="genetic", insertion=insertion, trace=trace, start=start
    )
    evolution = Evolution(incumbent, rng, int(population))
    while incumbent.running:
        evolution.advance()
    return incumbent.schedule


class Evolution:
    """A population that improves the incumbent.

    Args:
        incumbent: the best schedule so far, one of the first generation; the decodings are counted
            in its budget.
        rng: the generator of all choices.
        size: k ≥ 2 individuals.
    """

    def __init__(self, incumbent: Incumbent, rng: np.random.Generator, size: int) -> None:
        self._incumbent = incumbent
        self._rng = rng
        self._choices = eligibility.eligibility(incumbent.instance.arrays)
        self._scratch = allocate_placements(*incumbent.instance.shape)
        self._size = size
        self._founders = [incumbent.schedule]
        self._adults: Population | None = None
        self._next_mother = 0

    def advance(self) -> None:
        """One generation, the first one too, or as much of it as a few milliseconds allow."""
        budget, instance = self._incumbent.budget, self._incumbent.instance
        missing = self._size - len(self._founders) if self._adults is None else 0
        count = budget.grant(min(missing or self._size, batch_size(instance)))
        if missing:
            self._found(count)
        else:
            self._adults = self._adults or self._grow_up()
            self._breed(self._adults, count)
        budget.evaluations += count

    def join(self, schedule: Schedule) -> None:
        """Let a schedule take the place of the longest one, if it is shorter than all."""
        if self._adults is None:
            self._founders[0] = min(self._founders[0], schedule, key=lambda made: made.makespan)
            return
        worst = int(self._adults.makespan.argmax())
        if schedule.makespan < self._adults.makespan.min():
            self._adults.order[worst] = execution_order(self._incumbent.instance, schedule)
            self._adults.processor[worst] = schedule.processor
            self._adults.makespan[worst] = schedule.makespan

    def _found(self, count: int) -> None:
        """Noisy list schedules join the first generation."""
        instance, insertion = self._incumbent.instance, self._incumbent.insertion
        made = draw_lists(instance, self._rng, count, default_sigma(instance), insertion)
        founders = [Schedule.adopt(*arrays) for arrays in zip(*made, strict=True)]
        self._founders += founders
        best = min(founders, key=lambda founder: founder.makespan)
        if best.makespan < self._incumbent.makespan:
            self._incumbent.offer(execution_order(instance, best), best.processor)

    def _grow_up(self) -> Population:
        instance, founders = self._incumbent.instance, self._founders
        self._founders = []
        return Population(
            np.stack([execution_order(instance, founder) for founder in founders]),
            np.stack([founder.processor for founder in founders]),
            np.array([founder.makespan for founder in founders]),
        )

    def _breed(self, adults: Population, count: int) -> None:
        """So many mothers have children."""
        incumbent = self._incumbent
        crossover.breed(
            incumbent.instance.arrays,
            incumbent.instance.backwards,
            self._choices,
            adults,
            self._next_mother,
            self._scratch,
            self._rng.random((count, crossover.UNIFORMS_PER_CHILD)),
            incumbent.insertion,
        )
        self._next_mother = (self._next_mother + count) % self._size
        best = int(adults.makespan.argmin())
        if adults.makespan[best] < incumbent.makespan:
            incumbent.offer(adults.order[best], adults.processor[best])

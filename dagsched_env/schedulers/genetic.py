"""A genetic algorithm on order × assignment: Wang et al. 1997, JPDC 47(1).

The operators are those of ``kernels.schedules.crossover``.
"""

import numpy as np

from dagsched_env.errors import DAGSchedError
from dagsched_env.instance import Instance
from dagsched_env.kernels.arrays import Placements
from dagsched_env.kernels.graph import eligibility
from dagsched_env.kernels.lists import placements
from dagsched_env.kernels.schedules import crossover
from dagsched_env.kernels.schedules.crossover import Population
from dagsched_env.schedule import Schedule
from dagsched_env.schedulers.anytime import (
    DECODINGS,
    Budget,
    Improvement,
    Incumbent,
    execution_order,
    generator,
)
from dagsched_env.schedulers.noisy_heft import batch_size, default_sigma, draw_lists

__all__ = ["genetic"]


def genetic(
    instance: Instance,
    *,
    budget_s: float | None = None,
    max_evaluations: int | None = None,
    seed: int | np.random.Generator = 0,
    insertion: bool = True,
    population: int = 200,
    trace: list[Improvement] | None = None,
) -> Schedule:
    """Crossover and mutation of orders and assignments; a child competes with its mother.

    The first generation consists of the better of HEFT and PEFT, and of list schedules with noise
    on the ranks. The search ends early when a schedule reaches a lower bound.

    Args:
        instance: the problem.
        budget_s: wall time in seconds, > 0, all included.
        max_evaluations: individuals decoded, ≥ 1; with the same ``seed`` and without ``budget_s``
            the result is always the same. With neither limit: 20 000.
        seed: a seed or a generator to draw from.
        insertion: individuals are decoded with idle gaps in use; False appends only.
        population: individuals, ≥ 2; each has one child in a generation.
        trace: a list to which every improvement is appended.

    Raises:
        DAGSchedError: an argument is out of its range; the message names it.
    """
    budget = Budget(budget_s, max_evaluations, DECODINGS)
    rng = generator(seed)
    if not isinstance(population, int | np.integer) or population < 2:
        raise DAGSchedError(f"population is {population!r}: give a whole number >= 2")
    incumbent = Incumbent(instance, budget, algorithm="genetic", insertion=insertion, trace=trace)
    if incumbent.running:
        evolution = Evolution(incumbent, rng, int(population))
    while incumbent.running:
        evolution.advance()
    return incumbent.schedule


class Evolution:
    """A population that improves the incumbent, generation by generation.

    Args:
        incumbent: the best schedule so far, one of the first generation; the decodings are counted
            in its budget.
        rng: the generator of all choices.
        size: k ≥ 2 individuals.
    """

    def __init__(self, incumbent: Incumbent, rng: np.random.Generator, size: int) -> None:
        n, p = incumbent.instance.comp.shape
        self._incumbent = incumbent
        self._rng = rng
        self._choices = eligibility.Eligibility(*eligibility.eligibility(incumbent.instance.arrays))
        self._scratch = Placements(*placements.empty_placements(n, p))
        self._adults = _found(incumbent, rng, size)
        self._next_mother = 0

    def advance(self) -> None:
        """One generation, or as much of it as the budget allows."""
        incumbent, adults = self._incumbent, self._adults
        size = adults.makespan.shape[0]
        count = incumbent.budget.grant(min(size, batch_size(incumbent.instance)))
        crossover.breed(
            incumbent.instance.arrays,
            self._choices,
            adults,
            self._next_mother,
            self._scratch,
            self._rng.random((count, crossover.UNIFORMS_PER_CHILD)),
            incumbent.insertion,
        )
        self._next_mother = (self._next_mother + count) % size
        incumbent.budget.evaluations += count
        best = int(adults.makespan.argmin())
        if adults.makespan[best] < incumbent.makespan:
            incumbent.offer(adults.order[best], adults.processor[best])


def _found(incumbent: Incumbent, rng: np.random.Generator, size: int) -> Population:
    """The incumbent and as many noisy list schedules as the budget and the size allow."""
    instance, budget = incumbent.instance, incumbent.budget
    founders = [incumbent.schedule]
    while len(founders) < size and budget.progress < 1.0:
        count = budget.grant(min(size - len(founders), batch_size(instance)))
        made = draw_lists(instance, rng, count, default_sigma(instance), incumbent.insertion)
        founders += [Schedule.adopt(*arrays) for arrays in zip(*made, strict=True)]
        budget.evaluations += count
    population = Population(
        np.stack([execution_order(instance, founder) for founder in founders]),
        np.stack([founder.processor for founder in founders]),
        np.array([founder.makespan for founder in founders]),
    )
    best = int(population.makespan.argmin())
    incumbent.offer(population.order[best], population.processor[best])
    return population

"""The best of many randomised HEFT schedules."""

import numpy as np

from dagsched_env.kernels.arrays import Floats, Ints
from dagsched_env.kernels.lists import noisy
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers.anytime import (
    DECODINGS,
    Budget,
    Improvement,
    Incumbent,
    check_positive,
    execution_order,
    generator,
)

MOST_LISTS = 256
MOST_NORMALS = 200_000
"""Limits of a batch, which takes a few milliseconds."""


def noisy_heft(
    instance: Instance,
    *,
    budget_s: float | None = None,
    max_evaluations: int | None = None,
    seed: int | np.random.Generator = 0,
    insertion: bool = True,
    sigma: float | None = None,
    trace: list[Improvement] | None = None,
) -> Schedule:
    """List schedules in the order of an upward rank times 1 + σ·(standard normal).

    Each task is placed where it finishes first; in every other schedule, where its finish time +
    its optimistic cost to go (PEFT) is least. Noise of σ/10 of the highest rank is added to that
    choice too. The search ends early when a schedule reaches a lower bound.

    Args:
        instance: the problem.
        budget_s: wall time in seconds, > 0, all included.
        max_evaluations: list schedules made, ≥ 1; with the same ``seed`` and without ``budget_s``
            the result is always the same. With neither limit: 20 000.
        seed: a seed or a generator to draw from.
        insertion: use idle gaps; False appends only.
        sigma: σ > 0; default 3 / n, at most 0.3.
        trace: a list to which every improvement is appended.

    Raises:
        DAGSchedError: an argument is out of its range; the message names it.
    """
    budget = Budget(budget_s, max_evaluations, DECODINGS)
    rng = generator(seed)
    if sigma is None:
        sigma = default_sigma(instance)
    check_positive("sigma", sigma)
    incumbent = Incumbent(
        instance, budget, algorithm="noisy_heft", insertion=insertion, trace=trace
    )
    while incumbent.running:
        count = budget.grant(batch_size(instance))
        processor, start, finish = draw_lists(instance, rng, count, sigma, insertion)
        budget.evaluations += count
        best = int(finish.max(axis=1).argmin())
        schedule = Schedule.adopt(processor[best], start[best], finish[best])
        if schedule.makespan < incumbent.makespan:
            incumbent.offer(execution_order(instance, schedule), schedule.processor)
    return incumbent.schedule


def default_sigma(instance: Instance) -> float:
    """3 / n, at most 0.3: the best of several values on random graphs of 30 to 300 tasks."""
    return min(0.3, 3.0 / instance.n_tasks)


def batch_size(instance: Instance) -> int:
    """Number of list schedules that are made before the next look at the clock; ≥ 1."""
    return max(1, min(MOST_LISTS, MOST_NORMALS // _normals(instance)))


def draw_lists(
    instance: Instance, rng: np.random.Generator, count: int, sigma: float, insertion: bool
) -> tuple[Ints, Floats, Floats]:
    """Independent list schedules with noise on the ranks.

    Args:
        rng: draws the noise.
        count: number of schedules.
        sigma: σ ≥ 0.
        insertion: use idle gaps; False appends only.

    Returns:
        Processor, start and finish, ``[count, n]`` each.
    """
    noise = rng.standard_normal((count, _normals(instance)))
    arrays = instance.arrays
    return noisy.noisy_lists(arrays, instance.rank_u, instance.oct, sigma, noise, insertion)


def draw_list(instance: Instance, rng: np.random.Generator, insertion: bool) -> Schedule:
    """One of the schedules of ``draw_lists``, with the default noise."""
    made = draw_lists(instance, rng, 1, default_sigma(instance), insertion)
    return Schedule.adopt(*(array[0] for array in made))


def _normals(instance: Instance) -> int:
    """Random numbers of one list schedule."""
    return instance.n_tasks * (1 + instance.n_processors)

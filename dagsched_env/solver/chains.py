"""Schedules that keep chains of tasks together, drawn at random.

Where communication is dear, list schedulers put nearly all tasks on one processor, because each
task alone is best off there. It takes a whole chain elsewhere to gain, and descents from such
schedules do not find that.
"""

import math

import numpy as np

from dagsched_env.kernels.graph import ranks
from dagsched_env.kernels.lists import chains, mapping, orders
from dagsched_env.kernels.schedules import decoding
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers.noisy_heft import default_sigma

MOST_NOISE = 1.0
"""On the communication of edges: standard deviation of its logarithm."""
LEAST_ATTRACTION, MOST_ATTRACTION = 0.3, 5.0
"""Of chains to the processors of those that they exchange data with."""


def draw_chains(instance: Instance, rng: np.random.Generator, count: int) -> Schedule:
    """The shortest of some schedules with one processor for each chain, as far as it can run there.

    Chains, in the order in which ``linear_clusters`` finds them, go where the work of a processor
    less what they exchange with it is least. Then tasks are placed by their ranks at the costs of
    that assignment, with the noise of ``noisy_heft``.

    Args:
        instance: the problem.
        rng: draws the noise and the attraction.
        count: of schedules, ≥ 1.
    """
    return min((_draw(instance, rng) for _ in range(count)), key=lambda made: made.makespan)


def _draw(instance: Instance, rng: np.random.Generator) -> Schedule:
    g = instance.arrays
    spread = rng.uniform(0.0, MOST_NOISE)
    factor = np.exp(spread * rng.standard_normal(g.succ_task.shape[0]))
    cluster, order = chains.linear_clusters(g, factor)
    attraction = math.exp(rng.uniform(math.log(LEAST_ATTRACTION), math.log(MOST_ATTRACTION)))
    assignment = mapping.map_clusters(g, cluster, order, attraction)
    rank = mapping.assigned_rank(g, assignment)
    rank *= 1.0 + default_sigma(instance) * rng.standard_normal(instance.n_tasks)
    by_rank = orders.ready_order(g, ranks.order_by_rank(rank, g.topo_position))
    return Schedule.adopt(*decoding.decode(g, by_rank, assignment, True))

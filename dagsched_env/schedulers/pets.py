"""PETS, performance effective task scheduling.

Ilavarasan, Thambidurai 2007, "Low complexity performance effective task scheduling algorithm for
heterogeneous computing environments", Journal of Computer Sciences 3(2), after Ilavarasan,
Thambidurai, Mahilmannan 2005, ISPDC.
"""

import numpy as np

from dagsched_env.kernels.graph.csr import depths
from dagsched_env.kernels.lists import fixed_order, orders
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule


def pets(instance: Instance, *, insertion: bool = True, rounded: bool = True) -> Schedule:
    """Level by level from the sources, tasks by rank, each where it finishes first.

    The rank of a task is its mean cost, plus the mean communication to all its successors, plus the
    highest rank of a predecessor. Ties: lower mean cost.

    Args:
        instance: the problem.
        insertion: use idle gaps (the published policy); False appends only.
        rounded: round ranks to whole numbers (as published); False is better where times are small
            against 1.
    """
    g = instance.arrays
    by_rank = orders.rank_levels(orders.pets_rank(g, rounded))
    by_cost = orders.rank_levels(-g.mean_comp)
    depth = depths(g.pred_ptr, g.pred_task, g.topo)
    order = np.lexsort((g.topo_position, by_cost, by_rank, depth))
    return Schedule.adopt(*fixed_order.schedule_in_order(g, order, insertion), algorithm="pets")

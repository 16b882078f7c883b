"""List schedules of tasks in a given order, each task on its best processor, in one call.

Faster than stepping a ``StateArrays``: only the placements are kept.
"""

import numpy as np

from dagsched_env.kernels.arrays import Floats, InstanceArrays, Ints
from dagsched_env.kernels.graph.ranks import order_by_rank, upward_rank
from dagsched_env.kernels.jit import kernel
from dagsched_env.kernels.lists.placements import empty_placements, put_best


@kernel
def schedule_by_rank(
    g: InstanceArrays, cost: Floats, insertion: bool
) -> tuple[Ints, Floats, Floats]:
    """HEFT with given costs in the ranks.

    Args:
        cost: ``[n]`` cost of each task in its rank (time).
        insertion: use idle gaps; False appends only.

    Returns:
        Processor, start and finish, ``[n]`` each.
    """
    order = order_by_rank(upward_rank(g, cost, True), g.topo_position)
    return schedule_in_order(g, order, insertion)


@kernel
def schedule_in_order(
    g: InstanceArrays, order: Ints, insertion: bool
) -> tuple[Ints, Floats, Floats]:
    """Tasks in a given order, each on the processor where it finishes first; ties: lowest index.

    Args:
        order: ``[n]`` a topological order.
        insertion: use idle gaps; False appends only.

    Returns:
        Processor, start and finish, ``[n]`` each.
    """
    p = g.comp.shape[1]
    s = empty_placements(g)
    arrival, nothing = np.empty(p), np.zeros(p)
    for t in order:
        put_best(g, s, t, nothing, insertion, arrival)
    return s.processor, s.start, s.finish


@kernel
def schedule_with_costs_to_go(
    g: InstanceArrays, order: Ints, costs_to_go: Floats, insertion: bool
) -> tuple[Ints, Floats, Floats]:
    """Tasks in a given order, each where finish time + cost to go is least; ties: lowest index.

    Args:
        order: ``[n]`` a topological order.
        costs_to_go: ``[n, p]`` (time); inf forbids a pair. Each task needs an eligible processor
            with a finite entry.
        insertion: use idle gaps; False appends only.

    Returns:
        Processor, start and finish, ``[n]`` each.
    """
    p = g.comp.shape[1]
    s = empty_placements(g)
    arrival = np.empty(p)
    for t in order:
        put_best(g, s, t, costs_to_go[t], insertion, arrival)
    return s.processor, s.start, s.finish

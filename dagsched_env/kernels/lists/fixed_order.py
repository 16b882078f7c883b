"""List schedulers in one call: arrays of the instance in, processor, start and finish out.

The lean counterpart of ``kernels.dispatch``: nothing but the placements is kept, and a whole
schedule costs one call.
"""

import numpy as np

from dagsched_env.kernels.arrays import Floats, InstanceArrays, Ints
from dagsched_env.kernels.graph.ranks import order_by_rank, upward_rank
from dagsched_env.kernels.jit import kernel
from dagsched_env.kernels.lists.placements import empty_placements, put_best

__all__ = [
    "schedule_by_rank",
    "schedule_in_order",
    "schedule_with_costs_to_go",
]


@kernel
def schedule_by_rank(
    g: InstanceArrays, cost: Floats, insertion: bool
) -> tuple[Ints, Floats, Floats]:
    """HEFT with the node weights ``cost[n]``; returns processor, start and finish, ``[n]`` each."""
    order = order_by_rank(upward_rank(g, cost, True), g.topo_position)
    return schedule_in_order(g, order, insertion)


@kernel
def schedule_in_order(
    g: InstanceArrays, order: Ints, insertion: bool
) -> tuple[Ints, Floats, Floats]:
    """Tasks in a topological ``order``, each where it finishes first; ties: lowest index.

    Returns processor, start and finish, ``[n]`` each.
    """
    n, p = g.comp.shape
    s = empty_placements(n, p)
    arrival, nothing = np.empty(p), np.zeros(p)
    for t in order:
        put_best(g, s, t, nothing, insertion, arrival)
    return s.processor, s.start, s.finish


@kernel
def schedule_with_costs_to_go(
    g: InstanceArrays, order: Ints, costs_to_go: Floats, insertion: bool
) -> tuple[Ints, Floats, Floats]:
    """As ``schedule_in_order``, by the least finish time + ``costs_to_go[t, q]``.

    An infinite entry forbids the pair; each task needs one eligible processor with a finite one.
    """
    n, p = g.comp.shape
    s = empty_placements(n, p)
    arrival = np.empty(p)
    for t in order:
        put_best(g, s, t, costs_to_go[t], insertion, arrival)
    return s.processor, s.start, s.finish

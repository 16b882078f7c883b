"""HEFT with one level of lookahead.

Bittencourt, Sakellariou, Madeira 2010, "DAG scheduling using a lookahead variant of the
heterogeneous earliest finish time algorithm", Euromicro PDP, sec. 3.
"""

import numpy as np

from dagsched_env.kernels.lists import lookahead, orders
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule


def lookahead_heft(instance: Instance, *, insertion: bool = True) -> Schedule:
    """Tasks by decreasing upward rank, each where the last of its children can finish first.

    To rate a processor, the task is placed there on trial, and after it its children by rank, each
    where it finishes first; parents that are not placed yet are ignored. Ties of rank: lower mean
    cost, and so a longer path behind the task (as needed for the published 76 of Kang's graph),
    then topological order.

    Args:
        instance: the problem.
        insertion: use idle gaps (the published policy); False appends only.
    """
    g = instance.arrays
    by_rank = orders.rank_levels(instance.rank_u)
    by_cost = orders.rank_levels(-g.mean_comp)
    order = orders.ready_order(g, np.lexsort((g.topo_position, by_cost, by_rank)))
    return Schedule.adopt(
        *lookahead.schedule_with_lookahead(g, order, insertion), algorithm="lookahead_heft"
    )

"""HCPT, heterogeneous critical parent trees.

Hagras, Janeček 2003, "A simple scheduling heuristic for heterogeneous computing environments",
International Symposium on Parallel and Distributed Computing (ISPDC).
"""

from dagsched_env.kernels.graph import ranks
from dagsched_env.kernels.lists import fixed_order, orders
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule


def hcpt(instance: Instance, *, insertion: bool = True) -> Schedule:
    """Critical tasks by latest start, each after its unlisted ancestors; earliest finish time.

    Of several unlisted parents the one with the least latest start time is listed first (the paper
    leaves the choice open). Several exits are treated as the parents of one task of cost 0.

    Args:
        instance: the problem.
        insertion: use idle gaps; False appends only.
    """
    g = instance.arrays
    by_latest_start = ranks.order_by_rank(instance.rank_u, g.topo_position)
    critical = orders.rank_levels(instance.rank_u + instance.rank_d) == 0
    order = orders.critical_parent_order(g, by_latest_start, critical)
    return Schedule.adopt(*fixed_order.schedule_in_order(g, order, insertion), algorithm="hcpt")

"""PPTS, predict priority task scheduling.

Djigal, Feng, Lu 2019, "Task scheduling for heterogeneous computing using a predict cost matrix",
Workshops of the 48th International Conference on Parallel Processing (ICPP), article 25.
"""

from dagsched_env.kernels.graph import cost_tables, ranks
from dagsched_env.kernels.lists import fixed_order, orders
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule


def ppts(instance: Instance, *, insertion: bool = True) -> Schedule:
    """The ready task of the highest mean predicted cost, where finish + predicted cost is least.

    Args:
        instance: the problem.
        insertion: use idle gaps (the published policy); False appends only.
    """
    g = instance.arrays
    table = cost_tables.predict_cost_matrix(g)
    rank = cost_tables.mean_over_eligible(g, table)
    order = orders.ready_order(g, ranks.order_by_rank(rank, g.topo_position))
    return Schedule.adopt(
        *fixed_order.schedule_with_costs_to_go(g, order, table, insertion), algorithm="ppts"
    )

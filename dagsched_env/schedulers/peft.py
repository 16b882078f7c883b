"""PEFT, predict earliest finish time.

Arabnejad, Barbosa 2014, "List scheduling algorithm for heterogeneous systems by an optimistic cost
table", IEEE TPDS 25(3), algorithm 1.
"""

from dagsched_env.kernels.graph import cost_tables, ranks
from dagsched_env.kernels.lists import fixed_order, orders
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule


def peft(instance: Instance, *, insertion: bool = True) -> Schedule:
    """The ready task of the highest mean optimistic cost, where finish + optimistic cost is least.

    Args:
        instance: the problem.
        insertion: use idle gaps (the published policy); False appends only.
    """
    g = instance.arrays
    rank = cost_tables.mean_over_eligible(g, instance.oct)
    order = orders.ready_order(g, ranks.order_by_rank(rank, g.topo_position))
    return Schedule.adopt(
        *fixed_order.schedule_with_costs_to_go(g, order, instance.oct, insertion), algorithm="peft"
    )

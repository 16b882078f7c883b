"""IPEFT, improved predict earliest finish time.

Zhou, Qi, Wang, Zheng, Lin 2017, "A list scheduling algorithm for heterogeneous systems based on a
critical node cost table and pessimistic cost table", Concurrency and Computation 29(5), e3944.
"""

import numpy as np
import numpy.typing as npt

from dagsched_env.kernels.graph import cost_tables, ranks
from dagsched_env.kernels.lists import fixed_order, orders
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule


def ipeft(instance: Instance, *, insertion: bool = True) -> Schedule:
    """Ready tasks by mean pessimistic cost + mean cost, placed by finish + critical-node cost.

    A task that is not critical but has a critical successor is placed by its finish time alone.

    Args:
        instance: the problem.
        insertion: use idle gaps (the published policy); False appends only.
    """
    g = instance.arrays
    critical = orders.rank_levels(instance.rank_u + instance.rank_d) == 0
    pessimistic = cost_tables.mean_over_eligible(g, cost_tables.pessimistic_cost_table(g))
    rank = pessimistic + g.mean_comp
    order = orders.ready_order(g, ranks.order_by_rank(rank, g.topo_position))
    table = cost_tables.critical_cost_table(g, critical)
    table[_critical_parents(instance, critical)] = 0.0
    return Schedule.adopt(
        *fixed_order.schedule_with_costs_to_go(g, order, table, insertion), algorithm="ipeft"
    )


def _critical_parents(instance: Instance, critical: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """``[n]`` True for the tasks that are not critical and have a critical successor."""
    sources, targets = instance.edges.T
    parents = np.zeros(instance.n_tasks, dtype=np.bool_)
    parents[sources[critical[targets]]] = True
    return parents & ~critical

"""PEFT, and what its authors and others have made of it: a table of costs to go places the tasks.

- PEFT, predict earliest finish time: Arabnejad, Barbosa 2014, "List scheduling algorithm for
  heterogeneous systems by an optimistic cost table", IEEE TPDS 25(3), algorithm 1.
- PPTS, predict priority task scheduling: Djigal, Feng, Lu 2019, "Task scheduling for heterogeneous
  computing using a predict cost matrix", Workshops of the 48th International Conference on Parallel
  Processing (ICPP), article 25.
- IPEFT, improved PEFT: Zhou, Qi, Wang, Zheng, Lin 2017, "A list scheduling algorithm for
  heterogeneous systems based on a critical node cost table and pessimistic cost table",
  Concurrency and Computation 29(5), e3944.
"""

import numpy as np

from dagsched_env.kernels.arrays import Floats
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
    rank = cost_tables.mean_over_eligible(instance.arrays, instance.oct)
    return _by_costs_to_go(instance, rank, instance.oct, insertion, "peft")


def ppts(instance: Instance, *, insertion: bool = True) -> Schedule:
    """The ready task of the highest mean predicted cost, where finish + predicted cost is least.

    Args:
        instance: the problem.
        insertion: use idle gaps (the published policy); False appends only.
    """
    table = cost_tables.predict_cost_matrix(instance.arrays)
    rank = cost_tables.mean_over_eligible(instance.arrays, table)
    return _by_costs_to_go(instance, rank, table, insertion, "ppts")


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
    table = cost_tables.critical_cost_table(g, critical)
    sources, targets = instance.edges.T
    critical_parents = np.zeros(instance.n_tasks, dtype=np.bool_)
    critical_parents[sources[critical[targets]]] = True
    table[critical_parents & ~critical] = 0.0
    return _by_costs_to_go(instance, pessimistic + g.mean_comp, table, insertion, "ipeft")


def _by_costs_to_go(
    instance: Instance, rank: Floats, table: Floats, insertion: bool, name: str
) -> Schedule:
    """Ready tasks by ``rank[n]``, each where its finish time + ``table[n, p]`` is least (time)."""
    g = instance.arrays
    order = orders.ready_order(g, ranks.order_by_rank(rank, g.topo_position))
    made = fixed_order.schedule_with_costs_to_go(g, order, table, insertion)
    return Schedule.adopt(*made, algorithm=name)

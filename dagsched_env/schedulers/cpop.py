"""CPOP, critical path on a processor.

Topcuoglu, Hariri, Wu 2002, "Performance-effective and low-complexity task scheduling for
heterogeneous computing", IEEE TPDS 13(3), fig. 5.
"""

import numpy as np

from dagsched_env.kernels.arrays import Ints
from dagsched_env.kernels.graph.ranks import RANK_TOLERANCE
from dagsched_env.kernels.lists import fixed_order, orders
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule


def cpop(instance: Instance, *, insertion: bool = True) -> Schedule:
    """The critical path on one processor, other tasks where they finish first.

    The ready task with the highest rank_u + rank_d is next; ties: tasks of the critical path (as
    needed for the published 31 of Kuan's graph, which has two critical paths), then topological
    order. The critical path is traced from the first critical source through the first critical
    successors. Its processor is the one that runs it in the least time. If no processor can run all
    of it, one that can run most of its tasks is taken, and the others are placed like other tasks.
    With resources other tasks may run beside the path, where its processor has room for them.

    Args:
        instance: the problem.
        insertion: use idle gaps (the published policy); False appends only.
    """
    g = instance.arrays
    levels = orders.rank_levels(instance.rank_u + instance.rank_d)
    path = _critical_path(instance, levels)
    off_path = np.ones(instance.n_tasks, dtype=np.bool_)
    off_path[path] = False
    order = orders.ready_order(g, np.lexsort((g.topo_position, off_path, levels)))
    costs_to_go = np.zeros(instance.comp.shape)
    q = _path_processor(instance, path)
    pinned = path[np.isfinite(instance.comp[path, q])]
    costs_to_go[pinned] = np.inf
    costs_to_go[pinned, q] = 0.0
    return Schedule.adopt(
        *fixed_order.schedule_with_costs_to_go(g, order, costs_to_go, insertion), algorithm="cpop"
    )


def _critical_path(instance: Instance, levels: Ints) -> Ints:
    """Tasks of one path from a source to an exit, all of level 0."""
    g = instance.arrays
    path: list[int] = []
    following = np.flatnonzero(g.pred_ptr[1:] == g.pred_ptr[:-1])
    while (critical := following[levels[following] == 0]).size:
        task = int(critical[np.argmin(g.topo_position[critical])])
        path.append(task)
        following = g.succ_task[g.succ_ptr[task] : g.succ_ptr[task + 1]]
    return np.array(path, dtype=np.int64)


def _path_processor(instance: Instance, path: Ints) -> int:
    costs = instance.comp[path]
    eligible = np.isfinite(costs)
    totals = np.where(eligible, costs, 0.0).sum(axis=0)
    runs = eligible.sum(axis=0)
    totals[runs < runs.max()] = np.inf
    return int(np.flatnonzero(totals <= totals.min() * (1 + RANK_TOLERANCE))[0])

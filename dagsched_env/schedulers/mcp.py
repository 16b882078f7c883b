"""MCP, modified critical path.

Wu, Gajski 1990, "Hypertool: a programming aid for message-passing systems", IEEE TPDS 1(3); the
lists as in Kwok, Ahmad 1996, "Dynamic critical-path scheduling", IEEE TPDS 7(5), sec. 3.
"""

import numpy as np

from dagsched_env.kernels.arrays import Ints
from dagsched_env.kernels.lists import fixed_order, orders
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule


def mcp(instance: Instance, *, insertion: bool = True) -> Schedule:
    """Tasks by their lists of latest start times, each where it finishes first.

    The list of a task holds its latest start time by the critical path (ALAP, at mean costs), then
    those of its children in decreasing order. The lists are sorted lexicographically. The paper has
    identical processors and takes the one on which the task starts first; on identical processors
    it also finishes first there.

    Args:
        instance: the problem.
        insertion: use idle gaps (the published policy); False appends only.
    """
    order = orders.ready_order(instance.arrays, _by_latest_starts(instance))
    return Schedule.adopt(
        *fixed_order.schedule_in_order(instance.arrays, order, insertion), algorithm="mcp"
    )


def _by_latest_starts(instance: Instance) -> Ints:
    """Tasks by list; the latest start time is the makespan of the critical path − rank_u."""
    g = instance.arrays
    latest = orders.rank_levels(instance.rank_u).tolist()
    pointers, children = g.succ_ptr.tolist(), g.succ_task.tolist()
    position = g.topo_position.tolist()

    def key(task: int) -> tuple[int, list[int], int]:
        following = [latest[s] for s in children[pointers[task] : pointers[task + 1]]]
        return latest[task], sorted(following, reverse=True), position[task]

    return np.array(sorted(range(instance.n_tasks), key=key), dtype=np.int64)

"""HLFET, highest level first with estimated times.

Adam, Chandy, Dickson 1974, "A comparison of list schedules for parallel processing systems",
Communications of the ACM 17(12).
"""

from dagsched_env.kernels.graph import ranks
from dagsched_env.kernels.lists import fixed_order
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule


def hlfet(instance: Instance, *, insertion: bool = False) -> Schedule:
    """Tasks by decreasing static level, each on the processor of its earliest finish time.

    The static level is the longest path to an exit at mean costs, without communication. The paper
    has identical processors and takes the one on which the task starts first; on identical
    processors it also finishes first there.

    Args:
        instance: the problem.
        insertion: use idle gaps; False appends only (as published).
    """
    g = instance.arrays
    level = ranks.upward_rank(g, g.mean_comp, False)
    order = ranks.order_by_rank(level, g.topo_position)
    return Schedule.adopt(*fixed_order.schedule_in_order(g, order, insertion), algorithm="hlfet")

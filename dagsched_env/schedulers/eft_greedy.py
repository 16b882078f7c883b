"""The simplest list scheduler: topological order, earliest finish time."""

from dagsched_env.kernels.lists import fixed_order
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule


def eft_greedy(instance: Instance, *, insertion: bool = True) -> Schedule:
    """Tasks in their stored topological order, each where it finishes first.

    Args:
        instance: the problem.
        insertion: use idle gaps; False appends only.
    """
    order = instance.topological_order.copy()
    return Schedule.adopt(
        *fixed_order.schedule_in_order(instance.arrays, order, insertion), algorithm="eft_greedy"
    )

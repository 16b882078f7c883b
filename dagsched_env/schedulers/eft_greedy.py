"""The plainest list scheduler: topological order, earliest finish time."""

from dagsched_env.instance import Instance
from dagsched_env.kernels import dispatch
from dagsched_env.schedule import Schedule
from dagsched_env.simulator import State

__all__ = ["eft_greedy"]


def eft_greedy(instance: Instance, *, insertion: bool = True) -> Schedule:
    """Tasks in their stored topological order, each where it finishes first.

    Args:
        instance: the problem.
        insertion: use idle gaps; False appends only.
    """
    state = State(instance, insertion=insertion)
    dispatch.list_schedule(instance.arrays, state.arrays, instance.topological_order, insertion)
    return state.schedule(algorithm="eft_greedy")

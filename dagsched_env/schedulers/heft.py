"""HEFT: Topcuoglu, Hariri, Wu 2002, IEEE TPDS 13(3), fig. 3."""

from dagsched_env.instance import Instance
from dagsched_env.kernels import dispatch, ranks
from dagsched_env.schedule import Schedule
from dagsched_env.simulator import State

__all__ = ["heft"]


def heft(instance: Instance, *, insertion: bool = True) -> Schedule:
    """Tasks by decreasing upward rank, each on the processor of its earliest finish time.

    Args:
        instance: the problem.
        insertion: use idle gaps (the published policy); False appends only.
    """
    order = ranks.order_by_rank(instance.rank_u, instance.arrays.topo_position)
    state = State(instance, insertion=insertion)
    dispatch.list_schedule(instance.arrays, state.arrays, order, insertion)
    return state.schedule(algorithm="heft")

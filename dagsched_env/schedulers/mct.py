"""MCT, minimum completion time.

Armstrong, Hensgen, Kidd 1998, "The relative performance of various mapping algorithms is
independent of sizable variances in run-time predictions", HCW (there "fast greedy"); Braun et al.
2001, JPDC 61(6), sec. 3.
"""

from dagsched_env.kernels.lists import fixed_order
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule


def mct(instance: Instance, *, insertion: bool = False) -> Schedule:
    """Tasks in their stored topological order, each where it finishes first.

    The papers take independent tasks in any order. ``eft_greedy`` is the same with insertion.

    Args:
        instance: the problem.
        insertion: use idle gaps; False (as published) appends only.
    """
    order = instance.topological_order.copy()
    return Schedule.adopt(
        *fixed_order.schedule_in_order(instance.arrays, order, insertion), algorithm="mct"
    )

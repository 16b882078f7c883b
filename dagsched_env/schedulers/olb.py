"""OLB, opportunistic load balancing.

Armstrong, Hensgen, Kidd 1998, "The relative performance of various mapping algorithms is
independent of sizable variances in run-time predictions", HCW; Braun et al. 2001, JPDC 61(6),
sec. 3.
"""

from dagsched_env.kernels.lists import selection
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule


def olb(instance: Instance, *, insertion: bool = False) -> Schedule:
    """Tasks in their stored topological order, each on the eligible processor that is free first.

    Its execution time there and the arrival of its data do not matter; ties: lowest index. The
    papers take independent tasks in any order.

    Args:
        instance: the problem.
        insertion: a task may fill an idle gap of its processor; False (as published) appends only.
    """
    order = instance.topological_order.copy()
    return Schedule.adopt(
        *selection.schedule_on_first_free(instance.arrays, order, insertion), algorithm="olb"
    )

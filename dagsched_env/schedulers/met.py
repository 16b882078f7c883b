"""MET, minimum execution time.

Armstrong, Hensgen, Kidd 1998, "The relative performance of various mapping algorithms is
independent of sizable variances in run-time predictions", HCW (there "user directed assignment");
Braun et al. 2001, JPDC 61(6), sec. 3.
"""

import numpy as np

from dagsched_env.kernels.graph.ranks import RANK_TOLERANCE
from dagsched_env.kernels.schedules import decoding
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule


def met(instance: Instance, *, insertion: bool = False) -> Schedule:
    """Tasks in their stored topological order, each on the processor that runs it fastest.

    Load and communication do not matter; ties: lowest index. The papers take independent tasks in
    any order.

    Args:
        instance: the problem.
        insertion: use idle gaps; False (as published) appends only.
    """
    fast = instance.comp <= instance.arrays.min_comp[:, None] * (1 + RANK_TOLERANCE)
    order = instance.topological_order.copy()
    return Schedule.adopt(
        *decoding.decode(instance.arrays, order, np.argmax(fast, axis=1), insertion),
        algorithm="met",
    )

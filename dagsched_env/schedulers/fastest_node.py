"""FastestNode: all tasks on one processor.

The baseline of speedup figures, e.g. sec. 5.1 of Topcuoglu, Hariri, Wu 2002, IEEE TPDS 13(3).
"""

import numpy as np

from dagsched_env.kernels.lists import mapping
from dagsched_env.kernels.schedules import decoding
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule


def fastest_node(instance: Instance, *, insertion: bool = False) -> Schedule:
    """All tasks on the processor with the least total execution time; ties: lowest index.

    If no processor can run all tasks, the one that can run most of them runs those; ties: the
    faster one. The other tasks are placed by the same rule. Tasks are in their stored topological
    order.

    Args:
        instance: the problem.
        insertion: use idle gaps (they arise with several processors only); False appends only.
    """
    g = instance.arrays
    order = instance.topological_order.copy()
    assignment = mapping.map_clusters(g, np.zeros(instance.n_tasks, dtype=np.int64), order, 0.0)
    return Schedule.adopt(
        *decoding.decode(g, order, assignment, insertion), algorithm="fastest_node"
    )

"""MaxMin.

Braun et al. 2001, "A comparison of eleven static heuristics for mapping a class of independent
tasks onto heterogeneous distributed computing systems", JPDC 61(6), sec. 3, for independent
tasks; over the ready tasks of a graph as in Blythe et al. 2005, "Task scheduling strategies for
workflow-based applications in grids", CCGrid.
"""

import numpy as np

from dagsched_env.kernels.lists import selection
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule


def max_min(instance: Instance, *, insertion: bool = False) -> Schedule:
    """The ready task with the latest earliest finish time is placed there; ties: lowest index.

    Args:
        instance: the problem.
        insertion: use idle gaps; False (as published) appends only.
    """
    n = instance.n_tasks
    return Schedule.adopt(
        *selection.schedule_by_selection(
            instance.arrays, selection.GREATEST_FINISH, np.zeros(n), np.arange(n), insertion
        ),
        algorithm="max_min",
    )

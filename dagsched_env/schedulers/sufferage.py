"""Sufferage.

Maheswaran et al. 1999, "Dynamic mapping of a class of independent tasks onto heterogeneous
computing systems", JPDC 59(2), sec. 3, for independent tasks; one task at a time as in Casanova
et al. 2000, "Heuristics for scheduling parameter sweep applications in grid environments", HCW.
"""

import numpy as np

from dagsched_env.kernels.lists import selection
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule


def sufferage(instance: Instance, *, insertion: bool = False) -> Schedule:
    """The ready task of the highest sufferage, on its best processor; ties: lowest index.

    The sufferage of a task is the difference of its two earliest finish times; it is infinite for
    a task with one eligible processor.

    Args:
        instance: the problem.
        insertion: use idle gaps; False (as published) appends only.
    """
    n = instance.n_tasks
    return Schedule.adopt(
        *selection.schedule_by_selection(
            instance.arrays, selection.SUFFERAGE, np.zeros(n), np.arange(n), insertion
        ),
        algorithm="sufferage",
    )

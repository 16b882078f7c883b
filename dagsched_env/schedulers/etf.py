"""ETF, earliest task first.

Hwang, Chow, Anger, Lee 1989, "Scheduling precedence graphs in systems with interprocessor
communication times", SIAM J. Computing 18(2), for identical processors.
"""

import numpy as np

from dagsched_env.kernels.graph import ranks
from dagsched_env.kernels.lists import orders, selection
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule


def etf(instance: Instance, *, insertion: bool = False) -> Schedule:
    """The ready task that can start first is next.

    Ties: the highest static level (longest path to an exit at mean costs, without communication),
    then the lowest index. On unrelated processors a task that can start equally early on several
    processors is placed on the one that runs it fastest.

    Args:
        instance: the problem.
        insertion: use idle gaps; False (as published) appends only.
    """
    g = instance.arrays
    levels = orders.rank_levels(ranks.upward_rank(g, g.mean_comp, False))
    precedence = np.empty(instance.n_tasks, dtype=np.int64)
    precedence[np.argsort(levels, kind="stable")] = np.arange(instance.n_tasks)
    return Schedule.adopt(
        *selection.schedule_by_selection(
            g, selection.LEAST_START, np.zeros(instance.n_tasks), precedence, insertion
        ),
        algorithm="etf",
    )

"""DLS, dynamic level scheduling.

Sih, Lee 1993, "A compile-time scheduling heuristic for interconnection-constrained heterogeneous
processor architectures", IEEE TPDS 4(2), the dynamic level DL₂.
"""

from typing import Literal

import numpy as np

from dagsched_env.kernels.arrays import Floats
from dagsched_env.kernels.graph import ranks
from dagsched_env.kernels.lists import selection
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule


def dls(
    instance: Instance,
    *,
    insertion: bool = False,
    average: Literal["mean", "median"] = "mean",
) -> Schedule:
    """The ready task and processor of the highest dynamic level; ties: lowest indices.

    The level is SL(t) − start(t, q) + Δ(t, q). The static level SL is the longest path to an exit
    at average costs without communication; Δ is the average cost minus the cost on q. This equals
    SL(t) + average(t) − finish(t, q), so each task prefers the processor where it finishes first.

    Args:
        instance: the problem.
        insertion: use idle gaps; False (as published) appends only.
        average: of the costs of a task on its eligible processors: their mean, as in later
            comparisons, or their median, as published.

    Raises:
        DAGSchedError: no such ``average``.
    """
    costs = _averages(instance, average)
    priority = ranks.upward_rank(instance.arrays, costs, False) + costs
    index = np.arange(instance.n_tasks)
    return Schedule.adopt(
        *selection.schedule_by_selection(
            instance.arrays, selection.LEAST_FINISH, priority, index, insertion
        ),
        algorithm="dls",
    )


def _averages(instance: Instance, average: str) -> Floats:
    """``[n]``"""
    if average == "mean":
        return instance.arrays.mean_comp
    if average == "median":
        eligible = np.where(np.isfinite(instance.comp), instance.comp, np.nan)
        return np.asarray(np.nanmedian(eligible, axis=1))
    raise DAGSchedError(f"unknown average {average!r}: choose mean or median")

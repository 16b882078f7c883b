"""HEFT, heterogeneous earliest finish time.

Topcuoglu, Hariri, Wu 2002, "Performance-effective and low-complexity task scheduling for
heterogeneous computing", IEEE TPDS 13(3), fig. 3. Other rank functions: Zhao, Sakellariou 2003,
"An experimental investigation into the rank function of the heterogeneous earliest finish time
scheduling algorithm", Euro-Par.
"""

from typing import Literal

import numpy as np

from dagsched_env.kernels.arrays import Floats
from dagsched_env.kernels.lists import fixed_order
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule


def heft(
    instance: Instance,
    *,
    insertion: bool = True,
    rank: Literal["mean", "best", "worst", "median"] = "mean",
) -> Schedule:
    """Tasks by decreasing upward rank, each on the processor of its earliest finish time.

    Args:
        instance: the problem.
        insertion: use idle gaps (the published policy); False appends only.
        rank: the cost of a task in the rank: the mean (as published in 2002), least, greatest or
            median of its costs on the eligible processors. Communication always counts with its
            mean.

    Raises:
        DAGSchedError: no such ``rank``.
    """
    placements = fixed_order.schedule_by_rank(instance.arrays, costs_of(instance, rank), insertion)
    return Schedule.adopt(*placements, algorithm="heft")


def costs_of(instance: Instance, rank: str) -> Floats:
    """``[n]`` the mean, best, worst or median cost of each task on its eligible processors."""
    if rank == "mean":
        return instance.arrays.mean_comp
    if rank == "best":
        return instance.arrays.min_comp
    eligible = np.where(np.isfinite(instance.comp), instance.comp, np.nan)
    if rank == "worst":
        return np.asarray(np.nanmax(eligible, axis=1))
    if rank == "median":
        return np.asarray(np.nanmedian(eligible, axis=1))
    raise DAGSchedError(f"unknown rank {rank!r}: choose mean, best, worst or median")

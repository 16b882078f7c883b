"""A plan in the order in which Dask would compute its graph, which holds few results at once.

A plan that keeps all workers busy may take its jobs in many orders, and a search takes any. Where
results are large, workers then hold more of them than they need: memory that is new to a process
costs time. The order of Dask goes deep first.
"""

import numpy as np

from dagsched_env.execution.jobs import JobGraph
from dagsched_env.kernels.schedules.decoding import decode
from dagsched_env.problem.errors import DAGSchedError, MissingExtraError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule

LONGER = 0.02
"""The order may make a plan longer by this share: runs are further off their plan than that."""


def thrifty(graph: JobGraph, instance: Instance, plan: Schedule) -> Schedule:
    """The same places in the order of Dask, or the plan itself where that is 2 % shorter.

    Args:
        graph: the jobs.
        instance: of ``graph.instance``.
        plan: a valid schedule of it.

    Raises:
        DAGSchedError: the instance is not one of these jobs.
        MissingExtraError: Dask is not installed.
    """
    try:
        from dask.order import order
    except ModuleNotFoundError:
        raise MissingExtraError("dask", "tools") from None
    if instance.task_names != tuple(graph.index):
        raise DAGSchedError("the instance is not one of these jobs: take graph.instance(machines)")
    place = order({job.name: (len, *job.after) for job in graph.jobs})
    first = np.argsort([place[job.name] for job in graph.jobs]).astype(np.int64)
    arrays = decode(instance.arrays, first, plan.processor, True)
    found = Schedule.adopt(*arrays, algorithm=plan.algorithm)
    return found if found.makespan <= plan.makespan * (1 + LONGER) else plan

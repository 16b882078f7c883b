"""The mapping heuristics: made for independent tasks, here over the tasks of a graph.

Braun et al. 2001, "A comparison of eleven static heuristics for mapping a class of independent
tasks onto heterogeneous distributed computing systems", JPDC 61(6), sec. 3, has all but Sufferage;
MCT, MET and OLB are of Armstrong, Hensgen, Kidd 1998, "The relative performance of various mapping
algorithms is independent of sizable variances in run-time predictions", HCW. Min-Min and Max-Min go
over the ready tasks as in Blythe et al. 2005, "Task scheduling strategies for workflow-based
applications in grids", CCGrid. The others take tasks in their stored topological order; the papers
take independent ones in any order. As published, none uses idle gaps.
"""

from dataclasses import replace

import numpy as np

from dagsched_env.kernels.graph.ranks import RANK_TOLERANCE
from dagsched_env.kernels.lists import fixed_order, mapping, selection
from dagsched_env.kernels.schedules import decoding
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers.dynamic import by_selection


def min_min(instance: Instance, *, insertion: bool = False) -> Schedule:
    """Min-Min: the ready task with the earliest finish time is placed there; ties: lowest index.

    Args:
        instance: the problem.
        insertion: use idle gaps; False (as published) appends only.
    """
    return by_selection(instance, selection.LEAST_FINISH, insertion, "min_min")


def max_min(instance: Instance, *, insertion: bool = False) -> Schedule:
    """Max-Min: the ready task with the latest earliest finish time is placed; ties: lowest index.

    Args:
        instance: the problem.
        insertion: use idle gaps; False (as published) appends only.
    """
    return by_selection(instance, selection.GREATEST_FINISH, insertion, "max_min")


def duplex(instance: Instance, *, insertion: bool = False) -> Schedule:
    """The shorter schedule of ``min_min`` and ``max_min``; that of ``min_min`` if equally long.

    Args:
        instance: the problem.
        insertion: use idle gaps; False (as published) appends only.
    """
    least, greatest = min_min(instance, insertion=insertion), max_min(instance, insertion=insertion)
    shorter = greatest if greatest.makespan < least.makespan else least
    return replace(shorter, algorithm="duplex")


def sufferage(instance: Instance, *, insertion: bool = False) -> Schedule:
    """The ready task of the highest sufferage, on its best processor; ties: lowest index.

    The sufferage of a task is the difference of its two earliest finish times; it is infinite for
    a task with one eligible processor. Maheswaran et al. 1999, "Dynamic mapping of a class of
    independent tasks onto heterogeneous computing systems", JPDC 59(2), sec. 3; one task at a time
    as in Casanova et al. 2000, "Heuristics for scheduling parameter sweep applications in grid
    environments", HCW.

    Args:
        instance: the problem.
        insertion: use idle gaps; False (as published) appends only.
    """
    return by_selection(instance, selection.SUFFERAGE, insertion, "sufferage")


def mct(instance: Instance, *, insertion: bool = False) -> Schedule:
    """Minimum completion time: tasks in topological order, each where it finishes first.

    ``eft_greedy`` is the same with insertion.

    Args:
        instance: the problem.
        insertion: use idle gaps; False (as published) appends only.
    """
    return replace(eft_greedy(instance, insertion=insertion), algorithm="mct")


def eft_greedy(instance: Instance, *, insertion: bool = True) -> Schedule:
    """The simplest list scheduler: tasks in topological order, each where it finishes first.

    Args:
        instance: the problem.
        insertion: use idle gaps; False appends only.
    """
    order = instance.topological_order.copy()
    return Schedule.adopt(
        *fixed_order.schedule_in_order(instance.arrays, order, insertion), algorithm="eft_greedy"
    )


def met(instance: Instance, *, insertion: bool = False) -> Schedule:
    """Minimum execution time: each task on the processor that runs it fastest; ties: lowest index.

    Load and communication do not matter. With resources a task waits there until it fits.

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


def olb(instance: Instance, *, insertion: bool = False) -> Schedule:
    """Opportunistic load balancing: each task on the eligible processor that is free first.

    Its execution time there and the arrival of its data do not matter; ties: lowest index. With
    resources it is the processor that can hold the task first, behind the starts of those before.

    Args:
        instance: the problem.
        insertion: a task may fill an idle gap of its processor; False (as published) appends only.
    """
    order = instance.topological_order.copy()
    return Schedule.adopt(
        *selection.schedule_on_first_free(instance.arrays, order, insertion), algorithm="olb"
    )


def fastest_node(instance: Instance, *, insertion: bool = False) -> Schedule:
    """All tasks on the processor with the least total execution time; ties: lowest index.

    If no processor can run all tasks, the one that can run most of them runs those; ties: the
    faster one. The other tasks are placed by the same rule. The baseline of speedup figures, e.g.
    sec. 5.1 of Topcuoglu, Hariri, Wu 2002, IEEE TPDS 13(3). With resources its tasks run side by
    side where they fit.

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

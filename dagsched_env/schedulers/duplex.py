"""Duplex.

Braun et al. 2001, "A comparison of eleven static heuristics for mapping a class of independent
tasks onto heterogeneous distributed computing systems", JPDC 61(6), sec. 3.
"""

from dataclasses import replace

from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers.max_min import max_min
from dagsched_env.schedulers.min_min import min_min


def duplex(instance: Instance, *, insertion: bool = False) -> Schedule:
    """The shorter schedule of ``min_min`` and ``max_min``; that of ``min_min`` if equally long.

    Args:
        instance: the problem.
        insertion: use idle gaps; False (as published) appends only.
    """
    least, greatest = min_min(instance, insertion=insertion), max_min(instance, insertion=insertion)
    shorter = greatest if greatest.makespan < least.makespan else least
    return replace(shorter, algorithm="duplex")

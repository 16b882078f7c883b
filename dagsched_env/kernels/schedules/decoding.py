"""Decoding: from an order and an assignment to start and finish times."""

import numpy as np

from dagsched_env.kernels.arrays import Floats, InstanceArrays, Ints, Placements
from dagsched_env.kernels.graph.communication import arrival_time
from dagsched_env.kernels.jit import borrowing, kernel
from dagsched_env.kernels.lists.placements import clear_placements, empty_placements, put


@kernel
def decode(
    g: InstanceArrays, order: Ints, assignment: Ints, insertion: bool
) -> tuple[Ints, Floats, Floats]:
    """Place the tasks in a given order on their assigned processors.

    With insertion no task starts later than without it.

    Args:
        g: the problem.
        order: ``[n]`` a topological order.
        assignment: ``[n]`` an eligible processor of each task.
        insertion: use idle gaps; False appends only.

    Returns:
        Processor, start and finish, ``[n]`` each.
    """
    s = empty_placements(g)
    decode_into(g, s, order, assignment, insertion)
    return s.processor, s.start, s.finish


@borrowing
def decode_into(
    g: InstanceArrays, s: Placements, order: Ints, assignment: Ints, insertion: bool
) -> float:
    """As ``decode``, into arrays that exist.

    Args:
        s: overwritten.
        order: ``[n]`` a topological order.
        assignment: ``[n]`` an eligible processor of each task.
        insertion: use idle gaps; False appends only.

    Returns:
        The makespan.
    """
    clear_placements(s)
    makespan = 0.0
    for t in order:
        q = assignment[t]
        ready = arrival_time(g, assignment, s.finish, t, q)
        put(g, s, t, q, ready, insertion)
        makespan = max(makespan, s.finish[t])
    return makespan


@kernel
def justify(
    g: InstanceArrays, back: InstanceArrays, s: Placements, order: Ints, processor: Ints
) -> float:
    """Decode a schedule backwards and forwards again, each time in the order that it has by then.

    It never gets longer, and often shorter: double justification (Valls, Ballestín, Quintanilla
    2005, "Justification and RCPSP: a technique that pays", EJOR 165(2)).

    Args:
        g: the problem.
        back: the same problem with time running backwards.
        s: the schedule, decoded; overwritten.
        order: ``[n]`` receives its order.
        processor: ``[n]`` processor of each task; does not change.

    Returns:
        The makespan.
    """
    n = g.topo.shape[0]
    for direction in (back, g):
        # Successors have come first before, so equal times do not break an edge.
        by_finish = np.argsort(-s.finish[direction.topo], kind="mergesort")
        for k in range(n):
            order[k] = direction.topo[by_finish[k]]
        makespan = decode_into(direction, s, order, processor, True)
    return makespan

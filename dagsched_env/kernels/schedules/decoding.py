"""From an order and an assignment to a schedule."""

from dagsched_env.kernels.arrays import Floats, InstanceArrays, Ints, Placements
from dagsched_env.kernels.graph.communication import communication
from dagsched_env.kernels.jit import borrowing, kernel
from dagsched_env.kernels.lists.placements import empty_placements, put

__all__ = ["arrival_time", "decode", "decode_into"]


@kernel
def decode(
    g: InstanceArrays, order: Ints, assignment: Ints, insertion: bool
) -> tuple[Ints, Floats, Floats]:
    """Place the tasks in a topological ``order``, task t on ``assignment[t]``.

    Returns processor, start and finish, ``[n]`` each. With insertion no task starts later than
    without it.
    """
    s = empty_placements(*g.comp.shape)
    decode_into(g, s, order, assignment, insertion)
    return s.processor, s.start, s.finish


@kernel
def decode_into(
    g: InstanceArrays, s: Placements, order: Ints, assignment: Ints, insertion: bool
) -> float:
    """As ``decode``, over whatever ``s`` held before and without allocation; the makespan."""
    s.slot_count[:] = 0
    s.largest_gap[:] = 0.0
    makespan = 0.0
    for t in order:
        q = assignment[t]
        ready = arrival_time(g, assignment, s.finish, t, q)
        put(s, t, q, ready, g.comp[t, q], insertion)
        makespan = max(makespan, s.finish[t])
    return makespan


@borrowing
def arrival_time(g: InstanceArrays, processor: Ints, finish: Floats, task: int, q: int) -> float:
    """When all inputs of ``task`` are on processor ``q``; 0 for a task without predecessors."""
    arrival = 0.0
    for e in range(g.pred_ptr[task], g.pred_ptr[task + 1]):
        u = g.pred_task[e]
        arrival = max(arrival, finish[u] + communication(g, g.pred_data[e], processor[u], q))
    return arrival

"""When and where a task fits on a processor: data arrival and insertion-based earliest start."""

from dagsched_env.kernels.arrays import InstanceArrays, Placements, StateArrays
from dagsched_env.kernels.graph.communication import communication
from dagsched_env.kernels.jit import borrowing


@borrowing
def data_ready_time(g: InstanceArrays, s: StateArrays, task: int, q: int) -> float:
    """Time at which all inputs of a task are on a processor.

    Args:
        task: a task whose predecessors are all scheduled.
        q: a processor.
    """
    ready = 0.0
    for e in range(g.pred_ptr[task], g.pred_ptr[task + 1]):
        u = g.pred_task[e]
        arrival = s.finish[u] + communication(g, g.pred_data[e], s.processor[u], q)
        ready = max(ready, arrival)
    return ready


@borrowing
def earliest_slot(
    s: StateArrays | Placements, q: int, ready: float, duration: float, insertion: bool
) -> tuple[int, float]:
    """The earliest slot for a task on a processor (Topcuoglu et al. 2002, sec. 4.1.2).

    Args:
        q: the processor.
        ready: when the inputs of the task are there (time).
        duration: of the task (time).
        insertion: use idle gaps between placed tasks; False: behind the last task.

    Returns:
        Index among the busy intervals of the processor, and start time.
    """
    count = s.slot_count[q]
    if count == 0:
        return 0, ready
    last_finish = s.slot_finish[q, count - 1]
    if not insertion or ready >= last_finish:
        return count, max(ready, last_finish)
    first, behind = 0, count - 1  # bisect for the first interval that finishes after `ready`
    while first < behind:
        middle = (first + behind) // 2
        if s.slot_finish[q, middle] <= ready:
            first = middle + 1
        else:
            behind = middle
    candidate = ready
    if first > 0:
        candidate = max(ready, s.slot_finish[q, first - 1])
    for i in range(first, count):
        if candidate + duration <= s.slot_start[q, i]:
            return i, candidate
        candidate = s.slot_finish[q, i]
    return count, candidate

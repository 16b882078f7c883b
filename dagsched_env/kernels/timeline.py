"""When and where a task fits on a processor: data arrival and insertion-based earliest start."""

from dagsched_env.kernels.arrays import InstanceArrays, Placements, StateArrays
from dagsched_env.kernels.jit import borrowing, kernel

__all__ = ["communication", "data_ready_time", "earliest_slot"]


@borrowing
def communication(g: InstanceArrays, data: float, source: int, target: int) -> float:
    """Transfer time of ``data`` units from processor ``source`` to ``target``; 0 on the same.

    No branch: the diagonals of ``latency`` and ``inv_bandwidth`` are 0.
    """
    return g.latency[source, target] + data * g.inv_bandwidth[source, target]  # type: ignore[no-any-return]


@kernel
def data_ready_time(g: InstanceArrays, s: StateArrays, task: int, q: int) -> float:
    """Time at which all inputs of ``task`` are on processor ``q``; predecessors are scheduled."""
    ready = 0.0
    for e in range(g.pred_ptr[task], g.pred_ptr[task + 1]):
        u = g.pred_task[e]
        arrival = s.finish[u] + communication(g, g.pred_data[e], s.processor[u], q)
        ready = max(ready, arrival)
    return ready


@kernel
def earliest_slot(
    s: StateArrays | Placements, q: int, ready: float, duration: float, insertion: bool
) -> tuple[int, float]:
    """Index and start time of the earliest slot of ``duration`` on ``q`` not before ``ready``.

    With ``insertion`` idle gaps between placed tasks are used (Topcuoglu 2002, sec. 4.1.2);
    without it the task goes behind the last one.
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

"""The time that a transfer of data between two processors takes."""

from dagsched_env.kernels.arrays import Floats, InstanceArrays, Ints
from dagsched_env.kernels.graph.release import first_start
from dagsched_env.kernels.jit import borrowing


@borrowing
def communication(g: InstanceArrays, data: float, source: int, target: int) -> float:
    """Transfer time of data between two processors; 0 from a processor to itself.

    There is no branch, because the diagonals of ``latency`` and ``inv_bandwidth`` are 0.

    Args:
        data: units of data, ≥ 0.
        source: the processor that sends.
        target: the processor that receives.
    """
    return g.latency[source, target] + data * g.inv_bandwidth[source, target]  # type: ignore[no-any-return]


@borrowing
def arrival_time(g: InstanceArrays, processor: Ints, finish: Floats, task: int, q: int) -> float:
    """When a task may start on a processor by its inputs and its release (time).

    Args:
        processor: ``[n]`` processors of the predecessors.
        finish: ``[n]`` finish times of the predecessors.
        q: the processor that needs the inputs.
    """
    arrival = first_start(g, task, q)
    for e in range(g.pred_ptr[task], g.pred_ptr[task + 1]):
        u = g.pred_task[e]
        arrival = max(arrival, finish[u] + communication(g, g.pred_data[e], processor[u], q))
    return arrival

"""The time that a transfer of data between two processors takes."""

from dagsched_env.kernels.arrays import InstanceArrays
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

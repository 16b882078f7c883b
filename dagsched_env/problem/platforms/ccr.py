"""The ratio of communication to computation, CCR: measured and set.

CCR = mean communication / mean computation. Communication is averaged over the edges, and for each
edge over the ordered pairs of different processors. Computation is averaged over the tasks, and for
each task over its eligible processors. Means are correctly rounded, so that instances are equal in
every bit on every machine.
"""

import math

from dagsched_env.kernels.arrays import Floats
from dagsched_env.problem.instance import Instance


def ccr(instance: Instance) -> float:
    """CCR of an instance; 0 without edges or with one processor, ``inf`` without computation."""
    communication = mean_communication(instance)
    computation = mean(instance.arrays.mean_comp)
    if computation == 0:
        return math.inf if communication > 0 else 0.0
    return communication / computation


def mean_communication(instance: Instance) -> float:
    """Communication of an edge between different processors, averaged over edges and pairs."""
    if instance.n_edges == 0:
        return 0.0
    latency, inv_bandwidth = instance.arrays.mean_link.tolist()
    return float(latency + inv_bandwidth * mean(instance.data))


def scale_to_ccr(data: Floats, comp: Floats, ratio: float) -> Floats:
    """``[m]`` the data, scaled to seconds at unit bandwidth so that CCR is ``ratio``; zeros stay.

    Args:
        data: ``[m]`` bytes.
        comp: ``[n, p]`` seconds, all finite.
        ratio: CCR, ≥ 0.
    """
    largest = data.max(initial=0.0)
    if largest == 0:
        return data
    share = data / largest
    seconds: Floats = share * (ratio * mean(comp) / mean(share))
    return seconds


def mean(array: Floats) -> float:
    """Correctly rounded mean of all entries."""
    return math.fsum(array.ravel().tolist()) / array.size

"""List schedules with noise on the priorities and on the choice of the processor."""

import numpy as np

from dagsched_env.kernels.arrays import Floats, InstanceArrays, Ints
from dagsched_env.kernels.graph.ranks import order_by_rank
from dagsched_env.kernels.jit import kernel
from dagsched_env.kernels.lists.fixed_order import schedule_with_costs_to_go
from dagsched_env.kernels.lists.orders import ready_order


@kernel
def noisy_lists(
    g: InstanceArrays,
    rank: Floats,
    costs_to_go: Floats,
    sigma: float,
    noise: Floats,
    insertion: bool,
) -> tuple[Ints, Floats, Floats]:
    """One list schedule for each row of noise.

    Of the ready tasks the one with the highest ``rank[t]·(1 + σ z_t)`` is next. It is placed where
    the sum of its finish time, ``costs_to_go[t, q]`` and ``σ/10·max rank·z_tq`` is least. In rows
    0, 2, 4, … the costs to go do not count.

    Args:
        rank: ``[n]`` (time).
        costs_to_go: ``[n, p]`` (time).
        sigma: σ ≥ 0.
        noise: ``[k, n + n·p]`` standard normals z: of the tasks, then of the pairs.
        insertion: use idle gaps; False appends only.

    Returns:
        Processor, start and finish, ``[k, n]`` each.
    """
    n, p = g.comp.shape
    rows = noise.shape[0]
    processor = np.empty((rows, n), dtype=np.int64)
    start = np.empty((rows, n), dtype=np.float64)
    finish = np.empty((rows, n), dtype=np.float64)
    extra = np.empty((n, p), dtype=np.float64)
    spread = sigma / 10.0 * rank.max()
    for k in range(rows):
        weight = k % 2
        for t in range(n):
            for q in range(p):
                z = noise[k, n + t * p + q]
                extra[t, q] = weight * costs_to_go[t, q] + spread * z
        priority = rank * (1.0 + sigma * noise[k, :n])
        order = ready_order(g, order_by_rank(priority, g.topo_position))
        processor[k], start[k], finish[k] = schedule_with_costs_to_go(g, order, extra, insertion)
    return processor, start, finish

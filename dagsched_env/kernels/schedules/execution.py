"""Execution of a complete schedule with durations that differ from the plan."""

import numpy as np

from dagsched_env.kernels.arrays import Floats, InstanceArrays, Ints
from dagsched_env.kernels.graph.communication import communication
from dagsched_env.kernels.graph.release import first_start
from dagsched_env.kernels.jit import kernel


@kernel
def execute(g: InstanceArrays, sequence: Ints, processor: Ints, factors: Floats) -> Floats:
    """Makespans of k executions of a schedule.

    Every task starts as soon as it is released, its inputs have arrived and the tasks before it on
    the same processor have finished.

    Args:
        g: the problem.
        sequence: ``[n]`` a topological order; each processor runs its tasks in this order.
        processor: ``[n]`` processor of each task.
        factors: ``[k, n]``; in execution i task t takes ``factors[i, t]`` times its cost.

    Returns:
        ``[k]`` times.
    """
    runs = factors.shape[0]
    makespans = np.zeros(runs, dtype=np.float64)
    finish = np.empty(processor.shape[0], dtype=np.float64)
    free = np.empty(g.comp.shape[1], dtype=np.float64)
    for i in range(runs):
        free[:] = 0.0
        for t in sequence:
            q = processor[t]
            start = max(free[q], first_start(g, t, q))
            for e in range(g.pred_ptr[t], g.pred_ptr[t + 1]):
                u = g.pred_task[e]
                start = max(start, finish[u] + communication(g, g.pred_data[e], processor[u], q))
            finish[t] = start + g.comp[t, q] * factors[i, t]
            free[q] = finish[t]
            makespans[i] = max(makespans[i], finish[t])
    return makespans

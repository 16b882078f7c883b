"""Lower bounds on the makespan of an instance."""

from dagsched_env.kernels.arrays import InstanceArrays
from dagsched_env.kernels.jit import kernel

__all__ = ["critical_path_bound", "load_bound"]


@kernel
def critical_path_bound(g: InstanceArrays) -> float:
    """CP_MIN: longest path with every task at its minimum cost and no communication."""
    n = g.topo.shape[0]
    finish = g.min_comp.copy()
    longest = 0.0
    for i in range(n):
        t = g.topo[i]
        arrival = 0.0
        for e in range(g.pred_ptr[t], g.pred_ptr[t + 1]):
            arrival = max(arrival, finish[g.pred_task[e]])
        finish[t] = arrival + g.min_comp[t]
        longest = max(longest, finish[t])
    return longest


@kernel
def load_bound(g: InstanceArrays) -> float:
    """Total minimum work spread evenly over the processors."""
    total = 0.0
    for t in range(g.min_comp.shape[0]):
        total += g.min_comp[t]
    return total / int(g.comp.shape[1])

"""Linear clustering: paths of tasks that should share a processor.

The idea is that of Kim, Browne 1988, "A general approach to mapping of parallel computation upon
multiprocessor architectures", ICPP: the longest path becomes a cluster, then the longest path of
what is left. Here all paths follow the ranks of the whole graph, so that all clusters together take
one pass over the edges.
"""

import numpy as np

from dagsched_env.kernels.arrays import Floats, InstanceArrays, Ints
from dagsched_env.kernels.graph.ranks import order_by_rank
from dagsched_env.kernels.jit import borrowing, kernel

NONE = -1


@kernel
def linear_clusters(g: InstanceArrays, factor: Floats) -> tuple[Ints, Ints]:
    """Clusters of tasks that follow each other, at mean costs.

    The task of the highest rank begins a cluster. From each task it goes on to the free successor
    with the longest path behind it, the edge included, until there is none. Then the free task of
    the highest rank begins the next one. The rank is the longest path to an exit.

    Args:
        factor: ``[m]`` on the mean communication of each edge, ≥ 0, in the order of ``succ_task``.

    Returns:
        ``[n]`` cluster of each task, from 0 in the order in which they begin; ``[n]`` the tasks by
        decreasing rank.
    """
    n = g.topo.shape[0]
    rank = np.zeros(n)
    for i in range(n - 1, -1, -1):
        t = g.topo[i]
        for e in range(g.succ_ptr[t], g.succ_ptr[t + 1]):
            rank[t] = max(rank[t], _behind(g, factor, rank, e))
        rank[t] += g.mean_comp[t]
    order = order_by_rank(rank, g.topo_position)
    cluster = np.full(n, NONE, dtype=np.int64)
    count = 0
    for first in order:
        t = first
        if cluster[t] != NONE:
            continue
        while t != NONE:
            cluster[t] = count
            t = _follower(g, factor, rank, cluster, t)
        count += 1
    return cluster, order


@borrowing
def _behind(g: InstanceArrays, factor: Floats, rank: Floats, edge: int) -> float:
    """The longest path from the end of a task over one of its edges."""
    link = g.mean_link[0] + g.succ_data[edge] * g.mean_link[1]
    return factor[edge] * link + rank[g.succ_task[edge]]  # type: ignore[no-any-return]


@borrowing
def _follower(g: InstanceArrays, factor: Floats, rank: Floats, cluster: Ints, task: int) -> int:
    """The free successor with the longest path behind it; NONE if there is none."""
    chosen, longest = NONE, 0.0
    for e in range(g.succ_ptr[task], g.succ_ptr[task + 1]):
        path = _behind(g, factor, rank, e)
        if cluster[g.succ_task[e]] == NONE and path > longest:
            chosen, longest = g.succ_task[e], path
    return chosen

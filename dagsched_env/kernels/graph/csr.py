"""Compressed sparse rows and topological order of a task graph."""

import numpy as np

from dagsched_env.kernels.arrays import Floats, Ints
from dagsched_env.kernels.jit import kernel


@kernel
def compress(n: int, keys: Ints, values: Ints, weights: Floats) -> tuple[Ints, Ints, Floats]:
    """Group m entries by key; the given order is kept in each group.

    Args:
        n: number of keys.
        keys: ``[m]`` key of each entry, in 0..n - 1.
        values: ``[m]``.
        weights: ``[m]``.

    Returns:
        ``ptr[n + 1]``, ``values[m]``, ``weights[m]``; the entries of key k are those of
        ``ptr[k]:ptr[k + 1]``.
    """
    m = keys.shape[0]
    ptr = np.zeros(n + 1, dtype=np.int64)
    for e in range(m):
        ptr[keys[e] + 1] += 1
    for k in range(n):
        ptr[k + 1] += ptr[k]
    fill = ptr[:-1].copy()
    grouped_values = np.empty(m, dtype=np.int64)
    grouped_weights = np.empty(m, dtype=np.float64)
    for e in range(m):
        at = fill[keys[e]]
        grouped_values[at] = values[e]
        grouped_weights[at] = weights[e]
        fill[keys[e]] += 1
    return ptr, grouped_values, grouped_weights


@kernel
def topological_order(succ_ptr: Ints, succ_task: Ints, pred_ptr: Ints) -> Ints:
    """Kahn's algorithm with a first-in first-out queue, sources by index.

    Args:
        succ_ptr: ``[n + 1]`` as of ``InstanceArrays``.
        succ_task: ``[m]`` as of ``InstanceArrays``.
        pred_ptr: ``[n + 1]`` as of ``InstanceArrays``.

    Returns:
        The tasks that can be ordered; fewer than n if and only if there is a cycle.
    """
    n = succ_ptr.shape[0] - 1
    missing = np.empty(n, dtype=np.int64)
    queue = np.empty(n, dtype=np.int64)
    tail = 0
    for t in range(n):
        missing[t] = pred_ptr[t + 1] - pred_ptr[t]
        if missing[t] == 0:
            queue[tail] = t
            tail += 1
    head = 0
    while head < tail:
        t = queue[head]
        head += 1
        for e in range(succ_ptr[t], succ_ptr[t + 1]):
            s = succ_task[e]
            missing[s] -= 1
            if missing[s] == 0:
                queue[tail] = s
                tail += 1
    return queue[:tail]


@kernel
def depths(pred_ptr: Ints, pred_task: Ints, topo: Ints) -> Ints:
    """``[n]`` number of edges on the longest path from a source to each task.

    Args:
        pred_ptr: ``[n + 1]`` as of ``InstanceArrays``.
        pred_task: ``[m]`` as of ``InstanceArrays``.
        topo: ``[n]`` the tasks in topological order.
    """
    depth = np.zeros(topo.shape[0], dtype=np.int64)
    for t in topo:
        for e in range(pred_ptr[t], pred_ptr[t + 1]):
            depth[t] = max(depth[t], depth[pred_task[e]] + 1)
    return depth

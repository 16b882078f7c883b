"""A binary tree whose inner nodes hold the sum and the minimum of what is below them.

Sampling and writing take O(log capacity). Source: Schaul et al. 2016, "Prioritized Experience
Replay", appendix B.2.1.
"""

import numpy as np
import numpy.typing as npt

from dagsched_env.kernels.arrays import Floats, Ints
from dagsched_env.kernels.jit import kernel
from dagsched_env.problem.errors import DAGSchedError

SUM, LEAST = 0, 1
"""Columns of the nodes. They lie side by side, so that a step of a path reads one cache line."""


class SumTree:
    """``capacity`` non-negative priorities, all 0 at first, with their sums and minima.

    Sums are recomputed from the children on each write, never adjusted by differences, so they
    depend on the priorities alone and not on their history. A priority of 0 marks an empty slot:
    it is never found, and the minimum leaves it out.
    """

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise DAGSchedError(f"capacity is {capacity}: it must be at least 1")
        self.capacity = capacity
        self._nodes = empty_nodes(capacity)
        n_leaves = self._nodes.shape[0] // 2
        self._leaves = self._nodes[n_leaves : n_leaves + capacity, SUM]  # view

    @property
    def total(self) -> float:
        """Sum of all priorities."""
        return float(self._nodes[1, SUM])

    @property
    def least(self) -> float:
        """The smallest positive priority; inf if there is none."""
        return float(self._nodes[1, LEAST])

    @property
    def priorities(self) -> Floats:
        """``[capacity]`` a copy of all priorities."""
        return self._leaves.copy()

    def set(self, slots: npt.ArrayLike, priorities: npt.ArrayLike) -> None:
        """Write ``priorities[k]`` at ``slots[k]``; of a repeated slot the last one counts.

        Raises:
            DAGSchedError: a slot out of range, or a priority that is negative or not finite; then
                nothing is written.
        """
        at = np.ascontiguousarray(slots, dtype=np.int64)
        values = np.ascontiguousarray(priorities, dtype=np.float64)
        if at.shape != values.shape or at.ndim != 1:
            raise DAGSchedError(f"slots {at.shape} and priorities {values.shape} differ in shape")
        bad = (at < 0) | (at >= self.capacity)
        if bad.any():
            raise DAGSchedError(f"slot {at[bad][0]} is not in 0..{self.capacity - 1}")
        bad = ~(np.isfinite(values) & (values >= 0))
        if bad.any():
            raise DAGSchedError(f"priority {values[bad][0]} of slot {at[bad][0]}: need >= 0")
        set_leaves(self._nodes, at, values)

    def set_one(self, slot: int, priority: float) -> None:
        """Write one priority; unlike ``set`` without any check."""
        set_leaf(self._nodes, slot, priority)

    def get(self, slots: npt.ArrayLike) -> Floats:
        """``[k]`` priorities of ``slots[k]``."""
        return self._leaves[np.asarray(slots, dtype=np.int64)]

    def find(self, targets: npt.ArrayLike) -> Ints:
        """``[k]`` the slots in whose share of the cumulative sum ``targets[k]`` lies.

        Targets are meant to lie in [0, total); others are clamped to the first or last slot. A
        slot of priority 0 is never returned.

        Raises:
            DAGSchedError: every priority is 0.
        """
        if self.total <= 0:
            raise DAGSchedError("nothing to find: every priority is 0")
        return find_leaves(self._nodes, np.ascontiguousarray(targets, dtype=np.float64))


def empty_nodes(capacity: int) -> Floats:
    """``[2 * leaves, 2]`` sums and minima of ``capacity`` empty slots, for the kernels below.

    The number of leaves is the next power of two. The root is node 1, the children of node i are
    2i and 2i + 1, slot s is node leaves + s.
    """
    nodes = np.zeros((2 << (capacity - 1).bit_length(), 2))
    nodes[:, LEAST] = np.inf
    return nodes


@kernel
def set_leaf(nodes: Floats, slot: int, value: float) -> None:
    """Write one leaf and recompute what is above it.

    Args:
        nodes: from ``empty_nodes``.
        slot: which leaf.
        value: its new priority.
    """
    node = nodes.shape[0] // 2 + slot
    nodes[node, SUM] = value
    nodes[node, LEAST] = value if value > 0.0 else np.inf
    node //= 2
    while node >= 1:
        nodes[node, SUM] = nodes[2 * node, SUM] + nodes[2 * node + 1, SUM]
        nodes[node, LEAST] = min(nodes[2 * node, LEAST], nodes[2 * node + 1, LEAST])
        node //= 2


@kernel
def set_leaves(nodes: Floats, slots: Ints, values: Floats) -> None:
    """Write leaves and recompute what is above them.

    All paths rise together, level by level. Within a level the nodes do not wait for each other's
    memory. Neighbours in ``slots`` whose paths have met are recomputed once; a stratified sample
    is sorted, so its paths meet early.

    Args:
        nodes: from ``empty_nodes``.
        slots: ``[k]`` which leaves.
        values: ``[k]`` their new priorities; of a repeated slot the last one counts.
    """
    n_leaves = nodes.shape[0] // 2
    rising = np.empty(slots.shape[0], dtype=np.int64)
    for k in range(slots.shape[0]):
        node = n_leaves + slots[k]
        nodes[node, SUM] = values[k]
        nodes[node, LEAST] = values[k] if values[k] > 0.0 else np.inf
        rising[k] = node
    count = slots.shape[0]
    while count > 0 and rising[0] > 1:
        kept, previous = 0, 0
        for k in range(count):
            node = rising[k] // 2
            if node != previous:
                nodes[node, SUM] = nodes[2 * node, SUM] + nodes[2 * node + 1, SUM]
                nodes[node, LEAST] = min(nodes[2 * node, LEAST], nodes[2 * node + 1, LEAST])
                rising[kept] = node
                kept += 1
                previous = node
        count = kept


@kernel
def find_leaf(nodes: Floats, target: float) -> int:
    """Descend from the root for one target; returns the slot. The total is > 0.

    Never entering a subtree of sum 0 both keeps to the stored items and clamps a target that
    rounding has pushed to or past the end.
    """
    n_leaves = nodes.shape[0] // 2
    node = 1
    while node < n_leaves:
        left = nodes[2 * node, SUM]
        if (target < left or nodes[2 * node + 1, SUM] == 0.0) and left > 0.0:
            node = 2 * node
        else:
            target -= left
            node = 2 * node + 1
    slot: int = node - n_leaves
    return slot


@kernel
def find_leaves(nodes: Floats, targets: Floats) -> Ints:
    """``find_leaf`` for each of ``targets[k]``; returns ``slots[k]``.

    All paths descend together, as they rise in ``set_leaves``.
    """
    n_leaves = nodes.shape[0] // 2
    left_over = targets.copy()
    found = np.ones(targets.shape[0], dtype=np.int64)
    level = 1
    while level < n_leaves:
        for k in range(targets.shape[0]):
            child = 2 * found[k]
            left = nodes[child, SUM]
            enter_left = (left_over[k] < left or nodes[child + 1, SUM] == 0.0) and left > 0.0
            left_over[k] -= 0.0 if enter_left else left
            found[k] = child if enter_left else child + 1
        level *= 2
    found -= n_leaves
    return found

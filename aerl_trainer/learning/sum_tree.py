"""A binary tree whose inner nodes hold the sums of their children: sampling in O(log n).

Source: Schaul et al. 2016, "Prioritized Experience Replay", appendix B.2.1.
"""

import numpy as np
import numpy.typing as npt

from dagsched_env.errors import DAGSchedError
from dagsched_env.kernels.arrays import Floats, Ints
from dagsched_env.kernels.jit import kernel

__all__ = ["SumTree", "find_leaves", "set_leaves"]


class SumTree:
    """``capacity`` non-negative priorities, all 0 at first, with their running sums.

    Sums are recomputed from the children on each write, never adjusted by differences, so they
    depend on the priorities alone and not on their history.
    """

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise DAGSchedError(f"capacity is {capacity}: it must be at least 1")
        self.capacity = capacity
        n_leaves = 1 << (capacity - 1).bit_length()
        self._nodes = np.zeros(2 * n_leaves)  # root 1, children of i at 2i and 2i + 1
        self._leaves = self._nodes[n_leaves : n_leaves + capacity]  # view

    @property
    def total(self) -> float:
        """Sum of all priorities."""
        return float(self._nodes[1])

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


@kernel
def set_leaves(nodes: Floats, slots: Ints, values: Floats) -> None:
    """Write leaves and recompute the sums above them.

    Args:
        nodes: ``[2 * leaves]`` of the tree, the root at 1.
        slots: ``[k]`` which leaves.
        values: ``[k]`` their new priorities.
    """
    n_leaves = nodes.shape[0] // 2
    for k in range(slots.shape[0]):
        node = n_leaves + slots[k]
        nodes[node] = values[k]
        node //= 2
        while node >= 1:
            nodes[node] = nodes[2 * node] + nodes[2 * node + 1]
            node //= 2


@kernel
def find_leaves(nodes: Floats, targets: Floats) -> Ints:
    """Descend from the root for each of ``targets[k]``; returns ``slots[k]``. The total is > 0.

    Never entering a subtree of sum 0 both keeps to the stored items and clamps a target that
    rounding has pushed to or past the end.
    """
    n_leaves = nodes.shape[0] // 2
    slots = np.empty(targets.shape[0], dtype=np.int64)
    for k in range(targets.shape[0]):
        left_over = targets[k]
        node = 1
        while node < n_leaves:
            left = nodes[2 * node]
            if (left_over < left or nodes[2 * node + 1] == 0.0) and left > 0.0:
                node = 2 * node
            else:
                left_over -= left
                node = 2 * node + 1
        slots[k] = node - n_leaves
    return slots

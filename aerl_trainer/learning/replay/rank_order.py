"""Slots in descending order of priority: exact ranks for rank-based replay.

The paper keeps a heap, whose array is only nearly sorted, and sorts it now and then. Here the order
is exact after every write, so the probabilities are exact as well and can be tested. The structure
is a sorted list cut into blocks: a write shifts the entries of one or two blocks, and a rank is
found by counting along the blocks. A million slots make several thousand blocks. A balanced tree
would touch fewer entries, but each in another cache line.

Slots of equal priority follow each other by number. So the order depends on the priorities alone,
not on their history.
"""

from typing import NamedTuple

import numpy as np

from dagsched_env.kernels.arrays import Floats, Ints
from dagsched_env.kernels.jit import borrowing, kernel
from dagsched_env.problem.errors import DAGSchedError

BLOCK = 256
"""Most entries of a block. Two neighbours never fill less than half of one together."""


class RankedArrays(NamedTuple):
    """The sorted list of C slots at most, in B blocks at most; an argument of the kernels."""

    priorities: Floats  # [C] 0 = the slot is not in the list
    keys: Floats  # [B, BLOCK] minus the priority, ascending
    slots: Ints  # [B, BLOCK] ascending where keys are equal
    blocks: Ints  # [B] numbers of the blocks in order; behind those in use, the free ones
    sizes: Ints  # [B] entries of the block at this place of the order
    counts: Ints  # [2] blocks in use (at least 1), entries


IN_USE, ENTRIES = 0, 1
"""What ``RankedArrays.counts`` holds."""


class RankOrder:
    """Up to ``capacity`` slots with positive priorities, none at first, in descending order."""

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise DAGSchedError(f"capacity is {capacity}: it must be at least 1")
        self.arrays = empty_order(capacity)

    def __len__(self) -> int:
        return int(self.arrays.counts[ENTRIES])

    @property
    def priorities(self) -> Floats:
        """``[capacity]`` a copy of all priorities; 0 where there is none."""
        return self.arrays.priorities.copy()

    def set(self, slots: Ints, priorities: Floats) -> None:
        """Give ``slots[k]``, new or not, the priority ``priorities[k]`` > 0, in this order."""
        place_slots(self.arrays, slots, priorities)

    def set_one(self, slot: int, priority: float) -> None:
        """Give one slot, new or not, a priority > 0."""
        place_slot(self.arrays, slot, priority)

    def at(self, ranks: Ints) -> Ints:
        """``[k]`` the slots of rank ``ranks[k]``; rank 0 has the highest priority."""
        return slots_at(self.arrays, ranks)


def empty_order(capacity: int) -> RankedArrays:
    """Arrays for up to ``capacity`` slots."""
    n_blocks = 4 * capacity // BLOCK + 2  # neighbours are half full together
    return RankedArrays(
        priorities=np.zeros(capacity),
        keys=np.zeros((n_blocks, BLOCK)),
        slots=np.zeros((n_blocks, BLOCK), dtype=np.int64),
        blocks=np.arange(n_blocks),
        sizes=np.zeros(n_blocks, dtype=np.int64),
        counts=np.array([1, 0], dtype=np.int64),
    )


@borrowing
def place_slots(order: RankedArrays, slots: Ints, priorities: Floats) -> None:
    """Insert or move slots, one after the other.

    Args:
        order: the list.
        slots: ``[k]`` which ones.
        priorities: ``[k]`` their priorities > 0.
    """
    for k in range(slots.shape[0]):
        place_slot(order, slots[k], priorities[k])


@borrowing
def place_slot(order: RankedArrays, slot: int, priority: float) -> None:
    """Insert a slot, or move it to the place of its new priority.

    Args:
        order: the list.
        slot: which one.
        priority: its priority > 0.
    """
    old = order.priorities[slot]
    if old == priority:
        return
    if old > 0.0:
        _remove(order, -old, slot)
    order.priorities[slot] = priority
    _insert(order, -priority, slot)


@borrowing
def slot_at(order: RankedArrays, rank: int) -> int:
    """The slot of one rank, 0 ≤ rank < number of entries."""
    place = 0
    while rank >= order.sizes[place]:
        rank -= order.sizes[place]
        place += 1
    slot: int = order.slots[order.blocks[place], rank]
    return slot


@kernel
def slots_at(order: RankedArrays, ranks: Ints) -> Ints:
    """The slots of ranks 0 ≤ ``ranks[k]`` < number of entries, in any order."""
    in_use = order.counts[IN_USE]
    ends = np.cumsum(order.sizes[:in_use])
    found = np.empty(ranks.shape[0], dtype=np.int64)
    for k in range(ranks.shape[0]):
        place = np.searchsorted(ends, ranks[k], side="right")
        offset = ranks[k] - (ends[place] - order.sizes[place])
        found[k] = order.slots[order.blocks[place], offset]
    return found


@borrowing
def _block_of(order: RankedArrays, key: float, slot: int) -> int:
    """Place of the last block that begins at or before this entry, or 0."""
    low, high = 0, order.counts[IN_USE]
    while high - low > 1:
        middle = (low + high) // 2
        block = order.blocks[middle]
        first = order.keys[block, 0]
        if first < key or (first == key and order.slots[block, 0] <= slot):
            low = middle
        else:
            high = middle
    return low


@borrowing
def _offset_of(order: RankedArrays, place: int, key: float, slot: int) -> int:
    """How many entries of a block come before this one."""
    block = order.blocks[place]
    low, high = 0, order.sizes[place]
    while low < high:
        middle = (low + high) // 2
        entry = order.keys[block, middle]
        if entry < key or (entry == key and order.slots[block, middle] < slot):
            low = middle + 1
        else:
            high = middle
    return low


@borrowing
def _insert(order: RankedArrays, key: float, slot: int) -> None:
    place = _block_of(order, key, slot)
    if order.sizes[place] == BLOCK:
        _split(order, place)
        place = _block_of(order, key, slot)
    offset = _offset_of(order, place, key, slot)
    block = order.blocks[place]
    for i in range(order.sizes[place], offset, -1):
        order.keys[block, i] = order.keys[block, i - 1]
        order.slots[block, i] = order.slots[block, i - 1]
    order.keys[block, offset] = key
    order.slots[block, offset] = slot
    order.sizes[place] += 1
    order.counts[ENTRIES] += 1


@borrowing
def _remove(order: RankedArrays, key: float, slot: int) -> None:
    place = _block_of(order, key, slot)
    offset = _offset_of(order, place, key, slot)
    block = order.blocks[place]
    for i in range(offset, order.sizes[place] - 1):
        order.keys[block, i] = order.keys[block, i + 1]
        order.slots[block, i] = order.slots[block, i + 1]
    order.sizes[place] -= 1
    order.counts[ENTRIES] -= 1
    if place + 1 < order.counts[IN_USE]:
        _merge_if_small(order, place)
    if place > 0:
        _merge_if_small(order, place - 1)


@borrowing
def _split(order: RankedArrays, place: int) -> None:
    """Move the second half of a full block into a free one behind it."""
    in_use = order.counts[IN_USE]
    block, fresh = order.blocks[place], order.blocks[in_use]
    for i in range(in_use, place + 1, -1):
        order.blocks[i] = order.blocks[i - 1]
        order.sizes[i] = order.sizes[i - 1]
    half = BLOCK // 2
    for i in range(half):
        order.keys[fresh, i] = order.keys[block, half + i]
        order.slots[fresh, i] = order.slots[block, half + i]
    order.blocks[place + 1] = fresh
    order.sizes[place], order.sizes[place + 1] = half, half
    order.counts[IN_USE] = in_use + 1


@borrowing
def _merge_if_small(order: RankedArrays, place: int) -> None:
    """Join a block with the next one if both fit into half a block, or if one is empty."""
    size, next_size = order.sizes[place], order.sizes[place + 1]
    if size + next_size > BLOCK // 2 and size > 0 and next_size > 0:
        return
    block, freed = order.blocks[place], order.blocks[place + 1]
    for i in range(next_size):
        order.keys[block, size + i] = order.keys[freed, i]
        order.slots[block, size + i] = order.slots[freed, i]
    order.sizes[place] = size + next_size
    in_use = order.counts[IN_USE]
    for i in range(place + 1, in_use - 1):
        order.blocks[i] = order.blocks[i + 1]
        order.sizes[i] = order.sizes[i + 1]
    order.blocks[in_use - 1] = freed
    order.sizes[in_use - 1] = 0
    order.counts[IN_USE] = in_use - 1

"""Which slot is written next, and which occupant of a slot is meant."""

import numpy as np
import numpy.typing as npt

from aerl_trainer.learning.replay.arrays import Arrays, read
from dagsched_env.kernels.arrays import Ints
from dagsched_env.problem.errors import DAGSchedError, FormatError


class Ring:
    """Slots 0 … capacity − 1, written in turn.

    The generation of a slot counts its occupants. Who keeps it with a slot can tell later whether
    the item there is still the same.
    """

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise DAGSchedError(f"capacity is {capacity}: it must be at least 1")
        self.capacity = capacity
        self.count = 0
        """Slots that hold an item: the first ones."""
        self._position = 0  # slot of the next write
        self._generations: Ints = np.zeros(capacity, dtype=np.int64)

    @property
    def next_slot(self) -> int:
        """Where the next new item goes."""
        return self._position

    def advance(self) -> int:
        """Count a new item in the next slot; returns the slot."""
        slot = self._position
        self._generations[slot] += 1
        self._position = (slot + 1) % self.capacity
        self.count = max(self.count, slot + 1)
        return slot

    def advance_many(self, count: int) -> Ints:
        """Count new items in the next slots; returns the ``[count]`` slots in order.

        Raises:
            DAGSchedError: more items than slots.
        """
        if count > self.capacity:
            raise DAGSchedError(f"{count} items at once do not fit into {self.capacity} slots")
        slots = (self._position + np.arange(count)) % self.capacity
        self._generations[slots] += 1
        self._position = (self._position + count) % self.capacity
        self.count = max(self.count, int(slots.max(initial=-1)) + 1)
        return slots

    def generations(self, slots: Ints) -> Ints:
        """``[k]`` which occupant of its slot each item is."""
        return self._generations[slots]

    def current(self, slots: Ints, generations: Ints) -> npt.NDArray[np.bool_]:
        """``[k]`` whether the occupant is still the one of that generation."""
        same: npt.NDArray[np.bool_] = self._generations[slots] == generations
        return same

    def state_arrays(self) -> Arrays:
        """Position and generations; the number of items is that of the contents."""
        return {
            "generations": self._generations.copy(),
            "position": np.array(self._position, dtype=np.int64),
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays, capacity: int, count: int) -> "Ring":
        """The ring that ``state_arrays`` has described.

        Args:
            arrays: its arrays, and others.
            capacity: that it must have.
            count: items that are stored.

        Raises:
            FormatError: an array is missing or does not fit.
        """
        ring = cls(capacity)
        ring._generations = read(arrays, "generations", np.int64, (capacity,)).copy()
        ring._position = position = int(read(arrays, "position", np.int64, ()))
        ring.count = count
        in_range = 0 <= position < capacity if count == capacity else position == count
        if count > capacity or not in_range:
            raise FormatError(f"replay: write position {position} does not fit {count} items")
        return ring

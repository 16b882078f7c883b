"""Proportional prioritised experience replay.

Source: Schaul et al. 2016, "Prioritized Experience Replay", algorithm 1 and section 3.
"""

from dataclasses import dataclass
from threading import Lock

import numpy as np
import numpy.typing as npt

from aerl_trainer.config import ReplayConfig
from aerl_trainer.learning import packing
from aerl_trainer.learning.sum_tree import SumTree
from aerl_trainer.records import Experience
from dagsched_env.errors import DAGSchedError, FormatError
from dagsched_env.kernels.arrays import Floats, Ints

__all__ = ["PrioritizedReplay", "ReplayBatch", "ReplayCounters"]

PRIORITY_FLOOR = 1e-6
"""Added to |loss|, so that an item without loss is still sampled now and then."""


@dataclass(frozen=True)
class ReplayBatch:
    """A sample of B experiences."""

    experiences: tuple[Experience, ...]
    weights: Floats
    """``[B]`` importance weights in (0, 1], the largest of the batch is 1."""
    slots: Ints
    """``[B]`` where they are stored."""
    generations: Ints
    """``[B]`` which occupant of its slot each one is; ``update`` takes both back."""


@dataclass
class ReplayCounters:
    """What has happened to a buffer so far."""

    added: int = 0
    sampled: int = 0
    updated: int = 0
    """Priorities written from losses."""
    stale: int = 0
    """Priorities dropped because their item had been overwritten in the meantime."""


class PrioritizedReplay:
    """A ring of experiences, sampled in proportion to ``(|loss| + floor) ** alpha``.

    The exponent is applied once, when a priority is written. A new item gets the highest priority
    ever written, so it is soon seen. Methods may be called from several threads.
    """

    def __init__(self, config: ReplayConfig) -> None:
        self.config = config
        self.counters = ReplayCounters()
        self._tree = SumTree(config.capacity)
        self._experiences: list[Experience] = []
        self._generations: Ints = np.zeros(config.capacity, dtype=np.int64)
        self._position = 0  # slot of the next write
        self._highest = 1.0  # priority of new items
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._experiences)

    def beta(self, step: int) -> float:
        """Exponent of the importance weights at a learner step: linear from β to 1."""
        start, steps = self.config.beta, self.config.beta_steps
        return 1.0 if step >= steps else start + (1.0 - start) * step / steps

    def add(self, experience: Experience) -> None:
        """Store one item at the highest priority, over the oldest one when full."""
        with self._lock:
            slot = self._position
            if slot == len(self._experiences):
                self._experiences.append(experience)
            else:
                self._experiences[slot] = experience
            self._generations[slot] += 1
            self._tree.set([slot], [self._highest])
            self._position = (slot + 1) % self.config.capacity
            self.counters.added += 1

    def sample(self, batch_size: int, rng: np.random.Generator, beta: float) -> ReplayBatch:
        """Draw a stratified sample: one item from each of ``batch_size`` equal shares of the sum.

        The weight of item i is ``(N · P(i)) ** -beta``, divided by the largest of the batch.

        Args:
            batch_size: B ≥ 1; may exceed the number of stored items, which then repeat.
            rng: source of the B draws.
            beta: exponent of the importance weights, in [0, 1].

        Raises:
            DAGSchedError: the buffer is empty.
        """
        with self._lock:
            if not self._experiences:
                raise DAGSchedError("the replay buffer is empty: add experiences before sampling")
            total = self._tree.total
            targets = (np.arange(batch_size) + rng.random(batch_size)) * (total / batch_size)
            slots = self._tree.find(np.minimum(targets, np.nextafter(total, 0.0)))
            probabilities = self._tree.get(slots) / total
            weights = (len(self) * probabilities) ** -beta
            self.counters.sampled += batch_size
            return ReplayBatch(
                experiences=tuple(self._experiences[slot] for slot in slots),
                weights=weights / weights.max(),
                slots=slots,
                generations=self._generations[slots],
            )

    def update(self, slots: Ints, generations: Ints, losses: npt.ArrayLike) -> None:
        """Set the priorities of sampled items from their losses.

        Items that have been overwritten since they were sampled are left alone.

        Args:
            slots: ``[B]`` from the batch.
            generations: ``[B]`` from the batch.
            losses: ``[B]`` losses without their importance weights; the sign does not matter.

        Raises:
            DAGSchedError: a loss is not finite; no priority is changed.
        """
        magnitude = np.abs(np.asarray(losses, dtype=np.float64))
        if not np.isfinite(magnitude).all():
            at = int(np.flatnonzero(~np.isfinite(magnitude))[0])
            raise DAGSchedError(f"losses[{at}] is {magnitude[at]}: a priority needs a finite loss")
        priorities = (magnitude + PRIORITY_FLOOR) ** self.config.alpha
        with self._lock:
            current = self._generations[slots] == generations
            self._tree.set(slots[current], priorities[current])
            self._highest = max(self._highest, float(priorities[current].max(initial=0.0)))
            self.counters.updated += int(current.sum())
            self.counters.stale += int((~current).sum())

    # -- checkpoints -----------------------------------------------------------------------------

    def state_arrays(self) -> packing.Arrays:
        """Everything but the settings, as plain arrays; instances and trajectories stored once."""
        with self._lock:
            c = self.counters
            return {
                **packing.pack(self._experiences),
                "priorities": self._tree.priorities,
                "generations": self._generations.copy(),
                "position": np.array(self._position, dtype=np.int64),
                "highest": np.array(self._highest, dtype=np.float64),
                "counters": np.array([c.added, c.sampled, c.updated, c.stale], dtype=np.int64),
            }

    def load_state_arrays(self, arrays: packing.Arrays) -> None:
        """Go back to a state from ``state_arrays``; on an error nothing changes.

        Raises:
            FormatError: an array is missing or does not fit, or the capacity is another one.
        """
        experiences = packing.unpack(arrays)
        capacity, count = self.config.capacity, len(experiences)
        priorities = packing.read(arrays, "priorities", np.float64, (-1,))
        if priorities.shape != (capacity,):
            raise FormatError(
                f"replay: {priorities.shape[0]} slots are stored, replay.capacity is {capacity}"
            )
        generations = packing.read(arrays, "generations", np.int64, (capacity,)).copy()
        position = int(packing.read(arrays, "position", np.int64, ()))
        highest = float(packing.read(arrays, "highest", np.float64, ()))
        counters = packing.read(arrays, "counters", np.int64, (4,)).tolist()
        _check_ring(capacity, count, position)
        _check_priorities(priorities, count, highest)
        tree = SumTree(capacity)
        tree.set(np.arange(capacity), priorities)
        with self._lock:
            self._experiences, self._tree = experiences, tree
            self._generations, self._position, self._highest = generations, position, highest
            self.counters = ReplayCounters(*counters)


def _check_ring(capacity: int, count: int, position: int) -> None:
    in_range = 0 <= position < capacity if count == capacity else position == count
    if count > capacity or not in_range:
        raise FormatError(f"replay: write position {position} does not fit {count} items")


def _check_priorities(priorities: Floats, count: int, highest: float) -> None:
    stored, empty = priorities[:count], priorities[count:]
    positive = (stored > 0).all() and np.isfinite(stored).all() and 0 < highest < np.inf
    if not positive or empty.any():
        raise FormatError("replay: priorities must be positive exactly where an item is stored")

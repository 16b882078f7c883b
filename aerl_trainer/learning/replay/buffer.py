"""The replay buffer: a ring of items, sampled by priority.

Source: Schaul et al. 2016, "Prioritized Experience Replay", algorithm 1 and section 3.
"""

from dataclasses import dataclass
from threading import Lock
from typing import Generic, TypeVar, get_args

import numpy as np
import numpy.typing as npt

from aerl_trainer.config import ReplayConfig
from aerl_trainer.learning.replay.arrays import Arrays, read
from aerl_trainer.learning.replay.priorities import Kind, importance_weights, make_priorities
from aerl_trainer.learning.replay.ring import Ring
from aerl_trainer.learning.replay.stores import Store
from dagsched_env.kernels.arrays import Floats, Ints
from dagsched_env.problem.errors import DAGSchedError, FormatError

LARGEST = 1e100
"""Of losses: sums of their powers are finite."""

One = TypeVar("One")
Many = TypeVar("Many")
Content = TypeVar("Content")


@dataclass(frozen=True)
class ReplayBatch(Generic[Content]):
    """A sample of B items."""

    content: Content
    """What the store gives: a tuple of objects, or columns by name."""
    weights: Floats
    """``[B]`` importance weights in (0, 1]."""
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


class PrioritizedReplay(Generic[One, Many, Content]):
    """A ring of items, sampled by ``config.kind``; see ``priorities``.

    Methods may be called from several threads.

    Args:
        config: capacity, distribution and exponents.
        store: keeps the items; its first slots fill in order. It is empty, and used by this
            buffer alone.
    """

    def __init__(self, config: ReplayConfig, store: Store[One, Many, Content]) -> None:
        if len(store):
            raise DAGSchedError(f"the store already holds {len(store)} items: give a new one")
        rows = getattr(store, "capacity", config.capacity)
        if rows != config.capacity:
            raise DAGSchedError(f"the store has {rows} rows, replay.capacity is {config.capacity}")
        self.config = config
        self.counters = ReplayCounters()
        self._ring = Ring(config.capacity)
        self._priorities = make_priorities(config.kind, config.capacity, config.alpha)
        self._store = store
        self._lock = Lock()

    def __len__(self) -> int:
        return self._ring.count

    def beta(self, step: int) -> float:
        """Exponent of the importance weights at a learner step: linear from β to 1."""
        start, steps = self.config.beta, self.config.beta_steps
        return 1.0 if step >= steps else start + (1.0 - start) * step / steps

    def add(self, item: One) -> tuple[int, int]:
        """Store one item at the highest priority, over the oldest one when full.

        Returns:
            Its slot, and which occupant of the slot it is.
        """
        with self._lock:
            self._store.put(self._ring.next_slot, item)
            slot = self._ring.advance()
            self._priorities.add(slot)
            self.counters.added += 1
            return slot, int(self._ring.generations(np.array([slot]))[0])

    def add_many(self, items: Many) -> None:
        """Store several items as ``add`` does: a sequence of objects, or columns by name.

        Raises:
            DAGSchedError: they do not fit the store, or there are more than slots; then nothing
                is stored.
        """
        count, checked = self._store.checked(items)
        with self._lock:
            slots = self._ring.advance_many(count)
            self._store.put_many(slots, checked)
            self._priorities.add_many(slots)
            self.counters.added += count

    def sample(
        self, batch_size: int, rng: np.random.Generator, beta: float
    ) -> ReplayBatch[Content]:
        """Draw a stratified sample: one item from each of ``batch_size`` equal shares.

        The weight of item i is ``(N · P(i)) ** -beta``, divided by the largest of the batch or, by
        ``config.normalise``, of the buffer.

        Args:
            batch_size: B ≥ 1; may exceed the number of stored items, which then repeat.
            rng: source of the B draws.
            beta: exponent of the importance weights, in [0, 1].

        Raises:
            DAGSchedError: the buffer is empty, or an argument out of its range.
        """
        if batch_size < 1:
            raise DAGSchedError(f"batch_size is {batch_size}: sample at least one item")
        if not 0.0 <= beta <= 1.0:
            raise DAGSchedError(f"beta is {beta}: the exponent of the weights is in [0, 1]")
        with self._lock:
            count = self._ring.count
            if not count:
                raise DAGSchedError("the replay buffer is empty: add items before sampling")
            slots, probabilities = self._priorities.sample(batch_size, rng)
            of_buffer = self.config.normalise == "buffer"
            least = self._priorities.least_probability() if of_buffer else 0.0
            self.counters.sampled += batch_size
            return ReplayBatch(
                content=self._store.take(slots),
                weights=importance_weights(probabilities, count, beta, least),
                slots=slots,
                generations=self._ring.generations(slots),
            )

    def update(self, slots: Ints, generations: Ints, losses: npt.ArrayLike) -> None:
        """Set the priorities of sampled items from their losses.

        Items that have been overwritten since they were sampled are left alone.

        Args:
            slots: ``[B]`` from the batch.
            generations: ``[B]`` from the batch.
            losses: ``[B]`` losses without their importance weights; the sign does not matter.

        Raises:
            DAGSchedError: a loss is not finite or beyond ``LARGEST``, a slot holds no item, or the
                lengths differ; no priority is changed.
        """
        magnitude = np.abs(np.asarray(losses, dtype=np.float64))
        if not slots.shape == np.shape(generations) == magnitude.shape:
            raise DAGSchedError(
                f"{slots.size} slots, {np.size(generations)} generations, {magnitude.size} losses: "
                "give one of each for each item"
            )
        if not (magnitude <= LARGEST).all():
            at = int(np.flatnonzero(~(magnitude <= LARGEST))[0])
            raise DAGSchedError(
                f"losses[{at}] is {magnitude[at]}: a priority needs a finite loss, at most "
                f"{LARGEST:g}"
            )
        with self._lock:
            if slots.size and not 0 <= slots.min() <= slots.max() < self._ring.count:
                raise DAGSchedError(f"slots {slots.min()} to {slots.max()}: take those of a batch")
            current = self._ring.current(slots, generations)
            self._priorities.update(slots[current], magnitude[current])
            updated = int(np.count_nonzero(current))
            self.counters.updated += updated
            self.counters.stale += current.shape[0] - updated

    # -- checkpoints -----------------------------------------------------------------------------

    def state_arrays(self) -> Arrays:
        """Everything but the settings, as plain arrays."""
        with self._lock:
            c = self.counters
            return {
                **self._store.state_arrays(),
                **self._ring.state_arrays(),
                "distribution": self._distribution(),
                "priorities": self._priorities.values(),
                "highest": np.array(self._priorities.highest, dtype=np.float64),
                "counters": np.array([c.added, c.sampled, c.updated, c.stale], dtype=np.int64),
            }

    def _distribution(self) -> Floats:
        """Kind and α, of which the priorities are."""
        alpha = 0.0 if self.config.kind == "uniform" else self.config.alpha
        return np.array([get_args(Kind).index(self.config.kind), alpha])

    def load_state_arrays(self, arrays: Arrays) -> None:
        """Go back to a state from ``state_arrays``; on an error nothing changes.

        Raises:
            FormatError: an array is missing or does not fit, or the capacity, the kind or α is
                another one.
        """
        # Buffers of before did not say theirs.
        if "distribution" in arrays:
            stored = read(arrays, "distribution", np.float64, (2,))
            if not np.array_equal(stored, self._distribution()):
                raise FormatError(
                    "replay: the priorities are of another replay.kind or replay.alpha than "
                    f"{self.config.kind} and {self.config.alpha:g}"
                )
        store = self._store.restored(arrays)
        capacity, count = self.config.capacity, len(store)
        values = read(arrays, "priorities", np.float64, (-1,))
        if values.shape != (capacity,):
            raise FormatError(
                f"replay: {values.shape[0]} slots are stored, replay.capacity is {capacity}"
            )
        ring = Ring.from_arrays(arrays, capacity, count)
        highest = float(read(arrays, "highest", np.float64, ()))
        counters = read(arrays, "counters", np.int64, (4,)).tolist()
        _check_priorities(values, count, highest)
        priorities = make_priorities(self.config.kind, capacity, self.config.alpha)
        priorities.load(values, highest)
        with self._lock:
            self._store, self._ring, self._priorities = store, ring, priorities
            self.counters = ReplayCounters(*counters)


def _check_priorities(priorities: Floats, count: int, highest: float) -> None:
    stored, empty = priorities[:count], priorities[count:]
    positive = (stored > 0).all() and np.isfinite(stored).all() and 0 < highest < np.inf
    if not positive or empty.any():
        raise FormatError("replay: priorities must be positive exactly where an item is stored")

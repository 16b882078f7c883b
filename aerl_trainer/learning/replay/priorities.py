"""The distributions to sample from, behind one interface.

- proportional: P(i) ∝ p_i^α, by a tree of sums
- rank: P(i) ∝ (1 / rank of p_i)^α, by a sorted list; outliers among the losses do not matter
- uniform: P(i) = 1 / N, for comparison

with p_i = |loss_i| + ``PRIORITY_FLOOR``. A new item gets the highest priority ever written, so it
is soon seen. Every distribution samples by strata: one item from each of B equal shares of the
probability.
"""

from typing import Literal, Protocol

import numpy as np

from aerl_trainer.learning.replay.rank_order import RankOrder
from aerl_trainer.learning.replay.sum_tree import SumTree
from dagsched_env.kernels.arrays import Floats, Ints

PRIORITY_FLOOR = 1e-6
"""Added to |loss|, so that an item without loss is still sampled now and then."""

Kind = Literal["proportional", "rank", "uniform"]


class Priorities(Protocol):
    """Priorities of the slots 0 … N − 1, and what P(i) they make."""

    highest: float
    """Priority of new items."""

    def add(self, slot: int) -> None:
        """A new item is in this slot; the first N slots fill in order."""

    def add_many(self, slots: Ints) -> None:
        """New items are in these slots."""

    def update(self, slots: Ints, losses: Floats) -> None:
        """Set priorities from |losses|, which are finite and not negative."""

    def sample(self, batch_size: int, rng: np.random.Generator) -> tuple[Ints, Floats]:
        """Draw by strata: ``[B]`` slots and their P(i). Consumes B uniform numbers."""

    def least_probability(self) -> float:
        """The smallest P(i) of all N."""

    def values(self) -> Floats:
        """``[capacity]`` a copy of the priorities as they are kept; 0 = empty slot."""

    def load(self, values: Floats, highest: float) -> None:
        """Take over what ``values`` has returned, and the highest priority; there is none yet."""


def make_priorities(kind: Kind, capacity: int, alpha: float) -> Priorities:
    """Empty priorities.

    Args:
        kind: which distribution.
        capacity: slots, at least 1.
        alpha: how strongly the priorities count; 0 makes every kind uniform.
    """
    if kind == "proportional":
        return Proportional(capacity, alpha)
    if kind == "rank":
        return RankBased(capacity, alpha)
    return Uniform(capacity)


def importance_weights(probabilities: Floats, count: int, beta: float, least: float) -> Floats:
    """``(N · P(i)) ** -beta``, divided by the largest of the batch or of the buffer.

    Args:
        probabilities: ``[B]`` P(i) of the batch.
        count: N.
        beta: how far the bias of the sampling is undone, in [0, 1].
        least: the smallest P(i) of the buffer, to divide by its weight; 0 divides by the largest
            weight of the batch.
    """
    weights: Floats = (count * probabilities) ** -beta
    largest = float(weights.max()) if least == 0.0 else (count * least) ** -beta
    return weights / largest


def _strata(batch_size: int, rng: np.random.Generator) -> Floats:
    """One uniform number in each [k, k + 1), k < B."""
    strata: Floats = np.arange(batch_size) + rng.random(batch_size)
    return strata


class Proportional:
    """P(i) ∝ p_i^α; methods as in ``Priorities``.

    The exponent is applied once, when a priority is written.
    """

    def __init__(self, capacity: int, alpha: float) -> None:
        self.highest = 1.0
        self._alpha = alpha
        self._tree = SumTree(capacity)

    def add(self, slot: int) -> None:
        self._tree.set_one(slot, self.highest)

    def add_many(self, slots: Ints) -> None:
        self._tree.set(slots, np.full(slots.shape, self.highest))

    def update(self, slots: Ints, losses: Floats) -> None:
        priorities = (losses + PRIORITY_FLOOR) ** self._alpha
        self._tree.set(slots, priorities)
        self.highest = max(self.highest, float(priorities.max(initial=0.0)))

    def sample(self, batch_size: int, rng: np.random.Generator) -> tuple[Ints, Floats]:
        total = self._tree.total
        targets = _strata(batch_size, rng) * (total / batch_size)
        slots = self._tree.find(np.minimum(targets, np.nextafter(total, 0.0)))
        return slots, self._tree.get(slots) / total

    def least_probability(self) -> float:
        return self._tree.least / self._tree.total

    def values(self) -> Floats:
        return self._tree.priorities

    def load(self, values: Floats, highest: float) -> None:
        self._tree.set(np.arange(values.shape[0]), values)
        self.highest = highest


class RankBased:
    """P(i) ∝ rank^−α; methods as in ``Priorities``. The highest priority has rank 1."""

    def __init__(self, capacity: int, alpha: float) -> None:
        self.highest = 1.0
        self._order = RankOrder(capacity)
        self._shares: Floats = np.arange(1.0, capacity + 1) ** -alpha
        self._ends = np.cumsum(self._shares)  # of the shares of ranks 1 …; N ranks use the first N

    def add(self, slot: int) -> None:
        self._order.set_one(slot, self.highest)

    def add_many(self, slots: Ints) -> None:
        self._order.set(slots, np.full(slots.shape, self.highest))

    def update(self, slots: Ints, losses: Floats) -> None:
        priorities = losses + PRIORITY_FLOOR
        self._order.set(slots, priorities)
        self.highest = max(self.highest, float(priorities.max(initial=0.0)))

    def sample(self, batch_size: int, rng: np.random.Generator) -> tuple[Ints, Floats]:
        count = len(self._order)
        total = self._ends[count - 1]
        targets = _strata(batch_size, rng) * (total / batch_size)
        found = np.searchsorted(self._ends[:count], targets, side="right")
        ranks = np.minimum(found, count - 1)
        return self._order.at(ranks), self._shares[ranks] / total

    def least_probability(self) -> float:
        count = len(self._order)
        return float(self._shares[count - 1] / self._ends[count - 1])

    def values(self) -> Floats:
        return self._order.priorities

    def load(self, values: Floats, highest: float) -> None:
        slots = np.flatnonzero(values)
        self._order.set(slots, values[slots])
        self.highest = highest


class Uniform:
    """P(i) = 1 / N, whatever the losses; methods as in ``Priorities``, which are all 1."""

    def __init__(self, capacity: int) -> None:
        self.highest = 1.0
        self._capacity = capacity
        self._count = 0

    def add(self, slot: int) -> None:
        self._count = max(self._count, slot + 1)

    def add_many(self, slots: Ints) -> None:
        self._count = max(self._count, int(slots.max(initial=-1)) + 1)

    def update(self, slots: Ints, losses: Floats) -> None:
        pass

    def sample(self, batch_size: int, rng: np.random.Generator) -> tuple[Ints, Floats]:
        found = _strata(batch_size, rng) * (self._count / batch_size)
        slots = np.minimum(found.astype(np.int64), self._count - 1)
        return slots, np.full(batch_size, self.least_probability())

    def least_probability(self) -> float:
        return 1.0 / self._count

    def values(self) -> Floats:
        return (np.arange(self._capacity) < self._count).astype(np.float64)

    def load(self, values: Floats, highest: float) -> None:
        self._count, self.highest = int(np.count_nonzero(values)), highest

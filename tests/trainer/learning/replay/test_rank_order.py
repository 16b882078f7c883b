"""The sorted list behind rank-based replay, against sorting."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerl_trainer.learning.replay.rank_order import (
    BLOCK,
    IN_USE,
    RankOrder,
    place_slot,
    slot_at,
)
from dagsched_env.problem.errors import DAGSchedError


def sorted_slots(priorities: np.ndarray) -> list[int]:
    """Slots with a priority, highest first, equal ones by number."""
    return sorted(np.flatnonzero(priorities).tolist(), key=lambda slot: -priorities[slot])


def assert_sorted(order: RankOrder, priorities: np.ndarray) -> None:
    expected = sorted_slots(priorities)
    assert len(order) == len(expected)
    assert order.at(np.arange(len(expected))).tolist() == expected
    assert order.priorities.tolist() == priorities.tolist()


Writes = st.lists(
    st.tuples(st.integers(0, 19), st.sampled_from([1e-6, 0.5, 0.5, 1.0, 7.0])), max_size=60
)


@given(Writes)
def test_any_writes_leave_the_list_sorted(writes: list) -> None:
    order, priorities = RankOrder(20), np.zeros(20)
    for slot, priority in writes:
        order.set_one(slot, priority)
        priorities[slot] = priority
    assert_sorted(order, priorities)


@pytest.mark.parametrize("capacity", [BLOCK, 5 * BLOCK, 20 * BLOCK + 3])
@pytest.mark.parametrize("ties", [0, 3])
def test_many_writes_through_splits_and_merges(capacity: int, ties: int) -> None:
    rng = np.random.default_rng(capacity + ties)
    order, priorities = RankOrder(capacity), np.zeros(capacity)
    for turn in range(12):
        # All over the range, then all at one end of it, which empties blocks elsewhere.
        slots = rng.integers(capacity, size=capacity)
        values = rng.exponential(size=capacity) + (100.0 * turn if turn % 2 else 0.0)
        if ties:
            values = np.ceil(values * ties)
        order.set(slots, values)
        priorities[slots] = values  # of a repeated slot the last one counts, here too
        assert_sorted(order, priorities)
        a = order.arrays
        in_use = a.counts[IN_USE]
        assert sorted(a.blocks.tolist()) == list(range(len(a.blocks)))
        assert a.sizes[:in_use].min() > 0
        assert a.sizes[:in_use].max() <= BLOCK
        assert not a.sizes[in_use:].any()
        assert ((a.sizes[: in_use - 1] + a.sizes[1:in_use]) > BLOCK // 2).all()


def test_the_order_does_not_depend_on_the_history() -> None:
    rng = np.random.default_rng(1)
    values = rng.integers(1, 5, size=2000).astype(float)
    one, other = RankOrder(2000), RankOrder(2000)
    one.set(np.arange(2000), values)
    other.set(np.arange(2000), rng.random(2000) + 0.1)
    slots = rng.permutation(2000)
    other.set(slots, values[slots])
    assert (one.at(np.arange(2000)) == other.at(np.arange(2000))).all()


def test_single_ranks_and_single_writes() -> None:
    rng = np.random.default_rng(2)
    order = RankOrder(1500)
    for slot in range(1500):
        place_slot(order.arrays, slot, rng.random() + 0.1)
    ranks = rng.integers(1500, size=200)
    assert [slot_at(order.arrays, int(r)) for r in ranks] == order.at(ranks).tolist()


def test_capacity_must_be_positive() -> None:
    with pytest.raises(DAGSchedError, match="capacity is 0"):
        RankOrder(0)

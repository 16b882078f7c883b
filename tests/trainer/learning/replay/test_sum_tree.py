"""Sums and minima of priorities, against slow references."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerl_trainer.learning.replay.sum_tree import SumTree, find_leaf, set_leaf
from dagsched_env.problem.errors import DAGSchedError


class ListSum:
    """The same contract as SumTree, as slowly and plainly as possible."""

    def __init__(self, capacity: int) -> None:
        self.values = [0.0] * capacity

    def set(self, slots: list[int], priorities: list[float]) -> None:
        for slot, priority in zip(slots, priorities, strict=True):
            self.values[slot] = priority

    def find(self, target: float) -> int:
        upper = 0.0
        for slot, value in enumerate(self.values):
            upper += value
            if target < upper:
                return slot
        return max(slot for slot, value in enumerate(self.values) if value > 0)


# Eighths add up without rounding, so that the two must agree exactly.
Writes = st.lists(
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 40).map(lambda k: k / 8)), max_size=6),
    min_size=1,
    max_size=8,
)


@given(Writes, st.sampled_from([13, 16, 29]))
def test_sum_tree_agrees_with_the_slow_reference(writes: list, capacity: int) -> None:
    tree, reference = SumTree(capacity), ListSum(capacity)
    for batch in writes:
        slots, values = [s for s, _ in batch], [v for _, v in batch]
        tree.set(slots, values)
        reference.set(slots, values)
        assert tree.priorities.tolist() == reference.values
        assert tree.total == sum(reference.values)
    if tree.total > 0:
        targets = np.arange(0, tree.total, 0.0625)
        assert tree.find(targets).tolist() == [reference.find(t) for t in targets.tolist()]


@pytest.mark.parametrize("capacity", [1, 2, 3, 8, 1000])
def test_batched_and_single_writes_agree(capacity: int) -> None:
    rng = np.random.default_rng(capacity)
    slots, values = rng.integers(capacity, size=50), rng.random(50)
    batched, single = SumTree(capacity), SumTree(capacity)
    batched.set(slots, values)
    for slot, value in zip(slots, values, strict=True):
        single.set([slot], [value])
    assert batched.total == single.total == pytest.approx(batched.priorities.sum())
    assert batched.get(slots).tolist() == batched.priorities[slots].tolist()


def test_sum_does_not_drift() -> None:
    tree, rng = SumTree(10), np.random.default_rng(0)
    for exponent in rng.integers(-12, 12, size=2000):
        tree.set(rng.integers(10, size=1), [10.0**exponent])
    tree.set(np.arange(10), np.full(10, 0.5))
    assert tree.total == 5.0


def test_find_clamps_and_steps_off_zero_leaves() -> None:
    tree = SumTree(6)
    tree.set([1, 4], [2.0, 3.0])
    inside = [0.0, 1.999, 2.0, 4.999]
    outside = [-1.0, 5.0, 99.0, np.inf, np.nextafter(5.0, 9)]
    assert tree.find(inside).tolist() == [1, 1, 4, 4]
    assert tree.find(outside).tolist() == [1, 4, 4, 4, 4]


@given(st.lists(st.sampled_from([0.0, 1e-300, 1e-9, 0.1, 0.3, 1e9]), min_size=1, max_size=40))
def test_find_never_returns_an_empty_slot(values: list[float]) -> None:
    tree = SumTree(len(values))
    tree.set(np.arange(len(values)), values)
    if tree.total > 0:
        targets = np.linspace(0, tree.total, 100)
        assert (tree.get(tree.find(targets)) > 0).all()


def test_sum_tree_errors() -> None:
    with pytest.raises(DAGSchedError, match="capacity is 0"):
        SumTree(0)
    tree = SumTree(3)
    with pytest.raises(DAGSchedError, match="every priority is 0"):
        tree.find([0.0])
    for slots, values, message in (
        ([3], [1.0], r"slot 3 is not in 0\.\.2"),
        ([-1], [1.0], "slot -1"),
        ([0, 1], [1.0, -1.0], "priority -1.0 of slot 1"),
        ([0, 2], [1.0, np.nan], "priority nan of slot 2"),
        ([0], [np.inf], "priority inf"),
        ([0, 1], [1.0], "differ in shape"),
    ):
        with pytest.raises(DAGSchedError, match=message):
            tree.set(slots, values)
    assert tree.total == 0.0


def test_sum_tree_without_the_jit() -> None:
    code = (
        "import numpy as np\n"
        "from aerl_trainer.learning.replay.sum_tree import SumTree\n"
        "rng = np.random.default_rng(3)\n"
        "tree = SumTree(11)\n"
        "tree.set(rng.integers(11, size=30), rng.random(30))\n"
        "print(tree.total.hex(), tree.find(np.linspace(0, tree.total, 25)).tolist())"
    )
    outputs = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "NUMBA_DISABLE_JIT": disable},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for disable in ("0", "1")
    ]
    assert outputs[0] == outputs[1] != ""


Values = st.sampled_from([0.0, 1e-300, 1e-9, 0.1, 0.3, 1.0, 1e9])


@given(
    st.integers(1, 40).flatmap(
        lambda capacity: st.tuples(
            st.just(capacity),
            st.lists(st.lists(st.tuples(st.integers(0, capacity - 1), Values), max_size=8)),
        )
    )
)
def test_sums_and_minima_after_any_writes(case: tuple) -> None:
    capacity, writes = case
    tree, values = SumTree(capacity), np.zeros(capacity)
    for batch in writes:
        tree.set([slot for slot, _ in batch], [value for _, value in batch])
        for slot, value in batch:
            values[slot] = value
        assert tree.priorities.tolist() == values.tolist()
        assert tree.least == min(values[values > 0], default=np.inf)
        assert tree.total == sum_of_halves(np.pad(values, (0, len(padding(capacity)))))


def padding(capacity: int) -> range:
    """Leaves that the tree has beyond its capacity."""
    return range(capacity, 1 << (capacity - 1).bit_length())


def sum_of_halves(values: np.ndarray) -> float:
    """The sum in the order of the tree, which rounding depends on."""
    if len(values) == 1:
        return float(values[0])
    middle = len(values) // 2
    return sum_of_halves(values[:middle]) + sum_of_halves(values[middle:])


def test_the_kernels_for_one_leaf_agree_with_those_for_many() -> None:
    rng = np.random.default_rng(0)
    one, many = SumTree(100), SumTree(100)
    slots, values = rng.integers(100, size=300), rng.random(300)
    many.set(slots, values)
    for slot, value in zip(slots.tolist(), values.tolist(), strict=True):
        set_leaf(one._nodes, slot, value)
    assert (one._nodes == many._nodes).all()
    targets = np.linspace(-1.0, many.total + 1.0, 500)
    assert [find_leaf(one._nodes, t) for t in targets] == many.find(targets).tolist()

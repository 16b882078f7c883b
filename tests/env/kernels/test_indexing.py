"""Kernels whose indices are taken as not negative: the same results, and no test of the sign."""

import numba
import numpy as np

from dagsched_env.kernels.indexing import FromStart


def _count(counts, of):  # type: ignore[no-untyped-def]
    for i in range(of.shape[0]):
        counts[of[i]] += 1


def _walk(table, rows, columns):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(rows.shape[0]):
        total += table[rows[i], columns[i]]
        table[rows[i], columns[i]] = -total
        row = table[rows[i]]
        row[columns[i]] += 1.0
        table[rows[i], 0] += table[rows[i], np.int32(columns[i])]
    return total


def _others(values):  # type: ignore[no-untyped-def]
    last, tail, large = values[-1], values[-2:], values[values > 1.0]
    pair = (values[0], 7)
    table = np.zeros((2, 3))
    table[-1, 2], table[:, 0], table[1, 1:] = 5.0, 2.0, values[:2]
    return last, tail.sum(), large.sum(), pair[1], table[-1].sum(), np.array(3.0)[()]


def _compiled(function):  # type: ignore[no-untyped-def]
    return numba.njit(pipeline_class=FromStart)(function)


def test_one_index() -> None:
    counts = np.zeros(4, dtype=np.int64)
    _compiled(_count)(counts, np.array([3, 1, 3, 0]))
    assert counts.tolist() == [1, 1, 0, 2]


def test_two_indices() -> None:
    rng = np.random.default_rng(0)
    rows, columns = rng.integers(0, 5, 40), rng.integers(0, 3, 40)
    ours, plain = np.ones((5, 3)), np.ones((5, 3))
    assert _compiled(_walk)(ours, rows, columns) == _walk(plain, rows, columns)
    np.testing.assert_array_equal(ours, plain)


def test_constants_slices_masks_and_tuples_are_as_in_python() -> None:
    values = np.array([0.5, 1.5, 2.5])
    assert _compiled(_others)(values) == _others(values)


def test_the_sign_is_not_tested() -> None:
    """Of an index from an array: by the code before the optimiser, which has all that is asked."""
    array = numba.types.Array(numba.int64, 1, "C")
    tests = []
    for options in ({}, {"pipeline_class": FromStart}):
        count = numba.njit((array, array), **options)(_count)
        (code,) = count.inspect_llvm().values()
        tests.append(code.count("icmp slt"))
    assert tests[1] < tests[0]

"""Demands of tasks and capacities of processors, checked, and as whole numbers for the kernels.

A demand is taken as the decimal number that it is written as: ten tasks of 0.1 fill a capacity of
1. So each resource is counted in a unit of its own in which all demands are whole, and sums are
exact.
"""

import math
from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import numpy.typing as npt

from dagsched_env.kernels.arrays import Floats, Ints
from dagsched_env.problem.errors import InvalidInstanceError

LARGEST = 2**53
"""All demands for a resource together are less, in its unit: energies stay exact in float64."""


def check_demands(values: Floats, n: int) -> Floats:
    """The demands, finite and ≥ 0, of shape ``[n, k]``."""
    if values.ndim != 2 or values.shape[0] != n:
        raise InvalidInstanceError(
            f"demands needs shape [{n}, resources], got {list(values.shape)}"
        )
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        t, r = np.argwhere(bad)[0].tolist()
        raise InvalidInstanceError(
            f"demands[{t}, {r}] is {values[t, r]}: demands are finite and >= 0"
        )
    return values


def check_capacities(values: Floats, p: int, k: int) -> Floats:
    """The capacities, ≥ 0 or inf, of shape ``[p, k]``."""
    if values.shape != (p, k):
        raise InvalidInstanceError(
            f"capacities needs shape [{p}, {k}], as many resources as demands, got "
            f"{list(values.shape)}"
        )
    bad = ~(values >= 0)
    if bad.any():
        q, r = np.argwhere(bad)[0].tolist()
        raise InvalidInstanceError(
            f"capacities[{q}, {r}] is {values[q, r]}: capacities are >= 0, inf for no limit"
        )
    return values


def in_units(demands: Floats, capacities: Floats, names: Sequence[str]) -> tuple[Ints, Ints]:
    """Demands and capacities as whole numbers: ``[n, k]`` and ``[p, k]``.

    The unit of a resource is the largest of which all its demands are multiples. A capacity is
    rounded down to it, and no larger than all demands together.

    Raises:
        InvalidInstanceError: demands so fine, or so different, that their sum has no exact number.
    """
    need = np.zeros(demands.shape, dtype=np.int64)
    have = np.zeros(capacities.shape, dtype=np.int64)
    for r, name in enumerate(names):
        distinct, entry = np.unique(demands[:, r], return_inverse=True)
        exact = [Decimal(repr(value)) for value in distinct.tolist()]
        digits = max(0, *(-int(value.normalize().as_tuple().exponent) for value in exact))
        whole = [int(value.scaleb(digits)) for value in exact]
        unit = math.gcd(*whole) or 1
        steps = [value // unit for value in whole]
        total = sum(step * count for step, count in zip(steps, np.bincount(entry), strict=True))
        if total >= LARGEST:
            raise InvalidInstanceError(
                f"the demands for {name!r} have no exact sum: round them, or choose a larger unit"
            )
        need[:, r] = np.array(steps, dtype=np.int64)[entry]
        have[:, r] = [
            total if math.isinf(c) else min(int(Decimal(repr(c)).scaleb(digits)) // unit, total)
            for c in capacities[:, r].tolist()
        ]
    return need, have


def fitting(need: Ints, have: Ints) -> npt.NDArray[np.bool_]:
    """``[n, p]`` whether a task fits on a processor that runs nothing else."""
    fits = np.ones((need.shape[0], have.shape[0]), dtype=np.bool_)
    for r in range(need.shape[1]):
        fits &= need[:, r, None] <= have[None, :, r]
    return fits


def why_unfit(
    demand: Floats,
    capacities: Floats,
    eligible: npt.NDArray[np.bool_],
    resource_names: Sequence[str],
    processor_names: Sequence[str],
) -> str:
    """Why a task fits on no processor: the first resource of which it needs too much, or all.

    Args:
        demand: ``[k]`` of the task.
        capacities: ``[p, k]``.
        eligible: ``[p]`` the processors that could run it.
        resource_names: k names.
        processor_names: p names.
    """
    where = np.flatnonzero(eligible)
    for r, name in enumerate(resource_names):
        largest = where[np.argmax(capacities[where, r])]
        if demand[r] > capacities[largest, r]:
            return (
                f"needs {demand[r]:.15g} of {name!r}: the largest processor that can run it, "
                f"{processor_names[largest]!r}, has {capacities[largest, r]:.15g}"
            )
    needs = ", ".join(
        f"{amount:.15g} of {name!r}" for amount, name in zip(demand, resource_names, strict=True)
    )
    return f"needs {needs}: no processor that can run it has all of that"

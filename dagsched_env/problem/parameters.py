"""Parameters of a family, drawn for each instance: one value, an inclusive range, or choices."""

import math
from typing import Any

import numpy as np

from dagsched_env.problem.errors import DAGSchedError

Range = int | tuple[int, int]
"""A whole number, or an inclusive range (low, high); a number is drawn from it uniformly."""

Choices = float | tuple[float, ...]
"""A number, or a tuple of numbers; one of them is drawn uniformly."""

WholeChoices = int | tuple[int, ...]
"""A whole number, or a tuple of whole numbers; one of them is drawn uniformly."""


def as_range(value: Range) -> tuple[int, int]:
    """Smallest and largest value."""
    return value if isinstance(value, tuple) else (value, value)


def as_choices(value: Choices) -> tuple[float, ...]:
    """All values."""
    return value if isinstance(value, tuple) else (value,)


def draw_range(value: Range, rng: np.random.Generator) -> int:
    """One value of a range."""
    low, high = as_range(value)
    return int(rng.integers(low, high + 1))


def draw_choice(value: Choices, rng: np.random.Generator) -> float:
    """One of the choices."""
    choices = as_choices(value)
    return choices[int(rng.integers(len(choices)))]


def check_range(name: str, value: Any, *, least: int = 1) -> None:
    """Refuse anything but a whole number or (low, high) with ``least`` ≤ low ≤ high.

    Args:
        name: of the argument, for the message.
        value: the argument.
        least: the smallest number that is allowed.

    Raises:
        DAGSchedError: the message names the argument.
    """
    bounds = value if isinstance(value, tuple) else (value, value)
    if len(bounds) != 2 or not all(_is_number(bound, whole=True) for bound in bounds):
        raise DAGSchedError(f"{name} is {value!r}: give a whole number or a tuple (low, high)")
    if not least <= bounds[0] <= bounds[1]:
        raise DAGSchedError(f"{name} is {value!r}: it needs {least} <= low <= high")


def check_choices(
    name: str,
    value: Any,
    *,
    at_least: float = -math.inf,
    above: float = -math.inf,
    at_most: float = math.inf,
    whole: bool = False,
) -> None:
    """Refuse anything but a finite number, or a tuple of them, within the limits.

    Args:
        name: of the argument, for the message.
        value: the argument.
        at_least: inclusive lower limit.
        above: exclusive lower limit.
        at_most: inclusive upper limit.
        whole: only whole numbers are allowed.

    Raises:
        DAGSchedError: the message names the argument.
    """
    choices = value if isinstance(value, tuple) else (value,)
    kind = "whole number" if whole else "finite number"
    if not choices or not all(_is_number(choice, whole=whole) for choice in choices):
        raise DAGSchedError(f"{name} is {value!r}: give a {kind} or a tuple of choices")
    for choice in choices:
        if not (at_least <= choice <= at_most and choice > above):
            limits = [f"> {above:g}"] if math.isfinite(above) else [f">= {at_least:g}"]
            limits += [f"<= {at_most:g}"] if math.isfinite(at_most) else []
            raise DAGSchedError(f"{name} has {choice!r}: it needs to be {' and '.join(limits)}")


def check_number(
    name: str,
    value: Any,
    *,
    at_least: float = -math.inf,
    above: float = -math.inf,
    at_most: float = math.inf,
    whole: bool = False,
) -> None:
    """Refuse anything but one finite number within the limits.

    Args:
        name: of the argument, for the message.
        value: the argument.
        at_least: inclusive lower limit.
        above: exclusive lower limit.
        at_most: inclusive upper limit.
        whole: only a whole number is allowed.

    Raises:
        DAGSchedError: the message names the argument.
    """
    if isinstance(value, tuple):
        raise DAGSchedError(f"{name} is {value!r}: give one number")
    check_choices(name, value, at_least=at_least, above=above, at_most=at_most, whole=whole)


def check_interval(name: str, value: Any, *, above: float = -math.inf) -> None:
    """Refuse anything but a tuple (low, high) of finite numbers with low ≤ high.

    Args:
        name: of the argument, for the message.
        value: the argument.
        above: exclusive lower limit of both numbers.

    Raises:
        DAGSchedError: the message names the argument.
    """
    if not (isinstance(value, tuple) and len(value) == 2):
        raise DAGSchedError(f"{name} is {value!r}: give a tuple (low, high)")
    check_choices(name, value, above=above)
    if value[0] > value[1]:
        raise DAGSchedError(f"{name} is {value!r}: it needs low <= high")


def _is_number(value: Any, *, whole: bool) -> bool:
    kinds = (int, np.integer) if whole else (int, float, np.integer, np.floating)
    return isinstance(value, kinds) and not isinstance(value, bool) and math.isfinite(value)

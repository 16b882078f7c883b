"""Parameters of a family, drawn for each instance: one value, an inclusive range, or choices."""

import dataclasses
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from dagsched_env.problem.errors import DAGSchedError

Range = int | tuple[int, int]
"""A whole number, or an inclusive range (low, high); a number is drawn from it uniformly."""

Choices = float | tuple[float, ...]
"""A number, or a tuple of numbers; one of them is drawn uniformly."""

WholeChoices = int | tuple[int, ...]
"""A whole number, or a tuple of whole numbers; one of them is drawn uniformly."""

CHECK = "check"
"""Key of the range of a field in its metadata."""


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


def checked(default: Any, check: Callable[..., None], **limits: Any) -> Any:
    """A field of a dataclass with its default, and its range for ``check_fields``.

    Args:
        default: of the field.
        check: one of the functions below.
        limits: its arguments besides the name of the field and its value.
    """
    return dataclasses.field(default=default, metadata={CHECK: partial(check, **limits)})


def check_fields(record: Any) -> None:
    """Check all fields of a dataclass that are ``checked``; raises the error of the first one."""
    for field in dataclasses.fields(record):
        if CHECK in field.metadata:
            field.metadata[CHECK](field.name, getattr(record, field.name))


# The functions below take the name of an argument, for the message, and its value, and raise a
# DAGSchedError that names it unless it is what they say.


def check_range(name: str, value: Any, *, least: int = 1) -> None:
    """A whole number, or (low, high) with ``least`` ≤ low ≤ high."""
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
    """A finite number, or a tuple of them, within the limits; ``whole`` allows whole ones only."""
    choices = value if isinstance(value, tuple) else (value,)
    kind = "whole number" if whole else "finite number"
    if not choices or not all(_is_number(choice, whole=whole) for choice in choices):
        raise DAGSchedError(f"{name} is {value!r}: give a {kind} or a tuple of choices")
    for choice in choices:
        if not (at_least <= choice <= at_most and choice > above):
            limits = [f"> {above:g}"] if math.isfinite(above) else [f">= {at_least:g}"]
            limits += [f"<= {at_most:g}"] if math.isfinite(at_most) else []
            raise DAGSchedError(f"{name} has {choice!r}: it needs to be {' and '.join(limits)}")


def check_number(name: str, value: Any, **limits: Any) -> None:
    """One finite number within the limits of ``check_choices``."""
    if isinstance(value, tuple):
        raise DAGSchedError(f"{name} is {value!r}: give one number")
    check_choices(name, value, **limits)


def check_interval(name: str, value: Any, *, above: float = -math.inf) -> None:
    """A tuple (low, high) of finite numbers > ``above`` with low ≤ high."""
    if not (isinstance(value, tuple) and len(value) == 2):
        raise DAGSchedError(f"{name} is {value!r}: give a tuple (low, high)")
    check_choices(name, value, above=above)
    if value[0] > value[1]:
        raise DAGSchedError(f"{name} is {value!r}: it needs low <= high")


def _is_number(value: Any, *, whole: bool) -> bool:
    kinds = (int, np.integer) if whole else (int, float, np.integer, np.floating)
    return isinstance(value, kinds) and not isinstance(value, bool) and math.isfinite(value)

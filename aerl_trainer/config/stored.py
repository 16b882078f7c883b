"""JSON values that come back from a file: each is checked, and the error names it."""

import reprlib
from collections.abc import Mapping
from typing import Any, TypeVar

from dagsched_env.problem.errors import FormatError

Value = TypeVar("Value", int, float, str, dict[str, Any], list[Any])

LARGEST = 2**63
KINDS = {
    int: "a whole number in [0, 2**63)",
    float: "a number in [0, 2**63)",
    str: "text",
    dict: "an object",
    list: "a list",
}


def stored(record: Mapping[str, Any], key: str, kind: type[Value]) -> Value:
    """The value of a key.

    Args:
        record: the object.
        key: of the value.
        kind: type of the value; numbers lie in [0, 2**63), and whole numbers pass for floats.

    Raises:
        FormatError: the key is missing, or its value is of another kind.
    """
    if key not in record:
        raise FormatError(f"{key!r} is missing")
    value = record[key]
    if kind is float and type(value) is int and value < LARGEST:
        value = float(value)
    fits = type(value) is kind
    if kind in (int, float):
        fits = fits and 0 <= value < LARGEST
    if not fits:
        raise FormatError(f"{key!r} is {reprlib.repr(value)}, not {KINDS[kind]}")
    return value  # type: ignore[no-any-return]


def share(record: Mapping[str, Any], key: str) -> float:
    """The value of a key, a number in [0, 1].

    Raises:
        FormatError: the key is missing, or its value is no such number.
    """
    value = stored(record, key, float)
    if value > 1:
        raise FormatError(f"{key!r} is {value!r}, not a number in [0, 1]")
    return value

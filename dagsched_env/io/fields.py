"""Typed access to parsed JSON: every error names the place of the value.

``record`` is an object, ``key`` that of a value in it, and ``where`` the place of what is looked
at, for messages. A key that is missing, or a value of another kind, raises a FormatError.
"""

from collections.abc import Iterator
from typing import Any

from dagsched_env.io.numbers import LARGEST
from dagsched_env.problem.errors import FormatError


def get(record: dict[str, Any], key: str, where: str) -> Any:
    """The value of a key that must be there."""
    if key not in record:
        raise FormatError(f"{where} has no key {key!r}")
    return record[key]


def record_of(value: Any, where: str) -> dict[str, Any]:
    """The value, which must be an object."""
    if not isinstance(value, dict):
        raise FormatError(f"{where} is not an object")
    return value


def entries(record: dict[str, Any], key: str, where: str) -> Iterator[dict[str, Any]]:
    """The entries of a list of objects."""
    values = get(record, key, where)
    if not isinstance(values, list):
        raise FormatError(f"{where}.{key} is not a list")
    for i, value in enumerate(values):
        yield record_of(value, f"{where}.{key}[{i}]")


def index_of(values: list[dict[str, Any]], where: str, key: str = "id") -> dict[str, int]:
    """Position of each entry of a list by its name, at ``key``; names are distinct."""
    index: dict[str, int] = {}
    for i, value in enumerate(values):
        name = get_text(value, key, f"{where}[{i}]")
        if name in index:
            raise FormatError(f"{where}[{i}].{key} repeats {name!r} of {where}[{index[name]}]")
        index[name] = i
    return index


def get_text(record: dict[str, Any], key: str, where: str) -> str:
    """Text that must be there and not be empty."""
    return _text(get(record, key, where), f"{where}.{key}")


def texts(value: Any, where: str) -> list[str]:
    """A list of texts that are not empty."""
    if not isinstance(value, list):
        raise FormatError(f"{where} is not a list")
    return [_text(item, f"{where}[{i}]") for i, item in enumerate(value)]


def get_amount(record: dict[str, Any], key: str, where: str) -> float:
    """A number between 0 and 1e100 that must be there."""
    value, where = get(record, key, where), f"{where}.{key}"
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FormatError(f"{where} is {type(value).__name__}, not a number")
    if not 0 <= value <= LARGEST:
        raise FormatError(f"{where} is not between 0 and {LARGEST:g}")
    return float(value)


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value:
        kind = "empty" if value == "" else f"{type(value).__name__}, not text"
        raise FormatError(f"{where} is {kind}")
    return value

"""The parameters of families and platforms: what their functions take, and its values as text."""

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple, get_args, get_type_hints

from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.parameters import Range

MOST_VALUES = 10_000
"""A range of choices, and a mixture, may have so many members."""


class Parameter(NamedTuple):
    """An argument of a family or platform."""

    name: str
    """Its name in Python; without ``n_`` it is the key in a SPEC."""
    kind: str
    """``range``, ``interval``, ``choices``, ``number`` or ``name``."""
    default: Any

    @property
    def key(self) -> str:
        """Its name in a SPEC."""
        return self.name.removeprefix("n_")

    @property
    def shown_default(self) -> str:
        """As in a SPEC: ``4..8``; empty without a default."""
        if self.default is None:
            return ""
        values = self.default if isinstance(self.default, tuple) else (self.default,)
        between = ".." if self.kind in ("range", "interval") else ","
        return between.join(v if isinstance(v, str) else f"{v:g}" for v in values)

    @property
    def shown(self) -> str:
        """As in the table: ``tiles=4..8``; the name alone without a default."""
        return f"{self.key}={self.shown_default}" if self.shown_default else self.key

    def alternatives(self, text: str) -> list[Any]:
        """The arguments that a text stands for; several of them are members of a mixture."""
        parts = text.split(",")
        if self.kind == "name":
            return parts
        if self.kind == "range":
            return [self._bounds(part) if ".." in part else self._number(part) for part in parts]
        if self.kind == "interval":
            return [
                self._bounds(part) if ".." in part else (self._number(part),) * 2 for part in parts
            ]
        values = [value for part in parts for value in self._expanded(part)]
        if self.kind == "number":
            return values
        return [tuple(values) if len(values) > 1 else values[0]]

    def _bounds(self, text: str) -> tuple[int | float, int | float]:
        low, _, high = text.partition("..")
        return self._number(low), self._number(high)

    def _expanded(self, text: str) -> list[int | float]:
        """A number, or all whole numbers of a range."""
        if ".." not in text:
            return [self._number(text)]
        low, high = self._bounds(text)
        if not (isinstance(low, int) and isinstance(high, int)):
            raise DAGSchedError(
                f"{self.name} is {text!r}: it takes single values, so list them: 0.5,1,2"
            )
        if not 0 <= high - low < MOST_VALUES:
            raise DAGSchedError(
                f"{self.name} is {text!r}: it needs low <= high, and at most {MOST_VALUES} values"
            )
        return list(range(low, high + 1))

    def _number(self, text: str) -> int | float:
        for kind in (int, float):
            try:
                return kind(text)
            except ValueError:
                continue
        raise DAGSchedError(
            f"{self.name} is {text!r}: write a number, a range low..high, or choices a,b,c"
        )


def parameters(factory: Callable[..., Any]) -> dict[str, Parameter]:
    """Key in a SPEC → parameter of a family or platform; without ``platform``.

    Raises:
        DAGSchedError: a parameter of a declared family has no type or no default.
    """
    hints = get_type_hints(factory)
    arguments = inspect.signature(factory).parameters
    for name, argument in arguments.items():
        if name not in hints or argument.default is argument.empty:
            raise DAGSchedError(
                f"{factory.__name__}: give {name} a type and a default; {factory.__name__}() is to "
                "return a function rng -> Instance"
            )
    found = [
        Parameter(name, _kind(hints[name]), argument.default)
        for name, argument in arguments.items()
        if name != "platform"
    ]
    return {parameter.key: parameter for parameter in found}


def _kind(hint: Any) -> str:
    if hint == Range:
        return "range"
    if hint is str:
        return "name"
    if hint is int:
        return "number"
    if tuple[float, float] in (hint, *get_args(hint)):
        return "interval"
    return "choices"


def plain(key: str) -> str:
    """The name of a parameter without hyphens and a leading ``n_``."""
    return key.replace("-", "_").removeprefix("n_")


def settings_of(query: str) -> dict[str, str]:
    """Parameter → text of ``parameter=value&…``."""
    settings: dict[str, str] = {}
    for part in query.split("&") if query else []:
        key, equals, value = part.partition("=")
        if not (key and equals and value):
            raise DAGSchedError(f"{part!r} is not of the form parameter=value")
        if key in settings:
            raise DAGSchedError(f"{key!r} is given twice: write choices as {key}=a,b")
        settings[key] = value
    return settings


def value_of(name: str, text: str, kind: type) -> Any:
    """The value of a parameter that has one type; raises a DAGSchedError that names it."""
    if kind is bool:
        if text.lower() not in ("true", "false"):
            raise DAGSchedError(f"{name} is {text!r}: write true or false")
        return text.lower() == "true"
    try:
        return kind(text)
    except ValueError:
        what = "a whole number" if kind is int else "a number"
        raise DAGSchedError(f"{name} is {text!r}: write {what}") from None

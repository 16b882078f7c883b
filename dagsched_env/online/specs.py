"""Noise, arrivals and outages as text: ``NAME?parameter=value&…``, as in ``lognormal?cv=0.3``."""

import difflib
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_type_hints

from dagsched_env.online.arrivals import ARRIVALS, Arrivals
from dagsched_env.online.noise import NOISES, Noise
from dagsched_env.online.outages import OUTAGES, Outages
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.sources.parameters import plain, settings_of, value_of

__all__ = ["parse_arrivals", "parse_noise", "parse_outages", "table"]


def parse_noise(texts: Sequence[str]) -> list[Noise]:
    """Kinds of noise; raises a DAGSchedError that repeats the text which cannot be read."""
    return [_parse(text, "noise", NOISES) for text in texts]


def parse_arrivals(text: str) -> Arrivals:
    """When graphs arrive; raises a DAGSchedError that repeats the text."""
    arrivals: Arrivals = _parse(text, "arrivals", ARRIVALS)
    return arrivals


def parse_outages(text: str) -> Outages:
    """Which machines fail; raises a DAGSchedError that repeats the text."""
    outages: Outages = _parse(text, "outages", OUTAGES)
    return outages


def table() -> str:
    """All names with their parameters and defaults, as text."""
    lines = []
    for what, known in (("noise", NOISES), ("arrivals", ARRIVALS), ("outages", OUTAGES)):
        for name, make in known.items():
            defaults = inspect.signature(make).parameters.items()
            shown = "&".join(f"{plain(key)}={p.default or 'PATH'}" for key, p in defaults)
            lines.append(f"{what:<9} {name}?{shown}")
    return "\n".join(lines)


def _parse(text: str, what: str, known: Mapping[str, Callable[..., Any]]) -> Any:
    name, _, query = text.partition("?")
    name = name.replace("-", "_")
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        question = f"did you mean {close[0]!r}? " if close else ""
        raise DAGSchedError(f"no {what} {text!r}: {question}There are {', '.join(known)}")
    make = known[name]
    hints = {k: v for k, v in get_type_hints(_init_of(make)).items() if k != "return"}
    values = {}
    try:
        for key, value in settings_of(query).items():
            if plain(key) not in hints:
                raise DAGSchedError(f"no parameter {key!r}: there are {', '.join(hints)}")
            values[plain(key)] = value_of(plain(key), value, hints[plain(key)])
        return make(**values)
    except DAGSchedError as error:
        raise DAGSchedError(f"{text}: {error}") from None


def _init_of(make: Callable[..., Any]) -> Any:
    return make.__init__ if isinstance(make, type) else make  # type: ignore[misc]

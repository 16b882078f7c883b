"""Reference makespans: the best known ones of the instances of a suite, and how they were found."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files

__all__ = ["Reference", "dump", "parse", "published_references"]


@dataclass(frozen=True)
class Reference:
    """What is known about the optimum of an instance."""

    makespan: float
    """Makespan of the best known schedule (time)."""
    lower_bound: float
    """No schedule is shorter (time)."""
    optimal: bool
    """The makespan is proved to be the optimum, within the tolerance of ``dagsched_env.exact``."""
    how: str
    """What found it, with which options, and what proved it."""
    fingerprint: str
    """Of the instance."""
    runs: int
    """Number of searches so far; the seed of the next search."""


@cache
def published_references() -> dict[str, dict[str, Reference]]:
    """Suite → instance name → reference, from the data of the package."""
    path = files("dagsched_env") / "data" / "reference_makespans.json"
    return parse(path.read_text(encoding="utf-8"))


def parse(text: str) -> dict[str, dict[str, Reference]]:
    """Read ``dump``."""
    return {
        suite: {name: Reference(**record) for name, record in records.items()}
        for suite, records in json.loads(text).items()
    }


def dump(references: Mapping[str, Mapping[str, Reference]]) -> str:
    """JSON text, one instance per line."""
    suites = []
    for suite, records in references.items():
        lines = (f"  {json.dumps(name)}: {json.dumps(asdict(r))}" for name, r in records.items())
        suites.append(f" {json.dumps(suite)}: {{\n" + ",\n".join(lines) + "\n }")
    return "{\n" + ",\n".join(suites) + "\n}\n"

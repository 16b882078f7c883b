"""The package's own instance format: exact, complete, versioned."""

from typing import Any

from dagsched_env.io.numbers import check_processors
from dagsched_env.problem.instance import JSON_FORMAT, Instance


def recognises(record: Any) -> bool:
    """Whether parsed JSON claims to be this format."""
    return isinstance(record, dict) and record.get("format") == JSON_FORMAT


def parse(record: Any, text: str) -> Instance:
    """Read the output of ``dump``; raises FormatError or InvalidInstanceError."""
    comp = record.get("comp") if recognises(record) else None
    if isinstance(comp, list) and comp and isinstance(comp[0], list) and comp[0]:
        check_processors(len(comp[0]), "comp")
    return Instance.from_json(text)


def dump(instance: Instance) -> str:
    """One JSON object and a line break; every float can be read back exactly."""
    return instance.to_json() + "\n"

"""The package's own instance format: exact, complete, versioned."""

from typing import Any

from dagsched_env.instance import JSON_FORMAT, Instance

__all__ = ["dump", "parse", "recognises"]


def recognises(record: Any) -> bool:
    """Whether parsed JSON claims to be this format."""
    return isinstance(record, dict) and record.get("format") == JSON_FORMAT


def parse(text: str) -> Instance:
    """Read ``dump``; raises FormatError or InvalidInstanceError."""
    return Instance.from_json(text)


def dump(instance: Instance) -> str:
    """One JSON object and a line break; every float is written so that it is read back exactly."""
    return instance.to_json() + "\n"

"""Results of long commands, each written when it comes, from which a later call goes on."""

import hashlib
import json
from pathlib import Path
from typing import Any

from dagsched_env.io.atomic import naming
from dagsched_env.problem.instance import Instance


def digest(path: Path) -> str:
    """SHA-256 of a file, or of all files below a folder; empty where there is neither.

    For the options of a ``Journal``: what was computed from other contents does not count.
    """
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    found = hashlib.sha256()
    for file in files:
        if file.is_file():
            found.update(str(file.relative_to(path)).encode())
            found.update(hashlib.sha256(file.read_bytes()).digest())
    return found.hexdigest() if path.exists() else ""


class Journal:
    """A file of JSON lines, one for each problem.

    A line belongs to its problem and to the options of the command; others in the file are left
    alone, and so is one that a kill has torn.

    Args:
        path: of the file; None keeps nothing.
        options: all that the results depend on, as JSON values.

    Raises:
        OSError: the file cannot be read.
    """

    def __init__(self, path: Path | None, options: dict[str, Any]) -> None:
        self._path = path
        self._options = json.dumps(options, sort_keys=True)
        self._found: dict[str, dict[str, Any]] = {}
        self._torn = False
        if path is not None and path.exists():
            with naming(path):
                text = path.read_text(encoding="utf-8", errors="replace")
            self._torn = bool(text) and not text.endswith("\n")
            records = [record for line in text.splitlines() if (record := _parse(line))]
            self._found = {record["key"]: record for record in records}

    def find(self, instance: Instance) -> dict[str, Any] | None:
        """The record of a problem, to be checked; None if there is none."""
        return self._found.get(self._key(instance))

    def add(self, instance: Instance, record: dict[str, Any]) -> None:
        """Write the record of a problem, of JSON values; raises OSError."""
        if self._path is None:
            return
        line = json.dumps({"key": self._key(instance), "problem": instance.name, **record})
        with naming(self._path), self._path.open("a", encoding="utf-8") as file:
            file.write("\n" * self._torn + line + "\n")
        self._torn = False

    def _key(self, instance: Instance) -> str:
        return hashlib.sha256(f"{instance.fingerprint} {self._options}".encode()).hexdigest()


def _parse(line: str) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) and isinstance(record.get("key"), str) else None

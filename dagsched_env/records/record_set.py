"""The entries of a set in a file: JSON, an entry a line."""

import datetime
import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from os import PathLike
from pathlib import Path
from typing import Any

from dagsched_env.io.atomic import write_text
from dagsched_env.io.fields import entries, get, get_amount, get_text, record_of
from dagsched_env.io.source import Source, named
from dagsched_env.problem.errors import DAGSchedError, FormatError
from dagsched_env.records.entry import Entry
from dagsched_env.suites.references import get_commit

__all__ = ["RecordSet", "alone_in", "read_folder", "read_set", "write_set"]

FORMAT, VERSION = "dagsched-records", 1
SUFFIX = ".json"
LISTS = ("order", "processor")
OPTIONAL = ("machines", "published")
"""Keys that are there only where they say something."""
LARGEST_INDEX = 2**31 - 1


@dataclass(frozen=True)
class RecordSet:
    """The entries of one set."""

    name: str
    """That of its file; a suite, or what the files of the set are called."""
    source: str
    """Where the instances come from."""
    entries: Mapping[str, Entry]
    """Name of the instance → its entry."""


def read_folder(folder: str | PathLike[str]) -> list[RecordSet]:
    """The sets of a folder, sorted by name.

    Raises:
        FormatError: a file is no set; the message names it and the place.
        DAGSchedError: there is no set.
        OSError: a file cannot be read.
    """
    return [read_set(path) for path in set_files(folder)]


def set_files(folder: str | PathLike[str]) -> list[Path]:
    """The files of a folder, sorted; raises a DAGSchedError if there is none."""
    files = sorted(Path(folder).glob(f"*{SUFFIX}"))
    if not files:
        raise DAGSchedError(f"{folder}: there are no records: name the folder of {SUFFIX} files")
    return files


def read_set(path: str | PathLike[str]) -> RecordSet:
    """A set from its file.

    Raises:
        FormatError: it is no set; the message names the file and the place.
        OSError: the file cannot be read.
    """
    with named(path):
        top = record_of(Source(Path(path)).json, "the file")
        if (top.get("format"), top.get("version")) != (FORMAT, VERSION):
            raise FormatError(f'no records: "format": "{FORMAT}", "version": {VERSION} is missing')
        name = get_text(top, "set", "the file")
        if name != Path(path).stem:
            raise FormatError(f"the set is {name!r}: its file is called {name}{SUFFIX}")
        found: dict[str, Entry] = {}
        for i, record in enumerate(entries(top, "entries", "the file")):
            entry = _entry(record, f"entries[{i}]")
            if entry.name in found:
                raise FormatError(f"entries[{i}]: {entry.name!r} is there twice: remove one")
            found[entry.name] = entry
        return RecordSet(name, get_text(top, "source", "the file"), found)


@contextmanager
def alone_in(folder: str | PathLike[str]) -> Iterator[None]:
    """Read and write a folder, which is made if need be, while others that do so wait.

    Raises:
        OSError: it cannot be made.
    """
    Path(folder).mkdir(exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network file systems have no such locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def write_set(folder: str | PathLike[str], records: RecordSet) -> Path:
    """Write a set into its file, whole or not at all, and sorted by name.

    Args:
        folder: where the files of sets are.
        records: the set.

    Returns:
        The file.

    Raises:
        OSError: it cannot be written; an old file is unchanged.
    """
    path = Path(folder) / f"{records.name}{SUFFIX}"
    head = {"format": FORMAT, "version": VERSION, "set": records.name, "source": records.source}
    lines = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    each = [f"  {line_of(records.entries[name])}" for name in sorted(records.entries)]
    lines.append(' "entries": [\n' + ",\n".join(each) + "\n ]")
    write_text(path, "{\n" + ",\n".join(lines) + "\n}\n")
    return path


def line_of(entry: Entry) -> str:
    """The JSON text of an entry."""
    lists = {key: json.dumps(getattr(entry, key), separators=(",", ":")) for key in LISTS}
    said = {k: v for k, v in asdict(entry).items() if v is not None or k not in OPTIONAL}
    others = {key: json.dumps(value) for key, value in said.items() if key not in LISTS}
    return "{" + ", ".join(f'"{key}": {text}' for key, text in (others | lists).items()) + "}"


def _is_index(value: Any) -> bool:
    return type(value) is int and 0 <= value <= LARGEST_INDEX


def _entry(record: dict[str, Any], where: str) -> Entry:
    unknown = record.keys() - {field.name for field in fields(Entry)}
    if unknown:
        raise FormatError(f"{where} has a key that no entry has: {min(unknown)!r}")
    seconds = get(record, "seconds", where)
    return Entry(
        name=get_text(record, "name", where),
        fingerprint=get_text(record, "fingerprint", where),
        makespan=get_amount(record, "makespan", where),
        lower_bound=get_amount(record, "lower_bound", where),
        solver=get_text(record, "solver", where),
        seconds=None if seconds is None else get_amount(record, "seconds", where),
        date=_date(get_text(record, "date", where), f"{where}.date"),
        commit=get_commit(record, where),
        order=_indices(record, "order", where),
        processor=_indices(record, "processor", where),
        machines=_machines(record, where),
        published=get_amount(record, "published", where) if "published" in record else None,
    )


def _machines(record: dict[str, Any], where: str) -> int | None:
    number = record.get("machines")
    if number is not None and (not _is_index(number) or number == 0):
        raise FormatError(
            f"{where}.machines is {number!r}: give a whole number from 1, or leave it out"
        )
    return number


def _date(text: str, where: str) -> str:
    try:
        day = datetime.date.fromisoformat(text).isoformat()
    except ValueError:
        day = None
    if day != text:
        raise FormatError(f"{where} is {text!r}: write it as in 2026-11-28")
    return text


def _indices(record: dict[str, Any], key: str, where: str) -> tuple[int, ...]:
    values = get(record, key, where)
    if not isinstance(values, list) or not all(map(_is_index, values)):
        raise FormatError(f"{where}.{key} is not a list of whole numbers from 0 to {LARGEST_INDEX}")
    return tuple(values)

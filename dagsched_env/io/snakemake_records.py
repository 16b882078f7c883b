"""What Snakemake keeps of finished jobs: a record for each output, in files or in a database.

A record has the rule, the inputs, and two times. ``starttime`` is when the job was handed to its
executor, ``endtime`` the time of the output file, which Snakemake touches when the job has ended.
Of a job with ``run:`` it is a later one than that. The outputs of one job are records of their own.
A job that failed has one, too, like one that succeeded: only the log files tell.
"""

import binascii
import contextlib
import json
import sqlite3
from base64 import urlsafe_b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from dagsched_env.io.fields import get_amount, get_text, record_of, texts
from dagsched_env.problem.errors import FormatError

METADATA, INCOMPLETE, DATABASE = "metadata", "incomplete", "metadata.db"
LISTS = ("input", "log")
COLUMNS = (
    *("namespace", "target", "rule", "input", "log", "shellcmd", "job_hash"),
    *("starttime", "endtime", "incomplete"),
)


class Job(NamedTuple):
    """A job that ended."""

    rule: str
    outputs: tuple[str, ...]
    """In alphabetical order."""
    inputs: tuple[str, ...]
    start: float
    """Seconds since 1970; after ``finish`` where the record does not tell."""
    finish: float


class Records(NamedTuple):
    """All that is recorded in a working folder."""

    jobs: list[Job]
    """In the order of their starts."""
    incomplete: tuple[str, ...]
    """Outputs of jobs that began and never ended."""
    unreadable: int
    """Records that were cut off; Snakemake passes over them, too."""


def task_name(rule: str, outputs: tuple[str, ...]) -> str:
    """A name that is the same in each run: the rule and its first output by the alphabet."""
    return f"{rule}: {min(outputs)}" if outputs else rule


def read_records(hidden: Path) -> Records:
    """Read the records of all outputs.

    Args:
        hidden: the folder ``.snakemake``.

    Raises:
        FormatError: a record is not in Snakemake's form; the message names file and key.
        OSError: a file cannot be read.
    """
    entries = {
        output: (where, record)
        for output, where, record in (*_of_database(hidden), *_of_files(hidden))
    }
    unreadable = sum(record is None for _, record in entries.values())
    known = {
        output: (where, record_of(record, where))
        for output, (where, record) in entries.items()
        if record is not None
    }
    begun = {output for output, (_, record) in known.items() if record.get("incomplete")}
    whole = {
        output: entry
        for output, entry in known.items()
        if output not in begun and entry[1].get("rule") is not None
    }
    marked = {output for output, _ in _named_files(hidden / INCOMPLETE)}
    return Records(_jobs(whole), tuple(sorted(begun | marked)), unreadable)


def _jobs(records: dict[str, tuple[str, dict[str, Any]]]) -> list[Job]:
    """One job for all records that only differ in their output and, a little, in their times."""
    groups: dict[tuple[str, ...], list[Job]] = {}
    for output, (where, record) in records.items():
        job = Job(
            get_text(record, "rule", where),
            (output,),
            tuple(texts(record.get("input") or [], f"{where}.input")),
            get_amount(record, "starttime", where),
            get_amount(record, "endtime", where),
        )
        # The hash is the job's place in memory, and another call of Snakemake may repeat it.
        others = (str(record.get(key)) for key in ("log", "shellcmd", "job_hash"))
        groups.setdefault((job.rule, *job.inputs, "", *others), []).append(job)
    jobs = [_joined(parts) for parts in groups.values()]
    return sorted(jobs, key=lambda job: (job.start, job.outputs))


def _joined(parts: list[Job]) -> Job:
    start, finish = min(job.start for job in parts), max(job.finish for job in parts)
    outputs = tuple(sorted(job.outputs[0] for job in parts))
    return parts[0]._replace(outputs=outputs, start=start, finish=finish)


def _of_files(hidden: Path) -> Iterator[tuple[str, str, Any]]:
    """Output, place and record of each file; None where it was cut off when it was written."""
    for output, path in _named_files(hidden / METADATA):
        where = f"{path.relative_to(hidden.parent)} (of {output})"
        content = path.read_bytes()
        if not content.strip():
            yield output, where, None
            continue
        try:
            yield output, where, json.loads(content)
        except (ValueError, RecursionError) as error:
            raise FormatError(f"{where} is not JSON: {error}") from None


def _named_files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Files whose names are others' paths in base64; long ones are cut into folders ``@…``."""
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.name == "migration_underway":
            continue
        parts = path.relative_to(folder).parts
        code = "".join(part.removeprefix("@") for part in parts)
        try:
            yield urlsafe_b64decode(code.encode()).decode(), path
        except (binascii.Error, UnicodeError):
            place = path.relative_to(folder.parent.parent)
            raise FormatError(f"{place}: the name of this file is no path in base64") from None


def _of_database(hidden: Path) -> Iterator[tuple[str, str, Any]]:
    """The same of ``--persistence-backend db``, which is SQLite unless another URL was given."""
    path = hidden / DATABASE
    if not path.is_file():
        return
    try:
        with contextlib.closing(
            sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
        ) as db:
            rows = db.execute(f"SELECT {', '.join(COLUMNS)} FROM snakemake_metadata").fetchall()
    except sqlite3.Error as error:
        raise FormatError(f"{hidden.name}/{DATABASE}: {error}") from None
    own = str(hidden.absolute())
    # One database may serve several folders, and a folder may have been moved since.
    several = len({row[0] for row in rows}) > 1
    for row in rows:
        if several and row[0] != own:
            continue
        record = dict(zip(COLUMNS, row, strict=True))
        where = f"{hidden.name}/{DATABASE}, target {record['target']}"
        for key in LISTS:
            record[key] = _list(record[key], f"{where}.{key}")
        yield str(record["target"]), where, record


def _list(text: str | None, where: str) -> Any:
    try:
        return json.loads(text) if text else []
    except (TypeError, ValueError):
        raise FormatError(f"{where} is not JSON") from None

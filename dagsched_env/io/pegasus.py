"""Abstract workflows of Pegasus 5, in YAML: github.com/pegasus-isi/pegasus, schema wf-5.0.yml.

The runtime of a job, in seconds, is the key ``runtime`` of its ``pegasus`` profiles, by which
Pegasus itself schedules; else that of its metadata; else that of the ``pegasus`` profiles of its
transformation, or of a site of this, in ``transformationCatalog``; a job without any takes its time
from a table (``MachineOptions.times``). The ``pegasus`` profiles ``cores``, ``memory`` and ``gpus``
of a job, or else of its transformation, are what its task uses, as in ``dax``. The size of a file,
in bytes, is the ``size`` of a ``uses`` entry, of its metadata, or of the metadata of its replica.
Where no file between two jobs has one, nothing is known of the data.

Edges are the ``jobDependencies`` and, as Pegasus adds them, those from the job that writes a file
to the jobs that read it. They carry the files that the parent writes and the child reads. A task
has the name that Pegasus gives a job, ``NAME_ID``; tasks of one name are of one kind.
"""

import math
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from dagsched_env.io.dax import REQUESTED, requested
from dagsched_env.io.fields import entries, get_text, index_of, record_of, texts
from dagsched_env.io.numbers import amount
from dagsched_env.io.transfers import transfers
from dagsched_env.problem.errors import FormatError
from dagsched_env.problem.workflow import Workflow

Record = dict[str, Any]

TOP_LEVEL = re.compile(r"^(pegasus|jobs) *:", re.MULTILINE)
WHERE = "workflow"
PROFILES = ("profiles", "pegasus")
READING, WRITING = ("input", "inout"), ("output", "inout")


def recognises(text: str) -> bool:
    """Whether a text has the keys that such a workflow has at its top level."""
    return len(set(TOP_LEVEL.findall(text))) == 2


def parse(record: Any) -> Workflow:
    """Turn YAML, all values of which are text, into a workflow.

    Raises:
        FormatError: a key is missing or of a wrong type, an id is unknown or not unique, some files
            have a size and another does not, or one of these is not between 0 and 1e100; the
            message names the place.
    """
    if not isinstance(record, dict) or "jobs" not in record:
        raise FormatError("no Pegasus workflow: the top level has no key 'jobs'")
    jobs = list(entries(record, "jobs", WHERE))
    if not jobs:
        raise FormatError(f"{WHERE}.jobs is empty: a workflow has at least one task")
    index = index_of(jobs, f"{WHERE}.jobs")
    read, written, sizes = _files(record, jobs)
    edges = _edges(record, index, read, written)
    says_data = any(file in sizes for u, v in edges for file in written[u] & read[v])

    def size(file: str, task: int) -> float:
        if says_data and file not in sizes:
            raise FormatError(
                f"{WHERE}.jobs[{task}] reads {file!r}, which has no size, as other files have: add "
                "it to the metadata of the file"
            )
        return sizes.get(file, 1.0)

    runtimes = _catalog(record, "runtime")
    resources = {name: _catalog(record, name) for name in REQUESTED}
    kinds = tuple(str(job.get("name") or job.get("file") or job.get("type")) for job in jobs)
    return Workflow(
        tasks=tuple(f"{kind}_{name}" for kind, name in zip(kinds, index, strict=True)),
        runtimes=np.array([_runtime(job, i, runtimes) for i, job in enumerate(jobs)]),
        edges=edges,
        data=transfers(edges, read, written, size),
        name=str(record.get("name") or "") or None,
        kinds=kinds,
        labels=kinds,
        says_data=says_data,
        says_units=True,
        **requested([_asked(job, i, resources) for i, job in enumerate(jobs)]),
    )


def _files(
    record: Record, jobs: list[Record]
) -> tuple[list[set[str]], list[set[str]], dict[str, float]]:
    """Files that each job reads and writes, and sizes; the first mention of a size counts."""
    read: list[set[str]] = [set() for _ in jobs]
    written: list[set[str]] = [set() for _ in jobs]
    sizes: dict[str, float] = {}

    def add(file: Record, where: str) -> str:
        name = get_text(file, "lfn", where)
        size = _number(file, where, ("size",), ("metadata", "size"))
        if size is not None:
            sizes.setdefault(name, size)
        return name

    for i, job in enumerate(jobs):
        for j, use in enumerate(_each(job, "uses", f"{WHERE}.jobs[{i}]")):
            place = f"{WHERE}.jobs[{i}].uses[{j}]"
            name, link = add(use, place), get_text(use, "type", place)
            if link in READING:
                read[i].add(name)
            if link in WRITING:
                written[i].add(name)
    replicas = _part(record, "replicaCatalog")
    for j, replica in enumerate(_each(replicas, "replicas", f"{WHERE}.replicaCatalog")):
        add(replica, f"{WHERE}.replicaCatalog.replicas[{j}]")
    return read, written, sizes


def _edges(
    record: Record, index: dict[str, int], read: list[set[str]], written: list[set[str]]
) -> tuple[tuple[int, int], ...]:
    """Declared dependencies, then those of files, without repetitions."""
    edges: dict[tuple[int, int], None] = {}
    for i, parent in enumerate(_each(record, "jobDependencies", WHERE)):
        where = f"{WHERE}.jobDependencies[{i}]"
        u = _task(get_text(parent, "id", where), f"{where}.id", index)
        for child in texts(parent.get("children") or [], f"{where}.children"):
            edges[u, _task(child, f"{where}.children", index)] = None
    writer = {file: u for u, files in enumerate(written) for file in files}
    for v, files in enumerate(read):
        for u in sorted({writer[file] for file in files if file in writer} - {v}):
            edges[u, v] = None
    return tuple(edges)


def _task(name: str, where: str, index: dict[str, int]) -> int:
    if name not in index:
        raise FormatError(f"{where} names {name!r}, which is not a job")
    return index[name]


def _catalog(record: Record, profile: str) -> dict[tuple[Any, ...], float]:
    """The number at a profile of each transformation that has it."""
    found: dict[tuple[Any, ...], float] = {}
    where = f"{WHERE}.transformationCatalog"
    for i, entry in enumerate(
        _each(_part(record, "transformationCatalog"), "transformations", where)
    ):
        place = f"{where}.transformations[{i}]"
        for holder in (entry, *_each(entry, "sites", place)):
            number = _number(holder, place, (*PROFILES, profile))
            if number is not None:
                found.setdefault(_transformation(entry), number)
    return found


def _transformation(record: Record) -> tuple[Any, ...]:
    return tuple(str(record.get(key)) for key in ("namespace", "name", "version"))


def _runtime(job: Record, i: int, catalog: dict[tuple[Any, ...], float]) -> float:
    where = f"{WHERE}.jobs[{i}]"
    runtime = _number(job, where, (*PROFILES, "runtime"), ("metadata", "runtime"))
    if runtime is None:
        runtime = catalog.get(_transformation(job))
    return math.nan if runtime is None else runtime


def _asked(
    job: Record, i: int, catalogs: dict[str, dict[tuple[Any, ...], float]]
) -> dict[str, float]:
    """What a job asks for, itself or by its transformation."""
    asked: dict[str, float] = {}
    for name, catalog in catalogs.items():
        number = _number(job, f"{WHERE}.jobs[{i}]", (*PROFILES, name))
        number = catalog.get(_transformation(job)) if number is None else number
        if number is not None:
            asked[name] = number
    return asked


def _part(record: Record, key: str) -> Record:
    """An object that may be missing or empty."""
    return record_of(record.get(key) or {}, f"{WHERE}.{key}")


def _each(record: Record, key: str, where: str) -> Iterable[Record]:
    """The entries of a list that may be missing or empty."""
    return entries(record, key, where) if record.get(key) else ()


def _number(record: Record, where: str, *paths: tuple[str, ...]) -> float | None:
    """The number at the first of these paths that is there."""
    for path in paths:
        value: Any = record
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if value is not None:
            place = ".".join((where, *path))
            return amount(value.strip() if isinstance(value, str) else repr(value), place)
    return None

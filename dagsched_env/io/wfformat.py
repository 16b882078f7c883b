"""WfFormat 1.5, the JSON schema of WfCommons for workflow traces: github.com/wfcommons/WfFormat.

Version 1.6 adds only optional metrics, so it is read too.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from dagsched_env.errors import FormatError
from dagsched_env.workflow import Workflow

__all__ = ["parse", "recognises"]

VERSIONS = ("1.5", "1.6")
LARGEST = 1e100
"""Runtimes and sizes beyond this are refused, so that no sum leaves float64."""


def recognises(record: Any) -> bool:
    """Whether parsed JSON claims to be this format."""
    return isinstance(record, dict) and "workflow" in record


def parse(record: dict[str, Any]) -> Workflow:
    """Turn a trace into a workflow.

    An edge is a declared parent or child; it carries the total size of the files that the parent
    writes and the child reads. Everything else in the trace is ignored.

    Raises:
        FormatError: a key is missing or of a wrong type, an id is unknown or not unique, or a
            runtime or size is not between 0 and 1e100; the message names the place.
    """
    if record.get("schemaVersion") not in VERSIONS:
        version = str(record.get("schemaVersion"))
        raise FormatError(f"schemaVersion is {version:.20}: it needs to be {' or '.join(VERSIONS)}")
    workflow = _object(record["workflow"], "workflow")
    specification = _object(_get(workflow, "specification", "workflow"), "workflow.specification")
    where = "workflow.specification.tasks"
    tasks = list(_entries(specification, "tasks", "workflow.specification"))
    index = _index(tasks, where)
    if not index:
        raise FormatError(f"{where} is empty: a workflow has at least one task")
    edges = _edges(tasks, index, where)
    name = record.get("name")
    return Workflow(
        tasks=tuple(index),
        runtimes=np.array(_runtimes(workflow, index), dtype=np.float64),
        edges=tuple(edges),
        data=np.array(_data(specification, tasks, edges), dtype=np.float64),
        name=name if isinstance(name, str) and name else None,
    )


# -- parts of a trace --------------------------------------------------------------------------


def _index(entries: list[dict[str, Any]], where: str) -> dict[str, int]:
    """Position of each id; raises on a repeated one."""
    index: dict[str, int] = {}
    for i, entry in enumerate(entries):
        name = _text(_get(entry, "id", f"{where}[{i}]"), f"{where}[{i}].id")
        if name in index:
            raise FormatError(f"{where}[{i}].id repeats {name!r} of {where}[{index[name]}]")
        index[name] = i
    return index


def _edges(tasks: list[dict[str, Any]], index: dict[str, int], where: str) -> list[tuple[int, int]]:
    """Union of what parents and children declare, in order of first mention."""
    edges: dict[tuple[int, int], None] = {}
    for i, task in enumerate(tasks):
        for key in ("parents", "children"):
            place = f"{where}[{i}].{key}"
            for other in _texts(task.get(key, []), place):
                if other not in index:
                    raise FormatError(f"{place} names {other!r}, which is no task")
                edges[(index[other], i) if key == "parents" else (i, index[other])] = None
    return list(edges)


def _runtimes(workflow: dict[str, Any], index: dict[str, int]) -> list[float]:
    """Seconds of each task, in the order of the specification."""
    execution = _object(_get(workflow, "execution", "workflow"), "workflow.execution")
    where = "workflow.execution.tasks"
    entries = list(_entries(execution, "tasks", "workflow.execution"))
    position = _index(entries, where)
    runtimes = []
    for name in index:
        if name not in position:
            raise FormatError(f"{where} has no entry of task {name!r}, so it has no runtime")
        place = f"{where}[{position[name]}]"
        value = _get(entries[position[name]], "runtimeInSeconds", place)
        runtimes.append(_amount(value, f"{place}.runtimeInSeconds"))
    return runtimes


def _data(
    specification: dict[str, Any], tasks: list[dict[str, Any]], edges: list[tuple[int, int]]
) -> list[float]:
    """Bytes on each edge."""
    where = "workflow.specification"
    files = list(_entries(specification, "files", where)) if "files" in specification else []
    position = _index(files, f"{where}.files")
    read, written = (
        [
            set(_texts(task.get(key, []), f"{where}.tasks[{i}].{key}"))
            for i, task in enumerate(tasks)
        ]
        for key in ("inputFiles", "outputFiles")
    )

    def size(name: str, task: int) -> float:
        if name not in position:
            raise FormatError(
                f"{where}.files has no entry of {name!r}, which {where}.tasks[{task}] reads"
            )
        place = f"{where}.files[{position[name]}]"
        value = _get(files[position[name]], "sizeInBytes", place)
        return _amount(value, f"{place}.sizeInBytes")

    return [math.fsum(size(name, v) for name in sorted(written[u] & read[v])) for u, v in edges]


# -- typed access ------------------------------------------------------------------------------


def _get(record: dict[str, Any], key: str, where: str) -> Any:
    if key not in record:
        raise FormatError(f"{where} has no key {key!r}")
    return record[key]


def _object(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise FormatError(f"{where} is not an object")
    return value


def _entries(record: dict[str, Any], key: str, where: str) -> Iterator[dict[str, Any]]:
    """The objects of a list."""
    values = _get(record, key, where)
    if not isinstance(values, list):
        raise FormatError(f"{where}.{key} is not a list")
    for i, value in enumerate(values):
        yield _object(value, f"{where}.{key}[{i}]")


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value:
        kind = "empty" if value == "" else f"{type(value).__name__}, not text"
        raise FormatError(f"{where} is {kind}")
    return value


def _texts(value: Any, where: str) -> list[str]:
    if not isinstance(value, list):
        raise FormatError(f"{where} is not a list")
    return [_text(item, f"{where}[{i}]") for i, item in enumerate(value)]


def _amount(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FormatError(f"{where} is {type(value).__name__}, not a number")
    if not 0 <= value <= LARGEST:
        raise FormatError(f"{where} is not between 0 and {LARGEST:g}")
    return float(value)

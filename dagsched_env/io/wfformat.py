"""WfFormat, the JSON schema of WfCommons for workflow traces: github.com/wfcommons/WfFormat.

A task has the ``runtimeInSeconds`` of its execution. Edges are what ``parents`` and ``children``
declare; an edge carries the files that the parent writes and the child reads, by ``sizeInBytes``.
This module reads versions 1.5 and 1.6, which adds only optional metrics. ``wfformat_14`` reads 1.4,
where a task holds its own runtime and files. ``wfformat_dump`` writes 1.5.
"""

from typing import Any

import numpy as np

from dagsched_env.io.fields import entries, get, get_amount, index_of, record_of, texts
from dagsched_env.io.transfers import transfers
from dagsched_env.io.wfformat_14 import RELATIVES, declared_edges, parse_14
from dagsched_env.io.wfformat_resources import recorded, recorder_of
from dagsched_env.kernels.arrays import Floats
from dagsched_env.problem.errors import FormatError
from dagsched_env.problem.workflow import Workflow

VERSIONS = ("1.4", "1.5", "1.6")


def recognises(record: Any) -> bool:
    """Whether parsed JSON claims to be this format."""
    return isinstance(record, dict) and "workflow" in record


def parse(record: Any) -> Workflow:
    """Turn a trace into a workflow.

    An edge is a declared parent or child; it carries the total size of the files that the parent
    writes and the child reads. Cores and memory are those of ``wfformat_resources``. Everything
    else in the trace is ignored.

    Raises:
        FormatError: a key is missing or of a wrong type, an id is unknown or not unique, or a
            runtime, size or resource is not between 0 and 1e100; the message names the place.
    """
    if not recognises(record):
        raise FormatError("no WfFormat trace: the top level has no key 'workflow'")
    version = record.get("schemaVersion")
    if version not in VERSIONS:
        needed = f"{', '.join(VERSIONS[:-1])} or {VERSIONS[-1]}"
        raise FormatError(f"schemaVersion is {version!s:.20}: it needs to be {needed}")
    workflow = record_of(record["workflow"], "workflow")
    name = record.get("name")
    label = name if isinstance(name, str) and name else None
    parse_version = parse_14 if version == "1.4" else _parse_15
    return parse_version(workflow, label, recorder_of(record))


def _parse_15(workflow: dict[str, Any], name: str | None, recorder: str) -> Workflow:
    where = "workflow.specification"
    specification = record_of(get(workflow, "specification", "workflow"), where)
    tasks = list(entries(specification, "tasks", where))
    index = index_of(tasks, f"{where}.tasks")
    if not index:
        raise FormatError(f"{where}.tasks is empty: a workflow has at least one task")
    edges = _edges(tasks, index, f"{where}.tasks")
    runs = _runs(workflow, index)
    return Workflow(
        tasks=tuple(index),
        runtimes=np.array([get_amount(run, "runtimeInSeconds", place) for run, place in runs]),
        edges=tuple(edges),
        data=_data(specification, tasks, edges),
        name=name,
        says_units=True,
        **recorded(runs, recorder),
    )


def _edges(tasks: list[dict[str, Any]], index: dict[str, int], where: str) -> list[tuple[int, int]]:
    """All edges that parents or children declare, in the order of their first mention."""
    if len(tasks) > 1 and not any(key in task for task in tasks for key in RELATIVES):
        raise FormatError(
            f"no entry of {where} has a key 'parents' or 'children': add them, with [] where there "
            "are none"
        )
    return list(declared_edges(tasks, index, where))


def _runs(workflow: dict[str, Any], index: dict[str, int]) -> list[tuple[dict[str, Any], str]]:
    """The execution of each task and its place, in the order of the specification."""
    execution = record_of(get(workflow, "execution", "workflow"), "workflow.execution")
    where = "workflow.execution.tasks"
    runs = list(entries(execution, "tasks", "workflow.execution"))
    position = index_of(runs, where)
    for name in index:
        if name not in position:
            raise FormatError(f"{where} has no entry of task {name!r}, so it has no runtime")
    return [(runs[position[name]], f"{where}[{position[name]}]") for name in index]


def _data(
    specification: dict[str, Any], tasks: list[dict[str, Any]], edges: list[tuple[int, int]]
) -> Floats:
    """Bytes on each edge."""
    where = "workflow.specification"
    files = list(entries(specification, "files", where)) if "files" in specification else []
    position = index_of(files, f"{where}.files")
    read, written = (
        [set(texts(task.get(key, []), f"{where}.tasks[{i}].{key}")) for i, task in enumerate(tasks)]
        for key in ("inputFiles", "outputFiles")
    )

    def size(name: str, task: int) -> float:
        if name not in position:
            raise FormatError(
                f"{where}.files has no entry of {name!r}, which {where}.tasks[{task}] reads"
            )
        file = position[name]
        return get_amount(files[file], "sizeInBytes", f"{where}.files[{file}]")

    return transfers(edges, read, written, size)

"""WfFormat 1.4: each task holds its own runtime, its parents and its files.

Such a trace is read as WfCommons migrates it to 1.5 (github.com/wfcommons/WfFormat, tools): tasks
refer to each other by name or by id; a file is identified by its path and name and has the size of
its first mention; a task without declared parents depends on the writers of the files that it
reads.
"""

from typing import Any

import numpy as np

from dagsched_env.io.fields import entries, get_amount, get_text, index_of, texts
from dagsched_env.io.transfers import transfers
from dagsched_env.io.wfformat_resources import recorded
from dagsched_env.problem.errors import FormatError
from dagsched_env.problem.workflow import Workflow

WHERE = "workflow.tasks"
RELATIVES = ("parents", "children")


def parse_14(workflow: dict[str, Any], name: str | None, recorder: str) -> Workflow:
    """Turn the ``workflow`` of a 1.4 trace into a workflow named ``name``.

    ``recorder`` is the name of the runtime system; empty where it is not known.

    Raises:
        FormatError: as ``wfformat.parse``.
    """
    tasks = list(entries(workflow, "tasks", "workflow"))
    if not tasks:
        raise FormatError(f"{WHERE} is empty: a workflow has at least one task")
    index = index_of(tasks, WHERE, key="name")
    read, written, sizes = _files(tasks)
    edges = _edges(tasks, index, read, written)
    if not edges and len(tasks) > 1 and not any(key in task for task in tasks for key in RELATIVES):
        raise FormatError(
            f"no entry of {WHERE} has a key 'parents' or 'children', and no file goes from one to "
            "another: add them, with [] where there are none"
        )
    runs = ((task, f"{WHERE}[{i}]") for i, task in enumerate(tasks))
    return Workflow(
        tasks=tuple(index),
        runtimes=np.array(
            [get_amount(task, "runtimeInSeconds", f"{WHERE}[{i}]") for i, task in enumerate(tasks)],
            dtype=np.float64,
        ),
        edges=tuple(edges),
        data=transfers(edges, [*map(set, read)], [*map(set, written)], lambda file, _: sizes[file]),
        name=name,
        says_units=True,
        **recorded(runs, recorder, cores_key="cores"),
    )


def _files(
    tasks: list[dict[str, Any]],
) -> tuple[list[dict[str, None]], list[dict[str, None]], dict[str, float]]:
    """Files that each task reads and writes, in their order, and the size of each file."""
    read: list[dict[str, None]] = []
    written: list[dict[str, None]] = []
    sizes: dict[str, float] = {}
    for i, task in enumerate(tasks):
        sides: dict[str, dict[str, None]] = {"input": {}, "output": {}}
        files = entries(task, "files", f"{WHERE}[{i}]") if "files" in task else ()
        for j, file in enumerate(files):
            place = f"{WHERE}[{i}].files[{j}]"
            name = get_text(file, "name", place)
            if "path" in file:
                name = get_text(file, "path", place) + name
            link = get_text(file, "link", place).lower()
            if link not in sides:
                raise FormatError(f"{place}.link is {link:.20}: it needs to be input or output")
            sides[link][name] = None
            sizes.setdefault(name, get_amount(file, "sizeInBytes", place))
        read.append(sides["input"])
        written.append(sides["output"])
    return read, written, sizes


def _edges(
    tasks: list[dict[str, Any]],
    index: dict[str, int],
    read: list[dict[str, None]],
    written: list[dict[str, None]],
) -> list[tuple[int, int]]:
    """Declared parents and children; for a task without parents, the writers of its files."""
    known = {str(task["id"]): i for i, task in reversed(list(enumerate(tasks))) if "id" in task}
    known.update(index)
    edges = declared_edges(tasks, known, WHERE)
    writer = {file: u for u in reversed(range(len(tasks))) for file in written[u]}
    orphans = set(range(len(tasks))) - {v for _, v in edges}
    for v in sorted(orphans):
        for file in read[v]:
            if writer.get(file, v) != v:
                edges[(writer[file], v)] = None
    return list(edges)


def declared_edges(
    tasks: list[dict[str, Any]], index: dict[str, int], where: str
) -> dict[tuple[int, int], None]:
    """The edges that parents or children declare, in the order of their first mention.

    Args:
        tasks: entries of the list at ``where``.
        index: names that tasks are called by → their positions.
        where: place of the list, for messages.

    Raises:
        FormatError: a name is unknown, or a list is none of texts.
    """
    edges: dict[tuple[int, int], None] = {}
    for i, task in enumerate(tasks):
        for key in RELATIVES:
            place = f"{where}[{i}].{key}"
            for other in texts(task.get(key, []), place):
                if other not in index:
                    raise FormatError(f"{place} names {other!r}, which is not a task")
                edges[(index[other], i) if key == "parents" else (i, index[other])] = None
    return edges

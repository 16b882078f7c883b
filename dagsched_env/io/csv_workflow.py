"""Tasks with their times as CSV (RFC 4180), as a spreadsheet saves them: a workflow.

- ``NAME.csv`` has a line for each task: ``task``, its name, and ``time``, in seconds on a machine
  of speed 1. ``runtime``, ``duration``, ``weight`` and ``work`` are other names of the time.
  Columns ``cores``, ``memory`` (bytes, or with a unit, as in ``2 GB``) and ``gpus`` may say what it
  uses, where the machines have such resources; an empty cell says nothing.
- ``NAME-edges.csv`` beside it, or else ``edges.csv``, has a line for each edge: ``source``,
  ``target``, and ``data`` in bytes; or ``from``, ``to``, ``size``. Without data nothing is sent;
  that of several lines of one pair is added up.
- Without such a table, a column ``after`` of the tasks (``predecessors``, ``parents``) may list
  names, separated by ``;`` or else by spaces; no data is sent. Without both there are no edges.

The directory of a ``tasks.csv`` stands for this file. A ``computation.csv`` with one column of
times and no tables of links is read in the same way; its edges are in ``communication.csv``.

Other units will do where the bandwidth is a number that goes with them, in units of data per unit
of time. A bandwidth with a unit, as in ``1Gbit/s``, takes data as bytes and times as seconds.

Columns may stand in any order, their names in any case; spaces around a cell do not count. Any
other column is refused: it might matter.
"""

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from dagsched_env.io.attributes import recorded
from dagsched_env.io.csv_table import Row, positions, read_file, read_table
from dagsched_env.io.csv_trio import COMMUNICATION, COMPUTATION, OF_MACHINES
from dagsched_env.io.numbers import amount
from dagsched_env.io.source import Source
from dagsched_env.io.transfers import added_up
from dagsched_env.problem.errors import FormatError
from dagsched_env.problem.workflow import KNOWN_RESOURCES, Workflow

TASKS = "tasks.csv"
EDGES = "edges.csv"

TIMES = ("time", "runtime", "duration", "weight", "work")
TASK_COLUMNS = {
    "task": ("task",),
    "time": TIMES,
    "after": ("after", "predecessors", "parents"),
    **{resource: (resource,) for resource in KNOWN_RESOURCES},
}
EDGE_COLUMNS = {"source": ("source", "from"), "target": ("target", "to"), "data": ("data", "size")}
"""Names that each column may have; all but the first two of each table may be missing."""

Record = tuple[str, dict[str, str]]
"""Place of a line, for messages, and its cells by the first names of their columns."""


def recognises(text: str) -> bool:
    """Whether text begins with the header of a table of tasks; ``parse`` wants commas in it."""
    header = re.split(r"[,;\t]", text.lstrip().partition("\n")[0])
    names = {_plain(cell.strip().strip('"')) for cell in header}
    return "task" in names and not names.isdisjoint(TIMES)


def parse(source: Source) -> Workflow | None:
    """Read a table of tasks and its edges; None for a directory that is no workflow.

    Raises:
        FormatError: a column is missing or unknown, a name is unknown or not unique, or a time or
            size is not between 0 and 1e100; the message names the table and the line.
        OSError: a file cannot be read.
    """
    path = source.path
    tasks, costs = path / TASKS, path / COMPUTATION
    if not path.is_dir():
        if path.name == COMPUTATION:
            raise FormatError("it is one table of a problem: give the directory that it is in")
        return _workflow(path, read_table(source.text), source.stem)
    if tasks.is_file() and costs.is_file():
        raise FormatError(f"the directory has {TASKS} and {COMPUTATION}: remove one of them")
    if tasks.is_file():
        return _workflow(tasks, read_file(tasks), path.name or None)
    if not costs.is_file() or any((path / name).exists() for name in OF_MACHINES):
        return None
    (where, header), *rows = read_file(costs)
    if len(header) != 2 or _plain(header[1]) not in TIMES:
        return None
    label = header[0] if _plain(header[0]) != "task" else ""
    return _workflow(costs, [(where, ["task", header[1]]), *rows], label or path.name or None)


def _workflow(path: Path, table: list[Row], name: str | None) -> Workflow:
    """The workflow of a table of tasks, with the edges of the table beside it."""
    tasks = records(table, TASK_COLUMNS)
    if not tasks:
        raise FormatError(f"{table[0][0]} is the last: a workflow has at least one task")
    index = positions((where, cells["task"]) for where, cells in tasks)
    runtimes = [amount(cells["time"], f"{where} needs seconds >= 0") for where, cells in tasks]
    beside = edge_table(path)
    if beside is None:
        edges = [
            (_task(name, index, where), index[cells["task"]], 0.0)
            for where, cells in tasks
            for name in _names(cells.get("after", ""), index)
        ]
    elif "after" in tasks[0][1]:
        raise FormatError(f"the edges are in {beside.name} and in a column of tasks: remove one")
    else:
        edges = [
            (
                _task(cells["source"], index, where),
                _task(cells["target"], index, where),
                amount(cells.get("data", "0"), f"{where} needs bytes >= 0"),
            )
            for where, cells in records(read_file(beside), EDGE_COLUMNS)
        ]
    pairs, data, said = added_up(edges, tuple(index))
    return Workflow(
        tasks=tuple(index),
        runtimes=np.array(runtimes, dtype=np.float64),
        edges=pairs,
        data=data,
        name=name,
        assumptions=said,
        **recorded(tasks),
    )


def edge_table(tasks: Path) -> Path | None:
    """The table of edges beside a table of tasks, if there is one."""
    own = COMMUNICATION if tasks.name == COMPUTATION else f"{tasks.stem}-{EDGES}"
    return next((p for p in map(tasks.with_name, (own, EDGES)) if p.is_file()), None)


def _names(cell: str, index: Mapping[str, int]) -> list[str]:
    """Names in a cell: one, which may have spaces in it, or several."""
    parts = [cell] if cell in index else cell.split(";" if ";" in cell else None)
    return [part.strip() for part in parts if part.strip()]


def _task(name: str, index: Mapping[str, int], where: str) -> int:
    if name not in index:
        raise FormatError(f"{where} names {name!r}, which is not a task: mend it, or add the task")
    return index[name]


def records(table: list[Row], columns: Mapping[str, tuple[str, ...]]) -> list[Record]:
    """The lines below the header; a FormatError names a column that is unknown, twice or missing.

    ``columns`` has key → names that its column may have; the first two must be there.
    """
    (where, header), *rows = table
    keys: list[str] = []
    for cell in header:
        key = next((key for key, names in columns.items() if _plain(cell) in names), None)
        if key is None:
            known = ", ".join(name for names in columns.values() for name in names)
            raise FormatError(
                f"{where}: the column {cell!r} is not read: remove it, or name it as one of {known}"
            )
        if key in keys:
            raise FormatError(f"{where}: {cell!r} is a second column of {key!r}: remove one")
        keys.append(key)
    for key, names in list(columns.items())[:2]:
        if key not in keys:
            raise FormatError(f"{where} has no column {' or '.join(map(repr, names))}: add it")
    return [(place, dict(zip(keys, map(str.strip, cells), strict=True))) for place, cells in rows]


def _plain(name: str) -> str:
    """The name of a column, as it is compared."""
    return name.strip().lower()

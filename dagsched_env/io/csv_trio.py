"""An instance as a directory of CSV (RFC 4180): computation, communication and bandwidth.

- ``computation.csv``: the corner (label of the instance, or empty) and the processors; then each
  task with its time on each of them, ``inf`` = may not run.
- ``communication.csv``: ``from,to,data``; then a line for each edge.
- ``bandwidth.csv``: the corner and the processors; then each processor with its data per unit of
  time to each, ``inf`` = free; default 1. Or ``inverse_bandwidth.csv`` with the reciprocals, which
  is written where bandwidths would not be read back exactly.
- ``latency.csv``: the same with start-up times; default 0.
- ``demands.csv``: the corner and the resources, such as ``cores``; then each task with what it uses
  of each. ``capacities.csv``: the same of the processors, ``inf`` = no limit. Without both a
  processor runs one task at a time.
- ``schedule.csv``: ``task,processor,start,finish``; written with a schedule, never read.

Without these tables, but for the first two, a single processor with the name ``time``, ``runtime``,
``duration``, ``weight`` or ``work`` is a workflow, see ``csv_workflow``. Links are always written,
so that what was written is read back as it was.

Names are written as they are, and read back exactly. **A spreadsheet takes a name that begins with
one of** ``=+-@`` **for a formula**, which can send data away or start programs. Where names come
from others and a spreadsheet opens the tables, write them with the option ``--safe`` of
``dagsched convert``, or ``safe=True`` of ``dagsched_env.io.save``: an apostrophe stands before such
names, and stays when they are read.
"""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dagsched_env.io.attributes import check_names
from dagsched_env.io.csv_table import positions, read_file
from dagsched_env.io.numbers import FINITE, amount, check_processors, cost, number_text
from dagsched_env.kernels.arrays import Floats
from dagsched_env.problem.errors import DAGSchedError, FormatError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule

COMPUTATION = "computation.csv"
COMMUNICATION = "communication.csv"
BANDWIDTH = "bandwidth.csv"
INVERSE = "inverse_bandwidth.csv"
LATENCY = "latency.csv"
DEMANDS = "demands.csv"
CAPACITIES = "capacities.csv"
SCHEDULE = "schedule.csv"
LINKS = (BANDWIDTH, INVERSE, LATENCY)
"""Tables between processors; one of the first two is always written."""
OF_MACHINES = (*LINKS, DEMANDS, CAPACITIES)
"""Tables that no workflow has."""
FILES = (COMPUTATION, COMMUNICATION, *OF_MACHINES, SCHEDULE)
"""All files that such a directory may hold."""

EDGE_HEADER = ["from", "to", "data"]
SCHEDULE_HEADER = ["task", "processor", "start", "finish"]
MARK = "\ufeff"
"""The byte order mark, which is no part of a text that begins with it."""


# -- reading -----------------------------------------------------------------------------------


def parse(directory: Path) -> Instance:
    """Read the tables of a directory.

    Raises:
        FormatError: a table is missing or not rectangular, a name is unknown or not unique, or a
            cell is not a number of its range; the message names the table and the line.
        InvalidInstanceError: the numbers are not a valid instance.
        OSError: a file cannot be read.
    """
    if not (directory / COMPUTATION).is_file():
        raise FormatError(
            f"the directory has no {COMPUTATION} and no tasks.csv: it is not an instance as CSV"
        )
    (_, header), *rows = read_file(directory / COMPUTATION)
    label, processors = header[0], header[1:]
    check_processors(len(processors), COMPUTATION)
    tasks = positions((where, cells[0]) for where, cells in rows)
    comp = [[cost(cell, where) for cell in cells[1:]] for where, cells in rows]
    edges, data = _edges(directory, tasks)
    return Instance(
        comp,
        edges,
        data,
        inv_bandwidth=_inverse_bandwidth(directory, processors),
        latency=_links(directory, LATENCY, processors),
        task_names=tuple(tasks),
        processor_names=processors,
        name=label or None,
        **_resources(directory, list(tasks), processors),
    )


def _resources(directory: Path, tasks: list[str], processors: list[str]) -> dict[str, Any]:
    """The arguments of ``Instance`` on resources; none where there are no such tables."""
    there = [name for name in (DEMANDS, CAPACITIES) if (directory / name).is_file()]
    if not there:
        return {}
    if len(there) == 1:
        missing = CAPACITIES if there == [DEMANDS] else DEMANDS
        raise FormatError(f"the directory has {there[0]}, but no {missing}: give both")
    resources, demands = _rows_of(directory, DEMANDS, tasks, "tasks")
    names, capacities = _rows_of(directory, CAPACITIES, processors, "processors")
    if names != resources:
        raise FormatError(f"{CAPACITIES}: the resources are not those of {DEMANDS}, in its order")
    return {"demands": demands, "capacities": capacities, "resource_names": resources}


def _rows_of(
    directory: Path, name: str, names: list[str], what: str
) -> tuple[list[str], list[list[float]]]:
    """The columns of a table, and its numbers, a row for each of the ``names``."""
    (where, header), *rows = read_file(directory / name)
    if [cells[0] for _, cells in rows] != names:
        raise FormatError(f"{where}: the {what} are not those of {COMPUTATION}, in its order")
    return header[1:], [[cost(cell, where) for cell in cells[1:]] for where, cells in rows]


def _edges(directory: Path, tasks: Mapping[str, int]) -> tuple[list[tuple[int, int]], list[float]]:
    if not (directory / COMMUNICATION).is_file():
        raise FormatError(f"the directory has no {COMMUNICATION}; without edges, give its header")
    (_, header), *rows = read_file(directory / COMMUNICATION)
    if header != EDGE_HEADER:
        raise FormatError(f"{COMMUNICATION} needs the header {','.join(EDGE_HEADER)}")
    edges, data = [], []
    for where, (u, v, carried) in rows:
        for name in (u, v):
            if name not in tasks:
                raise FormatError(f"{where} names {name!r}, which is not a task of {COMPUTATION}")
        edges.append((tasks[u], tasks[v]))
        data.append(amount(carried, where, most=FINITE))
    return edges, data


def _inverse_bandwidth(directory: Path, processors: list[str]) -> Floats | None:
    inverse = _links(directory, INVERSE, processors)
    bandwidth = _links(directory, BANDWIDTH, processors)
    if bandwidth is None:
        return inverse
    if inverse is not None:
        raise FormatError(f"the directory has {BANDWIDTH} and {INVERSE}: remove one of them")
    np.fill_diagonal(bandwidth, np.inf)
    if not bandwidth.all():
        a, b = np.argwhere(bandwidth == 0)[0]
        raise FormatError(f"{BANDWIDTH}: {processors[a]!r} to {processors[b]!r} is 0, not > 0")
    return 1.0 / bandwidth


def _links(directory: Path, name: str, processors: list[str]) -> Floats | None:
    """``[p, p]`` numbers of a table between processors; None where it is missing."""
    if not (directory / name).is_file():
        return None
    (where, header), *rows = read_file(directory / name)
    if header[1:] != processors or [cells[0] for _, cells in rows] != processors:
        raise FormatError(f"{where}: the processors are not those of {COMPUTATION}, in its order")
    return np.array(
        [[cost(cell, where) for cell in cells[1:]] for where, cells in rows], dtype=np.float64
    )


# -- writing -----------------------------------------------------------------------------------


def dump(instance: Instance, schedule: Schedule | None = None) -> dict[str, str]:
    """Text of each file of the directory.

    Raises:
        DAGSchedError: a name has a control character or too many letters, or the label is empty
            text or begins with a byte order mark.
    """
    check_names(instance, "CSV", longest=csv.field_size_limit())
    if instance.name == "":
        raise DAGSchedError("CSV cannot tell an empty name from none: use None")
    if instance.name and instance.name.startswith(MARK):  # the first cell: readers would drop it
        raise DAGSchedError(
            f"CSV cannot carry the name {instance.name!r}, which begins with a byte order mark: "
            "rename it, or write own JSON"
        )
    p, tasks = instance.processor_names, instance.task_names
    costs = zip(tasks, instance.comp, strict=True)
    edges = zip(instance.edges.tolist(), instance.data, strict=True)
    files = {
        COMPUTATION: _text([instance.name or "", *p], ([t, *_cells(row)] for t, row in costs)),
        COMMUNICATION: _text(
            EDGE_HEADER, ([tasks[u], tasks[v], number_text(amount)] for (u, v), amount in edges)
        ),
        **_bandwidth(instance),
    }
    if instance.latency.any():
        files[LATENCY] = _matrix(p, p, instance.latency)
    if instance.n_resources:
        files[DEMANDS] = _matrix(tasks, instance.resource_names, instance.demands)
        files[CAPACITIES] = _matrix(p, instance.resource_names, instance.capacities)
    if schedule is not None:
        placed = zip(tasks, schedule.processor, schedule.start, schedule.finish, strict=True)
        files[SCHEDULE] = _text(
            SCHEDULE_HEADER, ([t, p[q], *_cells(times)] for t, q, *times in placed)
        )
    return files


def _bandwidth(instance: Instance) -> dict[str, str]:
    """Bandwidths, or their reciprocals where dividing twice does not restore them."""
    names = instance.processor_names
    with np.errstate(divide="ignore", over="ignore"):
        bandwidth = 1.0 / instance.inv_bandwidth
        exact = np.array_equal(1.0 / bandwidth, instance.inv_bandwidth)
    if exact:
        return {BANDWIDTH: _matrix(names, names, bandwidth)}
    return {INVERSE: _matrix(names, names, instance.inv_bandwidth)}


def _matrix(rows: Sequence[str], columns: Sequence[str], matrix: Floats) -> str:
    named = zip(rows, matrix, strict=True)
    return _text(["", *columns], ([name, *_cells(row)] for name, row in named))


def _cells(values: Iterable[float]) -> list[str]:
    return [number_text(value) for value in values]


def _text(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return stream.getvalue()

"""Times of tasks from a table, for graphs that have none, or in place of those of the file.

The table is CSV (RFC 4180) with the columns ``task`` and ``time``, or ``name`` or ``label`` and
``seconds``. A line gives its time to the task of this name, else to all tasks of this label, else
to all whose label begins with this line of text: Snakemake labels a job by its rule, and its
wildcards on the lines below. Nodes whose label is empty are no work and take no time, unless the
table names them: Dask and Nextflow draw data and channels so.
"""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from dagsched_env.io.csv_table import positions, read_file
from dagsched_env.io.csv_workflow import TIMES, records
from dagsched_env.io.numbers import amount
from dagsched_env.kernels.arrays import Floats
from dagsched_env.problem.errors import FormatError
from dagsched_env.problem.workflow import Workflow

COLUMNS = {"task": ("task", "name", "label"), "time": (*TIMES, "seconds")}
UNIT = 1.0
END_OF_LINE = re.compile(r"\n|\\[nlr]")
"""In a label; DOT writes an escape."""


def load(path: Path) -> dict[str, float]:
    """Name or label → time.

    Raises:
        FormatError: no such table, a name twice, or a time that is not between 0 and 1e100; the
            message names the line.
        OSError: the file cannot be read.
    """
    lines = records(read_file(path), COLUMNS)
    positions((where, cells["task"]) for where, cells in lines)
    return {
        _plain(cells["task"]): amount(cells["time"], f"{where} needs seconds >= 0")
        for where, cells in lines
    }


def timed(
    workflow: Workflow, table: Mapping[str, float] | None, *, unit: bool, source: str, remedy: str
) -> Workflow:
    """The workflow with a time for each task, and what there is to say of them.

    Args:
        workflow: whose runtimes may be NaN.
        table: name or label → time, in place of that of the file; None = there is none.
        unit: whether each task that is some work takes 1.
        source: what the table is called.
        remedy: how to give times, for the message.

    Raises:
        FormatError: a task has no time; the message names it.
    """
    runtimes = workflow.runtimes.copy()
    named = list(zip(workflow.tasks, workflow.labels or workflow.tasks, strict=True))
    said = list(workflow.assumptions)
    if table is not None or unit:
        said += _fill(runtimes, named, table or {}, unit=unit, source=source)
    missing = [named[i] for i in np.flatnonzero(np.isnan(runtimes))]
    if missing:
        task, label = next((names for names in missing if names[1]), missing[0])
        shown = repr(task) if label in ("", task) else f"{task!r} ({label!r})"
        more = f" ({len(missing)} tasks have none)" if len(missing) > 1 else ""
        mend = remedy if table is None else f"add a line to {source}"
        raise FormatError(f"task {shown} has no time{more}: {mend}")
    idle = np.flatnonzero(runtimes == 0)
    if workflow.says_units and idle.size:
        first = workflow.tasks[idle[0]]
        said.append(f"{idle.size} of {len(runtimes)} tasks take no time, such as {first!r}")
    return dataclasses.replace(workflow, runtimes=runtimes, assumptions=tuple(said))


def _fill(
    runtimes: Floats,
    named: Sequence[tuple[str, str]],
    table: Mapping[str, float],
    *,
    unit: bool,
    source: str,
) -> list[str]:
    """Set the times of tasks, in place, by their names and labels; what there is to say of it."""
    used: set[str] = set()
    silent = []
    for i, (task, label) in enumerate(named):
        keys = (_plain(task), _plain(label), END_OF_LINE.split(label)[0])
        key = next((key for key in keys if key in table), None)
        if key is not None:
            used.add(key)
            runtimes[i] = table[key]
        elif np.isnan(runtimes[i]) and not label:
            silent.append(task)
            runtimes[i] = 0.0
        elif unit and runtimes[i] != 0:
            runtimes[i] = UNIT
    said = []
    if silent:
        said.append(f"{_some(silent, 'node')} without a label: no work, which takes no time")
    if unknown := [name for name in table if name not in used]:
        said.append(f"{_some(unknown, 'line')} of {source}: no task has this name or label")
    return said


def _plain(text: str) -> str:
    """A name or label as it is compared."""
    return END_OF_LINE.sub("\n", text)


def _some(names: list[str], what: str) -> str:
    return f"{len(names)} {what}{'s' if len(names) > 1 else ''}, such as {names[0]!r},"

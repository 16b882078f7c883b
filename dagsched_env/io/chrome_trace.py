"""Trace Event Format of chrome://tracing and ui.perfetto.dev: a schedule as a timeline.

N. Duca, D. Sinclair, Trace Event Format (Google, 2016). There is a row for each processor, or
several where its tasks overlap, a slice for each task, and an arrow for each transfer between
processors. One unit of time is shown as one second.
"""

import json
from typing import Any

import numpy as np

from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule

MICROSECONDS = 1e6
"""The format counts in microseconds."""


def dump(instance: Instance, schedule: Schedule | None) -> str:
    """The schedule as a JSON object with one event per line.

    Args:
        instance: gives names and transfers.
        schedule: a valid schedule of it.

    Raises:
        DAGSchedError: there is no schedule, or its times, in microseconds, exceed float64.
    """
    if schedule is None:
        raise DAGSchedError("a Chrome trace shows a schedule: pass one")
    if not np.isfinite(schedule.makespan * MICROSECONDS):
        raise DAGSchedError("the times are too large for a trace: choose a larger unit")
    title = {"name": "process_name", "ph": "M", "pid": 0, "args": {"name": instance.name or "DAG"}}
    row, names = _rows(instance, schedule)
    rows = [
        {"name": "thread_name", "ph": "M", "pid": 0, "tid": i, "args": {"name": name}}
        for i, name in enumerate(names)
    ]
    events = [title, *rows, *_slices(instance, schedule, row), *_arrows(instance, schedule, row)]
    lines = ",\n".join(json.dumps(event, allow_nan=False) for event in events)
    other: dict[str, Any] = {"algorithm": schedule.algorithm, "makespan": schedule.makespan}
    if instance.assumptions:
        other["assumptions"] = instance.assumptions
    return (
        f'{{"displayTimeUnit": "ms", "otherData": {json.dumps(other)}, "traceEvents": [\n'
        f"{lines}\n]}}\n"
    )


def _rows(instance: Instance, schedule: Schedule) -> tuple[list[int], list[str]]:
    """Row of each task, and names of all rows: slices of one row do not overlap."""
    if not instance.n_resources:
        return schedule.processor.tolist(), list(instance.processor_names)
    ends: list[list[float]] = [[] for _ in instance.processor_names]
    place = [0] * instance.n_tasks
    for t in np.lexsort((schedule.finish, schedule.start)).tolist():
        taken, start = ends[schedule.processor[t]], float(schedule.start[t])
        place[t] = next((i for i, end in enumerate(taken) if end <= start), len(taken))
        if place[t] == len(taken):
            taken.append(start)
        taken[place[t]] = float(schedule.finish[t])
    counts = [max(1, len(taken)) for taken in ends]
    first = np.cumsum([0, *counts]).tolist()
    names = [
        name if i == 0 else f"{name} ({i + 1})"
        for name, count in zip(instance.processor_names, counts, strict=True)
        for i in range(count)
    ]
    return [first[q] + place[t] for t, q in enumerate(schedule.processor.tolist())], names


def _slices(instance: Instance, schedule: Schedule, row: list[int]) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "cat": "task",
            "ph": "X",
            "pid": 0,
            "tid": row[t],
            "ts": float(schedule.start[t]) * MICROSECONDS,
            "dur": float(schedule.finish[t] - schedule.start[t]) * MICROSECONDS,
            "args": {"task": t, "start": float(schedule.start[t])},
        }
        for t, name in enumerate(instance.task_names)
    ]


def _arrows(instance: Instance, schedule: Schedule, row: list[int]) -> list[dict[str, Any]]:
    """A start and an end for each edge between different processors."""
    events: list[dict[str, Any]] = []
    for e, (u, v) in enumerate(instance.edges.tolist()):
        if schedule.processor[u] == schedule.processor[v]:
            continue
        common = {"name": "data", "cat": "transfer", "id": e, "pid": 0}
        sent, used = float(schedule.finish[u]), float(schedule.start[v])
        args = {"data": float(instance.data[e])}
        events.append({**common, "ph": "s", "tid": row[u], "ts": sent * MICROSECONDS, "args": args})
        events.append({**common, "ph": "f", "bp": "e", "tid": row[v], "ts": used * MICROSECONDS})
    return events

"""Trace Event Format of chrome://tracing and ui.perfetto.dev: a schedule as a timeline.

N. Duca, D. Sinclair, Trace Event Format (Google, 2016). There is a row for each processor, a slice
for each task, and an arrow for each transfer between processors. One unit of time is shown as one
second.
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
    rows = [
        {"name": "thread_name", "ph": "M", "pid": 0, "tid": q, "args": {"name": name}}
        for q, name in enumerate(instance.processor_names)
    ]
    events = [title, *rows, *_slices(instance, schedule), *_arrows(instance, schedule)]
    lines = ",\n".join(json.dumps(event, allow_nan=False) for event in events)
    other: dict[str, Any] = {"algorithm": schedule.algorithm, "makespan": schedule.makespan}
    if instance.assumptions:
        other["assumptions"] = instance.assumptions
    return (
        f'{{"displayTimeUnit": "ms", "otherData": {json.dumps(other)}, "traceEvents": [\n'
        f"{lines}\n]}}\n"
    )


def _slices(instance: Instance, schedule: Schedule) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "cat": "task",
            "ph": "X",
            "pid": 0,
            "tid": int(schedule.processor[t]),
            "ts": float(schedule.start[t]) * MICROSECONDS,
            "dur": float(schedule.finish[t] - schedule.start[t]) * MICROSECONDS,
            "args": {"task": t, "start": float(schedule.start[t])},
        }
        for t, name in enumerate(instance.task_names)
    ]


def _arrows(instance: Instance, schedule: Schedule) -> list[dict[str, Any]]:
    """A start and an end for each edge between different processors."""
    events: list[dict[str, Any]] = []
    for e, (u, v) in enumerate(instance.edges.tolist()):
        a, b = int(schedule.processor[u]), int(schedule.processor[v])
        if a == b:
            continue
        common = {"name": "data", "cat": "transfer", "id": e, "pid": 0}
        sent, used = float(schedule.finish[u]), float(schedule.start[v])
        args = {"data": float(instance.data[e])}
        events.append({**common, "ph": "s", "tid": a, "ts": sent * MICROSECONDS, "args": args})
        events.append({**common, "ph": "f", "bp": "e", "tid": b, "ts": used * MICROSECONDS})
    return events

"""Trace Event Format of chrome://tracing and ui.perfetto.dev: a schedule as a timeline.

N. Duca, D. Sinclair, Trace Event Format (Google, 2016). There is a row for each processor, a slice
for each task, and an arrow for each transfer between processors. One unit of time is shown as one
second.

Slices of one row may not overlap. So a processor with resources is a process of its own, with as
many rows as it needs, and with a counter for the use of each resource.

Edges, machines and resources are in ``otherData``, so that ``trace_events`` reads the trace back
where there are at most 256 processors. What tasks take on other processors is not in it;
``unrelated`` says that they differ there. Nor are release dates, of which ``released`` tells.
"""

import json
from typing import Any, NamedTuple

import numpy as np

from dagsched_env.io import run_json
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.lanes import place_in_lanes, resource_use
from dagsched_env.problem.platforms import Platform
from dagsched_env.problem.schedule import Schedule

MICROSECONDS = 1e6
"""The format counts in microseconds."""
MOST_MACHINES = 256
"""Beyond, the links between all pairs of them would take more than everything else."""


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
    rows = _rows(instance, schedule)
    events = [
        *rows.titles,
        *_slices(instance, schedule, rows),
        *_arrows(instance, schedule, rows),
        *_counters(instance, schedule),
    ]
    lines = ",\n".join(json.dumps(event, allow_nan=False) for event in events)
    other: dict[str, Any] = {"algorithm": schedule.algorithm, "makespan": schedule.makespan}
    if instance.n_resources and instance.name:
        other["instance"] = instance.name
    if instance.n_processors <= MOST_MACHINES:
        ends, data = instance.edges.tolist(), instance.data.tolist()
        other["edges"] = [[u, v, size] for (u, v), size in zip(ends, data, strict=True)]
        other["machines"] = run_json.machines_record(_machines(instance))
    if (instance.comp != instance.comp[:, :1]).any():
        other["unrelated"] = True
    if instance.has_release:
        other["released"] = True
    if instance.assumptions:
        other["assumptions"] = instance.assumptions
    return (
        f'{{"displayTimeUnit": "ms", "otherData": {json.dumps(other)}, "traceEvents": [\n'
        f"{lines}\n]}}\n"
    )


def _machines(instance: Instance) -> Platform:
    """The machines; what they have of each resource, but for tasks that run one at a time."""
    with np.errstate(divide="ignore"):
        bandwidths = 1.0 / instance.inv_bandwidth
    return Platform(
        np.ones(instance.n_processors),
        bandwidths,
        latency=instance.latency,
        processor_names=instance.processor_names,
        capacities=dict(zip(instance.resource_names, instance.capacities.T, strict=True)),
    )


class _Rows(NamedTuple):
    """Where the tasks are shown."""

    titles: list[dict[str, Any]]
    """The events that name the rows."""
    pid: list[int]
    """``[n]``."""
    tid: list[int]
    """``[n]``; no two rows have the same."""


def _rows(instance: Instance, schedule: Schedule) -> _Rows:
    lanes = place_in_lanes(schedule, instance, by_demand=False)
    names = instance.processor_names
    if lanes is None:
        titles = [_title("process_name", 0, None, instance.name or "DAG")]
        titles += [_title("thread_name", 0, q, name) for q, name in enumerate(names)]
        return _Rows(titles, [0] * instance.n_tasks, schedule.processor.tolist())
    first = (len(names) + 1 + np.cumsum(lanes.height) - lanes.height).tolist()  # after all pids
    titles = []
    for q, name in enumerate(names):
        titles.append(_title("process_name", q + 1, None, name))
        for i in range(int(lanes.height[q])):
            titles.append(_title("thread_name", q + 1, first[q] + i, f"{name} #{i + 1}"))
    lane = np.zeros(instance.n_tasks, dtype=np.int64)
    lane[lanes.pieces.task] = lanes.pieces.first
    placed = schedule.processor.tolist()
    tid = [first[q] + i for q, i in zip(placed, lane.tolist(), strict=True)]
    return _Rows(titles, [q + 1 for q in placed], tid)


def _title(what: str, pid: int, tid: int | None, name: str) -> dict[str, Any]:
    row = {} if tid is None else {"tid": tid}
    return {"name": what, "ph": "M", "pid": pid, **row, "args": {"name": name}}


def _slices(instance: Instance, schedule: Schedule, rows: _Rows) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "cat": "task",
            "ph": "X",
            "pid": rows.pid[t],
            "tid": rows.tid[t],
            "ts": float(schedule.start[t]) * MICROSECONDS,
            "dur": float(schedule.finish[t] - schedule.start[t]) * MICROSECONDS,
            "args": {"task": t, "start": float(schedule.start[t]), **_demands(instance, t)},
        }
        for t, name in enumerate(instance.task_names)
    ]


def _demands(instance: Instance, t: int) -> dict[str, Any]:
    if not instance.n_resources:
        return {}
    return {
        "demands": dict(zip(instance.resource_names, instance.demands[t].tolist(), strict=True))
    }


def _arrows(instance: Instance, schedule: Schedule, rows: _Rows) -> list[dict[str, Any]]:
    """A start and an end for each edge between different processors."""
    events: list[dict[str, Any]] = []
    for e, (u, v) in enumerate(instance.edges.tolist()):
        if schedule.processor[u] == schedule.processor[v]:
            continue
        common = {"name": "data", "cat": "transfer", "id": e}
        source = {**common, "pid": rows.pid[u], "ph": "s", "tid": rows.tid[u]}
        target = {**common, "pid": rows.pid[v], "ph": "f", "bp": "e", "tid": rows.tid[v]}
        sent, used = float(schedule.finish[u]), float(schedule.start[v])
        args = {"data": float(instance.data[e])}
        events.append({**source, "ts": sent * MICROSECONDS, "args": args})
        events.append({**target, "ts": used * MICROSECONDS})
    return events


def _counters(instance: Instance, schedule: Schedule) -> list[dict[str, Any]]:
    """What is in use of each resource on each processor, whenever it changes."""
    if not instance.n_resources:
        return []
    return [
        {"name": name, "ph": "C", "pid": q + 1, "ts": time * MICROSECONDS, "args": {"used": used}}
        for q, use in enumerate(resource_use(schedule, instance))
        for r, name in enumerate(instance.resource_names)
        for time, used in zip(use.time.tolist(), use.amount[:, r].tolist(), strict=True)
    ]

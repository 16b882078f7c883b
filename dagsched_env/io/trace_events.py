"""Trace Event Format, read: what tools wrote for chrome://tracing or ui.perfetto.dev.

A JSON object with ``traceEvents``, or a list of them. Complete events (``X``, or ``B`` and ``E``)
are tasks, of the kind that their name says; events within another one of the same lane are parts of
it. Flow events (``s``, ``t``, ``f``; or ``bind_id``) are the edges, between the events in which
they lie; without ``"bp": "e"`` one ends at the next event. That one event follows another in a lane
is no edge. A process (``pid``) is a machine, and its lanes (``tid``) with tasks are its cores.
Times are microseconds. Flow events carry no sizes, so nothing is known of the data. A flow need not
start where an event ends: the edge then says more than the trace does, which is remarked. A trace
without flow events holds no graph, and is refused.

A trace that this package wrote of a schedule is read with all its edges, data and machines, but
not with what tasks take on other machines.
"""

import bisect
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from dagsched_env.io import machine_file
from dagsched_env.io.fields import get_amount, record_of, texts
from dagsched_env.io.names import distinct
from dagsched_env.io.numbers import LARGEST
from dagsched_env.kernels.arrays import Ints
from dagsched_env.problem.errors import FormatError
from dagsched_env.problem.platforms import Platform
from dagsched_env.problem.run import BANDWIDTH, Run
from dagsched_env.problem.workflow import CORES, Workflow

ELSEWHERE = "what tasks take on other machines is not in a trace, and taken as what they took"
RELEASED = "release dates are not in a trace: every task and machine is there from the begin on"
SECOND = 1e6
"""Microseconds."""
SLACK = 0.002
"""Microseconds: large times lose digits."""


class Slice(NamedTuple):
    """One event that lasts."""

    start: float
    finish: float
    lane: tuple[str, str]
    name: str
    args: dict[str, Any]


class Point(NamedTuple):
    """One flow event."""

    time: float
    lane: tuple[str, str]
    comes: bool
    """Whether an edge ends here."""
    goes: bool
    """Whether edges begin here."""
    enclosing: bool
    """Whether it belongs to the event around it, not to the next one."""


@dataclass
class _Events:
    """The events of a trace, sorted out."""

    slices: list[Slice] = field(default_factory=list)
    flows: dict[tuple[str, str, str], list[Point]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    """Of processes."""
    unfinished: int = 0


def recognises(record: Any) -> bool:
    """Whether parsed JSON is a trace."""
    events = record.get("traceEvents") if isinstance(record, dict) else record
    return isinstance(events, list) and bool(events) and _is_event(events[0])


def parse(record: Any, *, name: str | None) -> Run:
    """Read a trace; raises FormatError, which names the event."""
    whole = record if isinstance(record, dict) else {"traceEvents": record}
    events = whole.get("traceEvents")
    if not isinstance(events, list):
        raise FormatError('no trace: the top level needs "traceEvents", or is a list of events')
    found = _sorted_out(events)
    if not found.slices:
        raise FormatError("the trace has no events that last (ph X, or B and E)")
    other = whole.get("otherData")
    if isinstance(other, dict) and {"algorithm", "makespan"} <= other.keys():
        if not {"edges", "machines"} <= other.keys():
            raise FormatError(
                "this trace shows a schedule without all its edges and machines (more than 256, "
                "or by an older version): name the problem, which has them"
            )
        return _own(found.slices, other, name)
    return _foreign(found, name)


def _is_event(event: Any) -> bool:
    return isinstance(event, dict) and isinstance(event.get("ph"), str)


def _sorted_out(events: list[Any]) -> _Events:
    found = _Events()
    begun: dict[tuple[str, str], list[Slice]] = {}
    for i, event in enumerate(events):
        where = f"traceEvents[{i}]"
        if not event:  # some tools end a list with an empty event
            continue
        phase = record_of(event, where).get("ph")
        lane = (str(event.get("pid", 0)), str(event.get("tid", 0)))
        if phase == "X":
            start = _number(event, "ts", where)
            finish = start + _number(event, "dur", where)
            found.slices.append(Slice(start, finish, lane, _name(event), _args(event, where)))
            _bound(found, event, found.slices[-1])
        elif phase == "B":
            start = _number(event, "ts", where)
            begun.setdefault(lane, []).append(
                Slice(start, start, lane, _name(event), _args(event, where))
            )
        elif phase == "E":
            if not begun.get(lane):
                raise FormatError(f"{where} ends what did not begin (ph E without B)")
            last = begun[lane].pop()
            finish = _number(event, "ts", where)
            if finish < last.start:
                raise FormatError(f"{where}.ts is before the begin of its event")
            found.slices.append(last._replace(finish=finish))
        elif phase in ("s", "t", "f"):
            enclosing = phase != "f" or event.get("bp") == "e"
            point = Point(_number(event, "ts", where), lane, phase != "s", phase != "f", enclosing)
            found.flows.setdefault(_flow(event, event.get("id")), []).append(point)
        elif phase == "M" and event.get("name") == "process_name":
            found.names[lane[0]] = str(_args(event, where).get("name") or lane[0])
    found.unfinished = sum(map(len, begun.values()))
    return found


def _bound(found: _Events, event: dict[str, Any], own: Slice) -> None:
    """A flow as an attribute of the events that it joins."""
    if "bind_id" not in event:
        return
    comes, goes = bool(event.get("flow_in")), bool(event.get("flow_out"))
    middle = (own.start + own.finish) / 2
    point = Point(middle, own.lane, comes, goes, True)
    found.flows.setdefault(_flow(event, event["bind_id"]), []).append(point)


def _flow(event: dict[str, Any], identity: Any) -> tuple[str, str, str]:
    """What the events of one flow have in common."""
    if "bind_id" in event:
        return "", "", str(identity)
    return str(event.get("cat")), str(event.get("name")), str(identity)


def _name(event: dict[str, Any]) -> str:
    return str(event.get("name", "event"))


def _args(event: dict[str, Any], where: str) -> dict[str, Any]:
    return record_of(event.get("args") or {}, f"{where}.args")


def _number(event: dict[str, Any], key: str, where: str) -> float:
    value = event.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FormatError(f"{where}.{key} is {type(value).__name__}, not a number")
    least = 0.0 if key == "dur" else -LARGEST
    if not least <= value <= LARGEST:
        raise FormatError(f"{where}.{key} is {str(value)[:20]}, which is no time")
    return float(value)


# -- traces of tools -----------------------------------------------------------------------------


def _foreign(found: _Events, name: str | None) -> Run:
    tasks, parts = _outermost(found.slices)
    if not found.flows:
        raise FormatError(
            f"nothing says which of its {len(tasks)} events waits for which: a trace needs flow "
            "events (ph s, t, f) to be a problem; have the tool record them"
        )
    edges, lost = _edges(tasks, found.flows)
    tasks, edges, frames = _without_frames(tasks, edges)
    if not edges:
        raise FormatError("its flow events (ph s, t, f) join no two events that last")
    began = min(task.start for task in tasks)
    start = np.array([(task.start - began) / SECOND for task in tasks])
    finish = np.array([(task.finish - began) / SECOND for task in tasks])
    lanes = dict.fromkeys(task.lane for task in tasks)
    cores = Counter(pid for pid, _ in lanes)
    early = sum(tasks[v].start < tasks[u].finish - SLACK for u, v in edges)
    workflow = Workflow(
        distinct([task.name for task in tasks]),
        finish - start,
        tuple(edges),
        np.ones(len(edges)),
        name=name,
        kinds=tuple(task.name for task in tasks),
        says_data=False,
        says_units=True,
        demands=np.ones((len(tasks), 1)),
        resource_names=(CORES,),
    )
    place = {pid: q for q, pid in enumerate(cores)}
    return Run(
        "trace",
        workflow,
        start,
        finish,
        np.array([place[task.lane[0]] for task in tasks]),
        Platform(
            np.ones(len(cores)),
            BANDWIDTH,
            processor_names=distinct([found.names.get(pid, pid) for pid in cores]),
            capacities={CORES: list(cores.values())},
        ),
        remarks=tuple(_remarks(parts, frames, early, lost, found.unfinished)),
    )


def _outermost(slices: Sequence[Slice]) -> tuple[list[Slice], int]:
    """The events that lie in no other one of their lane, by time, and the number of the others."""
    order = sorted(range(len(slices)), key=lambda i: (slices[i].start, -slices[i].finish, i))
    latest: dict[tuple[str, str], float] = {}
    tasks = []
    for i in order:
        here = slices[i]
        end = latest.get(here.lane, -math.inf)
        if here.start < end - SLACK and here.finish <= end + SLACK:
            continue
        tasks.append(here)
        latest[here.lane] = max(end, here.finish)
    return tasks, len(slices) - len(tasks)


def _edges(
    tasks: Sequence[Slice], flows: dict[tuple[str, str, str], list[Point]]
) -> tuple[list[tuple[int, int]], int]:
    """Pairs of tasks that flows join, each once, and how many flow events lead nowhere.

    An edge always leads from an earlier task to a later one, in the order of the tasks.
    """
    lanes: dict[tuple[str, str], list[int]] = {}
    for t, task in enumerate(tasks):
        lanes.setdefault(task.lane, []).append(t)
    edges: dict[tuple[int, int], None] = {}
    lost = 0
    for points in flows.values():
        source = None
        for point in sorted(points, key=lambda p: p.time):
            here = _task_at(point, tasks, lanes.get(point.lane, []))
            if point.comes and here is not None and source is not None and source < here:
                edges[source, here] = None
            elif here is None or (point.comes and here != source):
                lost += 1
            if point.goes:
                source = here
    return list(edges), lost


def _task_at(point: Point, tasks: Sequence[Slice], lane: Sequence[int]) -> int | None:
    """The task of a lane that a flow event belongs to; where two meet, it is the later one."""
    after = bisect.bisect_right(lane, point.time + SLACK, key=lambda t: tasks[t].start)
    around = [t for t in lane[max(after - 2, 0) : after] if tasks[t].finish >= point.time - SLACK]
    if not point.enclosing:
        following = bisect.bisect_left(lane, point.time - SLACK, key=lambda t: tasks[t].start)
        if following < len(lane):
            return lane[following]
    exactly = [t for t in around if tasks[t].start <= point.time]
    return next(reversed(exactly or around), None)


def _without_frames(
    tasks: list[Slice], edges: list[tuple[int, int]]
) -> tuple[list[Slice], list[tuple[int, int]], int]:
    """Without events that no flow joins and that last as long as all: they frame the trace."""
    joined = {t for edge in edges for t in edge}
    first = min((tasks[t].start for t in joined), default=math.inf)
    last = max((tasks[t].finish for t in joined), default=-math.inf)
    kept = [
        t for t, task in enumerate(tasks) if t in joined or task.start > first or task.finish < last
    ]
    index = {t: i for i, t in enumerate(kept)}
    return (
        [tasks[t] for t in kept],
        [(index[u], index[v]) for u, v in edges],
        len(tasks) - len(kept),
    )


def _remarks(parts: int, frames: int, early: int, lost: int, unfinished: int) -> Iterator[str]:
    said = (
        (parts, "events lie within others of their lane, and count as parts of them"),
        (frames, "events last as long as all others together, and are left out"),
        (unfinished, "events never ended, and are left out"),
        (lost, "flow events join no event to a later one, and are left out"),
        (early, "edges lead to a task that began before the other had ended"),
    )
    yield from (f"{number} {text}" for number, text in said if number)


# -- traces of this package ----------------------------------------------------------------------


def _own(slices: Sequence[Slice], other: dict[str, Any], name: str | None) -> Run:
    """What ``chrome_trace`` wrote: slices have the number of their task, rows that of machines."""
    n = len(slices)
    by_number = {_task_number(s, n): s for s in slices}
    if len(by_number) < n:
        raise FormatError("two events have the same args.task")
    tasks = [by_number[t] for t in range(n)]
    edges = [_own_edge(edge, i, n) for i, edge in enumerate(_list(other["edges"]))]
    machines = machine_file.parse(other["machines"], shared=True)
    start = np.array([task.start for task in tasks]) / SECOND
    finish = np.array([task.finish for task in tasks]) / SECOND
    demands = [record_of(task.args.get("demands", {}), "args.demands") for task in tasks]
    resources = tuple(dict.fromkeys(r for used in demands for r in used))
    workflow = Workflow(
        tuple(task.name for task in tasks),
        finish - start,
        tuple((u, v) for u, v, _ in edges),
        np.array([size for _, _, size in edges], dtype=np.float64),
        name=str(other.get("instance") or name or "trace"),
        demands=np.array(
            [[get_amount({r: 0} | used, r, "args.demands") for r in resources] for used in demands]
        ).reshape(n, len(resources)),
        resource_names=resources,
    )
    tool = str(other.get("algorithm") or "schedule")
    place = _own_places(tasks, machines.n_processors)
    remarks = tuple(texts(other.get("assumptions", []), "otherData.assumptions"))
    if other.get("unrelated"):
        remarks += (ELSEWHERE,)
    if other.get("released"):
        remarks += (RELEASED,)
    return Run(tool, workflow, start, finish, place, machines, remarks=remarks)


def _task_number(piece: Slice, n: int) -> int:
    number = piece.args.get("task")
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < n:
        raise FormatError(
            f"event {piece.name!r} has args.task {number!r}, not one from 0 to {n - 1}"
        )
    return number


def _own_places(tasks: Sequence[Slice], p: int) -> Ints:
    """Without resources all rows are in process 0; else each machine is a process, from 1."""
    try:
        rows = [(int(task.lane[0]), int(task.lane[1])) for task in tasks]
    except ValueError:
        raise FormatError("pid and tid of the events are not those of machines") from None
    place = np.array([tid if pid == 0 else pid - 1 for pid, tid in rows])
    if not ((place >= 0) & (place < p)).all():
        raise FormatError(f"an event lies in a row of none of the {p} machines")
    return place


def _own_edge(edge: Any, i: int, n: int) -> tuple[int, int, float]:
    match edge:
        case [int(u), int(v), int() | float() as size] if (
            0 <= u < n and 0 <= v < n and 0 <= size <= LARGEST
        ):
            return u, v, float(size)
    raise FormatError(f"otherData.edges[{i}] is not [from, to, data], by numbers of tasks")


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise FormatError("otherData.edges is not a list")
    return value

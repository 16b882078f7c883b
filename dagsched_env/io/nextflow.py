"""Runs of Nextflow: a trace (``-with-trace``), and beside it the graph (``-with-dag dag.dot``).

The trace is text with tabs, with the fields ``name`` and ``status``, and times: ``submit`` and
``duration``, or ``start`` and ``complete``; ``realtime`` is the time of a task where it is there.
Times are read as Nextflow writes them, or as raw milliseconds; its MB are 1024² bytes. The graph is
``dag.dot``, ``flowchart.dot`` or the only ``.dot`` file in the folder.

The graph is one of processes, not of tasks. A task waits for those tasks of each process before its
own that have its tag, or for all of them if none has; the number that stands in place of a tag is
none. It cannot have waited for one that ended after it was submitted: such pairs are no edges.
Tasks that failed or were aborted are left out; cached ones have no time of start. The kind of a
task is its process. Cores are ``cpus``, or else whole ones that hold ``%cpu``; memory is
``peak_rss``. Nothing is known of the data: the trace counts what tasks read, not from whom.
"""

import datetime
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dagsched_env.io.dot_syntax import Digraph, parse_digraph
from dagsched_env.io.names import distinct
from dagsched_env.io.source import decoded, named
from dagsched_env.kernels.arrays import Floats
from dagsched_env.problem.errors import FormatError
from dagsched_env.problem.platforms import Platform
from dagsched_env.problem.run import BANDWIDTH, Run, observed_node
from dagsched_env.problem.workflow import CORES, MEMORY, Workflow

GRAPHS = ("dag.dot", "flowchart.dot")
HOW_TO_MAKE = "make it with  nextflow run … -preview -with-dag dag.dot  in that folder"
WAITS = (
    "the graph is one of processes: a task waits for those of the same tag in the processes before "
    "its own, or for all if none has it"
)
ENDED = ("COMPLETED", "CACHED")
CLOCK, ROUNDED = 0.001, 1.0
"""Seconds by which a time may be wrong: as written, and after a duration such as ``1m 30s``."""
NO_VALUE = ("-", "")
UNITS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
PREFIXES = ("", "K", "M", "G", "T", "P", "E")
NAME = re.compile(r"(?P<process>[^\s()]+)(?: \((?P<tag>.*)\))?", re.DOTALL)
SIZE = re.compile(r"(?P<number>[\d.]+) ?(?P<prefix>[KMGTPE]?)B?", re.IGNORECASE)
PART = re.compile(r"([\d.]+) ?(ms|s|m|h|d)(?: |$)")


class Task(NamedTuple):
    """One line of the trace; NaN = not recorded. Times are seconds of one clock."""

    name: str
    process: str
    tag: str | None
    status: str
    submit: float
    start: float
    finish: float
    ended: float
    """The earliest ``finish`` that agrees with the digits of the trace."""
    runtime: float
    cores: float
    memory: float
    host: str


def recognises(text: str) -> bool:
    """Whether text begins with the header of a trace."""
    header = text.partition("\n")[0].rstrip("\r").split("\t")
    return {"name", "status"} <= {*header} and bool({"hash", "task_id", "native_id"} & {*header})


def parse(path: Path, text: str) -> Run:
    """Read a trace, and the graph beside it.

    Raises:
        FormatError: malformed, or there is no graph; the message names file and line.
        OSError: the graph cannot be read.
    """
    rows = list(read_trace(text))
    ended = [row for row in rows if row.status in ENDED]
    if not ended:
        raise FormatError("no task of the trace was completed")
    file = _graph_beside(path)
    with named(file.name):
        graph = parse_digraph(decoded(file.read_bytes()))
        before = _processes_before(graph, {row.process for row in ended})
    return _run(ended, rows, before, path.parent.resolve().name)


def _graph_beside(path: Path) -> Path:
    folder = path.parent
    for name in GRAPHS:
        if (folder / name).is_file():
            return folder / name
    found = sorted(folder.glob("*.dot"))
    if len(found) == 1:
        return found[0]
    what = "several graphs" if found else "no graph"
    such = f": {', '.join(file.name for file in found[:3])}; rename one to dag.dot" if found else ""
    raise FormatError(
        f"a trace does not say which process waits for which, and there is {what} beside it{such}; "
        f"{HOW_TO_MAKE}"
    )


# -- the trace -----------------------------------------------------------------------------------


def read_trace(text: str) -> Iterator[Task]:
    """The lines of a trace; raises FormatError, which names the line."""
    lines = text.replace("\r\n", "\n").split("\n")
    header = lines[0].split("\t")
    for key in ("name", "status"):
        if key not in header:
            raise FormatError(f"line 1: no field {key!r}: name it in trace.fields of the settings")
    timed = {"start", "complete"} <= {*header} or {"submit", "duration"} <= {*header}
    if not timed:
        raise FormatError(
            "line 1: no times: trace.fields needs start and complete, or submit and duration"
        )
    for i, line in enumerate(lines[1:], start=2):
        if not line:
            continue
        words = line.split("\t")
        if len(words) != len(header):
            raise FormatError(f"line {i}: {len(words)} values for {len(header)} fields")
        yield _task(dict(zip(header, words, strict=True)), f"line {i}")


def _task(row: dict[str, str], where: str) -> Task:
    def timestamp(key: str) -> float:
        return _timestamp(row.get(key, "-"), f"{where}, {key}")

    def duration(key: str) -> float:
        return _duration(row.get(key, "-"), f"{where}, {key}")

    submit, start, finish = timestamp("submit"), timestamp("start"), timestamp("complete")
    runtime = duration("realtime")
    slack = ROUNDED if math.isnan(finish) else CLOCK
    finish = submit + duration("duration") if math.isnan(finish) else finish
    if math.isnan(start):
        start = submit if math.isnan(runtime) else max(finish - runtime, submit)  # rounded digits
    runtime = finish - start if math.isnan(runtime) else runtime
    process, tag = _process_and_tag(row)
    return Task(
        row["name"],
        process,
        tag,
        row["status"],
        start if math.isnan(submit) else submit,
        start,
        finish,
        finish - slack,
        runtime,
        _cores(row, where),
        _size(row.get("peak_rss", row.get("rss", "-")), f"{where}, peak_rss"),
        row.get("hostname", "-"),
    )


def _process_and_tag(row: dict[str, str]) -> tuple[str, str | None]:
    found = NAME.fullmatch(row["name"])
    process = found["process"] if found else row["name"]
    tag = found["tag"] if found else None
    if tag is not None and tag.isdigit():
        tag = None  # the number of the task, in the order in which they were made
    process, tag = row.get("process", process), row.get("tag", tag)
    return process, None if tag in NO_VALUE else tag


def _cores(row: dict[str, str], where: str) -> float:
    cpus, use = row.get("cpus", "-"), row.get("%cpu", "-")
    if cpus not in NO_VALUE:
        return _number(cpus, f"{where}, cpus")
    if use in NO_VALUE:
        return math.nan
    return max(1.0, math.ceil(_number(use.removesuffix("%"), f"{where}, %cpu") / 100))


def _timestamp(text: str, where: str) -> float:
    """Seconds; of local time, as if it were UTC."""
    if text in NO_VALUE:
        return math.nan
    if text.isdigit():
        return _number(text, where) / 1e3
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise FormatError(
            f"{where}: {text!r} is no time, such as 2024-02-09 14:44:43.053"
        ) from None
    return moment.replace(tzinfo=moment.tzinfo or datetime.UTC).timestamp()


def _duration(text: str, where: str) -> float:
    if text in NO_VALUE:
        return math.nan
    if text.replace(".", "", 1).isdigit():
        return _number(text, where) / 1e3
    parts = PART.findall(text)
    if not parts or PART.sub("", text):
        raise FormatError(f"{where}: {text!r} is no duration, such as 1m 30s or 352ms")
    return math.fsum(_number(number, where) * UNITS[unit] for number, unit in parts)


def _size(text: str, where: str) -> float:
    """Bytes; as of Nextflow, 1 KB is 1024 of them."""
    if text in NO_VALUE:
        return math.nan
    found = SIZE.fullmatch(text)
    if found is None:
        raise FormatError(f"{where}: {text!r} is no size, such as 29.8 MB")
    return _number(found["number"], where) * 1024.0 ** PREFIXES.index(found["prefix"].upper())


def _number(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise FormatError(f"{where}: {text!r} is no number >= 0")
    return value


# -- the graph -----------------------------------------------------------------------------------


def _processes_before(graph: Digraph, processes: set[str]) -> dict[str, set[str]]:
    """For each process in the graph those that it waits for, past channels and operators.

    A process that ran no task passes nothing on.
    """
    of_node = _process_of_node(graph, processes)
    if not set(of_node.values()) & processes:
        raise FormatError(
            f"no process of the trace, such as {min(processes)}, is in this graph: {HOW_TO_MAKE}"
        )
    sources: dict[str, list[str]] = {}
    for u, v, _ in graph.edges:
        sources.setdefault(v, []).append(u)
    before: dict[str, set[str]] = {}
    for node, process in of_node.items():
        if process not in processes:
            continue
        found = before.setdefault(process, set())
        todo, seen = list(sources.get(node, ())), set[str]()
        while todo:
            here = todo.pop()
            if here in of_node:
                found.add(of_node[here])
            elif here not in seen:
                seen.add(here)
                todo += sources.get(here, ())
    return {process: (found & processes) - {process} for process, found in before.items()}


def _process_of_node(graph: Digraph, processes: set[str]) -> dict[str, str]:
    """Nodes that are processes, with the name in the trace; others have a shape and no label.

    In a graph with a box for each workflow, labels are the last parts of names.
    """
    short: dict[str, list[str]] = {}
    for process in processes:
        short.setdefault(process.rpartition(":")[2], []).append(process)
    found = {}
    for node, attributes in graph.nodes.items():
        label = attributes.get("label", "")
        if not label or (label not in processes and "shape" in attributes):
            continue
        longer = short.get(label, [])
        found[node] = longer[0] if label not in processes and len(longer) == 1 else label
    return found


# -- the run -------------------------------------------------------------------------------------


def _run(tasks: list[Task], rows: list[Task], before: dict[str, set[str]], name: str) -> Run:
    edges, refuted = _edges(tasks, before)
    ran = np.array([t.status == "COMPLETED" and t.finish >= t.start for t in tasks])
    began = min((min(t.submit, t.start) for t, r in zip(tasks, ran, strict=True) if r), default=0.0)
    start = np.where(ran, np.array([t.start for t in tasks]) - began, np.nan)
    finish = np.where(ran, np.array([t.finish for t in tasks]) - began, np.nan)
    demands = np.array([[t.cores, t.memory] for t in tasks])
    place, machines = _machines(tasks, start, finish, demands[:, 0])
    workflow = Workflow(
        distinct([t.name for t in tasks]),
        np.array([t.runtime for t in tasks]),
        edges,
        np.ones(len(edges)),
        name=name or None,
        kinds=tuple(t.process for t in tasks),
        says_data=False,
        says_units=True,
        demands=demands,
        resource_names=(CORES, MEMORY),
        resource_notes=("", "the peak of the resident set"),
    )
    return Run(
        "nextflow",
        workflow,
        start,
        finish,
        np.where(ran, place, -1),
        machines,
        remarks=tuple(_said(tasks, rows, before, refuted)),
    )


def _edges(
    tasks: Sequence[Task], before: dict[str, set[str]]
) -> tuple[tuple[tuple[int, int], ...], int]:
    """Pairs of tasks, and the number of those that the times of the run refute."""
    of_process: dict[str, list[int]] = {}
    tagged: dict[tuple[str, str | None], list[int]] = {}
    for t, task in enumerate(tasks):
        of_process.setdefault(task.process, []).append(t)
        tagged.setdefault((task.process, task.tag), []).append(t)
    found, refuted = [], 0
    for v, task in enumerate(tasks):
        for process in sorted(before.get(task.process, ())):
            alike = tagged.get((process, task.tag)) if task.tag is not None else None
            for u in alike or of_process[process]:
                if _too_late(tasks[u], task):
                    refuted += 1
                else:
                    found.append((u, v))
    return tuple(found), refuted


def _too_late(first: Task, second: Task) -> bool:
    """Whether one task ended after another had been submitted in the same run."""
    both = first.status == second.status == "COMPLETED"
    return both and first.ended > second.submit


def _machines(
    tasks: Sequence[Task], start: Floats, finish: Floats, cores: Floats
) -> tuple[list[int], Platform]:
    """The machine of each task: its host, or one for all where hosts are not recorded."""
    hosts = sorted({task.host for task in tasks} - {*NO_VALUE})
    if not hosts or any(task.host in NO_VALUE for task in tasks):
        return [0] * len(tasks), observed_node("machine", start, finish, cores)
    place = np.array([hosts.index(task.host) for task in tasks])
    most = []
    for q, host in enumerate(hosts):
        here = place == q
        one = observed_node(host, start[here], finish[here], cores[here])
        most.append(float(one.capacities[CORES][0]))
    platform = Platform(
        np.ones(len(hosts)), BANDWIDTH, processor_names=hosts, capacities={CORES: most}
    )
    return place.tolist(), platform


def _said(
    tasks: Sequence[Task], rows: Sequence[Task], before: dict[str, set[str]], refuted: int
) -> Iterator[str]:
    yield WAITS
    if refuted:
        yield f"{refuted} pairs are no edges: one task had not ended when the other was submitted"
    cached = sum(task.status == "CACHED" for task in tasks)
    if cached:
        yield f"{cached} of {len(tasks)} tasks were cached: their times are of an earlier run"
    names = {task.name for task in tasks}
    lost = [row.name for row in rows if row.status not in ENDED]
    again = {name for name in lost if name in names}
    if again:
        yield f"{len(again)} tasks ran more than once, such as {min(again)}: the last time counts"
    if gone := sorted({*lost} - names):
        yield f"left out, because not completed: {len(gone)} tasks, such as {gone[0]}"
    if unknown := sorted({task.process for task in tasks} - before.keys()):
        yield (
            f"{len(unknown)} processes are not in the graph by one name, such as {unknown[0]}: "
            "their tasks wait for nothing, and nothing for them"
        )
    if any(task.host in NO_VALUE for task in tasks):
        yield "hosts are not recorded: one machine, with as many cores as were in use"

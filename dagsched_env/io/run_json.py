"""The package's own format of measured runs: exact, complete, versioned.

An object with ``"format": "dagsched-run"``, ``version`` 1, the ``tool``, a ``name``, ``remarks``,
``machines`` (a machine file), ``tasks``, and ``edges`` ``[from, to, bytes]`` by the position of
their tasks. A task has a ``name`` and ``seconds``, and as far as they are known its ``kind``,
``machine``, ``start`` and ``finish`` (seconds since the run began; none = not in this run), what it
``uses`` by resource, and ``input_bytes``. ``notes`` say what is meant by a resource, by its name.
"""

import json
from typing import Any

import numpy as np

from dagsched_env.io import machine_file
from dagsched_env.io.fields import entries, get, get_amount, get_text, index_of, record_of, texts
from dagsched_env.io.numbers import LARGEST
from dagsched_env.kernels.arrays import Floats
from dagsched_env.problem.errors import FormatError
from dagsched_env.problem.platforms import Platform
from dagsched_env.problem.run import Run
from dagsched_env.problem.workflow import KNOWN_RESOURCES, Workflow

FORMAT, VERSION = "dagsched-run", 1


def recognises(record: Any) -> bool:
    """Whether parsed JSON claims to be this format."""
    return isinstance(record, dict) and record.get("format") == FORMAT


def parse(record: Any) -> Run:
    """Read the output of ``dump``; raises FormatError."""
    if not recognises(record):
        raise FormatError(f'no run: the top level needs "format": "{FORMAT}"')
    if record.get("version") != VERSION:
        raise FormatError(
            f"version {record.get('version')!r} of this format is not known: this package "
            f"reads version {VERSION}"
        )
    machines = machine_file.parse(get(record, "machines", "the run"), shared=True)
    index = {name: q for q, name in enumerate(machines.processor_names)}
    tasks = list(entries(record, "tasks", "run"))
    names = tuple(index_of(tasks, "tasks", "name"))
    resources = tuple(dict.fromkeys(r for i, task in enumerate(tasks) for r in _uses(task, i)))
    where = [f"tasks[{i}]" for i in range(len(tasks))]
    workflow = Workflow(
        names,
        _column(tasks, "seconds"),
        tuple(_edge(edge, i, len(tasks)) for i, edge in enumerate(_list(record, "edges"))),
        np.array([_bytes(edge, i) for i, edge in enumerate(record["edges"])], dtype=np.float64),
        name=record.get("name"),
        kinds=tuple(get_text(task, "kind", w) for task, w in zip(tasks, where, strict=True)),
        says_data=bool(get(record, "says_data", "the run")),
        says_units=True,
        demands=np.array(
            [[_uses(task, i).get(r, np.nan) for r in resources] for i, task in enumerate(tasks)]
        ).reshape(len(tasks), len(resources)),
        resource_names=resources,
        resource_notes=_notes(record, resources),
    )
    return Run(
        get_text(record, "tool", "the run"),
        workflow,
        _column(tasks, "start"),
        _column(tasks, "finish"),
        np.array([_machine(task, i, index) for i, task in enumerate(tasks)], dtype=np.int64),
        machines,
        _column(tasks, "input_bytes"),
        tuple(texts(record.get("remarks", []), "remarks")),
    )


def dump(run: Run) -> str:
    """One JSON object and a line break; every float can be read back exactly."""
    workflow, kinds = run.workflow, run.kinds
    record = {
        "format": FORMAT,
        "version": VERSION,
        "tool": run.tool,
        "name": workflow.name,
        "remarks": [*workflow.assumptions, *run.remarks],
        **({"notes": notes} if (notes := _notes_of(workflow)) else {}),
        "machines": machines_record(run.machines),
        "says_data": workflow.says_data,
        "tasks": [_task(run, t, kinds) for t in range(len(workflow.tasks))],
        "edges": [
            [u, v, amount]
            for (u, v), amount in zip(workflow.edges, workflow.data.tolist(), strict=True)
        ],
    }
    return json.dumps(record, ensure_ascii=False) + "\n"


def _notes_of(workflow: Workflow) -> dict[str, str]:
    found = {name: workflow.note(name) for name in workflow.resource_names}
    return {name: note for name, note in found.items() if note}


def _notes(record: dict[str, Any], resources: tuple[str, ...]) -> tuple[str, ...] | None:
    notes = record_of(record.get("notes", {}), "notes")
    if not notes:
        return None
    known = {name: get_text(notes, name, "notes") for name in notes}
    return tuple(known.get(name, "") for name in resources)


def _task(run: Run, t: int, kinds: tuple[str, ...]) -> dict[str, Any]:
    workflow = run.workflow
    uses = {name: float(workflow.recorded(name)[t]) for name in workflow.resource_names}
    values = {
        "name": workflow.tasks[t],
        "kind": kinds[t],
        "seconds": float(workflow.runtimes[t]),
        "machine": run.machines.processor_names[run.machine[t]] if run.ran[t] else None,
        "start": float(run.start[t]),
        "finish": float(run.finish[t]),
        "input_bytes": np.nan if run.input_bytes is None else float(run.input_bytes[t]),
        "uses": {name: use for name, use in uses.items() if use == use},
    }
    return {key: value for key, value in values.items() if value == value and value is not None}


def machines_record(machines: Platform) -> dict[str, Any]:
    """Machines as the content of a machine file."""
    p = machines.n_processors
    processors = [
        {
            "name": str(machines.processor_names[q]),
            "speed": float(machines.speeds[q]),
            **_capacities(machines, q),
        }
        for q in range(p)
    ]
    apart = ~np.eye(p, dtype=bool)
    alike = all(np.unique(of[apart]).size <= 1 for of in (machines.bandwidths, machines.latency))
    pairs = [(0, 1)] * (p > 1) if alike else np.argwhere(apart).tolist()
    links = [
        {
            "from": str(machines.processor_names[a]),
            "to": str(machines.processor_names[b]),
            "bandwidth": float(min(machines.bandwidths[a, b], LARGEST)),
            "latency": float(machines.latency[a, b]),
        }
        for a, b in pairs
    ]
    shared = {key: link[key] for link in links[:1] for key in ("bandwidth", "latency")}
    rest = {"bandwidth": 1.0, "links": links}
    return {"format": machine_file.FORMAT, "processors": processors, **(shared if alike else rest)}


def _capacities(machines: Platform, q: int) -> dict[str, Any]:
    have = {name: float(min(amount[q], LARGEST)) for name, amount in machines.capacities.items()}
    known = {name: have.pop(name) for name in list(have) if name in KNOWN_RESOURCES}
    return known | ({"resources": have} if have else {})


def _list(record: dict[str, Any], key: str) -> list[Any]:
    found = get(record, key, "the run")
    if not isinstance(found, list):
        raise FormatError(f"{key} is not a list")
    return found


def _edge(edge: Any, i: int, n: int) -> tuple[int, int]:
    if not isinstance(edge, list) or len(edge) != 3:
        raise FormatError(f"edges[{i}] is not [from, to, bytes]")
    for end in edge[:2]:
        if isinstance(end, bool) or not isinstance(end, int) or not 0 <= end < n:
            raise FormatError(f"edges[{i}] names task {end!r}: give a position from 0 to {n - 1}")
    return edge[0], edge[1]


def _bytes(edge: list[Any], i: int) -> float:
    return get_amount({"bytes": edge[2]}, "bytes", f"edges[{i}]")


def _uses(task: dict[str, Any], i: int) -> dict[str, float]:
    uses = record_of(task.get("uses", {}), f"tasks[{i}].uses")
    return {name: get_amount(uses, name, f"tasks[{i}].uses") for name in uses}


def _column(tasks: list[dict[str, Any]], key: str) -> Floats:
    return np.array(
        [
            get_amount(task, key, f"tasks[{i}]") if key in task else np.nan
            for i, task in enumerate(tasks)
        ]
    )


def _machine(task: dict[str, Any], i: int, index: dict[str, int]) -> int:
    if "machine" not in task:
        return -1
    name = get_text(task, "machine", f"tasks[{i}]")
    if name not in index:
        raise FormatError(f"tasks[{i}].machine is {name!r}, which is not among the machines")
    for key in ("start", "finish"):
        get_amount(task, key, f"tasks[{i}]")
    return index[name]

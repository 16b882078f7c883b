"""Writing WfFormat 1.5, with the whole instance in an additional key so that nothing is lost.

WfFormat has one runtime for each task and no links. So ``runtimeInSeconds`` is the mean over the
eligible processors, and ``sizeInBytes`` is the data of an edge as one file (whole numbers pass the
schema; others are written as they are). ``coreCount`` is what a task uses of ``cores``, if it is at
least 1, as the schema has it; ``memoryInBytes`` what it uses of ``memory``. A top-level key
``"dagsched"``, which other readers ignore, holds the whole instance. It is used only if the rest of
the file agrees with it.
"""

import json
import re
from typing import Any

from dagsched_env.io import own_json
from dagsched_env.problem.errors import FormatError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.workflow import CORES, MEMORY

KEY = "dagsched"
LEAST_CORES = 1.0
"""Of a task, by the schema."""
ID = re.compile(r"[0-9a-zA-Z_.-]+", re.ASCII)
"""Ids that the schema allows in ``parents`` and ``children``."""


def dump(instance: Instance) -> str:
    """The instance as a trace that WfCommons reads, with the whole instance in a key."""
    record = {
        "name": instance.name or "workflow",
        "schemaVersion": "1.5",
        "workflow": _workflow(instance),
        KEY: json.loads(instance.to_json()),
    }
    return json.dumps(record, allow_nan=False) + "\n"


def embedded(record: Any) -> Instance | None:
    """The instance that ``dump`` put into a trace, or None.

    Raises:
        FormatError: it is broken, or the rest of the trace has been changed since.
        InvalidInstanceError: its numbers are not a valid instance.
    """
    if not isinstance(record, dict) or KEY not in record:
        return None
    try:
        instance = own_json.parse(record[KEY], json.dumps(record[KEY]))
    except RecursionError:
        raise FormatError(f"key {KEY!r} is nested too deeply") from None
    if record.get("workflow") != _workflow(instance):
        raise FormatError(
            f"key {KEY!r} is not the instance of this workflow: remove the key to read the "
            "workflow alone"
        )
    return instance


def _workflow(instance: Instance) -> dict[str, Any]:
    names = instance.task_names
    ids = names if all(map(ID.fullmatch, names)) else [f"t{i}" for i in range(len(names))]
    tasks: list[dict[str, Any]] = [
        {
            "name": name or task,
            "id": task,
            "parents": [],
            "children": [],
            "inputFiles": [],
            "outputFiles": [],
        }
        for name, task in zip(names, ids, strict=True)
    ]
    files = []
    for e, ((u, v), amount) in enumerate(zip(instance.edges.tolist(), instance.data, strict=True)):
        tasks[u]["children"].append(ids[v])
        tasks[v]["parents"].append(ids[u])
        tasks[u]["outputFiles"].append(f"e{e}")
        tasks[v]["inputFiles"].append(f"e{e}")
        files.append(
            {
                "id": f"e{e}",
                "sizeInBytes": _whole(float(amount)),
            }
        )
    runtimes = instance.arrays.mean_comp.tolist()
    return {
        "specification": {"tasks": tasks, "files": files},
        "execution": {
            "makespanInSeconds": 0,
            "executedAt": "1970-01-01T00:00:00Z",
            "tasks": [
                {"id": task, "runtimeInSeconds": runtime, **_resources(instance, t)}
                for t, (task, runtime) in enumerate(zip(ids, runtimes, strict=True))
            ],
        },
    }


def _resources(instance: Instance, task: int) -> dict[str, float]:
    """What a task uses, as far as the schema has a field for it."""
    uses = dict(zip(instance.resource_names, instance.demands[task].tolist(), strict=True))
    found = {}
    if uses.get(CORES, 0.0) >= LEAST_CORES:
        found["coreCount"] = _whole(uses[CORES])
    if MEMORY in uses:
        found["memoryInBytes"] = _whole(uses[MEMORY])
    return found


def _whole(value: float) -> float:
    """The same number, without a point where it is whole."""
    return int(value) if value.is_integer() else value

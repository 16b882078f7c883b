"""Cores and memory of the tasks of a WfFormat trace, and what the recorders mean by them.

``coreCount`` (``cores`` in 1.4) and ``memoryInBytes`` of an executed task are its ``cores`` and
``memory``, where the machines have such resources. 0 is nothing that was recorded. The schema calls
them the cores that a task requires, and its resident set; what they are depends on the recorder:

| recorder  | ``coreCount``                               | ``memoryInBytes``                |
| --------- | ------------------------------------------- | -------------------------------- |
| Pegasus   | the cores that were asked for, 1 if none    | peak of the resident set         |
| Makeflow  | peak of the cores that were used            | peak of the resident set         |
| Snakemake | the threads of the rule                     | missing                          |
| Nextflow  | missing or 1, whatever was asked for        | resident set when sampled        |
| others    | 1 where WfCommons knows nothing             | missing                          |

A measured peak is less than what must be reserved, and ``avgCPU`` may be above 100 % for each core
of ``coreCount``: what contradicts it is said, and ``coreCount`` is taken.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from dagsched_env.io.fields import get_amount
from dagsched_env.io.numbers import LARGEST
from dagsched_env.kernels.arrays import Floats
from dagsched_env.problem.workflow import CORES, MEMORY

MEASURED = "the resident set that was measured"
PEAK = "the peak of the resident set"
CORE_NOTES = {
    "pegasus": "those asked for, 1 where none were",
    "makeflow": "the peak of those that were used",
    "snakemake": "the threads of the rule",
    "nextflow": "which WfCommons sets to 1 whatever was asked for",
}
MEMORY_NOTES = {
    "pegasus": PEAK,
    "makeflow": PEAK,
    "nextflow": "the resident set when sampled, not its peak",
}
"""Recorder in lower case → what is said of its fields."""
TOLERANCE = 1.1
"""By how much ``avgCPU`` may be above the cores that are taken, for rounding and short tasks."""


def recorded(
    runs: Iterable[tuple[dict[str, Any], str]], recorder: str, *, cores_key: str = "coreCount"
) -> dict[str, Any]:
    """What a ``Workflow`` has of resources: its ``demands``, their names and the notes on them.

    Args:
        runs: the execution of each task, with its place for messages.
        recorder: name of the runtime system; empty where it is not known.
        cores_key: what the version of the format calls the cores.

    Raises:
        FormatError: a number is not between 0 and 1e100; the message names the place.
    """
    rows = [
        [*(_number(run, key, where) for key in (cores_key, "memoryInBytes")), _usage(run)]
        for run, where in runs
    ]
    cores, memory, usage = np.array(rows, dtype=np.float64).T
    system = recorder.lower()
    said = [CORE_NOTES.get(system, "coreCount")] if not np.isnan(cores).all() else []
    notes = (
        ", ".join(said + _contradicted(cores, usage)),
        "" if np.isnan(memory).all() else MEMORY_NOTES.get(system, MEASURED),
    )
    return {
        "demands": np.column_stack([cores, memory]),
        "resource_names": (CORES, MEMORY),
        "resource_notes": notes,
    }


def recorder_of(record: dict[str, Any]) -> str:
    """Name of the runtime system of a trace; empty where it has none."""
    system = record.get("runtimeSystem", record.get("wms"))  # until 1.4
    name = system.get("name") if isinstance(system, dict) else None
    return name if isinstance(name, str) else ""


def _number(run: dict[str, Any], key: str, where: str) -> float:
    """NaN where nothing was recorded."""
    value = get_amount(run, key, where) if run.get(key) is not None else 0.0
    return value if value > 0 else np.nan


def _usage(run: dict[str, Any]) -> float:
    """Percent of a core that were used; NaN where that is not known. It is only spoken of."""
    value = run.get("avgCPU")
    return float(value) if isinstance(value, int | float) and 0 < value <= LARGEST else np.nan


def _contradicted(cores: Floats, usage: Floats) -> list[str]:
    """What ``avgCPU`` says against the cores that are taken."""
    taken = np.where(np.isnan(cores), 1.0, cores)
    more = int((usage > 100.0 * TOLERANCE * taken).sum())  # NaN is not above anything
    most = f"{np.nanmax(usage):.0f} %" if more else ""
    return [f"though avgCPU of {more} is higher, up to {most}"] if more else []

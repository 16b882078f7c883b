"""What jobs of Snakemake used: threads, resources and benchmarks."""

import json
import math
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dagsched_env.io.numbers import amount
from dagsched_env.io.snakemake_logs import Started
from dagsched_env.io.snakemake_records import Job
from dagsched_env.kernels.arrays import Floats
from dagsched_env.problem.errors import FormatError
from dagsched_env.problem.workflow import CORES, GPUS, MEMORY

MB, MIB = 1e6, 2.0**20
"""Bytes in a unit of ``mem_mb``, and in one of the benchmarks' ``max_rss``."""
NO_RESOURCE = ("mem", "mem_mb", "mem_mib", "disk", "disk_mb", "disk_mib", "runtime", "tmpdir")
"""Names that are memory, or nothing that jobs share by amounts."""
GPU_NAMES = ("gpu", "gpus")


class Measured(NamedTuple):
    """What a table of ``benchmark:`` says of a job; NaN = nothing."""

    seconds: float = math.nan
    peak: float = math.nan
    """Bytes."""


class Placed(NamedTuple):
    """A job, and what the log files say of it."""

    job: Job
    call: int
    """Position of the call that ran it; -1 = none is known."""
    started: Started | None
    """What that call printed of it."""
    measured: Measured


class Demands(NamedTuple):
    """What tasks use, as of ``Workflow``; the first resource is ``cores``."""

    amounts: Floats
    names: tuple[str, ...]
    notes: tuple[str, ...]


def read_benchmark(folder: Path, name: str) -> Measured:
    """Time and peak of memory in a table of ``benchmark:``; each line is one repetition.

    Raises:
        FormatError: it is none; the message names its row and column.
        OSError: it cannot be read.
    """
    path = folder / name
    if not path.is_file():
        return Measured()
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    if name.endswith(".jsonl"):
        try:
            rows = [json.loads(line) for line in lines]
        except ValueError as error:
            raise FormatError(f"{name} is not JSON: {error}") from None
    else:
        header = lines[0].split("\t") if lines else []
        rows = [dict(zip(header, line.split("\t"), strict=False)) for line in lines[1:]]
    if not rows:
        return Measured()
    seconds = [_value(row, "s", f"{name}, row {i}") for i, row in enumerate(rows, 1)]
    peaks = [_value(row, "max_rss", f"{name}, row {i}") for i, row in enumerate(rows, 1)]
    return Measured(math.fsum(seconds), max(peaks) * MIB)


def _value(row: object, key: str, where: str) -> float:
    if not isinstance(row, dict) or key not in row:
        raise FormatError(f"{where}: no column {key} in this benchmark")
    if row[key] in ("NA", "-", None):  # the job ended before the first look at it
        return math.nan
    return amount(str(row[key]), f"{where}, {key}")


def read_demands(placed: Sequence[Placed], limited: Collection[str]) -> Demands:
    """Cores and memory of each task, and the named resources that the last call limited."""
    asked = [{} if place.started is None else place.started.resources for place in placed]
    peaks = np.array([place.measured.peak for place in placed])
    wanted = np.array([resources.get("mem_mb", math.nan) * MB for resources in asked])
    memory = np.where(np.isnan(peaks), wanted, peaks)
    threads = [math.nan if place.started is None else place.started.threads for place in placed]
    columns: dict[str, Floats] = {CORES: np.array(threads)}
    notes = {CORES: "threads of the rule, which its command may use or not"}
    if not np.isnan(memory).all():
        columns[MEMORY] = memory
        notes[MEMORY] = _note_on_memory(peaks, wanted)
    for name in sorted({name for resources in asked for name in resources}):
        if name in NO_RESOURCE or not (name in limited or name in GPU_NAMES):
            continue
        own = GPUS if name in GPU_NAMES else name
        columns[own] = np.array([resources.get(name, 0.0) for resources in asked])
        notes[own] = f"{name}, as the rule asked for it"
    kept = tuple(columns)
    amounts = np.column_stack([columns[name] for name in kept])
    return Demands(amounts, kept, tuple(notes[name] for name in kept))


def _note_on_memory(peaks: Floats, wanted: Floats) -> str:
    measured = int((~np.isnan(peaks)).sum())
    asked = int((np.isnan(peaks) & ~np.isnan(wanted)).sum())
    if not asked:
        return "max_rss of benchmarks, the peak of the resident set"
    if not measured:
        return "mem_mb, which the rule asked for, not what it used"
    return f"max_rss of the benchmarks of {measured} tasks, mem_mb as asked for of {asked}"

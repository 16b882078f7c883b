"""Finished runs of Snakemake: a working folder that holds ``.snakemake``.

Tasks are jobs with outputs, their edges are files. Times come from the records of the outputs
(files, or the database ``metadata.db``), ``cores`` from the threads that the log files name, the
runtime and the peak of ``memory`` from the tables of ``benchmark:`` where there are any. Other
memory is ``mem_mb``, which is what a rule asked for. The machine has the cores of the last call
that ran a job. Jobs of earlier calls keep their runtime, but are not in the run.

The start of a job with ``run:`` is that of the log file, in whole seconds: its record has none, or
that of an earlier run.

Not read: a database at another place (``--persistence-backend-db-url``), jobs without outputs, and
jobs of a call with ``--drop-metadata``. A call with ``--touch`` overwrites the times of jobs.
"""

import dataclasses
import math
import os
from bisect import bisect_right
from collections.abc import Collection, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dagsched_env.io.snakemake_logs import Call, Started, read_calls
from dagsched_env.io.snakemake_records import Job, Records, read_records, task_name
from dagsched_env.io.snakemake_usage import (
    GPU_NAMES,
    MB,
    Measured,
    Placed,
    read_benchmark,
    read_demands,
)
from dagsched_env.kernels.arrays import Floats
from dagsched_env.problem.errors import FormatError
from dagsched_env.problem.platforms import Platform
from dagsched_env.problem.run import BANDWIDTH, Run, observed_node
from dagsched_env.problem.workflow import CORES, GPUS, MEMORY, Workflow

TOOL, HIDDEN = "snakemake", ".snakemake"
LOG_S = 1.5
"""A record may differ by so much from the log, which counts whole seconds (s)."""

Printings = dict[str, list[tuple[int, Started]]]
"""Each output → the calls that started its job, and what they printed of it."""


def parse(folder: Path) -> Run:
    """Read the last run in a working folder of Snakemake; raises FormatError."""
    if folder.name == HIDDEN:
        folder = folder.absolute().parent
    hidden = folder / HIDDEN
    if not hidden.is_dir():
        raise FormatError(f"no folder {HIDDEN} in it: name the working folder of Snakemake")
    records, calls = read_records(hidden), read_calls(hidden)
    printings = _printings(calls)
    done = [
        job
        for job in records.jobs
        if not _failed(job.outputs[0], printings) or _silently(job, calls, printings)
    ]
    placed = [_placed(folder, job, calls, printings) for job in done]
    last = max((p.call for p in placed if not _touched(calls, p)), default=-1)
    placed = _wanted(folder, placed, last)
    if not placed:
        raise FormatError(
            f"no record of a finished job in {HIDDEN}: run the workflow, without --drop-metadata"
        )
    touched = np.array([_touched(calls, place) for place in placed])
    timed = np.array([math.isfinite(place.job.start) for place in placed])
    here = np.array([place.call == last for place in placed]) & ~touched & timed
    call = calls[last] if last >= 0 else None
    workflow, input_bytes, files = _workflow(
        folder, placed, touched, () if call is None else call.provided
    )
    start, finish = _times(placed, here)
    machines, limits = _machine(call, workflow, start, finish)
    remarks = (
        *_said_of_jobs(placed, calls, here, touched, timed),
        *_said_of_records(records, len(done) - len(placed), calls, printings),
        *files,
        *limits,
    )
    workflow = _at_most(workflow, machines)
    machine = np.where(here, 0, -1)
    return Run(TOOL, workflow, start, finish, machine, machines, input_bytes, remarks)


def _wanted(folder: Path, placed: Sequence[Placed], last: int) -> list[Placed]:
    """The jobs but those of earlier calls of which no rule wants the result any more."""
    read = {file for place in placed for file in place.job.inputs}

    def wanted(place: Placed) -> bool:
        if place.call == last and place.started is not None:
            return True
        return any(output in read or _there(folder, output) for output in place.job.outputs)

    return [place for place in placed if wanted(place)]


def _failed(output: str, printings: Printings) -> bool:
    """Whether the last that is known of an output is a failure: then so is its record."""
    printed = printings.get(output)
    return printed is not None and printed[-1][1].failed


def _silently(job: Job, calls: Sequence[Call], printings: Printings) -> bool:
    """Whether the job ran in a later call than its output is named in, as with ``--quiet``."""
    begun = _begun(job, calls)
    named = max((c for c, _ in printings.get(job.outputs[0], ())), default=-1)
    return begun > named and not calls[begun].jobs


def _begun(job: Job, calls: Sequence[Call]) -> int:
    """The last call that began before the job, by the clock of this machine; -1 = none."""
    return bisect_right(calls, job.start, key=lambda call: call.began) - 1


def _times(placed: Sequence[Placed], here: npt.NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """``[n]`` starts and ends since the first start of the run; NaN for jobs that are not in it."""
    start = np.where(here, [place.job.start for place in placed], np.nan)
    finish = np.where(here, [place.job.finish for place in placed], np.nan)
    begin = np.min(start[here], initial=np.inf)
    return start - begin, finish - begin


def _printings(calls: Sequence[Call]) -> Printings:
    found: Printings = {}
    for c, call in enumerate(calls):
        for started in call.jobs.values():
            for output in started.outputs:
                found.setdefault(output, []).append((c, started))
    return found


def _placed(folder: Path, job: Job, calls: Sequence[Call], printings: Printings) -> Placed:
    """The job with the call that ran it.

    Where a log file says that it has finished the job, this decides, whatever time zone the names
    of the files are in; unless the job ran again in a later call that says nothing of its jobs.
    """
    printed = printings.get(job.outputs[0], [])
    saying = [c for c, started in printed if started.finished and not _drops(calls[c])]
    own = max(saying, default=-1)
    if own < 0 or _silently(job, calls, printings):
        own = _begun(job, calls)
    told = [started for c, started in printed if c <= own]
    started = told[-1] if told else None
    table = None if started is None else started.benchmark
    measured = Measured() if table is None else read_benchmark(folder, table)
    return Placed(_timed(job, started), own, started, measured)


def _timed(job: Job, started: Started | None) -> Job:
    """With its start by the log, to the second, where the record has none, or that of an earlier
    run, as with ``run:``; NaN: neither has it."""
    took = math.nan if started is None else started.ended - started.began
    if job.start > job.finish or job.finish - job.start > took + LOG_S:
        return job._replace(start=job.finish - took)
    return job


def _drops(call: Call) -> bool:
    return call.says("--drop-metadata")


def _touched(calls: Sequence[Call], place: Placed) -> bool:
    """Whether the job was not run, but only its files and its record given a new time."""
    return place.call >= 0 and calls[place.call].says("--touch", "-t")


def _workflow(
    folder: Path,
    placed: Sequence[Placed],
    touched: npt.NDArray[np.bool_],
    limited: Collection[str],
) -> tuple[Workflow, Floats, tuple[str, ...]]:
    """The tasks, what each reads, and what is to be said of their files."""
    sizes = cache(lambda file: _size(folder, file))
    maker = {output: t for t, place in enumerate(placed) for output in place.job.outputs}
    data: dict[tuple[int, int], float] = {}
    unknown, known = 0, 0
    for t, place in enumerate(placed):
        for file in place.job.inputs:
            u = _maker_of(file, maker)
            if u is None or u == t:
                continue
            size = sizes(file)
            known, unknown = known + (size == size), unknown + (size != size)
            data[u, t] = data.get((u, t), 0.0) + (size if size == size else 0.0)
    demands = read_demands(placed, limited)
    workflow = Workflow(
        tuple(_name(place.job) for place in placed),
        np.array([_seconds(p, t) for p, t in zip(placed, touched, strict=True)]),
        tuple(data),
        np.array(list(data.values())) if known else np.ones(len(data)),
        name=folder.absolute().name,
        kinds=tuple(place.job.rule for place in placed),
        says_data=known > 0,
        says_units=True,
        demands=demands.amounts,
        resource_names=demands.names,
        resource_notes=demands.notes,
    )
    input_bytes = np.array([sum(map(sizes, place.job.inputs), 0.0) for place in placed])
    gone = f"the sizes of {unknown} of {unknown + known} files between tasks are not known"
    return workflow, input_bytes, (f"{gone}, and taken as 0",) if unknown and known else ()


def _maker_of(file: str, maker: dict[str, int]) -> int | None:
    """The task that makes a file, or a folder that it is in."""
    for place in (file, os.path.normpath(file), *map(str, Path(file).parents)):
        if place in maker:
            return maker[place]
    return None


def _size(folder: Path, file: str) -> float:
    """Bytes of a file, or of all files in a folder; NaN where it is gone, or was never a file."""
    path = folder / file
    try:
        if path.is_dir():
            return float(sum(f.stat().st_size for f in path.rglob("*") if f.is_file()))
        return float(path.stat().st_size)
    except OSError:
        return math.nan


def _there(folder: Path, file: str) -> bool:
    return "://" in file or os.path.lexists(folder / file)


def _seconds(place: Placed, touched: bool) -> float:
    if place.measured.seconds == place.measured.seconds:
        return place.measured.seconds
    return math.nan if touched else place.job.finish - place.job.start


def _machine(
    call: Call | None, workflow: Workflow, start: Floats, finish: Floats
) -> tuple[Platform, tuple[str, ...]]:
    """The one machine of a call, and what is to be said of it."""
    name = "local" if call is None or call.host is None else call.host
    if call is None or call.cores is None:
        node = observed_node(name, start, finish, workflow.recorded(CORES))
        text = "cores of the machine: as many as were seen in use at once"
        if call is not None and call.remote:
            text += "; a cluster ran the jobs, and their times may include waiting in its queue"
        return node, (text,)
    capacities = {CORES: [call.cores]}
    remarks = []
    limits = {GPUS if n in GPU_NAMES else n: c for n, c in call.provided.items()}
    if "mem_mb" in limits:
        limits[MEMORY] = limits["mem_mb"] * MB
    for resource in workflow.resource_names[1:]:
        if resource not in limits:
            continue
        most = float(np.nanmax(workflow.recorded(resource)))
        if most <= limits[resource]:
            capacities[resource] = [limits[resource]]
        else:
            remarks.append(
                f"{resource} is taken as unlimited: a task used {most:g}, more than the "
                f"{limits[resource]:g} of the last call"
            )
    platform = Platform([1.0], BANDWIDTH, processor_names=[name], capacities=capacities)
    return platform, tuple(remarks)


def _at_most(workflow: Workflow, machines: Platform) -> Workflow:
    """Threads of an earlier call with more cores, scaled down as Snakemake does it."""
    assert workflow.demands is not None
    demands = workflow.demands.copy()
    demands[:, 0] = np.minimum(demands[:, 0], machines.capacities[CORES][0])
    return dataclasses.replace(workflow, demands=demands)


def _said_of_jobs(
    placed: Sequence[Placed],
    calls: Sequence[Call],
    here: npt.NDArray[np.bool_],
    touched: npt.NDArray[np.bool_],
    timed: npt.NDArray[np.bool_],
) -> list[str]:
    """Sentences on jobs of earlier calls, restarts, and checkpoints."""
    n, said = len(placed), []
    earlier = int((~here & ~touched & timed).sum())
    if not calls:
        said.append("no log files: all jobs are taken for those of one run")
    if earlier:
        where = "their results were there already"
        said.append(f"{earlier} of {n} jobs ran in an earlier call: {where}")
    if touched.any():
        text = "--touch overwrote the times of their records"
        said.append(f"{int(touched.sum())} of {n} jobs are not measured: {text}")
    if not timed.all():
        text = "Snakemake records no start where a rule has run:, and no log file has it"
        said.append(f"{int((~timed).sum())} of {n} jobs are not measured: {text}")
    silent = sum(place.started is None for place in placed)
    if silent and calls:
        why = "a call with --quiet, or a rule with a message"
        said.append(f"the threads of {silent} of {n} jobs are in no log file: {why}")
    retried = [p for p in placed if p.started is not None and p.started.failures]
    if retried:
        text = f"such as {_name(retried[0].job)}: their times are those of the last attempt"
        said.append(f"{len(retried)} of {n} jobs failed before they succeeded, {text}")
    checkpoints = {p.job.rule for p in placed if p.started is not None and p.started.is_checkpoint}
    if checkpoints:
        text = "which jobs follow was only known when it had ended"
        said.append(f"checkpoint {', '.join(sorted(checkpoints))}: {text}")
    return said


def _said_of_records(
    records: Records, stale: int, calls: Sequence[Call], printings: Printings
) -> list[str]:
    """Sentences on records that are left out, and on jobs that have none."""
    said = []
    if records.incomplete:
        text = f"{len(records.incomplete)} outputs are incomplete, such as {records.incomplete[0]}"
        said.append(f"{text}: their jobs were interrupted, or run just now")
    failed = sorted(output for output in printings if _failed(output, printings))
    if failed:
        said.append(f"jobs of {len(failed)} outputs failed and are left out, such as {failed[0]}")
    if stale:
        text = "are left out: their outputs are gone, and no job reads them"
        said.append(f"{stale} recorded jobs {text}")
    if records.unreadable:
        said.append(f"{records.unreadable} records were cut off and are left out")
    recorded = {output for job in records.jobs for output in job.outputs}
    lost = [o for o, printed in printings.items() if printed[-1][1].finished and o not in recorded]
    if lost:
        text = "have no record (--drop-metadata, or --cleanup-metadata) and are left out"
        said.append(f"{len(lost)} outputs, such as {lost[0]}, {text}, with the edges of their jobs")
    unnoted = {o for o, printed in printings.items() if _drops(calls[printed[-1][0]])}
    if unnoted & recorded:
        text = "is of an earlier run of their jobs: the last was with --drop-metadata"
        said.append(f"the record of {len(unnoted & recorded)} outputs {text}")
    return said


def _name(job: Job) -> str:
    return task_name(job.rule, job.outputs)

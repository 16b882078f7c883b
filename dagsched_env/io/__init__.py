"""Instances from files and into files; the format is recognised by suffix or content.

| format       | suffix             | read | write | carries                                       |
| ------------ | ------------------ | ---- | ----- | --------------------------------------------- |
| json         | .json              | yes  | yes   | instance, all of it, exactly                  |
| wfformat     | .wfformat.json     | yes  | yes   | workflow (1.4 to 1.6); instance, exactly, too |
| dax          | .dax, .xml         | yes  | no    | workflow                                      |
| pegasus      | .yml, .yaml        | yes  | no    | workflow                                      |
| run          | .run.json          | yes  | no    | measured run: tasks, times, machines, exactly |
| snakemake    | a folder           | yes  | no    | measured run: what ``.snakemake`` says of it  |
| nextflow     | .trace.txt         | yes  | no    | measured run, with the ``.dot`` file beside   |
| ninja        | .ninja_log, folder | yes  | no    | measured run, from ``.ninja_log``             |
| stg          | .stg               | yes  | no    | workflow without data; ``ccr`` adds some      |
| dot          | .dot, .gv          | yes  | yes   | instance, exactly, and schedule; or workflow  |
| graphml      | .graphml           | yes  | yes   | instance, exactly, and schedule; or workflow  |
| csv          | .csv, a directory  | yes  | yes   | instance, exactly, and schedule; or workflow  |
| job_shop     | .jsp, .jss         | yes  | no    | instance without communication                |
| fjsp         | .fjs, .fjsp        | yes  | no    | instance without communication                |
| dag          | .dag               | yes  | no    | instance: times by processor, data as times   |
| saga         | .saga.json         | yes  | no    | instance: costs, speeds (SAGA, DAGBench)      |
| psplib       | .sm                | yes  | no    | instance: a project with resources (RCPSP)    |
| patterson    | .rcp               | yes  | no    | instance: a project with resources (RCPSP)    |
| chrome_trace | .trace.json        | yes  | yes   | schedule (chrome://tracing); measured run     |

An instance describes its own processors; a workflow is put on the ``platform`` that is passed to
``load``: ``MachineOptions``, or what ``load_machines`` reads from a file. Without one, processors
are assumed, and a ``MachinesAssumedWarning`` says which. ``Instance.assumptions`` says it, too, and
what else a file leaves out: parallel edges that are added up, or no edges at all; an
``AssumptionWarning`` says this once. DOT and GraphML hold an instance
where their nodes have the attribute ``comp``; CSV, where it has a column of times for each
processor, which is always written as a directory. Files of workflows may record what tasks use:
``cores``, ``memory`` (bytes), ``gpus``. It counts where the machines state how much they have of
it; what is taken for the rest is an assumption, too. STG files say nothing about communication; the
``ccr`` or the bandwidths of the platform determine it. XML and YAML need the extra ``formats``.
Schedules are written but not read back, but for Chrome traces, which are read as runs;
``Schedule.to_json`` is their own format.
Graphs of networkx: ``Instance.from_networkx``, or ``workflow_from_networkx`` without cost vectors.

In reading order:

- ``atomic``: files and directories that appear whole or not at all;
- ``numbers``: strict numbers in text, with their place for messages;
- ``rate``: bandwidths in text, with or without a unit;
- ``size``: sizes of memory in text, with or without a unit;
- ``fields``: strict values in JSON, with their place;
- ``xml_tree``: strict elements and attributes in XML, with their place;
- ``names``: distinct names of tasks;
- ``source``: a file that is read once, and named by errors; hardened XML and YAML;
- ``assumptions``: what was assumed of problems, and how it is said;
- ``transfers``: data on edges: files of traces, and parallel edges;
- ``own_json``: the package's own instance format;
- ``attributes``: the attributes by which DOT and GraphML carry a problem;
- ``dot_syntax``: the grammar of DOT, linear and without recursion;
- ``dot``: DOT, read and written;
- ``graphml``: GraphML, read and written;
- ``csv_table``: one table as CSV, with the places of its lines;
- ``csv_trio``: an instance as a directory of tables, read and written;
- ``csv_workflow``: tasks and their times as tables, without machines;
- ``task_times``: times from a table for graphs that have none;
- ``spreadsheets``: names that a spreadsheet would take for formulas;
- ``wfformat_resources``: cores and memory in WfFormat traces, and what recorders mean by them;
- ``wfformat_14``: WfFormat traces of version 1.4;
- ``wfformat``: WfFormat traces of versions 1.5 and 1.6;
- ``wfformat_dump``: writes WfFormat 1.5;
- ``dax``: Pegasus DAX;
- ``pegasus``: workflows of Pegasus 5;
- ``stg``: Standard Task Graphs;
- ``job_shop``: job-shop text;
- ``fjsp``: flexible job-shop text;
- ``dag``: graphs with a time for each processor, of Santiago et al.;
- ``saga``: problems of SAGA and DAGBench;
- ``psplib``: projects with limited resources, of PSPLIB;
- ``patterson``: projects with limited resources, in Patterson's layout;
- ``networkx_workflow``: a workflow from a networkx graph;
- ``machine_file``: processors for a workflow, in JSON;
- ``run_json``: the package's own format of measured runs;
- ``snakemake_records``: what Snakemake keeps of finished jobs;
- ``snakemake_logs``: the log files of Snakemake;
- ``snakemake_usage``: cores, memory and benchmarks of Snakemake's jobs;
- ``snakemake``: finished runs of Snakemake;
- ``chrome_trace``: a schedule for chrome://tracing and Perfetto;
- ``trace_events``: traces of Chrome and Perfetto with flow events;
- ``nextflow``: runs of Nextflow: its trace, and its graph beside it;
- ``ninja_manifest``: the commands of a ``build.ninja``;
- ``ninja``: builds of ninja, from their log;
- ``ninja_order``: a ``build.ninja`` with its statements in the order of a plan;
- ``dask_recorder``: computations of Dask, recorded while they run;
- ``formats``: the registry: how each format is read and written;
- ``recognise``: recognises the format by suffix or content;
- ``traces``: problems by name: the real traces that come with the package, classic job shops;
- ``machine_parameters``: what may be said of the machines for a file that describes none;
- ``machine_checks``: which of it is refused;
- ``machine_options``: puts a workflow on these machines, and says so in one line;
- ``problems``: problems in files and folders, on these machines;
- ``statements``: what is said of them: machines, assumptions, doubtful units;
- ``journal``: results of long commands, from which a later call goes on.
"""

import errno
import os
from os import PathLike
from pathlib import Path

from dagsched_env.io import run_json
from dagsched_env.io.atomic import write_folder, write_text
from dagsched_env.io.csv_trio import FILES
from dagsched_env.io.dask_recorder import recorded
from dagsched_env.io.formats import FORMATS, WRITABLE, Format, by_suffix
from dagsched_env.io.machine_file import load as load_machines
from dagsched_env.io.machine_options import MachineOptions
from dagsched_env.io.networkx_workflow import workflow_from_networkx
from dagsched_env.io.numbers import MOST_PROCESSORS
from dagsched_env.io.problems import (
    Equips,
    Problem,
    machine_files,
    read,
    read_problem,
    read_problems,
    read_run,
    reads,
    would_read,
)
from dagsched_env.io.recognise import check_name
from dagsched_env.io.source import named
from dagsched_env.io.spreadsheets import with_quoted_names
from dagsched_env.io.statements import assumed, warn_assumed
from dagsched_env.io.traces import BUNDLED, bundled
from dagsched_env.problem.errors import DAGSchedError, expect
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.platforms import Platform, RandomPlatform
from dagsched_env.problem.run import Run
from dagsched_env.problem.schedule import Schedule

__all__ = [
    "BUNDLED",
    "FORMATS",
    "Equips",
    "Format",
    "MachineOptions",
    "Platform",
    "Problem",
    "RandomPlatform",
    "assumed",
    "bundled",
    "check_target",
    "load",
    "load_folder",
    "load_machines",
    "machine_files",
    "read",
    "read_problem",
    "read_problems",
    "read_run",
    "save_run",
    "reads",
    "recorded",
    "save",
    "warn_assumed",
    "would_read",
    "workflow_from_networkx",
]

UNSAID = MachineOptions()
REMEDY = (
    "pass platform=, such as dagsched_env.io.{}, or platform=dagsched_env.io.RandomPlatform() to "
    "accept it"
)
SUCH_AS = 'MachineOptions(platform="identical", processors=4, bandwidth=1)'


def load(
    path: str | PathLike[str],
    *,
    platform: Equips | None = None,
    format: str | None = None,
) -> Instance:
    """Read a problem from a file of any format that can be read.

    Args:
        path: the file (or directory of CSV), or where there is none of that name a bundled trace
            (``montage``) or a classic job shop (``ft06``, ``ta21``).
        platform: the processors to run a workflow on: ``MachineOptions``, ``load_machines(FILE)``,
            ``Platform`` or any other. When None it is ``RandomPlatform()``, with a
            ``MachinesAssumedWarning``, which says too what ``MachineOptions`` leave open. A file
            that describes its processors takes none. For a graph without times, ``MachineOptions``
            have ``times`` and ``unit_times``.
        format: a key of ``FORMATS``; recognised when None.

    Raises:
        FormatError: the file is not in the format; the message names the file and the place.
        InvalidInstanceError: its numbers are not a valid problem (a cycle, for example).
        DAGSchedError: a platform for a file that has its own, or an unknown or write-only format.
        MissingExtraError: XML or YAML, and the extra ``formats`` is not installed; or a classic
            job shop, and ``jobshop`` is not.
        OSError: the file cannot be read.
    """
    expect("path", path, (str, PathLike), 'load("workflow.json")')
    _check_platform(platform)
    problem = read_problem(path, platform or UNSAID, format=format)
    _warn_assumed([problem], platform, SUCH_AS)
    return problem.instance


def load_folder(path: str | PathLike[str], *, platform: Equips | None = None) -> list[Instance]:
    """Read all problems in a folder, sorted by file name; a CSV directory is one problem.

    Files with a suffix of ``FORMATS`` have to be readable. Others are read where their content is
    recognised, and left out where it is not; so are tables without tasks and times, and YAML that
    is no Pegasus workflow. Left out, too, are hidden files, Chrome traces by their suffix, machine
    files, schedules, and folders that are neither CSV directories nor runs of a tool.

    Args:
        path: the folder.
        platform: for the files that describe no processors, as of ``load``; the others keep theirs.

    Raises:
        FormatError: a file is not in the format that its suffix promises.
        DAGSchedError: there is nothing to read.
        NotADirectoryError: there is no such folder.
        OSError: the folder or a file cannot be read.
    """
    if not Path(path).is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
    _check_platform(platform)
    problems = read_problems([path], platform or UNSAID)
    found = machine_files(path) if platform is None else []
    _warn_assumed(problems, platform, [*(f'load_machines("{file}")' for file in found), SUCH_AS][0])
    return [problem.instance for problem in problems]


def save(
    instance: Instance,
    path: str | PathLike[str],
    *,
    format: str | None = None,
    schedule: Schedule | None = None,
    safe: bool = False,
) -> None:
    """Write a problem, and a schedule where the format shows one; whole or not at all.

    ``load`` reads every format back exactly. An instance that a format cannot carry is refused.

    Args:
        instance: the problem.
        path: the file; for CSV the directory, whose name does not end in ``.csv``.
        format: a key of ``FORMATS``; by the suffix of ``path`` when None, own JSON without one.
            CSV has to be named.
        schedule: a valid schedule of the instance.
        safe: for CSV that a spreadsheet opens: put an apostrophe before names that it would take
            for formulas. They are read back with it.

    Raises:
        DAGSchedError: an unknown or read-only format, CSV as a single file, a schedule that the
            format cannot hold, no schedule where it needs one, a name that it cannot carry, more
            than 4096 processors, or ``safe`` for another format than CSV.
        InvalidScheduleError: the schedule is not valid.
        OSError: the file cannot be written; an old file is unchanged.
    """
    call = 'save(instance, "instance.json")'
    expect("instance", instance, Instance, call)
    expect("path", path, (str, PathLike), call)
    with named(path):
        content = _write(instance, Path(path), format, schedule, safe)
    if isinstance(content, str):
        write_text(path, content)
    else:
        write_folder(path, content, replaceable=FILES)


def save_run(run: Run, path: str | PathLike[str]) -> None:
    """Write a measured run in the package's own format; whole or not at all.

    Args:
        run: what was measured.
        path: the file; ``read_run`` reads it back exactly.

    Raises:
        OSError: the file cannot be written; an old file is unchanged.
    """
    expect("run", run, Run, 'save_run(run, "first.run.json")')
    write_text(path, run_json.dump(run))


def check_target(path: str | PathLike[str], *, format: str | None = None) -> None:
    """Raise a DAGSchedError where ``save`` would not know how to write the file."""
    with named(path):
        _writer(Path(path), format)


def _check_platform(platform: object) -> None:
    if platform is not None and not hasattr(platform, "equip"):
        raise DAGSchedError(
            f"platform is of type {type(platform).__name__}: write platform={SUCH_AS}"
        )


def _warn_assumed(problems: list[Problem], platform: Equips | None, such_as: str) -> None:
    """Warn the caller of ``load`` or ``load_folder`` of what was left open."""
    remedy = REMEDY.format(such_as)
    if isinstance(platform, MachineOptions):
        remedy = f"say {', '.join(assumed(problems, platform))} in MachineOptions"
    warn_assumed(problems, platform or UNSAID, remedy, stacklevel=3)


def _writer(path: Path, format: str | None) -> Format:
    if format is not None:
        check_name(format, WRITABLE)
    name = format or by_suffix(path.name) or ("json" if not path.suffix else None)
    chosen = FORMATS[name] if name is not None else None
    if chosen is None or chosen.write is None:
        problem = "unknown suffix" if chosen is None else f"{chosen.title} is only read"
        raise DAGSchedError(f"{problem}: name a format of {', '.join(WRITABLE)}")
    if name == "csv" and by_suffix(path.name) == "csv":
        raise DAGSchedError(
            "an instance as CSV is a folder of tables, no single file: name a folder, as in "
            'dagsched convert IN FOLDER --to csv, or save(instance, "FOLDER", format="csv")'
        )
    return chosen


def _write(
    instance: Instance, path: Path, format: str | None, schedule: Schedule | None, safe: bool
) -> str | dict[str, str]:
    chosen = _writer(path, format)
    if safe:
        if chosen is not FORMATS["csv"]:
            raise DAGSchedError("safe names are for CSV alone: leave --safe (safe=True) out")
        instance = with_quoted_names(instance)
    if instance.n_processors > MOST_PROCESSORS:
        raise DAGSchedError(f"more than {MOST_PROCESSORS} processors would not be read back")
    if instance.has_release and chosen not in (FORMATS["json"], FORMATS["chrome_trace"]):
        raise DAGSchedError(f"{chosen.title} has no place for release dates: write JSON")
    if schedule is not None:
        if chosen.schedule == "none":
            raise DAGSchedError(
                f"{chosen.title} has no place for a schedule: Schedule.to_json writes one"
            )
        schedule.validate(instance)
    return chosen.write(instance, schedule)  # type: ignore[misc]  # _writer has looked

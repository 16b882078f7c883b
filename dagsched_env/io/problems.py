"""Problems in files and folders, on machines of choice."""

import contextlib
import dataclasses
import difflib
import errno
import os
from collections.abc import Callable, Iterable
from os import PathLike
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from dagsched_env.generators.job_shop import benchmark
from dagsched_env.io import csv_workflow, machine_file, pegasus
from dagsched_env.io.csv_trio import COMPUTATION
from dagsched_env.io.formats import FORMATS, by_suffix
from dagsched_env.io.machine_options import TO_GIVE_TIMES, MachineOptions
from dagsched_env.io.recognise import (
    check_name,
    is_csv,
    is_problem_folder,
    is_schedule,
    left_by_tool,
    recognise,
)
from dagsched_env.io.source import Source, named
from dagsched_env.io.task_times import timed
from dagsched_env.io.traces import BUNDLED, NAMES, SHIPPED, bundled
from dagsched_env.problem.errors import DAGSchedError, FormatError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.platforms.altered import altered
from dagsched_env.problem.run import Run
from dagsched_env.problem.workflow import CORES, Workflow

PICTURES = ("chrome_trace",)
"""Formats of files that show results: in a folder of problems they are left out."""


class Equips(Protocol):
    """Turns a workflow into an instance: ``Platform``, ``RandomPlatform``, ``MachineOptions``, or
    your own class."""

    def equip(self, workflow: Workflow) -> Instance: ...


class Problem(NamedTuple):
    """An instance from a file."""

    path: str
    """The file, or the name that stands for one."""
    instance: Instance
    bare: bool
    """Whether the file describes no processors, so that they come from elsewhere."""
    says_units: bool = True
    """Whether its numbers are known to be seconds and bytes, or need no unit."""
    left_out: str = ""
    """What its tasks need, by the file, that the processors do not count; empty where nothing."""


def read(path: str | PathLike[str], *, format: str | None = None) -> Instance | Workflow | Run:
    """What a file holds: a measured run, or an instance where it has processors, else a workflow.

    ``path``, ``format`` and errors are those of ``dagsched_env.io.load``.
    """
    if format is None:
        _check_no_folder(Path(path))
    name = str(path)
    by_name = name in NAMES and not Path(path).exists()
    if by_name and name not in SHIPPED and format in (None, "job_shop"):
        return benchmark(name)
    source = Source(bundled(name) if by_name and name in SHIPPED else _existing(Path(path)))
    with named(path):
        if format is not None:
            check_name(format, FORMATS)
        return _with_remark(FORMATS[format or recognise(source)].read(source))


def read_run(path: str | PathLike[str], *, format: str | None = None) -> Run:
    """A measured run: of a tool, as its files tell, or in the package's own format.

    ``path``, ``format`` and errors are those of ``dagsched_env.io.load``.
    """
    content = read(path, format=format)
    if not isinstance(content, Run):
        raise FormatError(
            f"{path}: no measured run: it does not say when each task started and finished"
        )
    return content


def read_problem(
    path: str | PathLike[str], platform: Equips, *, format: str | None = None
) -> Problem:
    """A problem, put on the platform where its file describes no processors.

    Args:
        path: as of ``dagsched_env.io.load``.
        platform: the processors for such a file.
        format: as of ``dagsched_env.io.load``.

    Raises:
        DAGSchedError: as of ``dagsched_env.io.load``; a platform for a file that has its own.
        OSError: the file cannot be read.
    """
    content = read(path, format=format)
    if isinstance(platform, MachineOptions):  # what is wrong there is not said of a problem
        platform.read_files()
    with named(path):
        content = _on_its_machines(content, platform)
        if isinstance(content, Workflow):
            return _equipped(path, content, platform)
        if isinstance(platform, MachineOptions):
            return Problem(str(path), platform.keep(content), bare=False)
        raise DAGSchedError("the file describes its processors itself: leave platform out")


def read_problems(paths: Iterable[str | PathLike[str]], platform: Equips) -> list[Problem]:
    """All problems in files and folders, put on the platform where they have no processors.

    Args:
        paths: files as of ``dagsched_env.io.load``, folders as of ``load_folder``.
        platform: the processors for such files; the others keep theirs.

    Raises:
        DAGSchedError: as of ``dagsched_env.io.load``; nothing in a folder can be read; or machine
            options for none of the files.
        OSError: a folder or a file cannot be read.
    """
    times = platform.times if isinstance(platform, MachineOptions) else None
    found = [entry for path in paths for entry in _contents(path, times)]
    if isinstance(platform, MachineOptions):
        platform.read_files()
    problems = [_put_on(path, content, platform) for path, content in found]
    bare = not problems or any(problem.bare for problem in problems)
    if isinstance(platform, MachineOptions) and not bare:
        with named(problems[0].path):
            platform.keep(problems[0].instance)
    return problems


def reads(place: str | PathLike[str], path: Path) -> bool:
    """Whether ``path`` is read where a command is given ``place``.

    Args:
        place: a file, a folder of problems or of CSV tables, or the working folder of a tool;
            others read nothing.
        path: an existing file; links are followed.
    """
    folder = Path(place)
    if not folder.is_dir() or is_csv(folder):
        return _is_part(path, folder)
    if left := left_by_tool(folder):
        return left.resolve() in (path.resolve(), *path.resolve().parents)
    return any(_is_part(path, entry) and _is_read(entry) for entry in folder.iterdir())


def would_read(place: str | PathLike[str], path: Path) -> bool:
    """Whether a file that is written to ``path`` would be taken for a problem in ``place``.

    Args:
        place: as of ``reads``.
        path: of the file, which need not exist.
    """
    folder, promised = Path(place), by_suffix(path.name)
    if promised is None or promised in ("csv", *PICTURES):
        return False  # tables and pictures of results are left out
    if not folder.is_dir() or is_problem_folder(folder):
        return False  # one problem, whatever lies beside its tables
    return path.parent.is_dir() and path.parent.samefile(folder)


def machine_files(path: str | PathLike[str]) -> list[Path]:
    """The machine files in a folder, sorted; they are no problems."""
    return sorted(entry for entry in Path(path).glob("*.json") if _is_machine_file(entry))


def _contents(
    path: str | PathLike[str], times: str | None
) -> list[tuple[str | PathLike[str], Instance | Workflow | Run]]:
    """What a file or a folder holds; a table of ``times`` in the folder is no problem."""
    folder = Path(path)
    if not folder.is_dir() or is_csv(folder) or left_by_tool(folder):
        return [(path, read(path))]
    entries = sorted(folder.iterdir(), key=lambda entry: entry.name)
    if times is not None and Path(times).exists():
        entries = [entry for entry in entries if not (entry.exists() and entry.samefile(times))]
    found = [(entry, content) for entry in entries if (content := _read_entry(entry)) is not None]
    if not found:
        raise DAGSchedError(f"{path}: no file in this folder can be read as an instance")
    return list(found)


def _equipped(path: str | PathLike[str], workflow: Workflow, platform: Equips) -> Problem:
    says_units = workflow.says_units or not workflow.says_data
    if not isinstance(platform, MachineOptions):  # which give times themselves
        remedy = TO_GIVE_TIMES.format("times", "unit_times") + ", both of MachineOptions"
        workflow = timed(workflow, None, unit=False, source="", remedy=remedy)
    instance = platform.equip(workflow)
    lost = [text for text in workflow.assumptions if text not in instance.assumptions]
    if lost:  # by a platform of the caller's own
        instance = altered(instance, assumptions=(*lost, *instance.assumptions))
    left_out = "" if instance.n_resources else _needs(workflow)
    return Problem(str(path), instance, bare=True, says_units=says_units, left_out=left_out)


def _needs(workflow: Workflow) -> str:
    """The resources of which some task uses more than a processor of one core has, and how many."""
    used = {name: workflow.recorded(name) > (name == CORES) for name in workflow.resource_names}
    names = [name for name, by in used.items() if by.any()]
    if not names:
        return ""
    count = int(np.logical_or.reduce([used[name] for name in names]).sum())
    return f"{' and '.join(names)} of {count} task{'s' * (count > 1)}"


def _with_remark(content: Instance | Workflow | Run) -> Instance | Workflow | Run:
    """A workflow without edges is rare, and a lost table of edges is not."""
    if not isinstance(content, Workflow) or content.edges or len(content.tasks) == 1:
        return content
    text = f"no task depends on another: all {len(content.tasks)} may run at the same time"
    return dataclasses.replace(content, assumptions=(*content.assumptions, text))


def _on_its_machines(content: Instance | Workflow | Run, platform: Equips) -> Instance | Workflow:
    """A run is a problem on its own machines, unless the caller names others."""
    if not isinstance(content, Run):
        return content
    unsaid = isinstance(platform, MachineOptions) and not platform.says_machines
    return content.instance() if unsaid else content.problem


def _put_on(
    path: str | PathLike[str], content: Instance | Workflow | Run, platform: Equips
) -> Problem:
    """One of several: it keeps its processors if it describes them."""
    with named(path):
        content = _on_its_machines(content, platform)
        if isinstance(content, Workflow):
            return _equipped(path, content, platform)
        kept = platform.at_ccr(content) if isinstance(platform, MachineOptions) else content
        return Problem(str(path), kept, bare=False)


def _read_entry(path: Path) -> Instance | Workflow | Run | None:
    """A file or CSV directory in a folder; None where it is to be left out."""
    if path.name.startswith(".") or not (path.is_file() or is_problem_folder(path)):
        return None
    promised = by_suffix(path.name)
    if promised in PICTURES:
        return None
    # Other tables are parts of a problem or results, other YAML is a catalog or a configuration.
    if promised == "csv" and not path.is_dir():
        if not _recognised(path, lambda source: csv_workflow.recognises(source.text)):
            return None
    elif promised == "pegasus":
        if not _recognised(path, lambda source: pegasus.recognises(source.text)):
            return None
    elif promised == "json" and (
        _is_machine_file(path) or _recognised(path, lambda source: is_schedule(source.json))
    ):
        return None
    try:
        return read(path)
    except FormatError:
        if promised is None:
            return None
        raise


def _check_no_folder(path: Path) -> None:
    """Refuse a folder of files where one problem is read; the error names one in it."""
    if not path.is_dir() or is_problem_folder(path):
        return
    found = _first_problem(path)
    example = "" if found is None else f", such as {found}"
    raise FormatError(
        f"{path}: a folder, without {COMPUTATION} or {csv_workflow.TASKS} of an instance as CSV: "
        f"name one file in it{example}; dagsched compare, aerl solve and io.load_folder take "
        f"folders"
    )


def _first_problem(folder: Path) -> Path | None:
    for entry in sorted(folder.iterdir()):
        if by_suffix(entry.name) in FORMATS:
            with contextlib.suppress(DAGSchedError, OSError):
                if _read_entry(entry) is not None:
                    return entry
    return None


def _existing(path: Path) -> Path:
    """The path; where there is nothing, the error says which names it may have meant."""
    close = difflib.get_close_matches(str(path), NAMES, n=3)
    if close and not path.exists():
        kind = "bundled trace" if close[0] in BUNDLED else "job shop"
        meant = " or ".join(map(repr, close))
        hint = f"{os.strerror(errno.ENOENT)}; did you mean the {kind} {meant}?"
        raise FileNotFoundError(errno.ENOENT, hint, str(path))
    return path


def _is_part(path: Path, entry: Path) -> bool:
    """Whether an existing file is another one, its table of edges, or a table in a folder."""
    edges = csv_workflow.edge_table(entry) if by_suffix(entry.name) == "csv" else None
    tables = entry.glob("*.csv") if entry.is_dir() else filter(None, (entry, edges))
    return any(table.exists() and path.samefile(table) for table in tables)


def _is_read(entry: Path) -> bool:
    try:
        return _read_entry(entry) is not None
    except DAGSchedError:  # it is read, and refused
        return True


def _recognised(path: Path, recognises: Callable[[Source], bool]) -> bool:
    """Whether a file can be read, and its content is recognised."""
    try:
        return recognises(Source(path))
    except (FormatError, OSError):
        return False


def _is_machine_file(path: Path) -> bool:
    return _recognised(path, lambda source: machine_file.recognises(source.json))

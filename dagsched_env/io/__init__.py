"""Instances from files and into files; the format is recognised by suffix or content.

=============  ==================  ====  =====  ===============================================
format         suffix              read  write  carries
=============  ==================  ====  =====  ===============================================
json           .json               yes   yes    instance, all of it, exactly
wfformat       .wfformat.json      yes   yes    workflow (versions 1.4 to 1.6); written as 1.5
                                                with the whole instance in a key, exactly
dax            .dax, .xml          yes   no     workflow
stg            .stg                yes   no     workflow, every edge one unit of data
dot            .dot, .gv           yes   yes    instance, exactly, and a schedule; or workflow
graphml        .graphml            yes   yes    instance, exactly, and a schedule; or workflow
csv            .csv (a directory)  yes   yes    instance, exactly, and a schedule
job_shop       .jsp, .jss          yes   no     instance without communication
fjsp           .fjs, .fjsp         yes   no     instance without communication
chrome_trace   .trace.json         no    yes    schedule (chrome://tracing, ui.perfetto.dev)
=============  ==================  ====  =====  ===============================================

An instance describes its own processors; a workflow is put on the ``platform`` that is passed to
``load``, such as one that ``load_machines`` reads from a file. DOT and GraphML hold an instance
where their nodes have the attribute ``comp``. STG files say nothing about communication; the
``ccr`` or the bandwidths of the platform determine it. XML needs the extra ``formats``. Schedules
are written but not read back; ``Schedule.to_json`` is their own format.
Graphs of networkx: ``Instance.from_networkx``, or ``workflow_from_networkx`` without cost vectors.

In reading order:

- ``atomic``: files and directories that appear whole or not at all;
- ``numbers``: strict numbers in text, with their place for messages;
- ``fields``: strict values in JSON, with their place;
- ``xml_tree``: strict elements and attributes in XML, with their place;
- ``source``: a file that is read once; hardened XML;
- ``own_json``: the package's own instance format;
- ``attributes``: the attributes by which DOT and GraphML carry a problem;
- ``dot_syntax``: the grammar of DOT, linear and without recursion;
- ``dot``: DOT, read and written;
- ``graphml``: GraphML, read and written;
- ``csv_trio``: a directory of tables, read and written;
- ``transfers``: file sizes on the edges of traces;
- ``wfformat_14``: WfFormat traces of version 1.4;
- ``wfformat``: WfFormat traces of versions 1.5 and 1.6;
- ``wfformat_dump``: writes WfFormat 1.5;
- ``dax``: Pegasus DAX;
- ``stg``: Standard Task Graphs;
- ``job_shop``: job-shop text;
- ``fjsp``: flexible job-shop text;
- ``chrome_trace``: a schedule for chrome://tracing and Perfetto;
- ``networkx_workflow``: a workflow from a networkx graph;
- ``formats``: the registry: how each format is read and written;
- ``machine_file``: processors for a workflow, in JSON;
- ``recognise``: recognises the format by suffix or content;
- ``traces``: the real traces that come with the package.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Protocol

from dagsched_env.errors import DAGSchedError, FormatError, MissingExtraError
from dagsched_env.instance import Instance
from dagsched_env.io import machine_file
from dagsched_env.io.atomic import write_folder, write_text
from dagsched_env.io.csv_trio import COMPUTATION, FILES
from dagsched_env.io.formats import FORMATS, Format, by_suffix
from dagsched_env.io.networkx_workflow import workflow_from_networkx
from dagsched_env.io.numbers import MOST_PROCESSORS
from dagsched_env.io.recognise import check_name, recognise
from dagsched_env.io.source import Source
from dagsched_env.io.traces import BUNDLED, bundled
from dagsched_env.platforms import Platform, RandomPlatform
from dagsched_env.schedule import Schedule
from dagsched_env.workflow import Workflow

__all__ = [
    "BUNDLED",
    "FORMATS",
    "Equips",
    "Format",
    "Platform",
    "RandomPlatform",
    "bundled",
    "load",
    "load_folder",
    "load_machines",
    "read",
    "save",
    "workflow_from_networkx",
]


class Equips(Protocol):
    """Turns a workflow into an instance: ``Platform``, ``RandomPlatform``, or your own class."""

    def equip(self, workflow: Workflow) -> Instance: ...


def load(
    path: str | PathLike[str],
    *,
    platform: Equips | None = None,
    format: str | None = None,
) -> Instance:
    """Read a problem from a file of any format that can be read.

    Args:
        path: the file (for CSV the directory), or the name of a bundled trace where no such file
            exists.
        platform: the processors to run a workflow on; ``RandomPlatform()`` when None. A file that
            describes its processors takes none.
        format: a key of ``FORMATS``; recognised when None.

    Raises:
        FormatError: the file is not in the format; the message names the file and the place.
        InvalidInstanceError: its numbers are not a valid problem (a cycle, for example).
        DAGSchedError: a platform for a file that has its own, or an unknown or write-only format.
        MissingExtraError: XML, and the extra ``formats`` is not installed.
        OSError: the file cannot be read.
    """
    content = read(path, format=format)
    with _named(path):
        if isinstance(content, Workflow):
            return (platform or RandomPlatform()).equip(content)
        if platform is not None:
            raise DAGSchedError("the file describes its processors itself: leave platform out")
        return content


def read(path: str | PathLike[str], *, format: str | None = None) -> Instance | Workflow:
    """What a file holds: an instance where it describes its processors, else a workflow.

    ``path``, ``format`` and errors are those of ``load``.
    """
    bundle = str(path) in BUNDLED and not Path(path).exists()
    source = Source(bundled(str(path)) if bundle else Path(path))
    with _named(path):
        if format is not None:
            check_name(format)
        found = FORMATS[format or recognise(source)]
        if found.read is None:
            raise DAGSchedError(f"{found.title} is only written: read the file it was made from")
        return found.read(source)


def load_machines(path: str | PathLike[str]) -> Platform:
    """Read a machine file, see ``dagsched_env.io.machine_file``.

    Raises:
        FormatError: it is no machine file; the message names the file, the key and what to write.
        OSError: the file cannot be read.
    """
    with _named(path):
        return machine_file.parse(Source(Path(path)).json)


def load_folder(path: str | PathLike[str]) -> list[Instance]:
    """Read all problems in a folder, sorted by file name; a CSV directory is one problem.

    Files with a suffix of ``FORMATS`` have to be readable. Others are read where their content is
    recognised, and left out where it is not. So are hidden files, formats that are only written,
    and folders other than CSV directories.

    Raises:
        FormatError: a file is not in the format that its suffix promises.
        DAGSchedError: there is nothing to read.
        OSError: the folder or a file cannot be read.
    """
    folder = Path(path)
    if _is_csv(folder):
        return [load(folder)]
    found = [_read_entry(entry) for entry in sorted(folder.iterdir(), key=lambda e: e.name)]
    instances = [instance for instance in found if instance is not None]
    if not instances:
        raise DAGSchedError(f"{path}: no file in this folder can be read as an instance")
    return instances


def save(
    instance: Instance,
    path: str | PathLike[str],
    *,
    format: str | None = None,
    schedule: Schedule | None = None,
) -> None:
    """Write a problem, and a schedule where the format shows one; whole or not at all.

    ``load`` reads every format back exactly. An instance that a format cannot carry is refused.

    Args:
        instance: the problem.
        path: the file, or the directory for CSV.
        format: a key of ``FORMATS``; by the suffix of ``path`` when None, own JSON without one.
        schedule: a valid schedule of the instance.

    Raises:
        DAGSchedError: an unknown or read-only format, a schedule that the format cannot hold, no
            schedule where it needs one, a name that it cannot carry, or more than 4096 processors.
        InvalidScheduleError: the schedule is not valid.
        OSError: the file cannot be written; an old file is unchanged.
    """
    try:
        content = _write(instance, Path(path), format, schedule)
    except DAGSchedError as error:
        raise type(error)(f"{path}: {error}") from None
    if isinstance(content, str):
        write_text(path, content)
    else:
        write_folder(path, content, replaceable=FILES)


def _is_csv(path: Path) -> bool:
    return path.is_dir() and (by_suffix(path.name) == "csv" or (path / COMPUTATION).exists())


def _read_entry(path: Path) -> Instance | None:
    """A file or CSV directory in a folder; None where it is to be left out."""
    if path.name.startswith(".") or (path.is_dir() and not _is_csv(path)):
        return None
    promised = by_suffix(path.name)
    if promised is not None and FORMATS[promised].read is None:
        return None
    if promised == "csv" and not path.is_dir():  # a single table is no problem
        return None
    try:
        return load(path)
    except FormatError:
        if promised is None:
            return None
        raise


@contextmanager
def _named(path: str | PathLike[str]) -> Iterator[None]:
    """Errors name the file."""
    try:
        yield
    except MissingExtraError:
        raise
    except DAGSchedError as error:
        raise type(error)(f"{path}: {_shortened(str(error))}") from None


def _shortened(message: str) -> str:
    """The message; its middle is left out if names from a file make it long."""
    return message if len(message) <= 280 else f"{message[:180]} … {message[-90:]}"


def _write(
    instance: Instance, path: Path, format: str | None, schedule: Schedule | None
) -> str | dict[str, str]:
    if format is not None:
        check_name(format)
    name = format or by_suffix(path.name) or ("json" if not path.suffix else None)
    chosen = FORMATS[name] if name is not None else None
    if chosen is None or chosen.write is None:
        problem = "unknown suffix" if chosen is None else f"{chosen.title} is only read"
        writable = [key for key, value in FORMATS.items() if value.write is not None]
        raise DAGSchedError(f"{problem}: name a format of {', '.join(writable)}")
    if instance.n_processors > MOST_PROCESSORS:
        raise DAGSchedError(f"more than {MOST_PROCESSORS} processors would not be read back")
    if schedule is not None:
        if chosen.schedule == "none":
            raise DAGSchedError(
                f"{chosen.title} has no place for a schedule: Schedule.to_json writes one"
            )
        schedule.validate(instance)
    return chosen.write(instance, schedule)

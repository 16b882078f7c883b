"""The format of a file: by its suffix where this is unique, otherwise by its content."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from dagsched_env.io import (
    csv_workflow,
    dag,
    fjsp,
    machine_file,
    nextflow,
    ninja,
    own_json,
    pegasus,
    psplib,
    run_json,
    saga,
    trace_events,
    wfformat,
)
from dagsched_env.io.csv_trio import COMPUTATION
from dagsched_env.io.dot_syntax import starts_like_dot
from dagsched_env.io.formats import FORMATS, by_suffix
from dagsched_env.io.job_shop import Row, announced
from dagsched_env.io.numbers import lines
from dagsched_env.io.source import Source
from dagsched_env.io.xml_tree import local_name
from dagsched_env.problem.errors import DAGSchedError, FormatError
from dagsched_env.problem.schedule import JSON_FORMAT as SCHEDULE

SPECIFIC = tuple(
    suffix for format in FORMATS.values() for suffix in format.suffixes if suffix != ".json"
)
"""Suffixes of only one format; several formats share ``.json``, ``.xml`` and ``.txt``."""

RUN_FOLDERS = {".snakemake": "snakemake", ".ninja_log": "ninja", "build.ninja": "ninja"}
"""What tools leave in their working folder → the format of such a folder."""


def is_problem_folder(folder: Path) -> bool:
    """Whether a folder is one problem: tables of an instance, or the working folder of a tool."""
    return _has_tables(folder) or left_by_tool(folder) is not None


def is_csv(folder: Path) -> bool:
    """Whether a folder holds the costs of an instance as CSV, or says so by its name."""
    return folder.is_dir() and (by_suffix(folder.name) == "csv" or (folder / COMPUTATION).exists())


def left_by_tool(folder: Path) -> Path | None:
    """What a tool left in its working folder, a key of ``RUN_FOLDERS``; None if there is nothing.

    That entry may be given itself where it is a folder.
    """
    if not folder.is_dir():
        return None
    if folder.name in RUN_FOLDERS:
        return folder
    return next((folder / name for name in RUN_FOLDERS if (folder / name).exists()), None)


def _has_tables(folder: Path) -> bool:
    return is_csv(folder) or (folder / csv_workflow.TASKS).is_file()


def recognise(source: Source) -> str:
    """Name of the format.

    A directory is CSV, or what a tool left in it says which. A suffix of only one format decides.
    Otherwise JSON starts with a brace or bracket, XML with ``<``, DOT with ``digraph``, CSV with a
    header of tasks and times, a log of ninja with ``# ninja log``, a trace of Nextflow with its
    header; lines of a Pegasus workflow start with ``pegasus:`` and ``jobs:``; a project of PSPLIB
    has a line ``PRECEDENCE RELATIONS``, a graph of Santiago et al. lines ``#tasks`` and ``#edges``.
    Numbers are STG if the first line holds one of them. Else they are a job shop where there are
    titles, or each job visits each machine once; else a flexible job shop where the lines have its
    form; else a job shop where the lines have pairs of numbers, or are twice as many as the jobs.

    Raises:
        FormatError: none of these; it lists the formats that can be read.
        MissingExtraError: XML, and its parser is not installed.
        OSError: the file cannot be read.
    """
    if source.path.is_dir():
        left = None if _has_tables(source.path) else left_by_tool(source.path)
        return "csv" if left is None else RUN_FOLDERS[left.name]
    named = by_suffix(source.path.name)
    if named is not None and source.path.name.lower().endswith(SPECIFIC):
        return named
    start = source.content.lstrip(b"\xef\xbb\xbf\xff\xfe\x00 \t\r\n")[:1]
    if source.suffix == ".json" or start in (b"{", b"["):
        return _json(source)
    if source.suffix == ".xml" or start == b"<":
        return _xml(source)
    if ninja.recognises(source.text):
        return "ninja"
    if nextflow.recognises(source.text):
        return "nextflow"
    if starts_like_dot(source.text):
        return "dot"
    if pegasus.recognises(source.text):
        return "pegasus"
    if csv_workflow.recognises(source.text):
        return "csv"
    if psplib.recognises(source.text):
        return "psplib"
    if dag.recognises(source.text):
        return "dag"
    return _numbers(source.text)


def check_name(name: str, fitting: Collection[str]) -> None:
    """Raise a DAGSchedError that lists the fitting formats if no format at all has this name."""
    if name not in FORMATS:
        raise DAGSchedError(f"no format {name!r}: there are {', '.join(fitting)}")


def is_schedule(record: Any) -> bool:
    """Whether parsed JSON claims to be a schedule."""
    return isinstance(record, dict) and record.get("format") == SCHEDULE


def _json(source: Source) -> str:
    if own_json.recognises(source.json):
        return "json"
    if run_json.recognises(source.json):
        return "run"
    if wfformat.recognises(source.json):
        return "wfformat"
    if saga.recognises(source.json):
        return "saga"
    if trace_events.recognises(source.json):
        return "chrome_trace"
    if machine_file.recognises(source.json):
        raise FormatError(
            "a machine file is no problem: pass it with --machines, or load_machines in Python"
        )
    if is_schedule(source.json):
        raise FormatError("a schedule is no problem: name the problem first, then its schedule")
    raise FormatError(
        'unknown format: the top level needs "format": "dagsched-instance", or "workflow" of a '
        "WfFormat trace"
    )


def _xml(source: Source) -> str:
    root = local_name(source.xml)
    formats = {"adag": "dax", "graphml": "graphml"}
    if root not in formats:
        raise FormatError(
            f"unknown format: the root element is <{root:.40}>: DAX has <adag>, GraphML <graphml>"
        )
    return formats[root]


def _numbers(text: str) -> str:
    rows = lines(text)
    counted = [row for row in rows if row[1][0][0].isdigit()]
    if not counted:
        suffixes = (FORMATS[name].suffixes[0] for name in FORMATS if FORMATS[name].suffixes)
        raise FormatError(
            f"unknown format: give the file the suffix of its format, {', '.join(suffixes)}"
        )
    header = counted[0][1]
    if len(header) == 1:
        return "stg"
    jobs = announced(counted)
    if len(counted) < len(rows) or _visits_all_once(header, jobs):  # titles, or a classic one
        return "job_shop"
    if fjsp.recognises(counted):
        return "fjsp"
    paired = all(len(words) % 2 == 0 for _, words in jobs)
    return "job_shop" if paired or len(counted) == 1 + 2 * len(jobs) else "fjsp"


def _visits_all_once(header: list[str], jobs: Sequence[Row]) -> bool:
    """Whether each line has the number of each machine once, from 0 or from 1, and times."""
    for _, words in jobs:
        m = len(words) // 2
        numberings = ({str(q + first) for q in range(m)} for first in (0, 1))
        if len(words) % 2 or header[1] != str(m) or set(words[::2]) not in numberings:
            return False
    return True

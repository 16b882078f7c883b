"""The registry of file formats: how each is read and written."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from dagsched_env.io import (
    chrome_trace,
    csv_trio,
    csv_workflow,
    dag,
    dax,
    dot,
    fjsp,
    graphml,
    job_shop,
    nextflow,
    ninja,
    own_json,
    patterson,
    pegasus,
    psplib,
    run_json,
    saga,
    snakemake,
    stg,
    trace_events,
    wfformat,
    wfformat_dump,
)
from dagsched_env.io.source import Source
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.run import Run
from dagsched_env.problem.schedule import Schedule
from dagsched_env.problem.workflow import Workflow


@dataclass(frozen=True, kw_only=True)
class Format:
    """How a file format is read and written.

    Args:
        title: its name in messages.
        suffixes: of its files, lower case; more than one dot is possible. Empty for what a tool
            left in its working folder.
        read: returns a measured run; an instance where the file describes its processors; else a
            workflow.
        write: returns the text of the file, or of each file of a directory; None = only read.
        schedule: whether ``write`` takes no schedule, may take one, or needs one.
    """

    title: str
    suffixes: tuple[str, ...]
    read: Callable[[Source], Instance | Workflow | Run]
    write: Callable[[Instance, Schedule | None], str | dict[str, str]] | None = None
    schedule: Literal["none", "optional", "needed"] = "none"


FORMATS: dict[str, Format] = {
    "chrome_trace": Format(
        title="Chrome trace",
        suffixes=(".trace.json",),
        read=lambda source: trace_events.parse(source.json, name=source.stem),
        write=chrome_trace.dump,
        schedule="needed",
    ),
    "csv": Format(
        title="CSV",
        suffixes=(".csv",),
        read=lambda source: csv_workflow.parse(source) or csv_trio.parse(source.path),
        write=csv_trio.dump,
        schedule="optional",
    ),
    "dag": Format(
        title="graph of Santiago et al.",
        suffixes=(".dag",),
        # Its names have dots: fpppp-16-334-0.1-0.5.dag.
        read=lambda source: dag.parse(source.text, name=source.path.stem),
    ),
    "dax": Format(
        title="DAX",
        suffixes=(".dax",),
        read=lambda source: dax.parse(source.xml),
    ),
    "dot": Format(
        title="DOT",
        suffixes=(".dot", ".gv"),
        read=lambda source: dot.parse(source.text),
        write=dot.dump,
        schedule="optional",
    ),
    "fjsp": Format(
        title="flexible job shop",
        suffixes=(".fjs", ".fjsp"),
        read=lambda source: fjsp.parse(source.text, name=source.stem),
    ),
    "graphml": Format(
        title="GraphML",
        suffixes=(".graphml",),
        read=lambda source: graphml.parse(source.xml),
        write=graphml.dump,
        schedule="optional",
    ),
    "job_shop": Format(
        title="job shop",
        suffixes=(".jsp", ".jss"),
        read=lambda source: job_shop.parse(source.text, name=source.stem),
    ),
    "json": Format(
        title="own JSON",
        suffixes=(".json",),
        read=lambda source: own_json.parse(source.json, source.text),
        write=lambda instance, _: own_json.dump(instance),
    ),
    "nextflow": Format(
        title="trace of Nextflow",
        suffixes=(".trace.txt",),
        read=lambda source: nextflow.parse(source.path, source.text),
    ),
    "ninja": Format(
        title="build of ninja",
        suffixes=(".ninja_log",),
        read=lambda source: ninja.parse(source.path),
    ),
    "patterson": Format(
        title="Patterson's project",
        suffixes=(".rcp",),
        read=lambda source: patterson.parse(source.text, name=source.stem),
    ),
    "pegasus": Format(
        title="Pegasus workflow",
        suffixes=(".yml", ".yaml"),
        read=lambda source: pegasus.parse(source.yaml),
    ),
    "psplib": Format(
        title="PSPLIB project",
        suffixes=(".sm",),
        read=lambda source: psplib.parse(source.text, name=source.stem),
    ),
    "run": Format(
        title="measured run",
        suffixes=(".run.json",),
        read=lambda source: run_json.parse(source.json),
    ),
    "saga": Format(
        title="problem of SAGA",
        suffixes=(".saga.json",),
        read=lambda source: saga.parse(source.json, name=source.stem),
    ),
    "snakemake": Format(
        title="working folder of Snakemake",
        suffixes=(),
        read=lambda source: snakemake.parse(source.path),
    ),
    "stg": Format(
        title="STG",
        suffixes=(".stg",),
        read=lambda source: stg.parse(source.text, name=source.stem),
    ),
    "wfformat": Format(
        title="WfFormat",
        suffixes=(".wfformat.json",),
        read=lambda source: wfformat_dump.embedded(source.json) or wfformat.parse(source.json),
        write=lambda instance, _: wfformat_dump.dump(instance),
    ),
}
"""Name of each format → how it is read and written."""

WRITABLE = tuple(name for name, format in FORMATS.items() if format.write is not None)


def by_suffix(file_name: str) -> str | None:
    """Name of the format with the longest suffix of the file name; None if there is none."""
    matches = [
        (len(suffix), name)
        for name, format in FORMATS.items()
        for suffix in format.suffixes
        if file_name.lower().endswith(suffix)
    ]
    return max(matches)[1] if matches else None

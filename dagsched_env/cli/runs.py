"""``dagsched import``, ``explain``, ``order`` and ``history``: measured runs."""

import argparse
import csv
import dataclasses
import io as text_io
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from dagsched_env import explain, io
from dagsched_env.cli.arguments import Commands, add_command, positive, positive_seconds
from dagsched_env.cli.machines import MachineFlags, add_machines, machine_flags
from dagsched_env.cli.outputs import JSON, PAGES, TABLES, check_distinct, check_output
from dagsched_env.history import History, default_path
from dagsched_env.history.store import COLUMNS
from dagsched_env.io import ninja
from dagsched_env.io.atomic import write_text
from dagsched_env.io.ninja_manifest import MANIFEST
from dagsched_env.io.ninja_order import in_order
from dagsched_env.io.source import named
from dagsched_env.kernels.arrays import Floats
from dagsched_env.pictures.labels import one_line
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.platforms import Platform
from dagsched_env.problem.run import Run
from dagsched_env.problem.workflow import CORES
from dagsched_env.solver import solve

RUN_HELP = (
    "a measured run: the working folder of Snakemake, the build folder of ninja, a trace of "
    "Nextflow, a Chrome trace with flows, or a file that dagsched import has written"
)
SECONDS = 10.0


def add_commands(commands: Commands) -> None:
    """Add the four commands."""
    imports = add_command(
        commands,
        "import",
        "read a measured run of another tool",
        "  dagsched import workflow/ --out first.run.json\n"
        "  dagsched import build/ --out build.run.json --history",
    )
    imports.add_argument("source", metavar="SOURCE", help=RUN_HELP)
    imports.add_argument(
        "--out", metavar="FILE", required=True, help="JSON: tasks, times, machines"
    )
    _add_history(imports, "also keep its durations in the history")
    imports.set_defaults(run=_import)
    explains = add_command(
        commands,
        "explain",
        "say what bounds a measured run, and what would change it",
        "  dagsched explain workflow/\n"
        "  dagsched explain build/ --html build.html\n"
        "  dagsched explain first.run.json --nodes 2 --cores 32",
    )
    explains.add_argument("run_source", metavar="RUN", help=RUN_HELP)
    explains.add_argument(
        "--time-limit",
        type=positive_seconds,
        default=SECONDS,
        metavar="SECONDS",
        help="wall time of all searches together; default: %(default)g",
    )
    explains.add_argument("--json", metavar="FILE", help="write the figures")
    explains.add_argument(
        "--html", metavar="FILE", help="write a page with the recorded and the planned chart"
    )
    add_machines(explains)
    explains.set_defaults(run=_explain)
    order = add_command(
        commands,
        "order",
        "put the commands of a ninja build in the order of a plan",
        "  dagsched order build/\n  dagsched order build/ --cores 8",
    )
    order.add_argument("folder", metavar="BUILD", help="a folder that ninja has built once")
    order.add_argument(
        "--cores", type=positive, metavar="N", help="of this machine; default: all it has"
    )
    order.add_argument(
        "--time-limit",
        type=positive_seconds,
        default=SECONDS,
        metavar="SECONDS",
        help="wall time of the search; default: %(default)g",
    )
    order.set_defaults(run=_order)
    history = add_command(
        commands,
        "history",
        "show and change the measured durations of tasks",
        "  dagsched history\n"
        "  dagsched history --add workflow/ build/\n"
        "  dagsched history --export durations.csv\n"
        "  dagsched history --forget snakemake:align",
    )
    history.add_argument("--add", nargs="+", metavar="SOURCE", help=f"{RUN_HELP}; keep it")
    history.add_argument("--export", metavar="FILE", help="write all measurements as CSV")
    history.add_argument("--forget", metavar="TOOL[:KIND]", help="remove what is known of these")
    _add_history(history, "the file")
    history.set_defaults(run=_history)


def _add_history(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument(
        "--history",
        nargs="?",
        const=str(default_path()),
        metavar="FILE",
        help=f"{what}; default of FILE: ~/.local/share/dagsched/history.sqlite",
    )


def _import(arguments: argparse.Namespace) -> None:
    check_output("--out", arguments.out, JSON, [arguments.source])
    run = _read(arguments.source)
    io.save_run(run, arguments.out)
    print(f"wrote {arguments.out}: {_summary(run)}")
    if arguments.history is not None:
        _keep(run, History(arguments.history))


def _explain(arguments: argparse.Namespace) -> None:
    inputs = (arguments.run_source, arguments.machines)
    check_output("--json", arguments.json, JSON, inputs)
    check_output("--html", arguments.html, PAGES, inputs)
    check_distinct(("--json", arguments.json), ("--html", arguments.html))
    machines = machine_flags(arguments)
    machines.check()
    run = io.read_run(arguments.run_source)
    found = explain.explain(
        run,
        _completed(machines, run) if machines.says_machines else None,
        budget_s=arguments.time_limit,
    )
    print(explain.as_text(found), end="")
    if arguments.json:
        record = explain.as_record(found)
        write_text(arguments.json, json.dumps(record, ensure_ascii=False, indent=1) + "\n")
        print(f"wrote {arguments.json}")
    if arguments.html:
        print(f"wrote {explain.save_page(found, arguments.html)}")


def _completed(options: MachineFlags, run: Run) -> MachineFlags:
    """With as many machines as the run had, and 1 Gbit/s, where the options do not say it."""
    if options.machines is not None:
        return options
    given = options.given
    taken: dict[str, Any] = {}
    if not given.keys() & {"platform", "processors", "nodes", "speeds"}:
        taken["nodes"] = run.machines.n_processors
        if CORES in run.machines.capacities and "cores" not in given:
            taken["cores"] = ",".join(f"{have:g}" for have in run.machines.capacities[CORES])
    if run.workflow.says_data and not given.keys() & {"bandwidth", "ccr"}:
        taken["bandwidth"] = "1Gbit/s"
    if taken:
        said = " ".join(f"{options.label(name)} {value}" for name, value in taken.items())
        print(f"dagsched: not given, and taken to be {said}", file=sys.stderr)
    return dataclasses.replace(options, **taken)


def _order(arguments: argparse.Namespace) -> None:
    run = _read(arguments.folder, format=ninja.TOOL)
    cores = arguments.cores or os.cpu_count() or 1
    workflow = dataclasses.replace(run.problem, runtimes=_guessed(run, arguments.folder))
    instance = Platform([1.0], [[1.0]], capacities={CORES: [cores]}).equip(workflow)
    plan = solve(instance, budget_s=arguments.time_limit).uninterrupted().schedule
    first = np.lexsort((-instance.rank_u, plan.start)).tolist()  # of equal starts the more urgent
    place = {instance.task_names[t]: float(i) for i, t in enumerate(first)}
    manifest = Path(arguments.folder) / MANIFEST
    with named(manifest):
        text = in_order(Path(arguments.folder), place)
    write_text(manifest, text)
    print(f"wrote {manifest}: {plan.makespan:.4g} s for all on {cores} cores, if ninja follows")


def _guessed(run: Run, folder: str) -> Floats:
    """``[n]`` the measured times; of what was never run, the median of its kind, else of all."""
    times = run.workflow.runtimes.copy()
    known = ~np.isnan(times)
    if not known.any():
        raise DAGSchedError(f"{folder}: nothing was measured: run ninja once")
    kinds = np.array(run.kinds)
    for t in np.flatnonzero(~known):
        alike = known & (kinds == kinds[t])
        times[t] = np.median(run.workflow.runtimes[alike if alike.any() else known])
    if not known.all():
        print(
            f"dagsched: {folder}: {np.count_nonzero(~known)} commands have not run yet, and are "
            "taken to need as long as others of their rule",
            file=sys.stderr,
        )
    return times


def _history(arguments: argparse.Namespace) -> None:
    check_output("--export", arguments.export, TABLES)
    history = History(arguments.history)
    for source in arguments.add or ():
        _keep(_read(source), history)
    if arguments.forget:
        tool, colon, kind = arguments.forget.partition(":")
        if colon and not kind:
            raise DAGSchedError(
                f"--forget {arguments.forget} names no kind: write {tool} alone to forget all of it"
            )
        gone = history.forget(tool, kind or None)
        if not gone:
            raise DAGSchedError(f"{history.path}: nothing is known of {arguments.forget!r}")
        print(f"removed {gone} measurements")
    if arguments.export:
        table = text_io.StringIO()
        writer = csv.writer(table, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(history.export())
        write_text(arguments.export, table.getvalue())
        print(f"wrote {arguments.export}")
    if not (arguments.add or arguments.forget or arguments.export):
        _show(history)


def _show(history: History) -> None:
    rows = [
        (
            row.tool,
            row.kind,
            str(row.runs),
            str(row.tasks),
            f"{row.seconds:.4g}",
            "-" if row.spread != row.spread else f"{row.spread:.2f}",
            "-" if row.memory is None else f"{row.memory / 1e6:.4g}",
        )
        for row in history.table()
    ]
    if not rows:
        print(f"{history.path}: nothing was measured yet: dagsched history --add SOURCE")
        return
    head = ("tool", "kind", "runs", "measured", "seconds", "spread", "memory (MB)")
    texts = [head, *(tuple(map(one_line, row)) for row in rows)]
    widths = [max(len(row[i]) for row in texts) for i in range(len(head))]
    for row in texts:
        left = [text.ljust(width) for text, width in zip(row[:2], widths[:2], strict=True)]
        right = [text.rjust(width) for text, width in zip(row[2:], widths[2:], strict=True)]
        print("  ".join([*left, *right]))


def _read(source: str, format: str | None = None) -> Run:
    """The run; what is unusual about it is said on stderr."""
    run = io.read_run(source, format=format)
    for text in run.problem.assumptions:
        print(f"dagsched: {source}: {one_line(text)}", file=sys.stderr)
    return run


def _keep(run: Run, history: History) -> None:
    added = history.add(run)
    what = f"{added} measurements are new" if added else "this run is there already"
    print(f"{history.path}: {what}")


def _summary(run: Run) -> str:
    tasks, machines = len(run.workflow.tasks), run.machines.n_processors
    where = f"{machines} machines" if machines > 1 else f"{run.machines.processor_names[0]}"
    return f"{tasks} tasks of {run.tool}, {run.makespan:.4g} s on {where}"

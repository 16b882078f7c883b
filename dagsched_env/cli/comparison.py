"""``dagsched compare``: schedulers over files or a suite."""

import argparse
import dataclasses
import importlib.util
import os
import platform
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from pathlib import Path

import numba
import numpy as np

import dagsched_env
from dagsched_env import suites
from dagsched_env.cli.arguments import FILE_HELP, Commands, add_command
from dagsched_env.cli.clusters import add_cluster, compare_each, here, read_cluster
from dagsched_env.cli.machines import (
    add_machines,
    assumed_lines,
    machine_flags,
    read_problems,
    say_machines,
)
from dagsched_env.cli.outputs import (
    PAGES,
    TABLES,
    check_distinct,
    check_not_read,
    check_output,
)
from dagsched_env.cli.policies import POLICIES, add_checkpoint, read_policies
from dagsched_env.cli.progress import bar
from dagsched_env.cli.schedulers import CP_SAT, NAMES_HELP, SOLVE, add_time_limit, choose, contents
from dagsched_env.comparison import compare
from dagsched_env.comparison.page import comparison_page
from dagsched_env.io.assumptions import stated
from dagsched_env.io.atomic import write_text
from dagsched_env.io.journal import Journal, digest
from dagsched_env.pictures.canvas import SUFFIXES as PICTURES
from dagsched_env.pictures.comparison import save_comparison
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.schedulers import CONSTRUCTIVE, SCHEDULERS
from dagsched_env.solver import load_for, load_kernels

SUITE = "heldout"
REFERENCE = "heft"
BEST_KNOWN = "best known"
TOLERANCE, TOLERANCE_S = 1.1, 0.03
"""A scheduler keeps to a time limit within this factor, or this time (s)."""


def add_commands(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "compare",
        "compare schedulers over files or a suite",
        "  dagsched compare --suite heldout\n"
        "  dagsched compare --suite test --schedulers peft annealing --time-limit 1 \\\n"
        "      --reference best-known --pairwise --csv all.csv --png all.png\n"
        "  dagsched compare --suite paper --schedulers heft peft annealing --html paper.html\n"
        "  dagsched compare --schedulers heft peft --checkpoint runs/first --samples 100\n"
        "  dagsched compare *.dot --platform identical --processors 4 \\\n"
        "      --schedulers heft mymodule:fn solve policy --checkpoint default --time-limit 1",
    )
    parser.add_argument(
        "files", metavar="FILE", nargs="*", help=f"{FILE_HELP}; or a folder of such files"
    )
    parser.add_argument(
        "--suite", choices=suites.SUITES, help=f"in place of files; default: {SUITE}"
    )
    parser.add_argument(
        "--schedulers",
        nargs="+",
        default=list(SCHEDULERS),
        metavar="NAME",
        help=f"{NAMES_HELP}; default: all but {SOLVE}, {CP_SAT} and your own",
    )
    add_time_limit(parser)
    add_checkpoint(parser)
    parser.add_argument(
        "--reference",
        default=REFERENCE,
        metavar="NAME",
        help="the scheduler with which the others are compared, or best-known: the makespans that "
        "come with the suite; default: %(default)s",
    )
    parser.add_argument("--limit", type=int, metavar="N", help="the first N instances only")
    parser.add_argument(
        "--pairwise", action="store_true", help="wins, ties and losses of every pair as well"
    )
    parser.add_argument("--csv", metavar="FILE", help="write every makespan and wall time")
    parser.add_argument(
        "--safe",
        action="store_true",
        help="for a --csv that a spreadsheet opens: names that it would take for formulas get an "
        "apostrophe",
    )
    parser.add_argument("--png", metavar="FILE", help="draw the ratios (PNG, SVG or PDF)")
    parser.add_argument(
        "--html",
        metavar="FILE",
        help="write a page with sortable tables, performance profiles and a Gantt chart of each "
        "schedule",
    )
    add_cluster(parser)
    add_machines(parser)
    parser.set_defaults(run=_compare)


def _compare(arguments: argparse.Namespace) -> None:
    inputs = (*arguments.files, arguments.machines, arguments.times)
    check_output("--csv", arguments.csv, TABLES, inputs)
    if arguments.safe and not arguments.csv:
        raise DAGSchedError("--safe is for the table of --csv: name its file, or leave --safe out")
    check_output("--png", arguments.png, PICTURES, inputs)
    check_output("--html", arguments.html, PAGES, inputs)
    check_distinct(("--csv", arguments.csv), ("--journal", arguments.journal))
    if arguments.journal is not None:
        check_not_read("--journal", arguments.journal, inputs)
    best_known = arguments.reference == "best-known"
    if arguments.files and (arguments.suite or best_known):
        option = "--suite" if arguments.suite else "--reference best-known"
        raise DAGSchedError(
            f"{option} is for suites, and there are files: leave out one of the two"
        )
    reference = BEST_KNOWN if best_known else arguments.reference
    policies = read_policies(arguments.checkpoint, arguments.samples)
    first = [] if best_known else [reference]
    named = [*first, *arguments.schedulers]
    added = [] if set(arguments.schedulers) & set(POLICIES) else policies
    schedulers = choose([*named, *added], arguments.time_limit, policies)
    what, instances = _instances(arguments)
    published = {BEST_KNOWN: _best_known(what, instances)} if best_known else {}
    _load(schedulers, instances, arguments.time_limit)
    with bar(f"comparing on {what}", len(schedulers) * len(instances)) as progress:
        comparison = _run(arguments, instances, schedulers, progress)
    makespans = {**published, **comparison.makespans}
    rows = compare.summarise(makespans, instances, reference, comparison.seconds)
    print(_headline(what, instances, arguments.time_limit))
    print(compare.format_table(rows, reference))
    for line in assumed_lines(instances):
        print(line)
    late = _late(comparison.seconds, arguments.time_limit)
    if late:
        print(f"longer than --time-limit: {late}")
    if importlib.util.find_spec("scipy") is None:
        print("no p-values: they need scipy, pip install 'aerl-ds[compare]'", file=sys.stderr)
    if arguments.pairwise:
        print(f"\n{compare.format_pairwise(makespans)}")
    if arguments.csv:
        write_text(arguments.csv, compare.to_csv(comparison, instances, safe=arguments.safe))
        print(f"wrote {arguments.csv}")
    if arguments.png:
        ratios = {
            name: compare.ratios(values, makespans[reference])
            for name, values in makespans.items()
            if name != reference
        }
        title = f"{what}, {_count(instances)}"
        print(f"wrote {save_comparison(ratios, reference, arguments.png, title)}")
    if arguments.html:
        page = comparison_page(
            dataclasses.replace(comparison, makespans=makespans),
            instances,
            reference,
            title=f"Schedulers on {what}",
            facts=_facts(arguments, what, instances, schedulers)
            | ({"longer than the time limit": late} if late else {}),
        )
        write_text(arguments.html, page)
        print(f"wrote {arguments.html}")


def _load(
    schedulers: Mapping[str, compare.Scheduler],
    instances: Sequence[Instance],
    time_limit: float | None,
) -> None:
    """Load what the schedulers use, or the first calls would be charged for it."""
    if schedulers.keys() <= CONSTRUCTIVE.keys():
        for scheduler in schedulers.values():
            scheduler(Instance([[2.0, 3.0], [4.0, 3.0]], [(0, 1)], [5.0]))
        return
    load_kernels()
    for instance in instances if SOLVE in schedulers else ():
        load_for(instance, time_limit)


def _run(
    arguments: argparse.Namespace,
    instances: Sequence[Instance],
    schedulers: Mapping[str, compare.Scheduler],
    progress: compare.Progress,
) -> compare.Comparison:
    """The comparison, here or on a cluster, with what the journal has of it."""
    if arguments.ray is None and arguments.journal is None:
        return compare.compare(instances, schedulers, progress)
    names = ("time_limit", "samples")
    options = {name: getattr(arguments, name) for name in names}
    journal = Journal(
        arguments.journal,
        {
            **options,
            "schedulers": list(schedulers),
            "checkpoint": str(arguments.checkpoint),
            "contents": digest(arguments.checkpoint) if arguments.checkpoint else "",
            "version": dagsched_env.__version__,
            "others": contents(schedulers),
        },
    )
    cluster = here if arguments.ray is None else partial(read_cluster, arguments.ray)
    return compare_each(instances, schedulers, progress, cluster=cluster, journal=journal)


def _instances(arguments: argparse.Namespace) -> tuple[str, Sequence[Instance]]:
    """What they are called together, and the instances of the files or of the suite."""
    machines = machine_flags(arguments)
    if arguments.files:
        problems = read_problems(arguments.files, machines)
        say_machines(problems, machines)
        labels = _file_names([problem.path for problem in problems])
        instances: Sequence[Instance] = [
            problem.instance.renamed(label) for problem, label in zip(problems, labels, strict=True)
        ]
        what = arguments.files[0] if len(arguments.files) == 1 else f"{len(arguments.files)} files"
    elif machines.given:
        option = machines.label(next(iter(machines.given)))
        raise DAGSchedError(f"{option} is for files: the instances of a suite have their machines")
    else:
        what = arguments.suite or SUITE
        instances = suites.load(what)
    limit = arguments.limit
    if limit is not None and not 1 <= limit <= len(instances):
        raise DAGSchedError(f"--limit is {limit}: {what} has 1 to {_count(instances)}")
    return what, instances[:limit]


def _file_names(paths: Sequence[str]) -> Sequence[str]:
    """A name for each file that no other has: without its folders, if that will do."""
    names: Sequence[str] = [Path(path).name for path in paths]
    for longer in (paths, [f"{path} #{i}" for i, path in enumerate(paths)]):
        if len(set(names)) < len(names):
            names = longer
    return names


def _best_known(suite: str, instances: Sequence[Instance]) -> list[float]:
    """Makespans of the published references, in the order of the instances."""
    published = suites.reference(suite)
    missing = [str(i.name) for i in instances if i.name not in published]
    if missing:
        raise DAGSchedError(
            f"suite {suite!r} has no best-known makespan of {missing[0]}: "
            f"leave --reference out, or choose another suite"
        )
    return [published[str(instance.name)].makespan for instance in instances]


def _headline(what: str, instances: Sequence[Instance], time_limit: float | None) -> str:
    budget = "" if time_limit is None else f", {time_limit:g} s per schedule for searches"
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}"
    return f"{what}: {_count(instances)}{budget} ({machine})"


def _late(seconds: Mapping[str, Sequence[float]], time_limit: float | None) -> str:
    """Who took longer than the time limit, and how many times as long at most."""
    if time_limit is None:
        return ""
    most = {name: max(values) for name, values in seconds.items()}
    allowed = max(TOLERANCE * time_limit, time_limit + TOLERANCE_S)
    late = {name: s for name, s in most.items() if s > allowed}
    return ", ".join(f"{name}, up to {s / time_limit:.1f} times" for name, s in late.items())


def _facts(
    arguments: argparse.Namespace,
    what: str,
    instances: Sequence[Instance],
    schedulers: Collection[str],
) -> dict[str, str]:
    """What a page says of how it was made."""
    limit = arguments.time_limit
    return {
        "problems": f"{what}: {_count(instances)}",
        "schedulers": ", ".join(schedulers),
        "time limit": "none" if limit is None else f"{limit:g} s per schedule, for searches",
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}",
        "versions": f"dagsched_env {dagsched_env.__version__}, numpy {np.__version__}, "
        f"numba {numba.__version__}, Python {platform.python_version()}",
        **({"assumed": "; ".join(lines)} if (lines := stated(instances)) else {}),
        "command": arguments.command_line,
        "made": time.strftime("%Y-%m-%d %H:%M:%S %z"),
    }


def _count(instances: Sequence[Instance]) -> str:
    return "1 instance" if len(instances) == 1 else f"{len(instances)} instances"

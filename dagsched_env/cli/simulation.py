"""``dagsched simulate``: dispatchers over runs with noise, arrivals and outages."""

import argparse
import importlib.util
import os
import sys
import time

import numpy as np

from dagsched_env.cli.arguments import (
    FILE_HELP,
    Commands,
    add_command,
    positive,
    positive_seconds,
    seed,
)
from dagsched_env.cli.dispatchers import (
    CLAIRVOYANT,
    DEFAULT,
    HELP,
    choose_dispatchers,
    schedulers_of,
)
from dagsched_env.cli.machines import (
    add_machines,
    assumed_lines,
    machine_flags,
    read_problems,
    say_machines,
)
from dagsched_env.cli.outputs import PAGES, TABLES, check_distinct, check_output
from dagsched_env.cli.policies import add_checkpoint, read_policies
from dagsched_env.cli.progress import bar
from dagsched_env.cli.schedulers import SOLVE, choose
from dagsched_env.comparison import compare
from dagsched_env.comparison.page import comparison_page
from dagsched_env.comparison.runs import compare_runs
from dagsched_env.io.assumptions import stated
from dagsched_env.io.atomic import write_text
from dagsched_env.online import specs
from dagsched_env.online.objectives import OBJECTIVES
from dagsched_env.online.world import World, Worlds
from dagsched_env.pictures import save
from dagsched_env.pictures.canvas import SUFFIXES as PICTURES
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.solver import load_kernels
from dagsched_env.sources import Draw, resolve_source
from dagsched_env.sources.instances import SUITE_PREFIX, InstanceList
from dagsched_env.sources.specs import PREFIX

PLAN_S = 0.01


def add_commands(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "simulate",
        "compare dispatchers in runs where durations differ, graphs arrive, machines fail",
        "  dagsched simulate montage --processors 8 --platform identical --bandwidth 1Gbit/s\n"
        "  dagsched simulate family:cholesky?tiles=8 --noise lognormal?cv=0.3 --draws 50\n"
        "  dagsched simulate family:fft --arrivals 'poisson?graphs=20&load=0.8' \\\n"
        "      --objective mean_completion --dispatchers heft shortest replan:heft\n"
        "  dagsched simulate suite:test --outages one_lost --forgets --html runs.html\n"
        "\n" + "\n".join(f"  {line}" for line in specs.table().splitlines()),
    )
    parser.add_argument(
        "instances",
        metavar="SPEC",
        nargs="+",
        help=f"{FILE_HELP}; suite:NAME; or family:NAME?parameter=value, of which each run draws",
    )
    parser.add_argument("--dispatchers", nargs="+", default=DEFAULT, metavar="NAME", help=HELP)
    parser.add_argument(
        "--noise",
        nargs="+",
        metavar="SPEC",
        default=["lognormal"],
        help="how real durations differ from expected ones; several are multiplied, none = as "
        "expected; default: lognormal",
    )
    parser.add_argument("--arrivals", metavar="SPEC", help="default: one graph, at time 0")
    parser.add_argument("--outages", metavar="SPEC", help="default: no machine fails")
    parser.add_argument(
        "--forgets", action="store_true", help="with a machine the outputs kept there are lost"
    )
    parser.add_argument(
        "--slack",
        type=float,
        metavar="X",
        help="deadlines at X times a graph's lower bound after its arrival, for tardiness",
    )
    parser.add_argument(
        "--objective",
        choices=OBJECTIVES,
        default="makespan",
        help="what runs are judged by, and plans where several graphs arrive; default: %(default)s",
    )
    parser.add_argument(
        "--draws", type=positive, default=20, metavar="N", help="runs; default: %(default)s each"
    )
    parser.add_argument("--seed", type=seed, default=0, help="of the runs; default: %(default)s")
    parser.add_argument(
        "--plan-time",
        type=positive_seconds,
        default=PLAN_S,
        metavar="SECONDS",
        help=f"of {SOLVE}, for each plan; default: %(default)s",
    )
    parser.add_argument(
        "--reference", metavar="NAME", help="whom the others are compared with; default: the first"
    )
    parser.add_argument("--csv", metavar="FILE", help="write the result of every run")
    parser.add_argument("--html", metavar="FILE", help="write a page with tables and charts")
    parser.add_argument("--gantt", metavar="FILE", help="draw the first run under every dispatcher")
    add_checkpoint(parser)
    add_machines(parser)
    parser.set_defaults(run=_simulate)


def _simulate(arguments: argparse.Namespace) -> None:
    inputs = (*arguments.instances, arguments.machines, arguments.times)
    check_output("--csv", arguments.csv, TABLES, inputs)
    check_output("--html", arguments.html, PAGES, inputs)
    check_output("--gantt", arguments.gantt, (*PICTURES, *PAGES), inputs)
    check_distinct(*((f"--{name}", getattr(arguments, name)) for name in ("csv", "html", "gantt")))
    if arguments.objective == "tardiness" and arguments.slack is None:
        raise DAGSchedError("tardiness needs deadlines: give --slack")
    names = list(dict.fromkeys(arguments.dispatchers))
    reference = arguments.reference or names[0]
    if reference not in names:
        names.insert(0, reference)
    policies = read_policies(arguments.checkpoint, arguments.samples)
    schedulers = choose(schedulers_of(names), arguments.plan_time, policies)
    dispatchers = choose_dispatchers(names, schedulers, arguments.plan_time, arguments.objective)
    worlds = _worlds(arguments)
    if CLAIRVOYANT in names and any(world.outages for world in worlds):
        raise DAGSchedError(f"{CLAIRVOYANT} plans without outages: leave one of the two out")
    if CLAIRVOYANT in names or SOLVE in schedulers:
        load_kernels()
    with bar(f"{len(worlds)} runs", len(worlds) * len(dispatchers)) as progress:
        found = compare_runs(worlds, dispatchers, arguments.objective, progress)
    instances = [_shown(i, world) for i, world in enumerate(worlds)]
    print(_headline(arguments, worlds))
    print(_table(found, reference, arguments.objective))
    for line in assumed_lines(instances):
        print(line)
    if importlib.util.find_spec("scipy") is None:
        print("no p-values: they need scipy, pip install 'aerl-ds[compare]'", file=sys.stderr)
    if arguments.csv:
        write_text(arguments.csv, compare.to_csv(found, instances))
        print(f"wrote {arguments.csv}")
    if arguments.html:
        page = comparison_page(
            found,
            instances,
            reference,
            title=f"Dispatchers by {arguments.objective.replace('_', ' ')}",
            facts={
                "runs": _headline(arguments, worlds),
                **({"assumed": "; ".join(lines)} if (lines := stated(instances)) else {}),
                "command": arguments.command_line,
                "made": time.strftime("%Y-%m-%d %H:%M:%S %z"),
            },
        )
        write_text(arguments.html, page)
        print(f"wrote {arguments.html}")
    if arguments.gantt:
        charts = [schedules[0] for schedules in found.schedules.values()]
        print(f"wrote {save(charts, arguments.gantt, instances[0])}")


def _worlds(arguments: argparse.Namespace) -> list[World]:
    """The runs: of each file and of each entry of a suite, or of each family, as many draws."""
    noise = [] if arguments.noise == ["none"] else specs.parse_noise(arguments.noise)
    options = {
        "arrivals": specs.parse_arrivals(arguments.arrivals) if arguments.arrivals else None,
        "noise": noise or None,
        "outages": specs.parse_outages(arguments.outages) if arguments.outages else None,
        "forgets": arguments.forgets,
        "slack": arguments.slack,
    }
    made = []
    for k, source in enumerate(_sources(arguments)):
        worlds = Worlds(source, **options)
        made += [
            worlds(np.random.default_rng([arguments.seed, k, i])) for i in range(arguments.draws)
        ]
    return made


def _sources(arguments: argparse.Namespace) -> list[Instance | Draw]:
    """An instance for each file and entry of a suite, a function for each family."""
    found: list[Instance | Draw] = []
    files = [x for x in arguments.instances if not x.startswith((PREFIX, SUITE_PREFIX))]
    machines = machine_flags(arguments)
    if machines.given and not files:
        option = machines.label(next(iter(machines.given)))
        raise DAGSchedError(f"{option} is for files: a family or suite has its machines")
    problems = read_problems(files, machines) if files else []
    if problems:
        say_machines(problems, machines)
    found += [problem.instance for problem in problems]
    for text in arguments.instances:
        if text.startswith((PREFIX, SUITE_PREFIX)):
            draw = resolve_source(text)
            found += draw.instances if isinstance(draw, InstanceList) else [draw]
    return found


def _shown(i: int, world: World) -> Instance:
    """The run as a problem, for tables and charts."""
    known = world.clairvoyant()
    return known.renamed(f"{known.name or 'run'} #{i}")


def _headline(arguments: argparse.Namespace, worlds: list[World]) -> str:
    count = len(worlds)
    parts = [f"{count} run{'s' * (count > 1)}", f"noise {' × '.join(arguments.noise)}"]
    parts += [f"arrivals {arguments.arrivals}"] if arguments.arrivals else []
    parts += [f"outages {arguments.outages}"] if arguments.outages else []
    return f"{', '.join(parts)} ({os.cpu_count()} cores)"


def _table(found: compare.Comparison, reference: str, objective: str) -> str:
    """One row per dispatcher."""
    base = found.makespans[reference]
    cells = [["dispatcher", objective, f"vs {reference}", "±", "wins", "ties", "losses", "p", "ms"]]
    for name, values in found.makespans.items():
        wins, ties, losses = compare.count_wins(values, base)
        p = compare.wilcoxon_p(values, base)
        versus, error = compare.relative(values, base, objective)
        cells.append(
            [
                name,
                f"{np.mean(values):.4g}",
                f"{versus:.4f}",
                "-" if np.isnan(error) else f"{error:.4f}",
                *map(str, (wins, ties, losses)),
                "-" if p is None else f"{p:.1g}",
                f"{1000 * np.mean(found.seconds[name]):.3g}",
            ]
        )
    return compare.align(cells)

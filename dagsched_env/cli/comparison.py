"""``dagsched compare``: schedulers over a suite."""

import argparse
import importlib.util
import os
import platform
import sys
from collections.abc import Sequence

from dagsched_env import compare, suites
from dagsched_env.cli.arguments import Commands, add_command
from dagsched_env.cli.outputs import PICTURES, TABLES, check_output
from dagsched_env.cli.policies import POLICIES, add_checkpoint, read_policies
from dagsched_env.cli.progress import bar
from dagsched_env.cli.schedulers import CP_SAT, NAMES, add_time_limit, choose
from dagsched_env.errors import DAGSchedError
from dagsched_env.instance import Instance
from dagsched_env.io.atomic import write_text
from dagsched_env.render.comparison import save_comparison
from dagsched_env.schedulers import SCHEDULERS

__all__ = ["add_commands"]

REFERENCE = "heft"
BEST_KNOWN = "best known"


def add_commands(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "compare",
        "compare schedulers over a suite",
        "  dagsched compare --suite heldout\n"
        "  dagsched compare --suite test --schedulers peft annealing --time-limit 1 \\\n"
        "      --reference best-known --pairwise --csv all.csv --png all.png\n"
        "  dagsched compare --schedulers heft peft --checkpoint runs/first --samples 100",
    )
    parser.add_argument(
        "--suite", choices=suites.SUITES, default="heldout", help="default: %(default)s"
    )
    parser.add_argument(
        "--schedulers",
        nargs="+",
        choices=NAMES,
        default=list(SCHEDULERS),
        metavar="NAME",
        help=f"among {', '.join(NAMES)}; default: all but {CP_SAT}",
    )
    add_time_limit(parser)
    add_checkpoint(parser)
    parser.add_argument(
        "--reference",
        choices=[*NAMES, *POLICIES, "best-known"],
        default=REFERENCE,
        metavar="NAME",
        help="the scheduler with which the others are compared, or best-known: the makespans that "
        "come with the suite; default: %(default)s",
    )
    parser.add_argument(
        "--limit", type=int, metavar="N", help="the first N instances of the suite only"
    )
    parser.add_argument(
        "--pairwise", action="store_true", help="wins, ties and losses of every pair as well"
    )
    parser.add_argument("--csv", metavar="FILE", help="write every makespan and wall time")
    parser.add_argument("--png", metavar="FILE", help="draw the ratios (PNG, SVG or PDF)")
    parser.set_defaults(run=_compare)


def _compare(arguments: argparse.Namespace) -> None:
    check_output("--csv", arguments.csv, TABLES)
    check_output("--png", arguments.png, PICTURES)
    instances = _instances(arguments.suite, arguments.limit)
    best_known = arguments.reference == "best-known"
    reference = BEST_KNOWN if best_known else arguments.reference
    policies = read_policies(arguments.checkpoint, arguments.samples)
    first = [] if best_known else [reference]
    schedulers = choose([*first, *arguments.schedulers, *policies], arguments.time_limit, policies)
    published = {BEST_KNOWN: _best_known(arguments.suite, instances)} if best_known else {}
    with bar(f"comparing on {arguments.suite}", len(schedulers) * len(instances)) as progress:
        comparison = compare.compare(instances, schedulers, progress)
    makespans = {**published, **comparison.makespans}
    rows = compare.summarise(makespans, instances, reference, comparison.seconds)
    print(_headline(arguments.suite, len(instances), arguments.time_limit))
    print(compare.format_table(rows, reference))
    if importlib.util.find_spec("scipy") is None:
        print("no p-values: they need scipy (pip install scipy)", file=sys.stderr)
    if arguments.pairwise:
        print(f"\n{compare.format_pairwise(makespans)}")
    if arguments.csv:
        write_text(arguments.csv, compare.to_csv(comparison, instances))
        print(f"wrote {arguments.csv}")
    if arguments.png:
        ratios = {
            name: compare.ratios(values, makespans[reference])
            for name, values in makespans.items()
            if name != reference
        }
        title = f"{arguments.suite}, {len(instances)} instances"
        print(f"wrote {save_comparison(ratios, reference, arguments.png, title)}")


def _instances(suite: str, limit: int | None) -> Sequence[Instance]:
    instances = suites.load(suite)
    if limit is not None and not 1 <= limit <= len(instances):
        raise DAGSchedError(f"--limit is {limit}: {suite} has 1 to {len(instances)} instances")
    return instances[:limit]


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


def _headline(suite: str, count: int, time_limit: float | None) -> str:
    budget = "" if time_limit is None else f", {time_limit:g} s per schedule for searches"
    cores = os.cpu_count()
    return f"{suite}: {count} instances{budget} ({cores} cores, Python {platform.python_version()})"

"""``dagsched``: look at instances, schedule them, check schedules, compare schedulers."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np

from dagsched_env import compare, io, suites
from dagsched_env.errors import DAGSchedError
from dagsched_env.generators import TopcuogluGenerator
from dagsched_env.instance import Instance
from dagsched_env.io.atomic import write_text
from dagsched_env.schedule import Schedule
from dagsched_env.schedulers import SCHEDULERS

__all__ = ["main"]

REFERENCE = "heft"
EXIT_ERROR = 2
EXIT_INTERRUPTED = 130

EXAMPLES = """examples:
  dagsched info montage
  dagsched schedule montage --scheduler heft --out schedule.json --gantt gantt.png
  dagsched verify montage schedule.json
  dagsched compare --suite heldout --schedulers heft eft_greedy
  dagsched generate --tasks 50 --processors 8 --ccr 2 --seed 7 --out instance.json
  dagsched schedule instance.json --scheduler all
"""
FILE_HELP = f"own JSON, a WfFormat trace, or the name of a bundled trace: {', '.join(io.BUNDLED)}"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: the arguments without the program's name; ``sys.argv`` when None.

    Returns:
        The exit code: 0, or 2 after a one-line error on stderr. Wrong usage exits by
        ``SystemExit(2)``, as argparse does.
    """
    arguments = _parser().parse_args(argv)
    try:
        arguments.run(arguments)
    except (DAGSchedError, OSError, UnicodeEncodeError) as error:
        print(f"dagsched: error: {_one_line(error)}", file=sys.stderr)
        return EXIT_ERROR
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    return 0


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split())


# -- commands ----------------------------------------------------------------------------------


def _info(arguments: argparse.Namespace) -> None:
    instance = io.load(arguments.file)
    computation, communication = _mean_costs(instance)
    facts = {
        "name": instance.name or "-",
        "tasks": instance.n_tasks,
        "processors": instance.n_processors,
        "edges": instance.n_edges,
        "levels": _levels(instance),
        "mean computation": f"{computation:.6g}",
        "mean communication": f"{communication:.6g}",
        "CCR": f"{communication / computation:.4g}" if computation > 0 else "-",
        "critical path": f"{instance.cp_min:.6g}",
        "lower bound": f"{instance.lower_bound:.6g}",
        "fingerprint": instance.fingerprint,
    }
    width = max(map(len, facts))
    for key, value in facts.items():
        print(f"{key:<{width}}  {value}")


def _mean_costs(instance: Instance) -> tuple[float, float]:
    """Mean execution time of a task and mean communication time of an edge."""
    latency, inv_bandwidth = instance.arrays.mean_link.tolist()
    communication = latency + inv_bandwidth * instance.data.mean() if instance.n_edges else 0.0
    return float(instance.arrays.mean_comp.mean()), float(communication)


def _levels(instance: Instance) -> int:
    """Tasks on the longest path, counted."""
    g = instance.arrays
    depth = np.zeros(instance.n_tasks, dtype=np.int64)
    for t in g.topo:
        predecessors = g.pred_task[g.pred_ptr[t] : g.pred_ptr[t + 1]]
        depth[t] = 1 + depth[predecessors].max(initial=0)
    return int(depth.max())


def _schedule(arguments: argparse.Namespace) -> None:
    instance = io.load(arguments.file)
    names = list(SCHEDULERS) if arguments.scheduler == "all" else [arguments.scheduler]
    schedules = {name: SCHEDULERS[name](instance) for name in names}
    for schedule in schedules.values():
        schedule.validate(instance)
    _print_metrics(schedules, instance)
    best = min(schedules, key=lambda name: schedules[name].makespan)
    if arguments.out:
        write_text(arguments.out, schedules[best].to_json() + "\n")
        print(f"wrote {arguments.out} ({best})")
    if arguments.gantt:
        path = schedules[best].plot(arguments.gantt, instance)
        print(f"wrote {path} ({best})")


def _print_metrics(schedules: Mapping[str, Schedule], instance: Instance) -> None:
    width = max(len("scheduler"), *map(len, schedules))
    print(f"{'scheduler':<{width}}  {'makespan':>12}  {'SLR':>7}  {'speedup':>7}  efficiency")
    for name, schedule in schedules.items():
        print(
            f"{name:<{width}}  {schedule.makespan:>12.6g}  {schedule.slr(instance):>7.3f}  "
            f"{schedule.speedup(instance):>7.3f}  {schedule.efficiency(instance):>10.3f}"
        )


def _verify(arguments: argparse.Namespace) -> None:
    instance = io.load(arguments.instance)
    try:
        schedule = Schedule.from_json(Path(arguments.schedule).read_text(encoding="utf-8"))
        schedule.validate(instance)
    except DAGSchedError as error:
        raise type(error)(f"{arguments.schedule}: {error}") from None
    except UnicodeDecodeError:
        raise DAGSchedError(f"{arguments.schedule}: not UTF-8 text") from None
    print(f"valid: makespan {schedule.makespan:.6g}, SLR {schedule.slr(instance):.3f}")


def _compare(arguments: argparse.Namespace) -> None:
    instances = suites.load(arguments.suite)
    names = dict.fromkeys([REFERENCE, *arguments.schedulers])
    chosen = {name: SCHEDULERS[name] for name in names}
    makespans = compare.compare(instances, chosen)
    print(f"{arguments.suite}: {len(instances)} instances")
    print(compare.format_table(compare.summarise(makespans, instances, REFERENCE), REFERENCE))


def _generate(arguments: argparse.Namespace) -> None:
    generator = TopcuogluGenerator(
        n_tasks=arguments.tasks,
        n_processors=arguments.processors,
        shape=arguments.shape,
        ccr=arguments.ccr,
        beta=arguments.beta,
    )
    if arguments.seed < 0:
        raise DAGSchedError(f"--seed is {arguments.seed}: give a number >= 0")
    instance = generator(np.random.default_rng(arguments.seed))
    io.save(instance, arguments.out)
    print(f"wrote {arguments.out}: {instance.n_tasks} tasks, {instance.n_edges} edges")


# -- arguments ---------------------------------------------------------------------------------


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dagsched",
        description="Schedule task graphs with communication costs on unrelated processors.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_inspection(commands)
    _add_schedule(commands)
    _add_compare(commands)
    _add_generate(commands)
    return parser


Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def _add_inspection(commands: Commands) -> None:
    info = commands.add_parser("info", help="size and characteristics of an instance")
    info.add_argument("file", metavar="FILE", help=FILE_HELP)
    info.set_defaults(run=_info)
    verify = commands.add_parser("verify", help="check a schedule against its instance")
    verify.add_argument("instance", metavar="INSTANCE", help=FILE_HELP)
    verify.add_argument("schedule", metavar="SCHEDULE", help="schedule as written by --out")
    verify.set_defaults(run=_verify)


def _add_schedule(commands: Commands) -> None:
    schedule = commands.add_parser("schedule", help="schedule an instance")
    schedule.add_argument("file", metavar="FILE", help=FILE_HELP)
    schedule.add_argument(
        "--scheduler",
        choices=[*SCHEDULERS, "all"],
        default=REFERENCE,
        help="default: %(default)s; all: each in turn, the best one is written",
    )
    schedule.add_argument("--out", metavar="FILE", help="write the schedule as JSON")
    schedule.add_argument("--gantt", metavar="FILE", help="draw it as PNG, SVG or PDF")
    schedule.set_defaults(run=_schedule)


def _add_compare(commands: Commands) -> None:
    comparison = commands.add_parser("compare", help="compare schedulers over a suite")
    comparison.add_argument("--suite", choices=suites.SUITES, default="heldout")
    comparison.add_argument(
        "--schedulers",
        nargs="+",
        choices=list(SCHEDULERS),
        default=list(SCHEDULERS),
        metavar="NAME",
        help=f"among {', '.join(SCHEDULERS)}; {REFERENCE} is always run, as the reference",
    )
    comparison.set_defaults(run=_compare)


def _add_generate(commands: Commands) -> None:
    generate = commands.add_parser(
        "generate", help="draw a layered random graph (Topcuoglu et al. 2002)"
    )
    generate.add_argument("--tasks", type=int, default=30, help="default: %(default)s")
    generate.add_argument("--processors", type=int, default=4, help="default: %(default)s")
    generate.add_argument(
        "--ccr", type=float, default=1.0, help="communication / computation; default: %(default)s"
    )
    generate.add_argument(
        "--beta", type=float, default=1.0, help="heterogeneity, 0 to 2; default: %(default)s"
    )
    generate.add_argument(
        "--shape", type=float, default=1.0, help="large = wide and short; default: %(default)s"
    )
    generate.add_argument("--seed", type=int, default=0, help="default: %(default)s")
    generate.add_argument("--out", metavar="FILE", required=True, help="own JSON")
    generate.set_defaults(run=_generate)

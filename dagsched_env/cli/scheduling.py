"""``dagsched schedule`` and ``dagsched plot``."""

import argparse
from collections.abc import Mapping
from contextlib import nullcontext

from dagsched_env import pictures
from dagsched_env.cli.arguments import FILE_HELP, Commands, add_command
from dagsched_env.cli.inspection import read_schedule
from dagsched_env.cli.machines import add_machines, assumed_lines, machine_flags, read_problem
from dagsched_env.cli.outputs import CHARTS, JSON, check_output
from dagsched_env.cli.policies import add_checkpoint, read_policies
from dagsched_env.cli.progress import bar, live
from dagsched_env.cli.schedulers import (
    CP_SAT,
    NAMES,
    NAMES_HELP,
    SOLVE,
    Interrupted,
    add_time_limit,
    choose,
)
from dagsched_env.io.atomic import write_text
from dagsched_env.problem.errors import InvalidScheduleError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers import SCHEDULERS
from dagsched_env.solver.result import OPTIMALITY_TOLERANCE

DEFAULT = "heft"


def add_commands(commands: Commands) -> None:
    """Add both commands."""
    schedule = add_command(
        commands,
        "schedule",
        "schedule an instance",
        "  dagsched schedule montage --scheduler all\n"
        "  dagsched schedule montage --scheduler annealing --time-limit 5 --out schedule.json\n"
        "  dagsched schedule graph.dot --platform identical --processors 2 --scheduler cp_sat\n"
        "  dagsched schedule montage --scheduler policy_sampled --checkpoint runs/first",
    )
    schedule.add_argument("file", metavar="FILE", help=FILE_HELP)
    schedule.add_argument(
        "--scheduler",
        default=DEFAULT,
        metavar="NAME",
        help=f"{NAMES_HELP}; default: %(default)s; all: each of this package but {CP_SAT}, the "
        "best schedule is written",
    )
    add_time_limit(schedule)
    add_checkpoint(schedule)
    schedule.add_argument("--out", metavar="FILE", help="write the schedule as JSON")
    schedule.add_argument("--gantt", metavar="FILE", help="draw it as PNG, SVG, PDF or HTML")
    add_machines(schedule)
    schedule.set_defaults(run=_schedule)
    plot = add_command(
        commands,
        "plot",
        "draw schedules as Gantt charts",
        "  dagsched plot montage schedule.json --out gantt.html\n"
        "  dagsched plot montage heft.json solve.json --out both.png\n"
        "  dagsched plot montage --out heft.png",
    )
    plot.add_argument("instance", metavar="INSTANCE", help=FILE_HELP)
    plot.add_argument(
        "schedules",
        metavar="SCHEDULE",
        nargs="*",
        help="as written by --out; several are drawn below each other on one scale of time; "
        f"default: {DEFAULT}",
    )
    plot.add_argument(
        "--out", metavar="FILE", required=True, help="PNG, SVG, PDF, or HTML to zoom into"
    )
    add_machines(plot)
    plot.set_defaults(run=_plot)


def _schedule(arguments: argparse.Namespace) -> None:
    inputs = (arguments.file, arguments.machines, arguments.times)
    check_output("--out", arguments.out, JSON, inputs)
    check_output("--gantt", arguments.gantt, CHARTS, inputs)
    instance, *_ = read_problem(arguments.file, machine_flags(arguments))
    policies = read_policies(arguments.checkpoint, arguments.samples)
    every = [*(name for name in NAMES if name != CP_SAT), *policies]
    names = every if arguments.scheduler == "all" else [arguments.scheduler]
    bounds: list[float] = []
    schedules, interrupted = {}, False
    shown = live(arguments.file) if names == [SOLVE] else nullcontext()
    with shown as callback, bar("scheduling", len(names)) as progress:
        chosen = choose(names, arguments.time_limit, policies, bounds, callback)
        for done, (name, scheduler) in enumerate(chosen.items(), 1):
            try:
                schedules[name] = scheduler(instance)
            except Interrupted as stop:
                schedules[name], interrupted = stop.schedule, True
            try:
                schedules[name].validate(instance)
            except InvalidScheduleError as error:
                raise InvalidScheduleError(f"{name}: {error}") from None
            progress(done, len(names))
            if interrupted:
                break
    _print_metrics(schedules, instance)
    best = min(schedules, key=lambda name: schedules[name].makespan)
    if bounds:
        _print_bound(max(bounds), best, schedules[best].makespan)
    for line in assumed_lines([instance]):
        print(line)
    if arguments.out:
        write_text(arguments.out, schedules[best].to_json(instance) + "\n")
        print(f"wrote {arguments.out} ({best})")
    if arguments.gantt:
        print(f"wrote {pictures.save(schedules[best], arguments.gantt, instance)} ({best})")
    if interrupted:
        raise KeyboardInterrupt


def _print_metrics(schedules: Mapping[str, Schedule], instance: Instance) -> None:
    width = max(len("scheduler"), *map(len, schedules))
    print(f"{'scheduler':<{width}}  {'makespan':>12}  {'SLR':>7}  {'speedup':>7}  efficiency")
    for name, schedule in schedules.items():
        print(
            f"{name:<{width}}  {schedule.makespan:>12.6g}  {schedule.slr(instance):>7.3f}  "
            f"{schedule.speedup(instance):>7.3f}  {schedule.efficiency(instance):>10.3f}"
        )


def _print_bound(bound: float, name: str, makespan: float) -> None:
    """What solvers have proved, and what it says of the best schedule."""
    excess = makespan / bound - 1.0 if bound > 0 else 0.0
    optimal = excess <= OPTIMALITY_TOLERANCE
    verdict = "optimal, proved" if optimal else f"at most {excess:.1%} above the optimum"
    print(f"lower bound {bound:.6g}: {name} is {verdict}")


def _plot(arguments: argparse.Namespace) -> None:
    inputs = (arguments.instance, *arguments.schedules, arguments.machines, arguments.times)
    check_output("--out", arguments.out, CHARTS, inputs)
    instance, *_ = read_problem(arguments.instance, machine_flags(arguments))
    schedules = [read_schedule(file, instance) for file in arguments.schedules]
    chosen = schedules or SCHEDULERS[DEFAULT](instance)
    print(f"wrote {pictures.save(chosen, arguments.out, instance)}")

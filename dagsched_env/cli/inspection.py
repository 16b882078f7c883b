"""``dagsched info`` and ``dagsched verify``."""

import argparse
from pathlib import Path

from dagsched_env.cli.arguments import FILE_HELP, Commands, add_command
from dagsched_env.cli.machines import add_machines, assumed_lines, machine_flags, read_problem
from dagsched_env.io.source import Source, named
from dagsched_env.kernels.graph.csr import depths
from dagsched_env.pictures.labels import one_line
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.platforms.ccr import mean, mean_communication
from dagsched_env.problem.schedule import Schedule


def add_commands(commands: Commands) -> None:
    """Add both commands."""
    info = add_command(
        commands,
        "info",
        "size and characteristics of an instance",
        "  dagsched info montage\n  dagsched info graph.dot --platform identical --processors 2",
    )
    info.add_argument("file", metavar="FILE", help=FILE_HELP)
    add_machines(info)
    info.set_defaults(run=_info)
    verify = add_command(
        commands,
        "verify",
        "check a schedule against its instance",
        "  dagsched schedule montage --out schedule.json\n"
        "  dagsched verify montage schedule.json\n"
        "  dagsched verify graph.dot schedule.json --platform identical --processors 2",
    )
    verify.add_argument("instance", metavar="INSTANCE", help=FILE_HELP)
    verify.add_argument("schedule", metavar="SCHEDULE", help="schedule as written by --out")
    add_machines(verify)
    verify.set_defaults(run=_verify)


def read_schedule(path: str, instance: Instance) -> Schedule:
    """A schedule from a file, checked against its instance.

    Raises:
        DAGSchedError: it is no schedule, or breaks a constraint; the message names the file.
        OSError: the file cannot be read.
    """
    with named(path):
        schedule = Schedule.from_json(Source(Path(path)).text, instance)
        schedule.validate(instance)
    return schedule


def _info(arguments: argparse.Namespace) -> None:
    instance, machines, _ = read_problem(arguments.file, machine_flags(arguments))
    computation, communication = mean(instance.arrays.mean_comp), mean_communication(instance)
    g = instance.arrays
    facts = {
        "name": one_line(instance.name or "-"),
        "tasks": instance.n_tasks,
        "processors": instance.n_processors,
        "machines": machines,
        **(
            {"resources": ", ".join(map(one_line, instance.resource_names))}
            if g.demand.size
            else {}
        ),
        "edges": instance.n_edges,
        "levels": int(depths(g.pred_ptr, g.pred_task, g.topo).max()) + 1,
        "mean computation": f"{computation:.6g}",
        "mean communication": f"{communication:.6g}",
        "CCR": f"{communication / computation:.4g}" if computation > 0 else "-",
        "critical path": f"{instance.cp_min:.6g}",
        "lower bound": f"{instance.lower_bound:.6g}",
        "fingerprint": instance.fingerprint,
    }
    width = max(map(len, facts))
    rows = [*facts.items(), *(("assumed", one_line(text)) for text in instance.assumptions)]
    for key, value in rows:
        print(f"{key:<{width}}  {value}")


def _verify(arguments: argparse.Namespace) -> None:
    instance, *_ = read_problem(arguments.instance, machine_flags(arguments))
    schedule = read_schedule(arguments.schedule, instance)
    print(f"valid: makespan {schedule.makespan:.6g}, SLR {schedule.slr(instance):.3f}")
    for line in assumed_lines([instance]):
        print(line)

"""``dagsched generate`` and ``dagsched convert``."""

import argparse
import inspect
import sys

import numpy as np

from dagsched_env import io
from dagsched_env.cli.arguments import FILE_HELP, Commands, add_command, say_hidden, seed
from dagsched_env.cli.inspection import read_schedule
from dagsched_env.cli.machines import add_machines, machine_flags, read_problem
from dagsched_env.cli.outputs import check_instance_output
from dagsched_env.generators import GENERATORS
from dagsched_env.io.formats import FORMATS, WRITABLE
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.platforms import PLATFORMS
from dagsched_env.sources import as_instance, plugins, specs
from dagsched_env.sources.parameters import plain

MOST_TASKS = 10**8
"""Beyond, a graph does not fit into the memory of any usual machine."""


def add_commands(commands: Commands) -> None:
    """Add both commands."""
    generate = add_command(
        commands,
        "generate",
        "draw an instance of a family",
        "  dagsched generate --tasks 50 --processors 8 --ccr 2 --seed 7 --out instance.json\n"
        "  dagsched generate cholesky tiles=6 --platform cpu_gpu --out cholesky.json\n"
        "  dagsched generate fft --help-family",
    )
    generate.add_argument(
        "family",
        nargs="?",
        default="topcuoglu",
        metavar="FAMILY",
        help=f"{', '.join(GENERATORS)}, or one that an installed package declares (entry points "
        f"{plugins.FAMILIES}); default: %(default)s",
    )
    generate.add_argument(
        "settings",
        nargs="*",
        metavar="KEY=VALUE",
        help="parameters of the family and the platform, such as tiles=6, tiles=4..8 or gpus=1",
    )
    generate.add_argument("--help-family", action="store_true", help="describe the family and exit")
    generate.add_argument(
        "--list", action="store_true", help="list all families, platforms and parameters and exit"
    )
    generate.add_argument("--tasks", type=int, help="number of tasks, where the family takes it")
    generate.add_argument(
        "--platform",
        choices=list(PLATFORMS),
        help=f"the machines, where the family takes them; default: {specs.DEFAULT_PLATFORM}",
    )
    generate.add_argument("--processors", type=int, default=4, help="default: %(default)s")
    generate.add_argument(
        "--ccr", type=float, default=1.0, help="communication / computation; default: %(default)s"
    )
    generate.add_argument("--beta", type=float, help="heterogeneity, 0 to 2, where it applies")
    generate.add_argument("--seed", type=seed, default=0, help="default: %(default)s")
    generate.add_argument("--out", metavar="FILE", help="own JSON, or another format by its suffix")
    generate.set_defaults(run=_generate)
    convert = add_command(
        commands,
        "convert",
        "read an instance in one format and write it in another",
        "  dagsched convert montage montage.dot\n"
        "  dagsched convert montage tables --to csv\n"
        "  dagsched convert montage montage.json --machines machines.json\n"
        "  dagsched convert instance.json gantt.trace.json --to chrome_trace --schedule s.json\n\n"
        "formats:\n" + "\n".join(_describe(name) for name in io.FORMATS),
    )
    convert.add_argument("source", metavar="IN", help=FILE_HELP)
    convert.add_argument("target", metavar="OUT", help="the file to write; with --to csv a folder")
    convert.add_argument(
        "--from", dest="source_format", choices=tuple(FORMATS), help="default: by content"
    )
    convert.add_argument("--to", dest="target_format", choices=WRITABLE, help="default: by suffix")
    convert.add_argument(
        "--schedule", metavar="FILE", help="a schedule, for the formats that show placements"
    )
    convert.add_argument(
        "--safe",
        action="store_true",
        help="for CSV that a spreadsheet opens: names that it would take for formulas get an "
        "apostrophe",
    )
    add_machines(convert)
    convert.set_defaults(run=_convert)


def _describe(name: str) -> str:
    form = io.FORMATS[name]
    ways = "read" if form.write is None else "read, written"
    return f"  {name:<13} {form.title} ({ways}; {', '.join(form.suffixes) or 'a folder'})"


def _convert(arguments: argparse.Namespace) -> None:
    inputs = (arguments.source, arguments.schedule, arguments.machines, arguments.times)
    check_instance_output("OUT", arguments.target, arguments.target_format, inputs)
    options = machine_flags(arguments)
    instance, _, left_out = read_problem(arguments.source, options, format=arguments.source_format)
    schedule = read_schedule(arguments.schedule, instance) if arguments.schedule else None
    io.save(
        instance,
        arguments.target,
        format=arguments.target_format,
        schedule=schedule,
        safe=arguments.safe,
    )
    if left_out:
        print(
            f"dagsched: left out: {left_out}; write {options.label('cores')}, by which processors "
            "have resources, to keep what tasks use",
            file=sys.stderr,
        )
    print(f"wrote {arguments.target}")


def _generate(arguments: argparse.Namespace) -> None:
    if arguments.help_family:
        print(inspect.getdoc(specs.factory(arguments.family)))
        return
    if arguments.list:
        print(specs.table())
        return
    if arguments.out is None:
        raise DAGSchedError("--out is missing: name the file to write")
    check_instance_output("--out", arguments.out)
    say_hidden(plugins.FAMILIES, GENERATORS, [arguments.family])
    family = specs.make_family(arguments.family, _settings(arguments))
    most = getattr(family, "max_tasks", None)  # a function of somebody else states none
    if most is not None and most > MOST_TASKS:
        raise DAGSchedError(
            f"{arguments.family} has up to {most:.3g} tasks with these parameters: at "
            f"most {MOST_TASKS:.0e} can be drawn"
        )
    drawn = family(np.random.default_rng(arguments.seed))
    instance = as_instance(drawn, f"what {arguments.family} drew")
    io.save(instance, arguments.out)
    print(f"wrote {arguments.out}: {instance.n_tasks} tasks, {instance.n_edges} edges")


def _settings(arguments: argparse.Namespace) -> dict[str, str]:
    """The parameters as texts: those of the options, and those written as KEY=VALUE."""
    options = {
        "tasks": arguments.tasks,
        "platform": arguments.platform,
        "beta": arguments.beta,
    }
    settings = {key: str(value) for key, value in options.items() if value is not None}
    given = [_setting(text) for text in arguments.settings]
    for i, (key, _) in enumerate(given):
        if key in dict(given[:i]):
            raise DAGSchedError(f"{key} is given twice")
    settings |= dict(given)
    defaults = {"processors": arguments.processors, "ccr": arguments.ccr}
    if "cpus" in settings:  # they determine the number of processors
        del defaults["processors"]
    there = specs.keys(arguments.family, settings.get("platform"))
    return {key: str(value) for key, value in defaults.items() if key in there} | settings


def _setting(text: str) -> tuple[str, str]:
    """Key and value of ``key=value``."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise DAGSchedError(f"{text!r} is not a setting: write KEY=VALUE")
    return plain(key), value

"""``dagsched generate`` and ``dagsched convert``."""

import argparse
import inspect
from typing import Any

import numpy as np

from dagsched_env import io
from dagsched_env.cli.arguments import FILE_HELP, Commands, add_command, seed
from dagsched_env.cli.inspection import read_schedule
from dagsched_env.errors import DAGSchedError
from dagsched_env.generators import GENERATORS
from dagsched_env.platforms import PLATFORMS

__all__ = ["add_commands"]

PLATFORM = "unrelated"
READABLE = [name for name, form in io.FORMATS.items() if form.read is not None]
WRITABLE = [name for name, form in io.FORMATS.items() if form.write is not None]


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
        choices=list(GENERATORS),
        default="topcuoglu",
        metavar="FAMILY",
        help=f"{', '.join(GENERATORS)}; default: %(default)s",
    )
    generate.add_argument(
        "settings", nargs="*", metavar="KEY=VALUE", help="settings of the family, such as tiles=6"
    )
    generate.add_argument(
        "--help-family", action="store_true", help="print the settings of the family and exit"
    )
    generate.add_argument("--tasks", type=int, help="number of tasks, where the family takes it")
    generate.add_argument(
        "--platform",
        choices=list(PLATFORMS),
        help=f"the machines, where the family takes them; default: {PLATFORM}",
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
        "  dagsched convert instance.json gantt.trace.json --to chrome_trace --schedule s.json\n\n"
        "formats:\n" + "\n".join(_describe(name) for name in io.FORMATS),
    )
    convert.add_argument("source", metavar="IN", help=FILE_HELP)
    convert.add_argument("target", metavar="OUT", help="the file to write")
    convert.add_argument(
        "--from", dest="source_format", choices=READABLE, help="default: by content"
    )
    convert.add_argument("--to", dest="target_format", choices=WRITABLE, help="default: by suffix")
    convert.add_argument(
        "--schedule", metavar="FILE", help="a schedule, for the formats that show placements"
    )
    convert.set_defaults(run=_convert)


def _describe(name: str) -> str:
    form = io.FORMATS[name]
    ways = ", ".join(
        way for way, there in (("read", form.read), ("written", form.write)) if there is not None
    )
    return f"  {name:<13} {form.title} ({ways}; {', '.join(form.suffixes)})"


def _convert(arguments: argparse.Namespace) -> None:
    instance = io.load(arguments.source, format=arguments.source_format)
    schedule = read_schedule(arguments.schedule, instance) if arguments.schedule else None
    io.save(instance, arguments.target, format=arguments.target_format, schedule=schedule)
    print(f"wrote {arguments.target}")


def _generate(arguments: argparse.Namespace) -> None:
    family = GENERATORS[arguments.family]
    accepted = inspect.signature(family).parameters
    if arguments.help_family:
        print(inspect.getdoc(family))
        return
    if arguments.out is None:
        raise DAGSchedError("--out is missing: name the file to write")
    settings = dict(_setting(text) for text in arguments.settings)
    if arguments.tasks is not None:
        settings["n_tasks"] = arguments.tasks
    for key in settings:
        if key not in accepted or key == "platform":
            known = ", ".join(name for name in accepted if name != "platform")
            raise DAGSchedError(
                f"{arguments.family} has no setting {key!r}: it has {known or 'none'}"
            )
    if arguments.platform is not None and "platform" not in accepted:
        raise DAGSchedError(f"{arguments.family} makes its own machines: leave --platform out")
    if "platform" in accepted:
        settings["platform"] = _platform(arguments, arguments.platform or PLATFORM)
    else:
        settings |= _machine_settings(arguments, set(accepted) - set(settings))
    instance = family(**settings)(np.random.default_rng(arguments.seed))
    io.save(instance, arguments.out)
    print(f"wrote {arguments.out}: {instance.n_tasks} tasks, {instance.n_edges} edges")


def _platform(arguments: argparse.Namespace, name: str) -> Any:
    platform = PLATFORMS[name]
    accepted = set(inspect.signature(platform).parameters)
    if arguments.beta is not None and "beta" not in accepted:
        raise DAGSchedError(f"platform {name} has no --beta: leave it out")
    return platform(**_machine_settings(arguments, accepted))


def _machine_settings(arguments: argparse.Namespace, accepted: set[str]) -> dict[str, Any]:
    """The options about machines that are accepted."""
    options = {
        "n_processors": arguments.processors,
        "ccr": arguments.ccr,
        "beta": arguments.beta,
    }
    return {k: v for k, v in options.items() if k in accepted and v is not None}


def _setting(text: str) -> tuple[str, Any]:
    """Key and value of ``key=value``; the value is a number where possible, ``a,b`` a tuple."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise DAGSchedError(f"{text!r} is not a setting: write KEY=VALUE")
    parts = tuple(_number(part) for part in value.split(","))
    return key, parts if len(parts) > 1 else parts[0]


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text

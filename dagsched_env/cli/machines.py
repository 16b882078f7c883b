"""The machines of a problem on a command line: the options, and one line on what is assumed.

A file that describes its processors keeps them. Any other is put on the processors that the options
describe (``dagsched_env.io.machine_options``). What is assumed is never silent: a line on stderr
says what, and which options change it.
"""

import argparse
import dataclasses
import inspect
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, get_args, get_type_hints

from dagsched_env import io
from dagsched_env.io.assumptions import stated
from dagsched_env.io.machine_options import IN_MACHINE_FILE, MachineOptions
from dagsched_env.io.machine_parameters import DEFAULT_KIND, OF_TASKS, PROCESSORS
from dagsched_env.io.statements import assumed, assumption, doubtful_units, notice
from dagsched_env.pictures.labels import one_line
from dagsched_env.problem.errors import (
    AssumptionWarning,
    DoubtfulUnitsWarning,
    MachinesAssumedWarning,
)
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.platforms import ccr

FILES = ("machines", "times")


@dataclasses.dataclass(frozen=True, kw_only=True)
class MachineFlags(MachineOptions):
    """``MachineOptions`` of a command line: messages call them ``--platform`` and so on."""

    @staticmethod
    def label(name: str) -> str:
        """The option of a parameter."""
        return f"--{name.replace('_', '-')}"


class Problem(NamedTuple):
    """An instance, one line on its machines, and what they leave out of it, as ``io.Problem``."""

    instance: Instance
    machines: str
    left_out: str


def read_problem(path: str, options: MachineFlags, *, format: str | None = None) -> Problem:
    """Read a problem and put it on machines where it has none; say on stderr what is assumed.

    Args:
        path: as for ``io.load``.
        options: what the command line says of the machines.
        format: as for ``io.load``.

    Raises:
        DAGSchedError: as ``io.load`` and ``MachineOptions.check``; or options for a file that
            describes its processors.
        OSError: a file cannot be read.
    """
    options.check()
    problem = io.read_problem(path, options, format=format)
    _say_assumption("dagsched", [problem], options)
    statement = options.statement if problem.bare else options.statement_of_file
    return Problem(problem.instance, statement(problem.instance), problem.left_out)


def read_problems(paths: Sequence[str], options: MachineFlags) -> list[io.Problem]:
    """The problems in files and folders, as of ``io.read_problems``; ``say_machines`` follows."""
    options.check()
    return io.read_problems(paths, options)


def say_machines(
    problems: Sequence[io.Problem], options: MachineFlags, *, program: str = "dagsched"
) -> None:
    """One line on stderr on what is assumed of all, and one on files that keep their processors."""
    _say_assumption(program, problems, options)
    _say_kept(program, problems, options)


@contextmanager
def warnings_on_stderr(program: str, *others: type[Warning]) -> Iterator[None]:
    """Within, an ``AssumptionWarning`` is one line on stderr that names the options.

    A warning of ``others`` is a line on stderr, too.
    """
    said: tuple[type[Warning], ...] = (AssumptionWarning, *others)
    with warnings.catch_warnings():
        for category in said:
            warnings.simplefilter("always", category)
        show = warnings.showwarning

        def show_on_stderr(message: Warning | str, *place: Any, **named: Any) -> None:
            if isinstance(message, DoubtfulUnitsWarning):
                _say_doubt(program, message)
            elif isinstance(message, MachinesAssumedWarning):
                _say(program, message.fact, message.assumed, or_file="platform" in message.assumed)
            elif isinstance(message, said):
                print(f"{program}: {message}", file=sys.stderr)
            else:
                show(message, *place, **named)

        warnings.showwarning = show_on_stderr
        yield


def assumed_lines(instances: Sequence[Instance]) -> list[str]:
    """What was assumed of the problems of a table, a line each; none where nothing was."""
    return [f"assumed: {one_line(text)}" for text in stated(instances)]


def _say_assumption(program: str, problems: Sequence[io.Problem], options: MachineFlags) -> None:
    if text := notice(problems):
        print(f"{program}: {one_line(text)}", file=sys.stderr)
    fact = assumption(problems, options)
    if fact:
        _say(program, fact, assumed(problems, options), or_file=not options.says_machines)
    elif options.in_bytes:
        _say_units(program, problems, options)
    doubt = doubtful_units(problems, options)
    if doubt is not None:
        _say_doubt(program, doubt)


def _say_doubt(program: str, warning: DoubtfulUnitsWarning) -> None:
    mends = " or ".join(_options(warning.assumed))
    print(
        f"{program}: WARNING: {warning.fact}; if data is in bytes, write {mends}", file=sys.stderr
    )


def _say_units(program: str, problems: Sequence[io.Problem], options: MachineFlags) -> None:
    """A bandwidth with a unit says what the numbers of a file mean; some formats do not."""
    unsaid = [p for p in problems if not p.says_units and p.instance.data.any()]
    if unsaid:
        more = f" and {len(unsaid) - 1} more" if len(unsaid) > 1 else ""
        where = IN_MACHINE_FILE if options.machines else MachineFlags.label("bandwidth")
        print(
            f"{program}: {unsaid[0].path}{more}: data is taken as bytes, times as seconds: CCR "
            f"{ccr(unsaid[0].instance):.2g}; if they are not, write {where} without a unit",
            file=sys.stderr,
        )


def _say_kept(program: str, problems: Sequence[io.Problem], options: MachineFlags) -> None:
    """Some files describe their processors, and keep them."""
    others = [name for name in options.given if name != "ccr"]
    kept = [problem.path for problem in problems if not problem.bare]
    if others and kept:
        files = "describes its" if len(kept) == 1 else f"and {len(kept) - 1} more describe their"
        print(
            f"{program}: {kept[0]} {files} processors: {MachineFlags.label(others[0])} does not "
            "change them",
            file=sys.stderr,
        )


def _say(program: str, fact: str, names: Sequence[str], *, or_file: bool) -> None:
    change = ", ".join(_options(names)) + (", or --machines FILE" if or_file else "")
    print(f"{program}: {fact}; change it with {change}", file=sys.stderr)


def _options(names: Iterable[str]) -> list[str]:
    """Parameters as options, but for the keys of a machine file, which are in quotes."""
    return [name if name.startswith('"') else MachineFlags.label(name) for name in names]


def add_machines(parser: argparse.ArgumentParser) -> None:
    """The options of ``MachineFlags``, with what ``MachineOptions`` says of each."""
    machines = parser.add_argument_group(
        "machines",
        "for a file that describes no processors; without any of these,\n"
        f"{PROCESSORS} {DEFAULT_KIND} ones are drawn and communication is rescaled to CCR 1",
    )
    times = parser.add_argument_group("times", "for a graph that has none, or in place of its own")
    meanings = _meanings(MachineOptions)
    for name, hint in get_type_hints(MachineOptions).items():
        group = times if name in OF_TASKS else machines
        (kind, *_) = get_args(hint) or (hint,)
        if kind is bool:
            group.add_argument(MachineFlags.label(name), action="store_true", help=meanings[name])
        else:
            metavar = "FILE" if name in FILES else {int: "N", float: "X"}.get(kind, "TEXT")
            group.add_argument(
                MachineFlags.label(name), type=kind, metavar=metavar, help=meanings[name]
            )


def _meanings(options: type) -> dict[str, str]:
    """Parameter → what the docstring says of it."""
    _, _, listed = (inspect.getdoc(options) or "").partition("Args:\n")
    entries = re.findall(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", listed, re.MULTILINE)
    return {name: " ".join(text.split()).removesuffix(".") for name, text in entries}


def machine_flags(arguments: argparse.Namespace) -> MachineFlags:
    """The options of a parsed command line."""
    names = [field.name for field in dataclasses.fields(MachineFlags)]
    return MachineFlags(**{name: getattr(arguments, name) for name in names})

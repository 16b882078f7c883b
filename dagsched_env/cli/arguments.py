"""What several commands share: their list, help on files, number types, names of plugins."""

import argparse
import math
import sys
from collections.abc import Collection, Iterable
from typing import TypeAlias

from dagsched_env import io
from dagsched_env.sources import plugins

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

FILE_HELP = (
    "an instance in any format that is read (see dagsched convert --help), or the name of a "
    f"bundled trace: {', '.join(io.BUNDLED)}; or of a classic job shop: ft06, and with the extra "
    "jobshop abz5 to yn4, such as la01 or ta80"
)


def add_command(
    commands: Commands, name: str, summary: str, examples: str
) -> argparse.ArgumentParser:
    """Add a command whose ``--help`` ends with examples.

    Args:
        commands: the list of commands.
        name: of the command.
        summary: one line, without a capital or a full stop.
        examples: command lines, indented by two spaces.
    """
    return commands.add_parser(
        name,
        help=summary,
        description=summary[0].upper() + summary[1:] + ".",
        epilog=f"examples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def positive_seconds(text: str) -> float:
    """A finite number of seconds > 0."""
    seconds = float(text)
    if not (math.isfinite(seconds) and seconds > 0):
        raise argparse.ArgumentTypeError(f"{text} is not a number of seconds > 0")
    return seconds


def positive(text: str) -> int:
    """A whole number >= 1."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not >= 1")
    return value


def seed(text: str) -> int:
    """A whole number >= 0."""
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text} is not >= 0")
    return value


def say_hidden(group: str, own: Collection[str], names: Iterable[str]) -> None:
    """One line on stderr for each of ``names`` that is our own and that of another package, too."""
    declared = plugins.declared(group)
    for name in names:
        if name in own and name in declared:
            print(
                f"dagsched: {name} is that of dagsched_env, not {plugins.place(declared[name])}, "
                "which needs another name",
                file=sys.stderr,
            )

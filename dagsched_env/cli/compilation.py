"""``dagsched warm-up``, and the line that says that a command waits for compilation."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from numba.core import event

from dagsched_env.cli.arguments import Commands, add_command
from dagsched_env.cli.warm_up import warm_up


def add_commands(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "warm-up",
        "compile all numeric kernels beforehand, so that later commands start at once",
        "  dagsched warm-up",
    )
    parser.set_defaults(run=_warm_up)


@contextmanager
def announced_compilation(program: str) -> Iterator[None]:
    """Within, the first kernel that is compiled, not read from disk, is announced on stderr."""
    with event.install_listener("numba:compile", _Announcer(program)):
        yield


def announce(program: str) -> None:
    """Say on stderr that the command compiles."""
    line = f"compiling kernels, once: it may take minutes ({program} warm-up compiles all of them)"
    print(f"{program}: {line}", file=sys.stderr)


class _Announcer(event.Listener):
    def __init__(self, program: str) -> None:
        self._program: str | None = program

    def on_start(self, event: event.Event) -> None:
        if self._program is not None:
            announce(self._program)
        self._program = None

    def on_end(self, event: event.Event) -> None:
        """The line is said before."""


def _warm_up(arguments: argparse.Namespace) -> None:
    warm_up()

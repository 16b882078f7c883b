"""Types of options that several commands have."""

from json import dumps
from typing import Annotated

import tyro

from dagsched_env.cli.machines import MachineFlags

__all__ = ["UNSAID", "Machines", "Specs", "as_json"]

UNSAID = MachineFlags()
Machines = tyro.conf.OmitArgPrefixes[MachineFlags]
Specs = Annotated[tuple[str, ...], tyro.conf.arg(metavar="SPEC ...")]


def as_json(value: object) -> str:
    """The text of a file."""
    return dumps(value, indent=2) + "\n"

"""Options of several commands: their types, what help says of them, and the check of limits."""

import inspect
from collections.abc import Callable
from json import dumps
from typing import Annotated, Any, TypeVar, get_args

import docstring_parser
import tyro

from dagsched_env.cli.machines import MachineFlags
from dagsched_env.schedulers.anytime import check_count, check_positive

NO_DEFAULT = (None, (), inspect.Parameter.empty)
"""Defaults of which help says nothing: the description says what is done then."""

Described = TypeVar("Described", bound=Callable[..., Any])


def described(command: Described) -> Described:
    """Let ``--help`` take each option's description as one paragraph, with its default if any.

    tyro alone keeps the line breaks of the docstring, and adds "(default: None)".

    Args:
        command: a function with a docstring, or a class of options.
    """
    parameters = docstring_parser.parse(command.__doc__ or "").params
    texts = {p.arg_name: " ".join((p.description or "").split()) for p in parameters}
    for name, parameter in inspect.signature(command).parameters.items():
        hint = "" if parameter.default in NO_DEFAULT else None
        about = tyro.conf.arg(help=texts.get(name), help_behavior_hint=hint)
        text = str in get_args(parameter.annotation)  # what Python also takes as numbers
        kind = str | None if text else parameter.annotation
        command.__annotations__[name] = Annotated[kind, about]
    return command


@described
class _Flags(MachineFlags):
    """``MachineFlags`` of ``aerl``."""


UNSAID = _Flags()
Machines = tyro.conf.OmitArgPrefixes[_Flags]
Specs = Annotated[tuple[str, ...], tyro.conf.arg(metavar="SPEC ...")]


def check_limits(**limits: int | float | None) -> None:
    """Raise a DAGSchedError that names the option, unless each limit is positive.

    Args:
        limits: option, without its dashes → its value, a whole number for counts; None = it is not
            given.
    """
    for name, value in limits.items():
        if isinstance(value, int):
            check_count(f"--{name}", value)
        elif value is not None:
            check_positive(f"--{name}", value)


def as_json(value: object) -> str:
    """The text of a file."""
    return dumps(value, indent=2) + "\n"

"""Schedulers, families and generators of users: named by where they are, or declared by a package.

``module:function`` names a function where it is. A package declares its own under short names, in
the entry-point groups ``dagsched.schedulers`` and ``dagsched.families`` (two examples are in
``examples/``). Nothing is imported before it is asked for by its name.
"""

import os
import re
import sys
import traceback
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from dagsched_env.problem.errors import DAGSchedError

FUNCTION = re.compile(r"[\w.]+:[\w.]+")

SCHEDULERS = "dagsched.schedulers"
"""Group of functions ``Instance -> Schedule``."""
FAMILIES = "dagsched.families"
"""Group of functions and classes whose call gives a family, as those of ``GENERATORS`` do."""


def declared(group: str) -> dict[str, EntryPoint]:
    """Name → entry point of all installed packages, sorted by name."""
    return {point.name: point for point in sorted(entry_points(group=group))}


def load(point: EntryPoint) -> Callable[..., Any]:
    """Import what an entry point stands for.

    Raises:
        DAGSchedError: it cannot be imported, or cannot be called.
    """
    try:
        found = point.load()
    except Exception as error:  # whatever the module of somebody else does
        raise DAGSchedError(
            f"{place(point)} cannot be loaded: {type(error).__name__}: {error}"
        ) from error
    if not callable(found):
        raise DAGSchedError(f"{place(point)} is {type(found).__name__}: name a function")
    function: Callable[..., Any] = found
    return function


def is_reference(value: str) -> bool:
    """Whether a text is of the form ``module:function``."""
    return FUNCTION.fullmatch(value) is not None


def load_from_here(value: str) -> Callable[..., Any]:
    """Import ``module:function``; modules in the current directory are found too.

    Raises:
        DAGSchedError: it is not of this form, cannot be imported, or cannot be called.
    """
    if not is_reference(value):
        raise DAGSchedError(f"{value!r} is not of the form module:function")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    return load(EntryPoint(value, value, ""))


def file_of(group: str, name: str) -> Path | None:
    """The file of the module in which a function is that has been loaded, if it has one.

    Args:
        group: of entry points.
        name: ``module:function``, or that of an entry point.
    """
    module = name.partition(":")[0] if is_reference(name) else declared(group)[name].module
    file = getattr(sys.modules[module], "__file__", None)
    return None if file is None else Path(file)


def failed(what: str, error: Exception) -> DAGSchedError:
    """The error that says where a call of somebody else's function went wrong.

    Args:
        what: names the call.
        error: that it raised.
    """
    last = traceback.extract_tb(error.__traceback__)[-1]
    return DAGSchedError(
        f"{what} raised {type(error).__name__}: {error} ({last.filename}, line {last.lineno})"
    )


def place(point: EntryPoint) -> str:
    """Its name, its value, and the package that declares it."""
    if point.name == point.value:
        return point.value
    package = f" of {point.dist.name}" if point.dist is not None else ""
    return f"{point.name} ({point.value}{package})"

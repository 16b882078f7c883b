"""Static scheduling of task DAGs with communication costs on unrelated processors.

Importing this package registers the Gymnasium environments ``DAGSched-v0``, which plans, and
``DAGSchedOnline-v0``, which decides while a run goes on:

    import gymnasium
    import dagsched_env

    env = gymnasium.make("DAGSched-v0", instances=dagsched_env.Instance(comp, edges, data))

``Instance`` is a problem, ``Schedule`` a solution, ``State`` a partial schedule to step by hand,
``SCHEDULERS`` the classic algorithms; ``dagsched_env.io`` reads files, ``dagsched_env.generators``
draws random problems.

In reading order; each imports only from those before it. All of these, and the names below, are
attributes of this package that are loaded on first use:

- ``kernels``: all numeric code, compiled by numba;
- ``problem``: instances, machines, schedules, the rules;
- ``generators``, ``schedulers``: random graphs; classic algorithms;
- ``history``: durations that were measured;
- ``io``, ``pictures``: file formats; charts;
- ``suites``, ``records``, ``sources``: frozen instances; their best known schedules; problems by
  text, SPECs;
- ``online``: runs that go on by events, and dispatchers;
- ``environment``: ``DAGSched-v0`` and ``DAGSchedOnline-v0``, one of it or thousands;
- ``exact``: proved optima, by CP-SAT;
- ``solver``: all of the above for one short schedule;
- ``comparison``: schedulers against each other;
- ``explain``: what bounds a measured run;
- ``execution``: graphs of jobs, run for real;
- ``testing``: checks for your own parts;
- ``cli``: the command ``dagsched``.
"""

import importlib
from contextlib import nullcontext
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from dagsched_env.kernels.interrupts import is_command_line, leaving_at_once
from dagsched_env.problem import drawing

if TYPE_CHECKING:
    from dagsched_env.environment.env import DAGSchedEnv
    from dagsched_env.environment.rewards import REWARDS
    from dagsched_env.problem.errors import (
        AssumptionWarning,
        DAGSchedError,
        FormatError,
        IllegalActionError,
        InvalidInstanceError,
        InvalidScheduleError,
        MachinesAssumedWarning,
        MissingExtraError,
    )
    from dagsched_env.problem.instance import Instance
    from dagsched_env.problem.schedule import Schedule
    from dagsched_env.problem.simulator import State, replay
    from dagsched_env.schedulers import SCHEDULERS

__all__ = [
    "AssumptionWarning",
    "DAGSchedEnv",
    "DAGSchedError",
    "FormatError",
    "IllegalActionError",
    "Instance",
    "InvalidInstanceError",
    "InvalidScheduleError",
    "MachinesAssumedWarning",
    "MissingExtraError",
    "REWARDS",
    "SCHEDULERS",
    "Schedule",
    "State",
    "__version__",
    "replay",
]

_HOMES = {
    "AssumptionWarning": "problem.errors",
    "DAGSchedEnv": "environment.env",
    "DAGSchedError": "problem.errors",
    "FormatError": "problem.errors",
    "IllegalActionError": "problem.errors",
    "Instance": "problem.instance",
    "InvalidInstanceError": "problem.errors",
    "InvalidScheduleError": "problem.errors",
    "MachinesAssumedWarning": "problem.errors",
    "MissingExtraError": "problem.errors",
    "REWARDS": "environment.rewards",
    "SCHEDULERS": "schedulers",
    "Schedule": "problem.schedule",
    "State": "problem.simulator",
    "replay": "problem.simulator",
}

try:
    __version__ = version("aerl-ds")
except PackageNotFoundError:  # the sources are used without installation
    __version__ = "0+unknown"


def _register() -> None:
    import gymnasium

    if "DAGSched-v0" not in gymnasium.registry:
        gymnasium.register(
            id="DAGSched-v0",
            entry_point="dagsched_env.environment.window:make",
            vector_entry_point="dagsched_env.environment.vector:DAGSchedVectorEnv",
        )
        gymnasium.register(
            id="DAGSchedOnline-v0",
            entry_point="dagsched_env.environment.online.env:DAGSchedOnlineEnv",
            vector_entry_point="dagsched_env.environment.online.vector:DAGSchedOnlineVectorEnv",
        )


def _load_renderer() -> Any:
    return importlib.import_module("dagsched_env.pictures")


drawing.load_renderer = _load_renderer
with leaving_at_once() if is_command_line() else nullcontext():
    _register()


def __getattr__(name: str) -> Any:
    """One of the names above, or a module of this package."""
    if name in _HOMES:
        value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = value  # found without this function from now on
        return value
    if name.startswith("_") or find_spec(f"{__name__}.{name}") is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})

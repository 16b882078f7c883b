"""Static scheduling of task DAGs with communication costs on unrelated processors.

Importing this package registers the Gymnasium environment ``DAGSched-v0``:

    import gymnasium
    import dagsched_env

    env = gymnasium.make("DAGSched-v0", instances=dagsched_env.Instance(comp, edges, data))

``Instance`` is a problem, ``Schedule`` a solution, ``State`` a partial schedule to step by hand,
``SCHEDULERS`` the classic algorithms; ``dagsched_env.io`` reads files, ``dagsched_env.generators``
draws random problems.

Modules and packages in reading order; each imports only from those before it. All of these, and
the names below, are attributes of this package that are loaded on first use:

- the problem: ``starting`` (of the command lines), ``interrupts`` (Ctrl-C in kernels), ``errors``,
  ``expected`` (arguments of another kind), ``kernels`` (numeric code, compiled by numba), ``kinds``
  (of tasks, from their names), ``parameters`` (what a family draws for each instance), ``plugins``
  (what users add), ``workflow`` (a task graph without processors), ``instance``, ``schedule``,
  ``platforms`` (processors for a workflow), ``parts`` (for training, validation and test);
- the rules: ``simulator``, ``actions``, ``features``, ``rewards``, ``durations`` (execution under
  noise), ``bounds``, ``critical`` (the tasks that decide the makespan);
- problems and solutions: ``generators``, ``schedulers``, ``io``, ``specs`` (families as text),
  ``render``, ``suites``;
- the environment: ``sources`` (where the problems come from), ``observation``, ``env``, ``vector``
  (many environments at once), ``sb3`` (for Stable-Baselines3), ``pyg`` (for graph networks),
  ``window`` (for ``render_mode="human"``);
- experiments: ``exact`` (CP-SAT), ``adversarial`` (instances on which a scheduler fails),
  ``solver`` (all of the above for one short schedule), ``compare``, ``testing`` (checks for your
  own parts), ``comparison_page`` (a comparison as HTML), ``warm_up`` (compiles all kernels
  beforehand), ``cli`` (the command ``dagsched``).
"""

import importlib
from contextlib import nullcontext
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from dagsched_env.starting import is_command_line, leaving_at_once

if TYPE_CHECKING:
    from dagsched_env.env import DAGSchedEnv
    from dagsched_env.errors import (
        AssumptionWarning,
        DAGSchedError,
        FormatError,
        IllegalActionError,
        InvalidInstanceError,
        InvalidScheduleError,
        MachinesAssumedWarning,
        MissingExtraError,
    )
    from dagsched_env.instance import Instance
    from dagsched_env.rewards import REWARDS
    from dagsched_env.schedule import Schedule
    from dagsched_env.schedulers import SCHEDULERS
    from dagsched_env.simulator import State, replay

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
    "AssumptionWarning": "errors",
    "DAGSchedEnv": "env",
    "DAGSchedError": "errors",
    "FormatError": "errors",
    "IllegalActionError": "errors",
    "Instance": "instance",
    "InvalidInstanceError": "errors",
    "InvalidScheduleError": "errors",
    "MachinesAssumedWarning": "errors",
    "MissingExtraError": "errors",
    "REWARDS": "rewards",
    "SCHEDULERS": "schedulers",
    "Schedule": "schedule",
    "State": "simulator",
    "replay": "simulator",
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
            entry_point="dagsched_env.window:make",
            vector_entry_point="dagsched_env.vector:DAGSchedVectorEnv",
        )


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

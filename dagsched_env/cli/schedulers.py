"""The schedulers that a command line can name, ready to be called with the instance alone."""

import argparse
import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from dagsched_env import exact, solver
from dagsched_env.cli.arguments import positive_seconds, say_hidden
from dagsched_env.cli.policies import POLICIES
from dagsched_env.comparison.compare import Scheduler
from dagsched_env.io.journal import digest
from dagsched_env.pictures.labels import one_line
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers import SCHEDULERS, SEARCHERS
from dagsched_env.solver import Callback
from dagsched_env.sources import plugins

SOLVE, CP_SAT = "solve", "cp_sat"
NAMES = (*SCHEDULERS, SOLVE, CP_SAT)
"""All names of this package, ``cp_sat`` (OR-Tools, extra ``exact``) last."""
NAMES_HELP = (
    f"{', '.join(NAMES)}; with --checkpoint {' and '.join(POLICIES)}; your own as "
    "module:function, or by the name that an installed package declares (entry points "
    f"{plugins.SCHEDULERS})"
)
CP_SAT_SECONDS = 10.0
BUDGET = "budget_s"
"""The parameter by which a scheduler takes ``--time-limit``."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C in a search that has a schedule already.

    Args:
        schedule: the best so far.
    """

    def __init__(self, schedule: Schedule) -> None:
        super().__init__()
        self.schedule = schedule


def add_time_limit(parser: argparse.ArgumentParser) -> None:
    """The option ``--time-limit``."""
    parser.add_argument(
        "--time-limit",
        type=positive_seconds,
        metavar="SECONDS",
        help=f"wall time per schedule for {', '.join(SEARCHERS)} and {SOLVE} (default: their own "
        f"number of evaluations), {CP_SAT} (default: {CP_SAT_SECONDS:g}), and schedulers of your "
        f"own with a parameter {BUDGET}",
    )


def choose(
    names: Iterable[str],
    time_limit: float | None,
    policies: Mapping[str, Scheduler],
    bounds: list[float] | None = None,
    callback: Callback | None = None,
) -> dict[str, Scheduler]:
    """The schedulers of some names.

    Args:
        names: among ``NAMES`` and ``POLICIES``, ``module:function``, or names of entry points.
        time_limit: of the searches (seconds).
        policies: of a checkpoint, or none.
        bounds: receives the lower bounds (time) that ``solve`` and ``cp_sat`` prove.
        callback: of ``solve``.

    Raises:
        DAGSchedError: an unknown name, a function that cannot be imported, or a policy without a
            checkpoint. Where Ctrl-C ends a ``solve``, it raises ``Interrupted``.
    """
    kept = [] if bounds is None else bounds
    distinct = dict.fromkeys(names)
    say_hidden(plugins.SCHEDULERS, NAMES, distinct)
    return {
        name: policies.get(name) or _scheduler(name, time_limit, kept, callback)
        for name in distinct
    }


def _scheduler(
    name: str, time_limit: float | None, bounds: list[float], callback: Callback | None
) -> Scheduler:
    if name in POLICIES:
        raise DAGSchedError(f"{name} needs a trained policy: name one with --checkpoint")
    if name == CP_SAT:
        return partial(_cp_sat, time_limit or CP_SAT_SECONDS, bounds)
    if name == SOLVE:
        return partial(_solve, time_limit, bounds, callback)
    if name in SCHEDULERS:
        return _limited(SCHEDULERS[name], time_limit)
    return partial(_call, name, _limited(_of_others(name), time_limit))


def _of_others(name: str) -> Callable[..., Any]:
    """The scheduler ``module:function``, or that of an entry point."""
    if ":" in name:
        return plugins.load_from_here(name)
    found = plugins.declared(plugins.SCHEDULERS)
    if name in found:
        return plugins.load(found[name])
    known = [*NAMES, *POLICIES, *found]
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    question = f"did you mean {close[0]!r}? " if close else ""
    raise DAGSchedError(
        f"no scheduler {name!r}: {question}There are {', '.join(known)}; name your own as "
        "module:function"
    )


def contents(names: Iterable[str]) -> dict[str, str]:
    """The digest of the file of each scheduler of others, which have been chosen: for a journal."""
    others = [name for name in names if name not in (*NAMES, *POLICIES)]
    files = {name: plugins.file_of(plugins.SCHEDULERS, name) for name in others}
    return {name: digest(file) if file else "" for name, file in files.items()}


def _limited(scheduler: Callable[..., Any], time_limit: float | None) -> Callable[..., Any]:
    """The scheduler with this budget, if it takes one."""
    if time_limit is None or BUDGET not in inspect.signature(scheduler).parameters:
        return scheduler
    return partial(scheduler, **{BUDGET: time_limit})


def _call(name: str, scheduler: Callable[..., Any], instance: Instance) -> Schedule:
    try:
        schedule = scheduler(instance)
    except Exception as error:  # whatever the function of somebody else does
        what = f"{name} on {one_line(instance.name or 'the problem')}"
        raise plugins.failed(what, error) from error
    if not isinstance(schedule, Schedule):
        raise DAGSchedError(
            f"{name} returned {type(schedule).__name__}: a scheduler returns a Schedule"
        )
    return schedule


def _solve(
    time_limit: float | None, bounds: list[float], callback: Callback | None, instance: Instance
) -> Schedule:
    result = solver.solve(instance, budget_s=time_limit, callback=callback)
    bounds.append(result.lower_bound)
    if result.stopped_by == "interrupt":
        raise Interrupted(result.schedule)
    return result.schedule


def _cp_sat(time_limit: float, bounds: list[float], instance: Instance) -> Schedule:
    result = exact.solve(instance, time_limit_s=time_limit)
    bounds.append(result.lower_bound)
    return result.schedule

"""The schedulers that a command line can name, ready to be called with the instance alone."""

import argparse
from collections.abc import Iterable, Mapping
from functools import partial

from dagsched_env import exact, solver
from dagsched_env.cli.arguments import positive_seconds
from dagsched_env.cli.policies import POLICIES
from dagsched_env.compare import Scheduler
from dagsched_env.errors import DAGSchedError
from dagsched_env.instance import Instance
from dagsched_env.schedule import Schedule
from dagsched_env.schedulers import SCHEDULERS, SEARCHERS

__all__ = ["CP_SAT", "NAMES", "add_time_limit", "choose"]

SOLVE, CP_SAT = "solve", "cp_sat"
NAMES = (*SCHEDULERS, SOLVE, CP_SAT)
"""All names, ``cp_sat`` (OR-Tools, extra ``exact``) last."""
CP_SAT_SECONDS = 10.0


def add_time_limit(parser: argparse.ArgumentParser) -> None:
    """The option ``--time-limit``."""
    parser.add_argument(
        "--time-limit",
        type=positive_seconds,
        metavar="SECONDS",
        help=f"wall time per schedule for {', '.join(SEARCHERS)} and {SOLVE} (default: their own "
        f"number of evaluations) and {CP_SAT} (default: {CP_SAT_SECONDS:g})",
    )


def choose(
    names: Iterable[str], time_limit: float | None, policies: Mapping[str, Scheduler]
) -> dict[str, Scheduler]:
    """The schedulers of some names.

    Args:
        names: among ``NAMES`` and ``POLICIES``.
        time_limit: of the searches (seconds).
        policies: of a checkpoint, or none.

    Raises:
        DAGSchedError: a policy without a checkpoint.
    """
    return {name: policies.get(name) or _scheduler(name, time_limit) for name in names}


def _scheduler(name: str, time_limit: float | None) -> Scheduler:
    if name in POLICIES:
        raise DAGSchedError(f"{name} needs a trained policy: name one with --checkpoint")
    if name == CP_SAT:
        return partial(_cp_sat, time_limit or CP_SAT_SECONDS)
    if name == SOLVE:
        return partial(_solve, time_limit)
    if name in SEARCHERS and time_limit is not None:
        return partial(SCHEDULERS[name], budget_s=time_limit)
    return SCHEDULERS[name]


def _solve(time_limit: float | None, instance: Instance) -> Schedule:
    return solver.solve(instance, budget_s=time_limit).schedule


def _cp_sat(time_limit: float, instance: Instance) -> Schedule:
    return exact.solve(instance, time_limit_s=time_limit).schedule

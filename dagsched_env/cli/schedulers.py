"""The schedulers that a command line can name, ready to be called with the instance alone."""

import argparse
from collections.abc import Callable, Iterable
from functools import partial

from dagsched_env import exact
from dagsched_env.cli.arguments import positive_seconds
from dagsched_env.instance import Instance
from dagsched_env.schedule import Schedule
from dagsched_env.schedulers import SCHEDULERS, SEARCHERS

__all__ = ["CP_SAT", "NAMES", "add_time_limit", "choose"]

CP_SAT = "cp_sat"
NAMES = (*SCHEDULERS, CP_SAT)
"""All names, ``cp_sat`` (OR-Tools, extra ``exact``) last."""
CP_SAT_SECONDS = 10.0


def add_time_limit(parser: argparse.ArgumentParser) -> None:
    """The option ``--time-limit``."""
    parser.add_argument(
        "--time-limit",
        type=positive_seconds,
        metavar="SECONDS",
        help=f"wall time per schedule for {', '.join(SEARCHERS)} (default: their own number of "
        f"evaluations) and {CP_SAT} (default: {CP_SAT_SECONDS:g})",
    )


def choose(
    names: Iterable[str], time_limit: float | None
) -> dict[str, Callable[[Instance], Schedule]]:
    """Name → scheduler; the searches get the time limit, in seconds."""
    return {name: _scheduler(name, time_limit) for name in names}


def _scheduler(name: str, time_limit: float | None) -> Callable[[Instance], Schedule]:
    if name == CP_SAT:
        return partial(_cp_sat, time_limit or CP_SAT_SECONDS)
    if name in SEARCHERS and time_limit is not None:
        return partial(SCHEDULERS[name], budget_s=time_limit)
    return SCHEDULERS[name]


def _cp_sat(time_limit: float, instance: Instance) -> Schedule:
    return exact.solve(instance, time_limit_s=time_limit).schedule

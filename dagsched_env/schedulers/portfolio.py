"""The best schedule of several schedulers."""

from collections.abc import Mapping
from dataclasses import replace

from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers.constructive import CONSTRUCTIVE, Scheduler


def best_of_portfolio(
    instance: Instance, *, schedulers: Mapping[str, Scheduler] | None = None
) -> Schedule:
    """The shortest schedule of several schedulers; its ``algorithm`` is the name of the best one.

    Args:
        instance: the problem.
        schedulers: name → scheduler, at least one; all of ``CONSTRUCTIVE`` when None. Among equal
            makespans the first one wins.

    Raises:
        DAGSchedError: ``schedulers`` is empty.
    """
    chosen = CONSTRUCTIVE if schedulers is None else schedulers
    if not chosen:
        raise DAGSchedError("schedulers is empty: name at least one")
    schedules = {name: scheduler(instance) for name, scheduler in chosen.items()}
    winner = min(schedules, key=lambda name: schedules[name].makespan)
    return replace(schedules[winner], algorithm=winner)

"""The schedulers that build one schedule, deterministic and without search; the best of them."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers.bil import bil
from dagsched_env.schedulers.cpop import cpop
from dagsched_env.schedulers.dls import dls
from dagsched_env.schedulers.dsc import dsc
from dagsched_env.schedulers.etf import etf
from dagsched_env.schedulers.hcpt import hcpt
from dagsched_env.schedulers.heft import heft
from dagsched_env.schedulers.hlfet import hlfet
from dagsched_env.schedulers.ipeft import ipeft
from dagsched_env.schedulers.lookahead_heft import lookahead_heft
from dagsched_env.schedulers.mapping import (
    duplex,
    eft_greedy,
    fastest_node,
    max_min,
    mct,
    met,
    min_min,
    olb,
    sufferage,
)
from dagsched_env.schedulers.mcp import mcp
from dagsched_env.schedulers.peft import peft
from dagsched_env.schedulers.pets import pets
from dagsched_env.schedulers.ppts import ppts

Scheduler = Callable[..., Schedule]
"""``(instance, **options) -> Schedule``."""

# fmt: off
CONSTRUCTIVE: dict[str, Scheduler] = {
    scheduler.__name__: scheduler
    for scheduler in (
        heft, peft, lookahead_heft, cpop, ipeft, ppts, mcp, hlfet, hcpt, pets,
        dls, etf, bil, dsc, min_min, max_min, duplex, sufferage, mct, met, olb,
        eft_greedy, fastest_node,
    )
}
# fmt: on
"""Name → scheduler; HEFT first, then the other rank-based ones, then the rest."""


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

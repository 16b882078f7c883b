"""Schedulers: each is a function ``(instance, **options) -> Schedule``.

``CONSTRUCTIVE`` schedulers build one schedule and are deterministic. ``SEARCHERS`` improve a
schedule until their budget ends (``budget_s=``, ``max_evaluations=``, ``seed=``). ``SCHEDULERS``
has both, and random placements as the control. All take ``insertion=`` and return a schedule whose
``algorithm`` is their key. ``best_of_portfolio`` runs all constructive ones.

With resources each of them places a task at the earliest time at which it fits on a processor for
all its duration; ranks, tables and clusters are those of the times alone.

Modules in reading order; those that search come last:

- ``heft``: HEFT, with mean, best, worst or median ranks;
- ``cpop``: CPOP: the critical path on one processor;
- ``peft``: PEFT, PPTS and IPEFT: tables of costs to go;
- ``lookahead_heft``: HEFT that looks at the children of each task;
- ``static_orders``: MCP, HLFET, HCPT, PETS: by latest start time, static level, critical parent
  trees, level by level;
- ``dynamic``: DLS, ETF, BIL: ready pairs by dynamic level, earliest start, best imaginary level;
- ``dsc``: DSC: clusters, mapped onto processors;
- ``mapping``: Min-Min, Max-Min, Duplex, Sufferage, MCT, MET, OLB, and the two simplest: topological
  order with earliest finish times, and all tasks on one processor;
- ``random_order``: uniformly random legal placements, the control;
- ``anytime``: budget, incumbent and trace of the searches;
- ``noisy_heft``: the best of many HEFT schedules with noise on the ranks;
- ``iterated_lists``: list schedules that learn from each other;
- ``simulated_annealing``: simulated annealing, with one chain or several;
- ``hill_climbing``: descents with restarts;
- ``genetic``: a genetic algorithm.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers.cpop import cpop
from dagsched_env.schedulers.dsc import dsc
from dagsched_env.schedulers.dynamic import bil, dls, etf
from dagsched_env.schedulers.genetic import genetic
from dagsched_env.schedulers.heft import heft
from dagsched_env.schedulers.hill_climbing import hill_climbing
from dagsched_env.schedulers.iterated_lists import iterated_lists
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
from dagsched_env.schedulers.noisy_heft import noisy_heft
from dagsched_env.schedulers.peft import ipeft, peft, ppts
from dagsched_env.schedulers.random_order import random_order
from dagsched_env.schedulers.simulated_annealing import annealing
from dagsched_env.schedulers.static_orders import hcpt, hlfet, mcp, pets

__all__ = [
    "CONSTRUCTIVE",
    "SCHEDULERS",
    "SEARCHERS",
    "Scheduler",
    "annealing",
    "best_of_portfolio",
    "bil",
    "cpop",
    "dls",
    "dsc",
    "duplex",
    "eft_greedy",
    "etf",
    "fastest_node",
    "genetic",
    "hcpt",
    "heft",
    "hill_climbing",
    "hlfet",
    "ipeft",
    "iterated_lists",
    "lookahead_heft",
    "max_min",
    "mcp",
    "mct",
    "met",
    "min_min",
    "noisy_heft",
    "olb",
    "peft",
    "pets",
    "ppts",
    "random_order",
    "sufferage",
]

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

SEARCHERS: dict[str, Scheduler] = {
    "annealing": annealing,
    "genetic": genetic,
    "hill_climbing": hill_climbing,
    "iterated_lists": iterated_lists,
    "noisy_heft": noisy_heft,
}
"""Name → scheduler that searches."""

SCHEDULERS: dict[str, Scheduler] = {
    **CONSTRUCTIVE,
    **SEARCHERS,
    "random_order": random_order,
}
"""Name → scheduler: all of them."""


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

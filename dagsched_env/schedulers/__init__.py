"""Schedulers: each is a function ``(instance, **options) -> Schedule``.

``CONSTRUCTIVE`` schedulers build one schedule and are deterministic. ``SEARCHERS`` improve a
schedule until their budget ends (``budget_s=``, ``max_evaluations=``, ``seed=``). ``SCHEDULERS``
has both, and random placements as the control. All take ``insertion=`` and return a schedule whose
``algorithm`` is their key. ``best_of_portfolio`` runs all constructive ones.

Modules in reading order; those that search come last:

- ``heft``: HEFT, with mean, best, worst or median ranks;
- ``cpop``: CPOP: the critical path on one processor;
- ``peft``: PEFT: optimistic cost table;
- ``lookahead_heft``: HEFT that looks at the children of each task;
- ``ipeft``: IPEFT: PEFT with critical successors;
- ``ppts``: PPTS: predict cost matrix;
- ``mcp``: MCP: tasks by latest start time;
- ``hlfet``: HLFET: tasks by static level;
- ``hcpt``: HCPT: critical parent trees;
- ``pets``: PETS: tasks level by level;
- ``dls``: DLS: dynamic levels of ready pairs;
- ``etf``: ETF: the earliest start goes first;
- ``bil``: BIL: best imaginary level;
- ``dsc``: DSC: clusters, mapped onto processors;
- ``mapping``: Min-Min, Max-Min, Duplex, Sufferage, MCT, MET, OLB, and the two simplest: topological
  order with earliest finish times, and all tasks on one processor;
- ``portfolio``: ``CONSTRUCTIVE``, all of the above by name, and the best schedule of them;
- ``random_order``: uniformly random legal placements, the control;
- ``anytime``: budget, incumbent and trace of the searches;
- ``noisy_heft``: the best of many HEFT schedules with noise on the ranks;
- ``estimates``: ranks and costs to go that learn from schedules;
- ``iterated_lists``: list schedules that learn from each other;
- ``simulated_annealing``: simulated annealing, with one chain or several;
- ``hill_climbing``: descents with restarts;
- ``genetic``: a genetic algorithm.
"""

from dagsched_env.schedulers.bil import bil
from dagsched_env.schedulers.cpop import cpop
from dagsched_env.schedulers.dls import dls
from dagsched_env.schedulers.dsc import dsc
from dagsched_env.schedulers.etf import etf
from dagsched_env.schedulers.genetic import genetic
from dagsched_env.schedulers.hcpt import hcpt
from dagsched_env.schedulers.heft import heft
from dagsched_env.schedulers.hill_climbing import hill_climbing
from dagsched_env.schedulers.hlfet import hlfet
from dagsched_env.schedulers.ipeft import ipeft
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
from dagsched_env.schedulers.mcp import mcp
from dagsched_env.schedulers.noisy_heft import noisy_heft
from dagsched_env.schedulers.peft import peft
from dagsched_env.schedulers.pets import pets
from dagsched_env.schedulers.portfolio import CONSTRUCTIVE, Scheduler, best_of_portfolio
from dagsched_env.schedulers.ppts import ppts
from dagsched_env.schedulers.random_order import random_order
from dagsched_env.schedulers.simulated_annealing import annealing

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

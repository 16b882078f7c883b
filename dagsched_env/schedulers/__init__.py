"""Schedulers: each is a function ``(instance, **options) -> Schedule``.

``CONSTRUCTIVE`` ones build one schedule and are deterministic; ``SEARCHERS`` improve theirs for as
long as they may (``budget_s=``, ``max_evaluations=``, ``seed=``); ``SCHEDULERS`` has both, and
random placements as the control. All take ``insertion=`` and return a schedule whose ``algorithm``
is their key. ``best_of_portfolio`` runs all constructive ones.
"""

from dagsched_env.schedulers.bil import bil
from dagsched_env.schedulers.constructive import CONSTRUCTIVE, Scheduler
from dagsched_env.schedulers.cpop import cpop
from dagsched_env.schedulers.dls import dls
from dagsched_env.schedulers.dsc import dsc
from dagsched_env.schedulers.duplex import duplex
from dagsched_env.schedulers.eft_greedy import eft_greedy
from dagsched_env.schedulers.etf import etf
from dagsched_env.schedulers.fastest_node import fastest_node
from dagsched_env.schedulers.genetic import genetic
from dagsched_env.schedulers.hcpt import hcpt
from dagsched_env.schedulers.heft import heft
from dagsched_env.schedulers.hill_climbing import hill_climbing
from dagsched_env.schedulers.hlfet import hlfet
from dagsched_env.schedulers.ipeft import ipeft
from dagsched_env.schedulers.lookahead_heft import lookahead_heft
from dagsched_env.schedulers.max_min import max_min
from dagsched_env.schedulers.mcp import mcp
from dagsched_env.schedulers.mct import mct
from dagsched_env.schedulers.met import met
from dagsched_env.schedulers.min_min import min_min
from dagsched_env.schedulers.noisy_heft import noisy_heft
from dagsched_env.schedulers.olb import olb
from dagsched_env.schedulers.peft import peft
from dagsched_env.schedulers.pets import pets
from dagsched_env.schedulers.portfolio import best_of_portfolio
from dagsched_env.schedulers.ppts import ppts
from dagsched_env.schedulers.random_order import random_order
from dagsched_env.schedulers.simulated_annealing import annealing
from dagsched_env.schedulers.sufferage import sufferage

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
    "noisy_heft": noisy_heft,
}
"""Name → scheduler that searches."""

SCHEDULERS: dict[str, Scheduler] = {
    **CONSTRUCTIVE,
    **SEARCHERS,
    "random_order": random_order,
}
"""Name → scheduler: all of them."""

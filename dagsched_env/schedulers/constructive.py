"""The schedulers that build one schedule: deterministic, without search."""

from collections.abc import Callable

from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers.bil import bil
from dagsched_env.schedulers.cpop import cpop
from dagsched_env.schedulers.dls import dls
from dagsched_env.schedulers.dsc import dsc
from dagsched_env.schedulers.duplex import duplex
from dagsched_env.schedulers.eft_greedy import eft_greedy
from dagsched_env.schedulers.etf import etf
from dagsched_env.schedulers.fastest_node import fastest_node
from dagsched_env.schedulers.hcpt import hcpt
from dagsched_env.schedulers.heft import heft
from dagsched_env.schedulers.hlfet import hlfet
from dagsched_env.schedulers.ipeft import ipeft
from dagsched_env.schedulers.lookahead_heft import lookahead_heft
from dagsched_env.schedulers.max_min import max_min
from dagsched_env.schedulers.mcp import mcp
from dagsched_env.schedulers.mct import mct
from dagsched_env.schedulers.met import met
from dagsched_env.schedulers.min_min import min_min
from dagsched_env.schedulers.olb import olb
from dagsched_env.schedulers.peft import peft
from dagsched_env.schedulers.pets import pets
from dagsched_env.schedulers.ppts import ppts
from dagsched_env.schedulers.sufferage import sufferage

Scheduler = Callable[..., Schedule]
"""``(instance, **options) -> Schedule``."""

CONSTRUCTIVE: dict[str, Scheduler] = {
    scheduler.__name__: scheduler
    for scheduler in (
        heft,
        peft,
        lookahead_heft,
        cpop,
        ipeft,
        ppts,
        mcp,
        hlfet,
        hcpt,
        pets,
        dls,
        etf,
        bil,
        dsc,
        min_min,
        max_min,
        duplex,
        sufferage,
        mct,
        met,
        olb,
        eft_greedy,
        fastest_node,
    )
}
"""Name → scheduler; HEFT first, then the other rank-based ones, then the rest."""

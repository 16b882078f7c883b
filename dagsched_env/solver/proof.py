"""CP-SAT on small problems: it proves what the race has found, or finds something shorter."""

import importlib.util
import math
from functools import cache

import numpy as np

from dagsched_env import exact
from dagsched_env.instance import Instance
from dagsched_env.solver.best import Best

__all__ = ["SHARE", "can_prove", "load_cp_sat", "prove"]

MOST_TASKS = 20
"""Larger problems are rarely proved within seconds."""
MOST_TASKS_IN_PLACE = 100
"""The same where each task can run on one processor only, as in a job shop: what is left to find is
an order, which CP-SAT is good at (benchmarks/SEARCH_NOTES.md, "Job shops")."""
LEAST_S = 0.3
"""With less time CP-SAT hardly begins."""
SHARE = 0.5
"""Of the time that is left after the list schedulers, where CP-SAT follows the race."""
WORK = 0.2
"""Limit of CP-SAT where nobody has set one: deterministic time, of which 0.2 took 3 s at most."""


def can_prove(instance: Instance, left_s: float) -> bool:
    """Whether CP-SAT is installed and promises something in its share of the time."""
    in_place = np.count_nonzero(np.isfinite(instance.comp)) == instance.n_tasks
    return (
        instance.n_tasks <= (MOST_TASKS_IN_PLACE if in_place else MOST_TASKS)
        and SHARE * left_s >= LEAST_S
        and importlib.util.find_spec("ortools") is not None
    )


@cache
def load_cp_sat() -> None:
    """Prove a tiny problem, so that OR-Tools is not imported within a budget."""
    exact.solve(Instance([[2.0, 3.0], [4.0, 3.0]], [(0, 1)], [5.0]), workers=1)


def prove(best: Best) -> None:
    """Run CP-SAT on one core for the time that is left, from the best schedule on.

    Patience counts as time. Without either it has ``WORK``, so that its result can be reproduced.
    """
    left_s = min(best.left_s, best.patience_left_s)
    found = exact.solve(
        best.instance,
        time_limit_s=max(left_s, LEAST_S),
        work_limit=None if best.left_s < math.inf else WORK,
        workers=1,
        hint=best.schedule,
    )
    best.offer(found.schedule, "cp_sat")
    best.prove(found.lower_bound)

"""CP-SAT in turns with a race: it proves what that has found, or finds something shorter.

Whether CP-SAT proves an optimum depends most on the schedule that it begins with: on how far that
is above the lower bound before the race, and on whether it is the optimum after it. So it has short
turns between those of the race (docs/notes/search.md, "Proofs between the turns").
"""

import importlib.util
import math
from functools import cache

import numpy as np

from dagsched_env import exact
from dagsched_env.kernels.arrays import Floats
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.solver.best import Best
from dagsched_env.solver.shapes import orders_only

MOST_TASKS = 20
"""Problems with so few tasks are nearly always proved."""
MOST_TASKS_IN_PLACE = 100
"""The same where each task can run on one processor only, as in a job shop: what is left to find is
an order, which CP-SAT is good at (docs/notes/search.md, "Job shops")."""
CHOICE_S = 1.5e-4
"""Least time of a promising run of CP-SAT, for each choice of a processor for a task or an end of
an edge (s)."""
ORDER_S = 7.5e-5
"""The same where only orders are left to find, for each pair of tasks on one processor (s)."""
LINK_S = 2e-5
"""The same for each pair of processors of an edge, where links differ (s)."""
SHARE, SHARE_SMALL = 0.3, 0.5
"""Most of the time that is left in one turn; of small problems. Where only orders are left to find,
the least time of a promising run must be within the former, too."""
GROWTH = 2.0
"""Of the time from turn to turn."""
NEAR = 0.05
"""A schedule is worth a turn before the race if it is above the lower bound by so much of it."""
EASY_TASKS, STEEPNESS = 40, 4
"""Other schedules of a problem with n tasks: if by ``(EASY_TASKS / n) ** STEEPNESS`` of it."""
WORK = 0.2
"""Limit of CP-SAT where nobody has set one: deterministic time, of which 0.2 took 3 s at most."""


def run_cp_sat(best: Best, time_s: float) -> exact.ExactResult:
    """Run CP-SAT on one core, from the best schedule on, for a time or until the solve is over.

    Args:
        best: begins with a schedule; is offered what CP-SAT finds and proves.
        time_s: limit (s), or ∞. Without a budget ``WORK`` counts instead, so that the result can be
            reproduced.
    """
    result = exact.solve(
        best.instance,
        time_limit_s=time_s,
        work_limit=WORK if best.left_s == math.inf else None,
        workers=1,
        hint=best.schedule,
        stop=lambda: best.over is not None,
        found=lambda schedule: best.offer(schedule, "cp_sat"),
    )
    best.offer(result.schedule, "cp_sat")
    best.prove(result.lower_bound)
    return result


class CpSatTurns:
    """Turns of CP-SAT between those of a race, each with twice the time of the one before.

    Args:
        best: of the solve, which has a budget of seconds.
    """

    def __init__(self, best: Best) -> None:
        self._best = best
        self._least_s = self._next_s = _least_time_s(best.instance)
        self._small = _is_small(best.instance)
        self._share, self._promising = _share(best.instance), _promising_share(best.instance)
        self._most_above = (EASY_TASKS / best.instance.n_tasks) ** STEEPNESS
        self._ended_s = best.elapsed_s
        self._last: tuple[Schedule, float] | None = None
        """What the last turn began with, and its time (s)."""

    def begin(self) -> Schedule | None:
        """Have a turn before the race, if it promises something; see ``between``."""
        return self._turn() if self._small or self._within(NEAR) else None

    def between(self, most_s: float) -> Schedule | None:
        """Have a turn, if the race has had as much time since the last one.

        Args:
            most_s: of the turn; a longer one has to wait (s).

        Returns:
            The schedule that CP-SAT has found; None where it has found nothing shorter.
        """
        due = self._best.elapsed_s - self._ended_s >= self._next_s
        return self._turn() if due and self._next_s <= most_s else None

    def _within(self, share: float) -> bool:
        """Whether the best schedule is above the lower bound by this share of it at most."""
        return self._best.schedule.makespan <= (1.0 + share) * self._best.lower_bound

    def _turn(self) -> Schedule | None:
        best = self._best
        left_s = min(best.left_s, best.patience_left_s)
        if best.over is not None or self._least_s > self._promising * left_s:
            return None
        if not self._small and not self._within(self._most_above):
            return None
        schedule, time_s = best.schedule, min(self._next_s, self._share * left_s)
        if self._last is not None and self._last[0] is schedule and time_s <= self._last[1]:
            return None  # it would do the same again
        result = run_cp_sat(best, time_s)
        self._last = schedule, time_s
        self._next_s = math.inf if result.optimal else GROWTH * self._next_s
        self._ended_s = best.elapsed_s
        return result.schedule if result.schedule.makespan < schedule.makespan else None


def may_prove(instance: Instance, left_s: float) -> bool:
    """Whether CP-SAT is installed and promises something in its share of the time that is left."""
    enough = (
        _is_small(instance)
        if left_s == math.inf
        else _least_time_s(instance) <= _promising_share(instance) * left_s
    )
    return enough and importlib.util.find_spec("ortools") is not None


@cache
def load_cp_sat() -> None:
    """Prove a tiny problem, so that OR-Tools is not imported within a budget."""
    exact.solve(Instance([[2.0, 3.0], [4.0, 3.0]], [(0, 1)], [5.0]), workers=1)


def _least_time_s(instance: Instance) -> float:
    if _few_orders(instance):
        tasks = np.count_nonzero(np.isfinite(instance.comp), axis=0)
        return ORDER_S * float((tasks * (tasks - 1) // 2).sum())
    eligible = np.count_nonzero(np.isfinite(instance.comp))
    of_a_task = eligible / instance.n_tasks
    choices = eligible + instance.n_edges * of_a_task
    pairs = instance.n_edges * of_a_task**2 if _links_differ(instance) else 0.0
    return CHOICE_S * choices + LINK_S * pairs


def _links_differ(instance: Instance) -> bool:
    """Whether a transfer can take different times between different processors."""
    different = ~np.eye(instance.n_processors, dtype=np.bool_)
    links: tuple[Floats, ...] = (instance.latency[different], instance.inv_bandwidth[different])
    return any(np.ptp(link) > 0 for link in links if link.size)


def _share(instance: Instance) -> float:
    return SHARE_SMALL if _is_small(instance) else SHARE


def _promising_share(instance: Instance) -> float:
    """Most of the time that is left that the least time of a promising run may take."""
    return SHARE if _few_orders(instance) else _share(instance)


def _few_orders(instance: Instance) -> bool:
    return instance.n_tasks <= MOST_TASKS_IN_PLACE and orders_only(instance)


def _is_small(instance: Instance) -> bool:
    return instance.n_tasks <= MOST_TASKS or _few_orders(instance)

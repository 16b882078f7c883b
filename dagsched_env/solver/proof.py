"""CP-SAT in turns with a race: it proves what that has found, or finds something shorter.

Whether CP-SAT proves an optimum depends most on the schedule that it begins with: on how far that
is above the lower bound before the race, and on whether it is the optimum after it. So it has short
turns between those of the race (benchmarks/SEARCH_NOTES.md, "Proofs between the turns").
"""

import importlib.util
import math
from functools import cache

import numpy as np

from dagsched_env import exact
from dagsched_env.instance import Instance
from dagsched_env.solver.best import Best

__all__ = ["Proofs", "load_cp_sat", "may_prove", "prove"]

MOST_TASKS = 20
"""Problems with so few tasks are nearly always proved."""
MOST_TASKS_IN_PLACE = 100
"""The same where each task can run on one processor only, as in a job shop: what is left to find is
an order, which CP-SAT is good at (benchmarks/SEARCH_NOTES.md, "Job shops")."""
CHOICE_S = 1.5e-4
"""Least time of a promising run of CP-SAT, for each eligible pair of a task or edge and a processor
(s)."""
SHARE, SHARE_SMALL = 0.3, 0.5
"""Most of the time that is left in one turn; of small problems."""
GROWTH = 2.0
"""Of the time from turn to turn."""
NEAR = 0.05
"""A schedule is worth a turn before the race if it is above the lower bound by so much of it."""
EASY_TASKS, STEEPNESS = 40, 4
"""Other schedules of a problem with n tasks: if by ``(EASY_TASKS / n) ** STEEPNESS`` of it."""
WORK = 0.2
"""Limit of CP-SAT where nobody has set one: deterministic time, of which 0.2 took 3 s at most."""


def prove(best: Best, time_s: float) -> None:
    """Run CP-SAT on one core, from the best schedule on, until the solve is over.

    Args:
        best: begins with a schedule.
        time_s: limit (s), or ∞. Without a budget ``WORK`` counts instead, so that the result can be
            reproduced.
    """
    found = exact.solve(
        best.instance,
        time_limit_s=time_s,
        work_limit=WORK if best.left_s == math.inf else None,
        workers=1,
        hint=best.schedule,
        stop=lambda: best.over is not None,
    )
    best.offer(found.schedule, "cp_sat")
    best.prove(found.lower_bound)


class Proofs:
    """Turns of CP-SAT between those of a race, each with twice the time of the one before.

    Args:
        best: of the solve, which has a budget of seconds.
    """

    def __init__(self, best: Best) -> None:
        self._best = best
        self._least_s = self._next_s = _least_s(best.instance)
        self._share = _share(best.instance)
        self._small = _is_small(best.instance)
        self._most_above = (EASY_TASKS / best.instance.n_tasks) ** STEEPNESS
        self._ended_s = best.elapsed_s

    def begin(self) -> None:
        """Have a turn before the race, if it promises something."""
        if self._small or self._within(NEAR):
            self._turn()

    def between(self, most_s: float) -> bool:
        """Have a turn, if the race has had as much time since the last one.

        Args:
            most_s: of the turn; a longer one has to wait (s).

        Returns:
            Whether there was one.
        """
        due = self._best.elapsed_s - self._ended_s >= self._next_s
        return due and self._next_s <= most_s and self._turn()

    def _within(self, share: float) -> bool:
        """Whether the best schedule is above the lower bound by this share of it at most."""
        return self._best.schedule.makespan <= (1.0 + share) * self._best.lower_bound

    def _turn(self) -> bool:
        best = self._best
        most_s = self._share * best.left_s
        if best.over is not None or self._least_s > most_s:
            return False
        if not self._small and not self._within(self._most_above):
            return False
        prove(best, min(self._next_s, most_s))
        self._next_s *= GROWTH
        self._ended_s = best.elapsed_s
        return True


def may_prove(instance: Instance, left_s: float) -> bool:
    """Whether CP-SAT is installed and promises something in its share of the time that is left."""
    enough = (
        _is_small(instance)
        if left_s == math.inf
        else _least_s(instance) <= _share(instance) * left_s
    )
    return enough and importlib.util.find_spec("ortools") is not None


@cache
def load_cp_sat() -> None:
    """Prove a tiny problem, so that OR-Tools is not imported within a budget."""
    exact.solve(Instance([[2.0, 3.0], [4.0, 3.0]], [(0, 1)], [5.0]), workers=1)


def _least_s(instance: Instance) -> float:
    eligible = np.count_nonzero(np.isfinite(instance.comp))
    return CHOICE_S * eligible * (1.0 + instance.n_edges / instance.n_tasks)


def _share(instance: Instance) -> float:
    return SHARE_SMALL if _is_small(instance) else SHARE


def _is_small(instance: Instance) -> bool:
    in_place = np.count_nonzero(np.isfinite(instance.comp)) == instance.n_tasks
    return instance.n_tasks <= (MOST_TASKS_IN_PLACE if in_place else MOST_TASKS)

"""A context that learns: what the features say of an instance, improved by schedules of it.

Ranks and costs to go of the first context count mean times over all processors. Those of a learnt
one come, little by little, from the schedules that were made with it (``iterated_lists``).
"""

import math

from aerl_trainer.policy.context import PolicyContext, policy_context
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers.iterated_lists import Estimates

IN_VAIN = 10
"""Schedules after the shortest one, after which everything learnt is forgotten."""


class LearntContext:
    """The context of an instance, after each schedule another one."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._estimates, self._shortest, self._in_vain = self._begin()

    def now(self) -> PolicyContext:
        """For the next schedule."""
        first, learnt = policy_context(self._instance), self._estimates
        rank, costs_to_go = learnt.rank, learnt.costs_to_go.view()
        for array in (rank, costs_to_go):  # as in the first context: the same compiled kernels
            array.flags.writeable = False
        return first._replace(
            c=first.c._replace(rank_u=rank, oct=costs_to_go),
            through=self._instance.comp + costs_to_go,
        )

    def learn(self, schedule: Schedule) -> None:
        """From a schedule that was made with ``now()``."""
        if schedule.makespan < self._shortest:
            self._shortest, self._in_vain = schedule.makespan, 0
        else:
            self._in_vain += 1
        if self._in_vain == IN_VAIN:
            self._estimates, self._shortest, self._in_vain = self._begin()
        else:
            self._estimates.learn(schedule)

    def _begin(self) -> tuple[Estimates, float, int]:
        first = policy_context(self._instance)
        return Estimates(self._instance, first.c.rank_u), math.inf, 0

"""Ranks and costs to go of a problem that learn from its schedules.

Before there is a schedule, both count mean times over all processors. Each schedule says which
durations and transfers really come behind a task, and which tasks wait too long for a processor.
"""

import math

import numpy as np

from dagsched_env.kernels.arrays import Floats
from dagsched_env.kernels.lists import iterated
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule

RANK_STEP, COST_STEP = 0.3, 0.05
"""Shares of each schedule in ranks and in costs to go; chosen in docs/notes/search.md."""
URGENCY_STEP, SLACK, DECAY = 0.05, 0.01, 0.97
"""Of ``learn_urgency``; the step is for one task, and falls with the root of their number."""


class Estimates:
    """What the next schedule is made by.

    Args:
        rank: ``[n]`` to begin with (time); copied. The costs to go begin with PEFT's.
    """

    def __init__(self, instance: Instance, rank: Floats) -> None:
        self._instance = instance
        self._rank = rank.copy()
        self._urgency = np.zeros(instance.n_tasks)
        self.costs_to_go = instance.oct.copy()
        """``[n, p]`` behind a task on a processor (time), finite."""

    @property
    def rank(self) -> Floats:
        """``[n]`` how much comes behind a task, itself included, and how urgent it is (time)."""
        return self._rank + self._urgency

    def learn(self, schedule: Schedule) -> None:
        """Move towards what a schedule of the instance says."""
        g, s = self._instance.arrays, schedule
        iterated.learn_from(g, s.processor, self._rank, self.costs_to_go, RANK_STEP, COST_STEP)
        step = URGENCY_STEP / math.sqrt(self._instance.n_tasks)
        iterated.learn_urgency(g, s.processor, s.start, s.finish, self._urgency, step, SLACK, DECAY)

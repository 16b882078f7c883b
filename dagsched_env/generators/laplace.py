"""Laplace equation solver: Wu, Gajski 1990, "Hypertool: a programming aid for message-passing
systems", IEEE TPDS 1(3)."""

from dataclasses import dataclass

import numpy as np

from dagsched_env.generators.family import GraphFamily, workflow
from dagsched_env.problem.parameters import Range, as_range, check_range, checked, draw_range
from dagsched_env.problem.workflow import Workflow


@dataclass(frozen=True, kw_only=True)
class LaplaceGenerator(GraphFamily):
    """A wavefront over a grid of m · m points: a diamond of m² tasks, 2·m·(m − 1) edges.

    Point (i, j) needs (i − 1, j) and (i, j − 1). All tasks have the same cost, and all edges carry
    the same amount.

    Args:
        platform: draws the processors.
        size: m, or an inclusive range (low, high) of it.

    Raises:
        DAGSchedError: an argument is out of its range; the message names it.
    """

    size: Range = checked(6, check_range)

    @property
    def max_tasks(self) -> int:
        """m² of the largest m."""
        return as_range(self.size)[1] ** 2

    @property
    def max_edges(self) -> int:
        """2·m·(m − 1) of the largest m."""
        m = as_range(self.size)[1]
        return 2 * m * (m - 1)

    def workflow(self, rng: np.random.Generator) -> Workflow:
        """Draw the task graph alone: its size."""
        m = draw_range(self.size, rng)
        down = [(t, t + m) for t in range(m * (m - 1))]
        right = [(t, t + 1) for t in range(m * m) if (t + 1) % m]
        return workflow(np.ones(m * m), sorted(down + right), name=f"laplace-m{m}")

"""Gaussian elimination by columns: Cosnard, Marrakchi, Robert, Trystram 1988, "Parallel Gaussian
elimination on an MIMD computer", Parallel Computing 6(3); Topcuoglu et al. 2002, IEEE TPDS
13(3)."""

from dataclasses import dataclass

import numpy as np

from dagsched_env.generators.family import GraphFamily, workflow
from dagsched_env.problem.parameters import Range, as_range, check_range, checked, draw_range
from dagsched_env.problem.workflow import Workflow


@dataclass(frozen=True, kw_only=True)
class GaussianEliminationGenerator(GraphFamily):
    """Elimination of an m · m matrix: (m² + m − 2)/2 tasks, m² − m − 1 edges.

    Step k (from 1 to m − 1) scales the pivot column, T(k,k), then updates the columns j > k,
    T(k,j). An update needs the pivot column and its own column of the step before. The
    work is m − k and 2·(m − k) operations; an edge carries the column, m − k numbers.

    Args:
        platform: draws the processors.
        size: m ≥ 2, or an inclusive range (low, high) of it.

    Raises:
        DAGSchedError: an argument is out of its range; the message names it.
    """

    size: Range = checked(10, check_range, least=2)

    @property
    def max_tasks(self) -> int:
        """(m² + m − 2)/2 of the largest m."""
        m = as_range(self.size)[1]
        return (m * m + m - 2) // 2

    @property
    def max_edges(self) -> int:
        """m² − m − 1 of the largest m."""
        m = as_range(self.size)[1]
        return m * m - m - 1

    def workflow(self, rng: np.random.Generator) -> Workflow:
        """Draw the task graph alone: its size."""
        m = draw_range(self.size, rng)
        tasks = [(k, j) for k in range(1, m) for j in range(k, m + 1)]
        number = {task: i for i, task in enumerate(tasks)}
        edges = [(number[k, k], i) for (k, j), i in number.items() if j > k]
        edges += [(number[k - 1, j], i) for (k, j), i in number.items() if k > 1]
        edges.sort()
        return workflow(
            [(1 if j == k else 2) * (m - k) for k, j in tasks],
            edges,
            [m - tasks[u][0] for u, _ in edges],
            name=f"gaussian-elimination-m{m}",
            tasks=[f"T({k},{j})" for k, j in tasks],
        )

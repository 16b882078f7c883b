"""Independent chains of tasks."""

from dataclasses import dataclass

import numpy as np

from dagsched_env.generators.family import GraphFamily, random_weights
from dagsched_env.problem.parameters import Range, as_range, check_range, checked, draw_range
from dagsched_env.problem.workflow import Workflow


@dataclass(frozen=True, kw_only=True)
class ChainsGenerator(GraphFamily):
    """Draws independent chains; with length 1, independent tasks.

    Args:
        platform: draws the processors.
        chains: number of chains, or an inclusive range (low, high) of it.
        length: tasks of a chain, or an inclusive range of it, drawn for each chain.

    Raises:
        DAGSchedError: an argument is out of its range; the message names it.
    """

    chains: Range = checked((2, 6), check_range)
    length: Range = checked((3, 8), check_range)

    @property
    def max_tasks(self) -> int:
        """Largest number of chains times their largest length."""
        return as_range(self.chains)[1] * as_range(self.length)[1]

    @property
    def max_edges(self) -> int:
        """One for each task but the first of its chain."""
        return as_range(self.chains)[1] * (as_range(self.length)[1] - 1)

    def workflow(self, rng: np.random.Generator) -> Workflow:
        """Draw the task graph alone."""
        edges: list[tuple[int, int]] = []
        n = 0
        for _ in range(draw_range(self.chains, rng)):
            length = draw_range(self.length, rng)
            edges += [(task, task + 1) for task in range(n, n + length - 1)]
            n += length
        return random_weights(n, edges, rng, name=f"chains-n{n}")

"""Stencils: sweeps over a line of cells, each cell updated from its neighbours."""

from dataclasses import dataclass

import numpy as np

from dagsched_env.generators.family import GraphFamily, workflow
from dagsched_env.problem.parameters import Range, as_range, check_range, checked, draw_range
from dagsched_env.problem.workflow import Workflow


@dataclass(frozen=True, kw_only=True)
class StencilGenerator(GraphFamily):
    """Updates a line of cells for some steps: width · steps tasks of equal work.

    A cell needs its own value and those of its two neighbours in the step before. All edges carry
    the same amount.

    Args:
        platform: draws the processors.
        width: number of cells, or an inclusive range (low, high) of it.
        steps: number of steps, or an inclusive range of it.

    Raises:
        DAGSchedError: an argument is out of its range; the message names it.
    """

    width: Range = checked(6, check_range)
    steps: Range = checked(6, check_range)

    @property
    def max_tasks(self) -> int:
        """width · steps."""
        return as_range(self.width)[1] * as_range(self.steps)[1]

    @property
    def max_edges(self) -> int:
        """(3·width − 2) · (steps − 1)."""
        return (3 * as_range(self.width)[1] - 2) * (as_range(self.steps)[1] - 1)

    def workflow(self, rng: np.random.Generator) -> Workflow:
        """Draw the task graph alone: its size."""
        width, steps = draw_range(self.width, rng), draw_range(self.steps, rng)
        edges = [
            ((step - 1) * width + source, step * width + cell)
            for step in range(1, steps)
            for cell in range(width)
            for source in range(max(0, cell - 1), min(width, cell + 2))
        ]
        return workflow(np.ones(width * steps), edges, name=f"stencil-{width}x{steps}")

"""Fork–join graphs: phases of parallel tasks between two barriers."""

import itertools
from dataclasses import dataclass

import numpy as np

from dagsched_env.generators.family import GraphFamily, random_weights
from dagsched_env.problem.parameters import Range, as_range, check_range, checked, draw_range
from dagsched_env.problem.workflow import Workflow


@dataclass(frozen=True, kw_only=True)
class ForkJoinGenerator(GraphFamily):
    """Draws phases: a task forks into parallel branches; they join in one task, which forks again.

    Args:
        platform: draws the processors.
        phases: number of phases, or an inclusive range (low, high) of it.
        width: branches of a phase, or an inclusive range of it, drawn for each phase.
        length: tasks of a branch, or an inclusive range of it, drawn for each phase.

    Raises:
        DAGSchedError: an argument is out of its range; the message names it.
    """

    phases: Range = checked(3, check_range)
    width: Range = checked((2, 8), check_range)
    length: Range = checked(1, check_range)

    @property
    def max_tasks(self) -> int:
        """1 + phases · (width · length + 1)."""
        phases, width, length = self._largest
        return 1 + phases * (width * length + 1)

    @property
    def max_edges(self) -> int:
        """phases · width · (length + 1)."""
        phases, width, length = self._largest
        return phases * width * (length + 1)

    @property
    def _largest(self) -> tuple[int, int, int]:
        return as_range(self.phases)[1], as_range(self.width)[1], as_range(self.length)[1]

    def workflow(self, rng: np.random.Generator) -> Workflow:
        """Draw the task graph alone."""
        edges: list[tuple[int, int]] = []
        fork = 0
        for _ in range(draw_range(self.phases, rng)):
            width, length = draw_range(self.width, rng), draw_range(self.length, rng)
            join = fork + width * length + 1
            for branch in range(width):
                first = fork + 1 + branch * length
                path = [fork, *range(first, first + length), join]
                edges += itertools.pairwise(path)
            fork = join
        return random_weights(fork + 1, edges, rng, name=f"fork-join-n{fork + 1}")

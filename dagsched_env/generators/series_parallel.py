"""Series–parallel graphs: Valdes, Tarjan, Lawler 1982, "The recognition of series parallel
digraphs", SIAM Journal on Computing 11(2): two-terminal graphs, grown by the defining rules."""

from dataclasses import dataclass

import numpy as np

from dagsched_env.generators.family import GraphFamilyOfSize, random_weights
from dagsched_env.problem.parameters import (
    Choices,
    Range,
    check_choices,
    check_range,
    checked,
    draw_choice,
    draw_range,
)
from dagsched_env.problem.workflow import Workflow


@dataclass(frozen=True, kw_only=True)
class SeriesParallelGenerator(GraphFamilyOfSize):
    """Starts with a single edge and adds one task per step until there are n tasks.

    A step draws an edge (u, v) uniformly and adds a new task w on a path u → w → v. The path
    replaces the edge (series), or is parallel to it with the given probability. So task 0 is the
    only source, and task n − 1 is the only sink.

    Args:
        platform: draws the processors.
        n_tasks: n ≥ 2, or an inclusive range (low, high) of it.
        parallel: probability of a parallel step, in [0, 1], or choices of it.

    Raises:
        DAGSchedError: an argument is out of its range; the message names it.
    """

    n_tasks: Range = checked((20, 100), check_range, least=2)
    parallel: Choices = checked(0.5, check_choices, at_least=0, at_most=1)

    @property
    def max_edges(self) -> int:
        """2·n − 3: one edge, and at most two more for each further task."""
        return 2 * self.max_tasks - 3

    def workflow(self, rng: np.random.Generator) -> Workflow:
        """Draw the task graph alone."""
        n = draw_range(self.n_tasks, rng)
        parallel = draw_choice(self.parallel, rng)
        grown = [(0, n - 1)]
        for task in range(1, n - 1):
            drawn = int(rng.integers(len(grown)))
            u, v = grown[drawn]
            if rng.random() >= parallel:
                grown[drawn] = grown[-1]
                grown.pop()
            grown += [(u, task), (task, v)]
        return random_weights(n, sorted(grown), rng, name=f"series-parallel-n{n}")

"""The layered random graphs of DAGGEN: F. Suter, S. Hunold, github.com/frs69wq/daggen."""

from dataclasses import dataclass

import numpy as np

from dagsched_env.generators.family import GraphFamilyOfSize, random_weights
from dagsched_env.problem.parameters import (
    Choices,
    WholeChoices,
    check_choices,
    checked,
    draw_choice,
    draw_range,
)
from dagsched_env.problem.workflow import Workflow


@dataclass(frozen=True, kw_only=True)
class DaggenGenerator(GraphFamilyOfSize):
    """Draws graphs by DAGGEN's four parameters.

    The size of a level is drawn uniformly around n^fat, within a share (1 − regularity) of it, and
    is at least 1. A task below the first level draws 1 + ⌊U(0, density · width of the level above)⌋
    parents, at most the number of tasks of that level. Each parent is drawn from a level between 1
    and ``jump`` levels above (the first level if there are fewer), uniformly among its tasks that
    are not parents of the task yet; if there is none, it is left out. Costs are uniform here;
    DAGGEN draws them from a mix of kernels.

    Args:
        platform: draws the processors.
        n_tasks: n, or an inclusive range (low, high) of it.
        fat: width of the graph, in [0, 1], or choices of it: 0 is a chain, 1 a fork.
        density: dependencies between levels, in [0, 1], or choices of it.
        regularity: evenness of the levels, in [0, 1], or choices of it.
        jump: largest number of levels that an edge spans, ≥ 1, or choices of it.

    Raises:
        DAGSchedError: an argument is out of its range; the message names it.
    """

    fat: Choices = checked((0.1, 0.4, 0.8), check_choices, at_least=0, at_most=1)
    density: Choices = checked((0.2, 0.8), check_choices, at_least=0, at_most=1)
    regularity: Choices = checked((0.2, 0.8), check_choices, at_least=0, at_most=1)
    jump: WholeChoices = checked((1, 2, 4), check_choices, at_least=1, whole=True)

    def workflow(self, rng: np.random.Generator) -> Workflow:
        """Draw the task graph alone."""
        n = draw_range(self.n_tasks, rng)
        fat, density = draw_choice(self.fat, rng), draw_choice(self.density, rng)
        regularity, jump = draw_choice(self.regularity, rng), int(draw_choice(self.jump, rng))
        levels = _levels(n, fat, regularity, rng)
        edges = _edges(levels, density, jump, rng)
        name = f"daggen-n{n}-fat{fat:g}-density{density:g}-regularity{regularity:g}-jump{jump}"
        return random_weights(n, edges, rng, name=name)


def _levels(n: int, fat: float, regularity: float, rng: np.random.Generator) -> list[range]:
    """The tasks of each level, numbered level by level."""
    width = int(n**fat + 1e-9)  # 100 ** 0.5 may round to just below 10
    levels: list[range] = []
    first = 0
    while first < n:
        drawn = int(width * (1.0 + (1.0 - regularity) * (2.0 * rng.random() - 1.0)))
        last = min(n, first + max(1, drawn))
        levels.append(range(first, last))
        first = last
    return levels


def _edges(
    levels: list[range], density: float, jump: int, rng: np.random.Generator
) -> list[tuple[int, int]]:
    edges: list[tuple[int, int]] = []
    for depth in range(1, len(levels)):
        above = len(levels[depth - 1])
        for task in levels[depth]:
            count = min(1 + int(rng.random() * density * above), above)
            parents: set[int] = set()
            for back in rng.integers(1, jump + 1, size=count).tolist():
                free = [t for t in levels[max(0, depth - back)] if t not in parents]
                if free:
                    parents.add(free[int(rng.integers(len(free)))])
            edges += [(parent, task) for parent in sorted(parents)]
    return edges

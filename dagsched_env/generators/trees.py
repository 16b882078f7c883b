"""Trees: out-trees, with a root as the only source, and in-trees, with a root as the only sink."""

from dataclasses import dataclass

import numpy as np

from dagsched_env.generators.family import GraphFamily, random_weights
from dagsched_env.problem.parameters import Range, as_range, check_range, checked, draw_range
from dagsched_env.problem.workflow import Workflow


@dataclass(frozen=True, kw_only=True)
class OutTreeGenerator(GraphFamily):
    """Draws trees whose root is the only source: each other task has one predecessor.

    Args:
        platform: draws the processors.
        levels: number of levels, or an inclusive range (low, high) of it; 1 is a single task.
        degree: children of a task above the last level, or an inclusive range of it, drawn
            for each task.

    Raises:
        DAGSchedError: an argument is out of its range; the message names it.
    """

    levels: Range = checked(4, check_range)
    degree: Range = checked((1, 3), check_range)

    @property
    def max_tasks(self) -> int:
        """Tasks of the complete tree: 1 + d + d² + …, one term per level."""
        return sum(as_range(self.degree)[1] ** level for level in range(as_range(self.levels)[1]))

    @property
    def max_edges(self) -> int:
        """One for each task but the root."""
        return self.max_tasks - 1

    def workflow(self, rng: np.random.Generator) -> Workflow:
        """Draw the task graph alone."""
        edges = self._tree(rng)
        n = len(edges) + 1
        return random_weights(n, edges, rng, name=f"out-tree-n{n}")

    def _tree(self, rng: np.random.Generator) -> list[tuple[int, int]]:
        """Pairs (parent, child), tasks numbered level by level from the root."""
        edges: list[tuple[int, int]] = []
        level = range(1)
        for _ in range(draw_range(self.levels, rng) - 1):
            first = child = level.stop
            for parent in level:
                for _ in range(draw_range(self.degree, rng)):
                    edges.append((parent, child))
                    child += 1
            level = range(first, child)
        return edges


@dataclass(frozen=True, kw_only=True)
class InTreeGenerator(OutTreeGenerator):
    """Draws trees whose root is the only sink: an out-tree with all edges reversed.

    Args:
        platform: draws the processors.
        levels: number of levels, or an inclusive range (low, high) of it; 1 is a single task.
        degree: predecessors of a task below the first level, or an inclusive range of it, drawn
            for each task.

    Raises:
        DAGSchedError: an argument is out of its range; the message names it.
    """

    def workflow(self, rng: np.random.Generator) -> Workflow:
        """Draw the task graph alone."""
        edges = self._tree(rng)
        n = len(edges) + 1
        turned = sorted((n - 1 - child, n - 1 - parent) for parent, child in edges)
        return random_weights(n, turned, rng, name=f"in-tree-n{n}")

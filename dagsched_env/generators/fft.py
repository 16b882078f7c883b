"""Fast Fourier transform, recursive and one-dimensional: Cormen, Leiserson, Rivest 1990, chapter
32; Topcuoglu et al. 2002, IEEE TPDS 13(3)."""

from dataclasses import dataclass

import numpy as np

from dagsched_env.generators.family import MEAN_COST, GraphFamily, workflow
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.parameters import (
    WholeChoices,
    as_choices,
    check_choices,
    checked,
    draw_choice,
)
from dagsched_env.problem.workflow import Workflow


@dataclass(frozen=True, kw_only=True)
class FFTGenerator(GraphFamily):
    """Transform of m points: 2·m − 1 recursive calls, then m·log₂m butterflies.

    As in the paper, all tasks of a level have the same cost, and all edges between two levels carry
    the same amount. Both are drawn for each level: runtimes uniform in [0, 2·w̄], data in [0, 1].

    Args:
        platform: draws the processors.
        points: m, a power of 2 from 2 on, or choices of it.

    Raises:
        DAGSchedError: an argument is out of its range; the message names it.
    """

    points: WholeChoices = checked(8, check_choices, at_least=2, whole=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        for m in as_choices(self.points):
            if int(m).bit_count() != 1:
                raise DAGSchedError(f"points has {m}: it needs to be a power of 2")

    @property
    def max_tasks(self) -> int:
        """2·m − 1 + m·log₂m of the largest m."""
        m = self._most_points
        return 2 * m - 1 + m * (m.bit_length() - 1)

    @property
    def max_edges(self) -> int:
        """2·m − 2 + 2·m·log₂m of the largest m."""
        m = self._most_points
        return 2 * m - 2 + 2 * m * (m.bit_length() - 1)

    @property
    def _most_points(self) -> int:
        return int(max(as_choices(self.points)))

    def workflow(self, rng: np.random.Generator) -> Workflow:
        """Draw the task graph alone."""
        m = int(draw_choice(self.points, rng))
        depth = m.bit_length() - 1
        widths = [2**level for level in range(depth + 1)] + [m] * depth
        level_of = np.repeat(np.arange(len(widths)), widths)
        edges = [((child - 1) // 2, child) for child in range(1, 2 * m - 1)] + _butterflies(m)
        runtimes = 2.0 * MEAN_COST * rng.random(len(widths))
        data = rng.random(len(widths))
        return workflow(
            runtimes[level_of],
            edges,
            data[level_of[[u for u, _ in edges]]],
            name=f"fft-m{m}",
        )


def _butterflies(m: int) -> list[tuple[int, int]]:
    """Edges: each butterfly needs its own point and its partner of the level above."""
    above, edges = m - 1, []
    partner = 1
    while partner < m:
        pairs = [(above + other, above + m + i) for i in range(m) for other in (i, i ^ partner)]
        edges += pairs
        above, partner = above + m, 2 * partner
    return edges

"""Related machines: every processor has one speed for all tasks."""

from dataclasses import dataclass

import numpy as np

from dagsched_env.problem.instance import Instance
from dagsched_env.problem.parameters import (
    Choices,
    WholeChoices,
    as_choices,
    check_choices,
    check_interval,
    draw_choice,
)
from dagsched_env.problem.platforms.ccr import scale_to_ccr
from dagsched_env.problem.workflow import Workflow


@dataclass(frozen=True)
class Related:
    """Draws related machines: a task of runtime w costs w / s on a processor of speed s.

    The speeds are drawn uniformly. All bandwidths are equal, and CCR is exact as for ``Unrelated``.

    Args:
        n_processors: p ≥ 1, or choices of it.
        speeds: lowest and highest speed, 0 < low ≤ high.
        ccr: CCR ≥ 0, or choices of it.

    Raises:
        DAGSchedError: an argument is out of its range; the message names it.
    """

    n_processors: WholeChoices = 4
    speeds: tuple[float, float] = (1.0, 4.0)
    ccr: Choices = 1.0

    def __post_init__(self) -> None:
        check_choices("n_processors", self.n_processors, at_least=1, whole=True)
        check_interval("speeds", self.speeds, above=0)
        check_choices("ccr", self.ccr, at_least=0)

    @property
    def max_processors(self) -> int:
        """Largest p."""
        return int(max(as_choices(self.n_processors)))

    def __call__(self, workflow: Workflow, rng: np.random.Generator, /) -> Instance:
        """The workflow on one such platform."""
        p = int(draw_choice(self.n_processors, rng))
        ratio = draw_choice(self.ccr, rng)
        low, high = self.speeds
        comp = workflow.runtimes[:, None] / (low + (high - low) * rng.random(p))
        return Instance(
            comp,
            workflow.edges,
            scale_to_ccr(workflow.data, comp, ratio),
            task_names=workflow.tasks,
            name=workflow.name,
            assumptions=workflow.assumptions,
        )

"""Unrelated machines: the cost of a task is different on every processor."""

from dataclasses import dataclass

import numpy as np

from dagsched_env.problem.instance import Instance
from dagsched_env.problem.parameters import (
    Choices,
    WholeChoices,
    as_choices,
    check_choices,
    draw_choice,
)
from dagsched_env.problem.platforms.ccr import scale_to_ccr
from dagsched_env.problem.workflow import Workflow


@dataclass(frozen=True)
class Unrelated:
    """Draws unrelated machines: Topcuoglu et al. 2002, section 5.1.

    A task of runtime w costs between w·(1 − β/2) and w·(1 + β/2) on each processor, drawn uniformly
    and independently. All bandwidths are equal: the bytes on the edges are turned into seconds with
    one factor, so that mean communication / mean computation is exactly CCR. (In a workflow without
    data, communication stays free.)

    Args:
        n_processors: p ≥ 1, or choices of it.
        beta: β in [0, 2], or choices of it; 0 makes all processors alike.
        ccr: CCR ≥ 0, or choices of it.

    Raises:
        DAGSchedError: an argument is out of its range; the message names it.
    """

    n_processors: WholeChoices = 4
    beta: Choices = 0.5
    ccr: Choices = 1.0

    def __post_init__(self) -> None:
        check_choices("n_processors", self.n_processors, at_least=1, whole=True)
        check_choices("beta", self.beta, at_least=0, at_most=2)
        check_choices("ccr", self.ccr, at_least=0)

    @property
    def max_processors(self) -> int:
        """Largest p."""
        return int(max(as_choices(self.n_processors)))

    def __call__(self, workflow: Workflow, rng: np.random.Generator, /) -> Instance:
        """The workflow on one such platform."""
        p = int(draw_choice(self.n_processors, rng))
        beta = draw_choice(self.beta, rng)
        ratio = draw_choice(self.ccr, rng)
        factors = rng.random((workflow.runtimes.shape[0], p))
        comp = workflow.runtimes[:, None] * (1.0 - beta / 2.0 + beta * factors)
        return Instance(
            comp,
            workflow.edges,
            scale_to_ccr(workflow.data, comp, ratio),
            task_names=workflow.tasks,
            name=workflow.name,
            assumptions=workflow.assumptions,
        )

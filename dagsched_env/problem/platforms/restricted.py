"""Tasks that only some processors can run, on any platform."""

from dataclasses import dataclass, field

import numpy as np

from dagsched_env.problem.instance import Instance
from dagsched_env.problem.parameters import (
    Choices,
    check_choices,
    check_fields,
    checked,
    draw_choice,
)
from dagsched_env.problem.platforms.altered import altered, rescaled
from dagsched_env.problem.platforms.ccr import ccr
from dagsched_env.problem.platforms.drawn import Unrelated
from dagsched_env.problem.platforms.model import PlatformModel
from dagsched_env.problem.workflow import Workflow


@dataclass(frozen=True)
class Restricted:
    """Forbids pairs of task and processor of another platform at random.

    Each task keeps one processor, drawn uniformly among those that it could use, and each of the
    others with probability ``share``. Then the data is scaled again: CCR, with computation averaged
    over eligible processors, is exactly that of the other platform.

    Args:
        platform: draws the processors.
        share: in [0, 1], or choices of it; 0 leaves every task one processor, 1 all of them.

    Raises:
        DAGSchedError: an argument is out of its range; the message names it.
    """

    platform: PlatformModel = field(default=Unrelated())
    share: Choices = checked(0.5, check_choices, at_least=0, at_most=1)

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def max_processors(self) -> int:
        """Largest p."""
        return self.platform.max_processors

    def __call__(self, workflow: Workflow, rng: np.random.Generator, /) -> Instance:
        """The workflow on one such platform."""
        share = draw_choice(self.share, rng)
        free = self.platform(workflow, rng)
        draws = np.where(np.isfinite(free.comp), rng.random(free.comp.shape), np.inf)
        kept = draws < share
        kept[np.arange(free.n_tasks), draws.argmin(axis=1)] = True
        restricted = altered(free, comp=np.where(kept, free.comp, np.inf))
        before, after = ccr(free), ccr(restricted)
        if not 0 < after < np.inf:
            return restricted
        return rescaled(restricted, before / after)

"""A platform model with a seed of its own: the same processors for the same workflow."""

from dataclasses import dataclass

import numpy as np

from dagsched_env.instance import Instance
from dagsched_env.platforms.model import PlatformModel
from dagsched_env.workflow import Workflow

__all__ = ["Seeded"]


@dataclass(frozen=True)
class Seeded:
    """Gives any platform model the method ``equip`` that readers of workflow files take.

    Args:
        model: draws the processors.
        seed: of the draw, ≥ 0.
    """

    model: PlatformModel
    seed: int = 0

    def equip(self, workflow: Workflow) -> Instance:
        """The workflow on the processors of this seed."""
        return self.model(workflow, np.random.default_rng(self.seed))

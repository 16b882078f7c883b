"""A platform with a fixed seed: the same processors for the same workflow."""

from dataclasses import dataclass

import numpy as np

from dagsched_env.problem.instance import Instance
from dagsched_env.problem.platforms.model import PlatformModel
from dagsched_env.problem.workflow import Workflow


@dataclass(frozen=True)
class Seeded:
    """Adds to any platform the method ``equip``, which readers of workflow files call.

    Args:
        model: draws the processors.
        seed: of the draw, ≥ 0.
    """

    model: PlatformModel
    seed: int = 0

    def equip(self, workflow: Workflow) -> Instance:
        """The workflow on the processors of this seed."""
        return self.model(workflow, np.random.default_rng(self.seed))

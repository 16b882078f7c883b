"""The protocol of platforms, which put a workflow on processors."""

from typing import Protocol

import numpy as np

from dagsched_env.problem.instance import Instance
from dagsched_env.problem.workflow import Workflow


class PlatformModel(Protocol):
    """Draws processors for a workflow."""

    @property
    def max_processors(self) -> int:
        """No platform that it draws has more processors."""

    def __call__(self, workflow: Workflow, rng: np.random.Generator, /) -> Instance:
        """The workflow on one such platform; all randomness comes from ``rng``."""

"""Random instance families: callables ``rng -> Instance`` that state their largest sizes."""

from typing import Protocol, runtime_checkable

import numpy as np

from dagsched_env.generators.topcuoglu import TopcuogluGenerator
from dagsched_env.instance import Instance

__all__ = ["Generator", "TopcuogluGenerator"]


@runtime_checkable
class Generator(Protocol):
    """A family of instances.

    The three bounds hold for every instance it will ever draw, so that an environment can fix the
    shape of its observation.
    """

    @property
    def max_tasks(self) -> int:
        """No instance has more tasks."""

    @property
    def max_processors(self) -> int:
        """No instance has more processors."""

    @property
    def max_edges(self) -> int:
        """No instance has more edges."""

    def __call__(self, rng: np.random.Generator, /) -> Instance:
        """Draw one instance; all randomness comes from ``rng``."""

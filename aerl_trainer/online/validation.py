"""How good weights are: the same worlds again and again, beside list scheduling."""

from collections.abc import Sequence

import numpy as np

from aerl_trainer.online.rollout import Runs
from dagsched_env.kernels.arrays import Floats
from dagsched_env.online.dispatchers import ListOrder
from dagsched_env.online.simulation import simulate
from dagsched_env.online.world import World


class OnlineValidation:
    """Compares by the objective of each world with ``ListOrder(by="rank_u")``.

    Args:
        worlds: at least one, whose objectives are > 0.
    """

    def __init__(self, worlds: Sequence[World]) -> None:
        self._runs = [Runs(world) for world in worlds]
        found = [simulate(world, ListOrder(world.instance)) for world in worlds]
        self._list = np.array([outcome.measures["mean_completion"] for outcome in found])

    def ratios(self, weights: Floats) -> Floats:
        """``[worlds]`` the objective by the most probable choices / that of list scheduling."""
        objectives = np.array([runs.greedy(weights) for runs in self._runs])
        ratios: Floats = objectives / self._list
        return ratios

    def __call__(self, weights: Floats) -> float:
        """Their mean; less than 1 is better than list scheduling."""
        return float(self.ratios(weights).mean())

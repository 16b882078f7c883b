"""The learner of the dispatcher: groups of runs of one world each, judged by rank within them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from aerl_trainer.learning.adam import Adam
from aerl_trainer.learning.rank_reward import rank_rewards
from aerl_trainer.online.rollout import Runs
from aerl_trainer.online.weights import initial_weights
from dagsched_env.kernels.arrays import Floats
from dagsched_env.online.world import World

DrawWorld = Callable[[np.random.Generator], World]


@dataclass(frozen=True)
class OnlineSettings:
    """Sizes and rates.

    Args:
        worlds: groups of a step, ≥ 1.
        runs: of each world, ≥ 2.
        rate: of Adam, at first.
        temperature: of the rank reward. High: rewards are nearly linear in the objective, as what
            counts is the mean, not the luckiest run.
        average: of the moving average of the weights.
    """

    worlds: int = 4
    runs: int = 32
    rate: float = 0.12
    temperature: float = 4.0
    average: float = 0.98


class OnlineLearner:
    """Learns from runs that it draws.

    Args:
        draw: draws a world.
        rng: of worlds and choices.
        settings: sizes and rates.
    """

    def __init__(
        self, draw: DrawWorld, rng: np.random.Generator, settings: OnlineSettings | None = None
    ) -> None:
        self._draw, self.rng = draw, rng
        self._settings = settings or OnlineSettings()
        self.adam = Adam(initial_weights(np.random.default_rng(0)), self._settings.average)

    def step(self, rate: float = 1.0) -> float:
        """One gradient step.

        Args:
            rate: of Adam, as a share of that of the settings.

        Returns:
            The relative spread of the objectives within a group, on average.
        """
        settings = self._settings
        gradient, spread = np.zeros_like(self.adam.weights), 0.0
        for _ in range(settings.worlds):
            runs = Runs(self._draw(self.rng))
            group = runs.sample(self.adam.weights, settings.runs, self.rng)
            rewards = rank_rewards(group.objectives, temperature=settings.temperature)
            gradient += rewards @ group.gradients / (settings.runs * settings.worlds)
            spread += _relative_spread(group.objectives) / settings.worlds
        self.adam.ascend(gradient, rate * settings.rate)
        return spread


def _relative_spread(objectives: Floats) -> float:
    mean = float(objectives.mean())
    return float(objectives.std()) / mean if mean > 0 else 0.0

"""Adam (Kingma, Ba 2015), algorithm 1, on one vector, with a moving average of it."""

from typing import Any

import numpy as np
import numpy.typing as npt

from dagsched_env.kernels.arrays import Floats

FIRST_DECAY, SECOND_DECAY, EPSILON = 0.9, 0.999, 1e-8


class Adam:
    """Climbs.

    Args:
        weights: ``[N]`` where it begins; they are changed in place.
        average: what the moving average keeps of itself at each step, in [0, 1).
    """

    def __init__(self, weights: npt.NDArray[Any], average: float) -> None:
        self.weights, self.mean = weights, weights.copy()
        self.first, self.second = np.zeros(len(weights)), np.zeros(len(weights))
        self.steps = 0
        self._average = average

    def ascend(self, gradient: Floats, rate: float) -> None:
        """One step along a gradient ``[N]``."""
        self.steps += 1
        self.first = FIRST_DECAY * self.first + (1 - FIRST_DECAY) * gradient
        self.second = SECOND_DECAY * self.second + (1 - SECOND_DECAY) * gradient**2
        first = self.first / (1 - FIRST_DECAY**self.steps)
        second = self.second / (1 - SECOND_DECAY**self.steps)
        change = rate * first / (np.sqrt(second) + EPSILON)
        self.weights += change.astype(self.weights.dtype)
        self.mean = self._average * self.mean + (1 - self._average) * self.weights

    def restart(self, weights: npt.NDArray[Any]) -> None:
        """Go on from other weights ``[N]``, without momentum."""
        self.weights[...] = self.mean[...] = weights
        self.first[...] = 0.0

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All but ``steps``, by name."""
        return {
            "present": self.weights,
            "mean": self.mean,
            "first": self.first,
            "second": self.second,
        }

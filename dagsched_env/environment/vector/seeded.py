"""What vector environments of both kinds share: seeds, generators, which copies are reset."""

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.error import ResetNeeded
from gymnasium.vector import VectorEnv

from dagsched_env.environment.actions import Bools
from dagsched_env.environment.vector.episodes import EpisodeSource
from dagsched_env.problem.errors import DAGSchedError


class SeededVectorEnv(VectorEnv[Any, npt.NDArray[Any], npt.NDArray[Any]]):
    """A vector environment in which each copy has a random generator of its own.

    Args:
        source: has the generators.
        num_envs: B ≥ 1.
    """

    def __init__(self, source: EpisodeSource, num_envs: int) -> None:
        self.num_envs = num_envs
        self._source = source
        self._begun = False
        self._over = np.zeros(num_envs, dtype=np.bool_)
        self._illegal_actions = np.zeros(num_envs, dtype=np.int64)

    @property  # type: ignore[misc]
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        """The generator of each environment, as in ``SyncVectorEnv``."""
        return tuple(self._source.generator(i)[0] for i in range(self.num_envs))

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]
        """The seed of each environment, as in ``SyncVectorEnv``."""
        return tuple(self._source.generator(i)[1] for i in range(self.num_envs))

    def _require_reset(self) -> None:
        if not self._begun:
            raise ResetNeeded("there is no state before the first reset()")

    def _mask_of(self, options: dict[str, Any]) -> Bools:
        """Take the option ``reset_mask`` out of ``options``."""
        if "reset_mask" not in options:
            return np.ones(self.num_envs, dtype=np.bool_)
        mask = options.pop("reset_mask")
        fits = isinstance(mask, np.ndarray) and mask.shape == (self.num_envs,)
        if not (fits and mask.dtype == np.bool_ and mask.any()):
            raise DAGSchedError(
                f'options["reset_mask"] needs {self.num_envs} booleans, at least one True, in a '
                f"numpy array, got {getattr(mask, 'dtype', type(mask).__name__)} {np.shape(mask)}"
            )
        if not mask.all():
            self._require_reset()
        return np.array(mask, dtype=np.bool_)

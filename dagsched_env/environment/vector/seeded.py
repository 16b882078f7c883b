"""What vector environments of both kinds share: seeds, generators, ends of episodes, pictures."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv

from dagsched_env.environment.actions import Bools
from dagsched_env.environment.vector.episodes import EpisodeSource
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule


class SeededVectorEnv(VectorEnv[Any, npt.NDArray[Any], npt.NDArray[Any]]):
    """A vector environment in which each copy has a random generator of its own.

    Args:
        source: has the generators.
        num_envs: B ≥ 1.
        autoreset_mode: one of ``modes``, or its value as text.

    Raises:
        DAGSchedError: there is no such mode.
    """

    modes: ClassVar[Sequence[AutoresetMode]] = tuple(AutoresetMode)
    """Those that it can do."""

    def __init__(
        self, source: EpisodeSource, num_envs: int, autoreset_mode: AutoresetMode | str
    ) -> None:
        modes = {mode.value: mode for mode in self.modes}
        if autoreset_mode not in (*self.modes, *modes):
            known = " or ".join(repr(mode) for mode in modes)
            raise DAGSchedError(f"autoreset_mode={autoreset_mode!r} is not available: give {known}")
        self._autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {**self.metadata, "autoreset_mode": self._autoreset_mode}
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

    def render(self) -> tuple[npt.NDArray[np.uint8], ...] | None:
        """The Gantt chart of each environment so far, uint8 ``[height, width, 3]``.

        Raises:
            MissingExtraError: matplotlib is not installed.
            ResetNeeded: before the first ``reset``.
        """
        if self.render_mode is None:
            gymnasium.logger.warn('render() needs envs made with render_mode="rgb_array"')
            return None
        from dagsched_env.pictures import rgb_array

        self._require_reset()
        return tuple(rgb_array(schedule, instance) for schedule, instance in self._so_far())

    @abstractmethod
    def _so_far(self) -> Iterable[tuple[Schedule, Instance]]:
        """What ``render`` shows: of each environment what is scheduled, and its problem."""

    def _require_running(self) -> None:
        """Raise ResetNeeded where ``step`` cannot go on."""
        self._require_reset()
        if self._autoreset_mode == AutoresetMode.DISABLED and self._over.any():
            raise ResetNeeded(
                f"the episode of environment {self._over.argmax()} is over: call "
                'reset(options={"reset_mask": terminated | truncated}) before the next step()'
            )

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

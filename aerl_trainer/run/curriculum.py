"""Which problems to train on, and when to move on to harder ones."""

from typing import Any

import numpy as np

from aerl_trainer.config import CurriculumConfig
from aerl_trainer.config.stored import stored
from aerl_trainer.run.problems import Problems
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance

SLOPE_TOLERANCE = 1e-12
"""A slope below this is that of a constant history, up to rounding."""


class Curriculum:
    """A sequence of levels; the current one is left when it is mastered.

    A level is mastered when the latest validation is below its threshold AND the recent history,
    ``config.window`` validations with the latest, is stable or improving: its regression slope is
    ≤ 0 and its variance below ``config.max_variance``. The last level is never left.

    Args:
        config: the levels, and the rule.
        problems: of these levels; None makes them, with the defaults of ``Problems``.
    """

    def __init__(self, config: CurriculumConfig, problems: Problems | None = None) -> None:
        self.config = config
        self.problems = Problems(config.levels) if problems is None else problems
        self._level = 0
        self._history: list[float] = []

    @property
    def level(self) -> int:
        """Index of the current level, from 0."""
        return self._level

    @property
    def history(self) -> tuple[float, ...]:
        """The last validations on this level, at most ``config.window``, oldest first."""
        return tuple(self._history)

    def make_instance(self, rng: np.random.Generator, level: int | None = None) -> Instance:
        """A random problem of the given level; by default of the current one.

        Raises:
            DAGSchedError: there is no such level.
        """
        return self.problems.draw(self._check(self._level if level is None else level), rng)

    def validation_set(self, level: int, count: int, seed: int) -> list[Instance]:
        """The same problems of a level on every call; a longer set extends a shorter one.

        Args:
            level: index of the level.
            count: how many problems; of a level with SPECs not more than there are.
            seed: of the run, ≥ 0.

        Raises:
            DAGSchedError: there is no such level, or the seed is negative.
        """
        return self.problems.validation_set(self._check(level), count, seed)

    def observe(self, slr_vs_heft: float) -> bool:
        """Take note of a validation on the current level; True when it led to a promotion.

        Args:
            slr_vs_heft: mean over the validation set of makespan / HEFT's makespan.

        Raises:
            DAGSchedError: the value is not finite.
        """
        if not np.isfinite(slr_vs_heft):
            raise DAGSchedError(f"slr_vs_heft is {slr_vs_heft}: a validation needs a finite value")
        self._history = [*self._history, float(slr_vs_heft)][-self.config.window :]
        if self._level + 1 == len(self.config.levels) or not self._mastered():
            return False
        self._level += 1
        self._history.clear()
        return True

    def state_dict(self) -> dict[str, Any]:
        """Level and history as JSON-able values."""
        return {"level": self._level, "history": list(self._history)}

    def load_state_dict(self, record: dict[str, Any]) -> None:
        """Go back to a state from ``state_dict``; on an error nothing changes.

        Raises:
            DAGSchedError: a key is missing or of a wrong type, or the level does not exist.
        """
        level, history = stored(record, "level", int), stored(record, "history", list)
        if not all(isinstance(value, float) and np.isfinite(value) for value in history):
            raise DAGSchedError("curriculum state: 'history' holds something that is no number")
        self._level = self._check(level)
        self._history = history[-self.config.window :]

    def _mastered(self) -> bool:
        history = np.array(self._history)
        if len(history) < self.config.window:
            return False
        below = history[-1] < self.config.levels[self._level].threshold
        stable = history.var() < self.config.max_variance
        return bool(below and stable and _slope(history) <= SLOPE_TOLERANCE)

    def _check(self, level: int) -> int:
        if not 0 <= level < len(self.config.levels):
            last = len(self.config.levels) - 1
            raise DAGSchedError(f"no curriculum level {level}: there are 0..{last}")
        return level


def _slope(values: np.ndarray[Any, np.dtype[np.float64]]) -> float:
    """Least-squares slope of the values over their index."""
    x = np.arange(len(values)) - (len(values) - 1) / 2
    return float(x @ values / (x @ x))

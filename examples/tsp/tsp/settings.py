"""Settings of a training run."""

import dataclasses

from dagsched_env.problem.errors import DAGSchedError
from tsp.attention import ModelSettings
from tsp.points import DISTRIBUTIONS

__all__ = ["MODES", "Settings", "settings_of"]

MODES = ("rollout", "multi-start")


@dataclasses.dataclass(frozen=True)
class Settings:
    """Of one run; ``settings_of`` gives those of a mode."""

    mode: str
    model: ModelSettings
    starts: int
    """Tours of each set of points in a step."""
    minutes: float = 5.0
    """CPU time of the steps; the learning rate falls to 0 within it."""
    steps: int = 0
    """Train for so many steps instead, which makes the run a function of its settings."""
    seed: int = 0
    points: str = "uniform"
    size: int = 20
    """n, points of a set."""
    batch: int = 64
    """Sets of points in a step."""
    learning_rate: float = 1e-3
    """Of Adam, after a warm-up; then half a cosine."""
    warm_up: float = 0.02
    """Share of the training in which the learning rate rises from 0."""
    epoch: int = 50
    """Steps between two tests of the greedy-rollout baseline."""
    validation: int = 8
    """Batches of 128 sets for that test."""
    test: str = "t"
    """``"t"`` or ``"means"``."""

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise DAGSchedError(f"mode is {self.mode!r}: choose one of {', '.join(MODES)}")
        if self.points not in DISTRIBUTIONS:
            raise DAGSchedError(f"points are {self.points!r}: choose {' or '.join(DISTRIBUTIONS)}")
        if not (self.minutes > 0 or self.steps > 0):
            raise DAGSchedError(f"minutes is {self.minutes}: it must be positive")
        if self.size < 3:
            raise DAGSchedError(f"size is {self.size}: a tour needs three points")
        if self.mode == "multi-start" and self.starts > self.size:
            raise DAGSchedError(f"starts is {self.starts}: there are {self.size} points")


def settings_of(
    mode: str, *, size: int = 20, model: ModelSettings | None = None, **changes: object
) -> Settings:
    """The defaults of a mode.

    Multi-start writes a tour from each point. The greedy-rollout baseline works with one sampled
    tour a set, too; several share the work of the encoder and of the baseline, and the gradient's
    expectation stays the same.

    Args:
        mode: one of ``MODES``.
        size: points of a set.
        model: sizes of the network; who chooses the start follows from the mode.
        changes: other fields of ``Settings``.
    """
    free = mode == "rollout"
    model = dataclasses.replace(model or ModelSettings(), free_start=free)
    starts = {"starts": 8 if free else size}
    return Settings(mode=mode, model=model, size=size, **{**starts, **changes})  # type: ignore[arg-type]

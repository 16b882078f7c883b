"""``train_online``: trains the dispatcher for some minutes, keeps the best weights on disk."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from aerl_trainer.config import seeding
from aerl_trainer.config.stored import stored
from aerl_trainer.learning.adam import Adam
from aerl_trainer.online.files import WEIGHTS_FILE, load_online, save_online
from aerl_trainer.online.learner import DrawWorld, OnlineLearner, OnlineSettings
from aerl_trainer.online.mixture import draw_world
from aerl_trainer.online.validation import OnlineValidation
from aerl_trainer.run.interruption import stop_on_signals
from aerl_trainer.run.reporting import RunDirectory
from dagsched_env.problem.errors import DAGSchedError, FormatError

__all__ = ["OnlineResult", "OnlineRun", "train_online"]

STATE_FILE = "online-state.safetensors"
VALIDATED = 200
"""Worlds of a validation."""
EVERY_S = 15.0
"""Between two validations."""
PATIENCE, SLOWER = 4, 0.5
"""So many validations without better weights, and the run goes back to the best with this share of
the rate: while the rate is high the weights go up and down by 1 %."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class OnlineResult:
    """How a run ended."""

    steps: int
    best: float
    """Mean ratio of the best weights to list scheduling, on the worlds of validation."""
    interrupted: bool


class OnlineRun:
    """A learner, the best weights so far, and the two files that hold them.

    Args:
        directory: of the run; it is made.
        learner: at its beginning.
        validation: of its weights.

    Raises:
        OSError: the directory cannot be made.
    """

    def __init__(
        self, directory: Path, learner: OnlineLearner, validation: OnlineValidation
    ) -> None:
        self._directory, self._learner, self._validation = directory, learner, validation
        self._best_weights = learner.adam.mean.copy()
        self.best = np.inf
        self.rate = 1.0
        """As a share of that of the settings."""
        self._in_vain = 0
        self.trained_s = 0.0
        directory.mkdir(parents=True, exist_ok=True)

    def validate(self) -> float:
        """The ratio of the present weights; the best ones and the state are written.

        After ``PATIENCE`` calls in vain the learner goes on from the best weights, more slowly.

        Raises:
            OSError: a file cannot be written.
        """
        adam = self._learner.adam
        ratio = self._validation(adam.mean)
        self._in_vain += 1
        if ratio < self.best:
            self.best, self._best_weights, self._in_vain = ratio, adam.mean.copy(), 0
        if self._in_vain == PATIENCE:
            adam.restart(self._best_weights)
            self.rate, self._in_vain = SLOWER * self.rate, 0
        said = {"steps": str(adam.steps), "ratio": f"{self.best:.5f}"}
        save_online(self._directory / WEIGHTS_FILE, self._best_weights, said)
        record = {
            "steps": adam.steps,
            "best": self.best,
            "rate": self.rate,
            "in_vain": self._in_vain,
            "trained_s": self.trained_s,
            "rng": seeding.state(self._learner.rng),
        }
        save_online(
            self._directory / STATE_FILE,
            self._best_weights,
            {"state": json.dumps(record)},
            adam.arrays(),
        )
        return ratio

    def restore(self) -> None:
        """Go on where the run in the directory was at its last validation.

        Raises:
            FormatError: the file of its state is damaged, or none of a run.
            OSError: it cannot be read.
        """
        path = self._directory / STATE_FILE
        weights, arrays, metadata = load_online(path)
        adam = self._learner.adam
        expected = adam.arrays()
        if arrays.keys() != expected.keys() or any(
            arrays[name].shape != array.shape for name, array in expected.items()
        ):
            raise FormatError(f"{path}: not the state of a run; train anew in another --run-dir")
        try:
            record: Any = json.loads(metadata.get("state", ""))
            if not isinstance(record, dict) or (arrays["second"] < 0).any():
                raise FormatError("no record of a run, or negative squares")
            adam.steps = stored(record, "steps", int)
            self.best = float(stored(record, "best", float))
            self.rate = float(stored(record, "rate", float))
            self._in_vain = stored(record, "in_vain", int)
            self.trained_s = float(stored(record, "trained_s", float))
            self._learner.rng = seeding.restore(stored(record, "rng", dict))
        except (ValueError, DAGSchedError) as error:
            raise FormatError(f"{path}: {error}; train anew in another --run-dir") from None
        _refill(adam, arrays)
        self._best_weights = weights


def _refill(adam: Adam, arrays: dict[str, Any]) -> None:
    for name, array in adam.arrays().items():
        array[...] = arrays[name]


def train_online(
    directory: Path,
    *,
    minutes: float,
    seed: int = 0,
    resume: bool = False,
    draw: DrawWorld = draw_world,
    validated: int = VALIDATED,
    settings: OnlineSettings | None = None,
    say: Say = print,
) -> OnlineResult:
    """Train from list scheduling by rank_u on, until the time is over or a signal comes.

    Every 15 seconds the weights are judged on worlds that are kept for it. The best ones are in
    ``online.safetensors`` of the directory, and all that a run needs to go on beside them.

    Args:
        directory: of the run.
        minutes: > 0; with ``resume`` so many more.
        seed: of all randomness, ≥ 0.
        resume: go on with the run in the directory.
        draw: draws a world.
        validated: how many of them are kept for validation.
        settings: of the learner.
        say: takes the status lines.

    Raises:
        DAGSchedError: there is a run in the directory and ``resume`` is not asked for, or there is
            none and it is; another process has the directory; minutes or seed out of range; or the
            state of the run cannot be read.
        OSError: a file cannot be read or written.
    """
    if not 0 < minutes < np.inf:
        raise DAGSchedError(f"minutes={minutes} is not a number > 0")
    folder = RunDirectory(directory)
    with folder.hold(), stop_on_signals() as stop:
        begun = (directory / STATE_FILE).exists()
        if begun != resume or folder.holds_run:
            raise DAGSchedError(
                f"{directory} holds no run of --online to resume; give its --run-dir"
                if resume
                else f"{directory} holds a run: choose another --run-dir, or go on with --resume"
            )
        rng = seeding.generator(seed, "online", "learner")
        learner = OnlineLearner(draw, rng, settings)
        worlds = [draw(seeding.generator(seed, "online", "world", i)) for i in range(validated)]
        run = OnlineRun(directory, learner, OnlineValidation(worlds))
        if resume:
            run.restore()
        before = run.trained_s
        began = time.monotonic()
        due, spread, spent = 0.0, 0.0, 0.0
        while True:
            over = spent >= 60.0 * minutes or stop.requested
            if over or spent >= due:
                run.trained_s = before + spent
                ratio = run.validate()
                say(
                    f"{spent / 60:5.1f} min  step {learner.adam.steps:5d}  "
                    f"validation / list scheduling {ratio:.4f}  best {run.best:.4f}  "
                    f"spread {spread:.3f}"
                )
                spent = time.monotonic() - began
                due = spent + EVERY_S
            if over:
                break
            spread = learner.step(run.rate)
            spent = time.monotonic() - began
    return OnlineResult(learner.adam.steps, run.best, stop.requested)

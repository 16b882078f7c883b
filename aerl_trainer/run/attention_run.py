"""A run that trains the attention model by REINFORCE: what ``training`` does for AERL-DS."""

import contextlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from aerl_trainer import config as settings
from aerl_trainer.baselines.attention.learner import AttentionLearner
from aerl_trainer.baselines.attention.scheduler import AttentionScheduler
from aerl_trainer.checkpoint import Checkpoint, CheckpointError
from aerl_trainer.checkpoint.run_checkpoints import (
    NO_BEST,
    Generations,
    better,
    read_best,
    to_go_on,
)
from aerl_trainer.config import Config, ConfigError, seeding
from aerl_trainer.config.stored import stored
from aerl_trainer.learning.records import PolicyReport
from aerl_trainer.run.curriculum import Curriculum
from aerl_trainer.run.interruption import Stop
from aerl_trainer.run.observers import RunObserver, open_log
from aerl_trainer.run.problems import Problems
from aerl_trainer.run.reporting import RunDirectory
from aerl_trainer.run.validator import Validator
from aerl_trainer.runtime.pool import no_pool
from dagsched_env.problem.errors import DAGSchedError


class AttentionRun:
    """The parts of a run; ``training.train`` opens it, and ends it with a checkpoint.

    All of it takes turns in this process: with a number of steps instead of a time, the run is a
    function of its settings.

    Args:
        config: all settings; those of AERL-DS alone are not read.
        directory: where everything is written.
        problems: of the levels of ``config``.
    """

    observer: RunObserver

    def __init__(self, config: Config, directory: RunDirectory, problems: Problems) -> None:
        self.config, self.directory, self.problems = config, directory, problems
        self.curriculum = Curriculum(config.curriculum, problems)
        self.validator = Validator(config, self.curriculum)
        self.learner = AttentionLearner(config, self.curriculum.make_instance)
        self.generations = Generations(directory.checkpoints)
        self.best = NO_BEST
        self.jobs = 0
        """No trees are searched."""
        self._earlier_s: float | None = None

    @property
    def steps(self) -> int:
        """Gradient steps."""
        return self.learner.steps

    def open(self, stack: contextlib.ExitStack, messages: Sequence[str]) -> None:
        """Start the records; the run is about to begin, or to go on.

        Args:
            stack: closes them.
            messages: to show first.
        """
        config, directory = self.config, self.directory
        log = None
        if self._earlier_s is not None:  # before the settings: a resume that fails changes nothing
            log = stack.enter_context(open_log(directory, self.steps))
        directory.record(settings.to_dict(config))
        observer = RunObserver(config, directory, no_pool, log)
        self.observer = stack.enter_context(observer)
        for message in filter(None, [*messages, self.problems.summary]):
            self.observer.say(message)
        if self._earlier_s is not None:
            self.observer.resume(self.steps, self._earlier_s, self.curriculum.level)

    def loop(self, stop: Stop) -> None:
        """Take steps; validate and save on the way."""
        config = self.config
        if self.steps == 0:
            self._validate()
        started, duration = time.monotonic(), 60.0 * config.run.minutes
        while not stop.requested and (spent := time.monotonic() - started) < duration:
            if 0 < config.run.max_steps <= self.steps:
                break
            steps = config.run.max_steps
            self._step(min(1.0, self.steps / steps if steps else spent / duration))
        else:
            if not stop.requested:
                self._validate()

    def save(self, name: str) -> None:
        """Write the checkpoint ``name``; see ``Generations``."""
        self.generations.save(name, self._state())

    def begin_again(self) -> None:
        """Forget what a run has recorded that ended before its first checkpoint."""
        self._earlier_s = 0.0

    def restore(self, source: Path) -> None:
        """Continue from a checkpoint; where it fails, another one may be restored.

        Raises:
            CheckpointError: it is damaged.
            DAGSchedError: the run cannot go on from it with these settings or problems.
        """
        saved, before = to_go_on(source, self.config, self.problems.fingerprint)
        if before.attention != self.config.attention:
            raise ConfigError(f"{source}: its model is of another size than [attention] asks for")
        if before.reinforce.baseline != self.config.reinforce.baseline:
            raise ConfigError(
                f"{source}: its reinforce.baseline is {before.reinforce.baseline}, and cannot "
                "change"
            )
        try:
            self.curriculum.load_state_dict(stored(saved.state, "curriculum", dict))
            self.learner.restore(saved)
            self._earlier_s = stored(saved.state, "time_s", float)
            self.best = read_best(stored(saved.state, "best", dict))
        except DAGSchedError as error:
            raise CheckpointError(f"{source}: not the checkpoint of a run: {error}") from None
        self.generations.restored(source)

    def _state(self) -> Checkpoint:
        saved = self.learner.state()
        record: dict[str, Any] = {
            "config": settings.to_dict(self.config),
            "problems": self.problems.fingerprint,
            "curriculum": self.curriculum.state_dict(),
            "time_s": self.observer.elapsed_s,
            "best": self.best,
        }
        return Checkpoint(saved.tensors, saved.arrays, {**record, **saved.state})

    def _step(self, progress: float) -> None:
        config = self.config
        report = self.learner.step(progress)
        self.observer.improved(
            PolicyReport(
                step=self.steps,
                groups=config.reinforce.problems,
                trees=0,
                replayed=0,
                schedules=config.reinforce.problems * config.reinforce.starts,
                staleness=0.0,
                relative_spread=report.spread,
                gradient_norm=report.gradient_norm,
            )
        )
        if self.steps % config.validator.interval == 0:
            self._validate()
        if self.steps % config.learner.checkpoint_interval == 0:
            self.save("last")

    def _validate(self) -> None:
        """Judge the policy; promote the curriculum; keep the best."""
        scheduler, rng = AttentionScheduler(self.learner.policy), seeding.generator(0, "samples")
        level = self.curriculum.level
        report = self.validator.judge(scheduler, level=level, step=self.steps, rng=rng)
        promoted = self.curriculum.observe(report.slr_vs_heft)
        self.observer.validated(report, promoted, self.curriculum.level)
        record = {"level": report.level, "slr_vs_heft": report.slr_vs_heft}
        if better(record, self.best) and self.steps > 0:
            self.best = record
            self.save("best")

"""A training run of the attention model: steps, curve, checkpoints, resume."""

import contextlib
import dataclasses
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from aerl_trainer import checkpoint
from aerl_trainer.baselines.reinforce import GreedyRollout, Reinforce, SharedBaseline
from aerl_trainer.checkpoint import Checkpoint, CheckpointError
from aerl_trainer.config import seeding
from aerl_trainer.config.stored import stored
from aerl_trainer.run.interruption import Stop
from aerl_trainer.run.reporting import MetricsLog, Progress, RunDirectory
from dagsched_env.problem.errors import DAGSchedError
from tsp.attention import AttentionPolicy
from tsp.evaluation import Gaps, TestSet, gaps
from tsp.points import draw_points
from tsp.settings import Settings
from tsp.weights import save_policy

__all__ = ["POLICY_FILE", "TrainedTours", "train"]

POLICY_FILE = "policy.safetensors"
CURVE_POINTS = 10
"""Evaluations on the way, beside the one before the first step; their time is not counted."""
SAVE_INTERVAL_S = 30.0
"""CPU time between checkpoints."""
VALIDATION_BATCH = 128
LEAST_RATE = 1e-7


class TrainedTours(NamedTuple):
    """How a run ended."""

    policy: AttentionPolicy
    steps: int
    cpu_s: float
    """Of the steps and the tests of the baseline, earlier parts of the run included."""
    interrupted: bool


@dataclasses.dataclass
class _Figures:
    """What the terminal shows."""

    settings: Settings
    step: int = 0
    cost: float | None = None
    gaps: Gaps | None = None

    def rows(self) -> list[list[tuple[str, str]]]:
        tours = self.step * self.settings.batch * self.settings.starts
        one, best = ("-", "-") if self.gaps is None else (f"{gap:.2%}" for gap in self.gaps)
        quality = [("gap", one)]
        if not self.settings.model.free_start:
            quality.append((f"best of {self.settings.size}", best))
        cost = "-" if self.cost is None else f"{self.cost:.3f}"
        return [
            [("step", str(self.step)), ("tours", f"{tours / 1000:.0f}k"), ("length", cost)],
            quality,
        ]


def train(
    settings: Settings,
    directory: RunDirectory,
    test: TestSet,
    stop: Stop,
    *,
    resume: bool = False,
) -> TrainedTours:
    """Train until the CPU time or the steps are used up, or a signal asks to stop.

    Args:
        settings: all of them.
        directory: gets settings, metrics, checkpoints and the policy.
        test: what the curve shows; nothing is chosen by it.
        stop: set by signals.
        resume: go on from the last checkpoint; a run that has none yet begins.

    Raises:
        DAGSchedError: the directory holds a run and ``resume`` is False, or one with other
            settings; or no checkpoint can be read.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(directory.hold())
        directory.make_folders(resume=resume)
        stack.callback(torch.set_num_threads, torch.get_num_threads())
        torch.set_num_threads(1)
        run = _Run(settings, directory, test)
        generations = checkpoint.generations(directory.checkpoints)
        resumed = resume and any(map(checkpoint.exists, generations))
        messages: list[str] = []
        if resumed:
            checkpoint.read_first(generations, run.restore, messages.append)
        directory.record(dataclasses.asdict(settings))
        run.log = stack.enter_context(
            MetricsLog(
                directory.metrics_file,
                directory.tensorboard,
                purge_step=run.learner.steps if resumed else None,
            )
        )
        run.progress = stack.enter_context(
            Progress(
                run.seconds_left,
                f"TSP {settings.mode} {directory.path.name}",
                clock=lambda: run.cpu_s,
                figures=run.figures,
            )
        )
        for message in messages:
            run.progress.message(message)
        run.loop(stop)
        return TrainedTours(run.policy, run.learner.steps, run.cpu_s, stop.requested)


class _Run:
    """The parts of a run; ``log`` and ``progress`` are opened once it is known where it begins."""

    log: MetricsLog
    progress: Progress

    def __init__(self, settings: Settings, directory: RunDirectory, test: TestSet) -> None:
        self.settings, self.directory, self.test = settings, directory, test
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(_seed(settings, "network"))
            self.policy = AttentionPolicy(settings.model)
        baseline: GreedyRollout[Tensor] | SharedBaseline[Tensor]
        if settings.mode == "rollout":
            baseline = GreedyRollout(self.policy, self._validation, test=settings.test)
        else:
            baseline = SharedBaseline()
        self.learner = Reinforce(
            self.policy,
            torch.optim.Adam(self.policy.parameters(), lr=settings.learning_rate, fused=True),
            baseline,
            starts=settings.starts,
            seed=_seed(settings, "actions"),
        )
        self._points = torch.Generator().manual_seed(_seed(settings, "points"))
        self.cpu_s = 0.0
        self._evaluations = 0
        self.figures = _Figures(settings)

    @property
    def share(self) -> float:
        """Of the training that is over, in [0, 1]."""
        if self.settings.steps:
            return min(1.0, self.learner.steps / self.settings.steps)
        return min(1.0, self.cpu_s / (60.0 * self.settings.minutes))

    @property
    def seconds_left(self) -> float:
        """CPU time; an hour where steps are counted, as nobody knows."""
        return 3600.0 if self.settings.steps else 60.0 * self.settings.minutes - self.cpu_s

    def loop(self, stop: Stop) -> None:
        """Steps with evaluations and checkpoints between; the last act is a checkpoint."""
        saved_s = self.cpu_s
        while True:
            if self._evaluations <= CURVE_POINTS * self.share:
                self._evaluate()
            if stop.requested or self.share >= 1.0:
                break
            self._step()
            if self.cpu_s - saved_s >= SAVE_INTERVAL_S:
                self.save()
                saved_s = self.cpu_s
        self.save()
        save_policy(self.policy, self.directory.path / POLICY_FILE)

    def save(self) -> None:
        """Write the checkpoint ``last``; the one before becomes ``previous``."""
        saved = self.learner.state()
        checkpoint.save(
            self.directory.checkpoints / "last",
            tensors=saved.tensors,
            arrays={**saved.arrays, "points_rng": self._points.get_state().numpy()},
            state={
                **saved.state,
                "settings": dataclasses.asdict(self.settings),
                "cpu_s": self.cpu_s,
                "evaluations": self._evaluations,
            },
            previous=self.directory.checkpoints / "previous",
        )

    def restore(self, source: Path) -> None:
        """Go on from a checkpoint, with the same settings but for the duration.

        Raises:
            CheckpointError: it is damaged.
            DAGSchedError: the run has other settings.
        """
        saved = checkpoint.load(source)
        try:
            self._check_settings(stored(saved.state, "settings", dict))
            self._restore(saved)
        except CheckpointError as error:
            raise CheckpointError(f"{source}: not the checkpoint of a run: {error}") from None

    def _check_settings(self, before: dict[str, Any]) -> None:
        now = dataclasses.asdict(self.settings)
        for name in now.keys() - {"minutes", "steps"}:
            if before.get(name) != now[name]:
                raise DAGSchedError(
                    f"{self.directory.path}: the run has {name} = {before.get(name)!r}, not "
                    f"{now[name]!r}: keep it, or choose another directory"
                )

    def _restore(self, saved: Checkpoint) -> None:
        self.learner.restore(saved)
        try:
            self._points.set_state(torch.from_numpy(saved.arrays["points_rng"]))
        except (KeyError, RuntimeError, TypeError) as error:
            raise CheckpointError(
                f"'points_rng' is not the state of a generator: {error}"
            ) from None
        self.cpu_s = stored(saved.state, "cpu_s", float)
        self._evaluations = stored(saved.state, "evaluations", int)
        self.figures.step = self.learner.steps

    def _step(self) -> None:
        """One gradient step; at the end of an epoch, the test of the baseline."""
        settings, learner = self.settings, self.learner
        self._on_the_clock(self._set_rate)
        points = draw_points(settings.points, settings.batch, settings.size, generator=self._points)
        report = self._on_the_clock(lambda: learner.step(points))
        self.log.write("train", step=learner.steps, time_s=self.cpu_s, **report._asdict())
        if learner.steps % settings.epoch == 0:
            replaced = self._on_the_clock(lambda: learner.baseline.after_epoch(self.policy))
            self.log.write("baseline", step=learner.steps, time_s=self.cpu_s, replaced=replaced)
        self.figures.step, self.figures.cost = learner.steps, report.cost
        self.progress.update(self.figures)

    def _set_rate(self) -> None:
        rise = min(1.0, self.share / self.settings.warm_up) if self.settings.warm_up else 1.0
        fall = 0.5 + 0.5 * math.cos(math.pi * self.share)
        for group in self.learner.optimizer.param_groups:
            group["lr"] = max(LEAST_RATE, self.settings.learning_rate * rise * fall)

    def _evaluate(self) -> None:
        """A point of the curve."""
        found = gaps(self.policy, self.test)
        self._evaluations = 1 + math.floor(CURVE_POINTS * self.share)
        self.log.write(
            "validation", step=self.learner.steps, time_s=self.cpu_s, gap=found.one, best=found.best
        )
        self.figures.gaps = found
        self.progress.update(self.figures)

    def _on_the_clock(self, act: Callable[[], Any]) -> Any:
        """Do it, and count its CPU time as training."""
        started = time.process_time()
        result = act()
        self.cpu_s += time.process_time() - started
        return result

    def _validation(self, number: int) -> list[Tensor]:
        settings = self.settings
        generator = torch.Generator().manual_seed(_seed(settings, "validation", number))
        return [
            draw_points(settings.points, VALIDATION_BATCH, settings.size, generator=generator)
            for _ in range(settings.validation)
        ]


def _seed(settings: Settings, *names: str | int) -> int:
    return int(seeding.generator(settings.seed, "tsp", *names).integers(2**62))

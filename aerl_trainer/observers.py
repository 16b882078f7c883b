"""What a run shows and records; the training loop only says what has happened."""

import dataclasses
import time
from collections.abc import Callable
from threading import Lock
from types import TracebackType
from typing import Protocol

from aerl_trainer.config import Config
from aerl_trainer.records import EvalReport, SearchReport, TrainReport
from aerl_trainer.reporting import MetricsLog, Progress, RunDirectory, Status
from aerl_trainer.runtime.pool import PoolStats

__all__ = ["RunObserver"]

RATE_WINDOW_S = 10.0
"""Simulations per second and mean batch are those of about this long."""


class _Counters(Protocol):
    finished: int
    simulations: int


class RunObserver:
    """Terminal, ``metrics.jsonl`` and TensorBoard of one run. May be called from two threads.

    Args:
        config: of the run.
        directory: where to record.
        stats: reads the totals of inference.
    """

    def __init__(
        self, config: Config, directory: RunDirectory, stats: Callable[[], PoolStats]
    ) -> None:
        self._config, self._directory, self._stats = config, directory, stats
        self._progress = Progress(60.0 * config.run.minutes, f"AERL-DS {directory.path.name}")
        self._log: MetricsLog | None = None
        self._status = Status(levels=len(config.curriculum.levels))
        self._started = time.monotonic()
        self._earlier_s = 0.0
        self._lock = Lock()
        self._mark: tuple[float, int, PoolStats] = (self._started, 0, PoolStats(0, 0, 0))

    @property
    def elapsed_s(self) -> float:
        """Seconds of training, those before a resume included."""
        return self._earlier_s + time.monotonic() - self._started

    def resume(self, step: int, time_s: float, level: int, counters: _Counters) -> None:
        """Go on with the clock, the counters and the records of an earlier part of the run."""
        self._earlier_s = time_s
        self._mark = (self._started, counters.simulations, PoolStats(0, 0, 0))
        self._show(step=step, tasks=counters.finished, level=level)
        self._log = self._open_log(step)

    def __enter__(self) -> "RunObserver":
        self._progress.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._progress.__exit__(kind, error, traceback)
        if self._log is not None:
            self._log.close()

    def trained(self, report: TrainReport, tasks: int) -> None:
        """One learner step."""
        self._record("train", **dataclasses.asdict(report))
        self._show(step=report.step, tasks=tasks, loss=report.loss)

    def searched(self, report: SearchReport, step: int, counters: _Counters) -> None:
        """One finished tree."""
        self._record("search", step=step, **dataclasses.asdict(report))
        now, stats = time.monotonic(), self._stats()
        since, simulations, before = self._mark
        if now - since >= RATE_WINDOW_S or self._status.simulations_per_s is None:
            batches = stats.batches - before.batches
            self._show(
                simulations_per_s=(counters.simulations - simulations) / max(now - since, 1e-9),
                mean_batch=(stats.leaves - before.leaves) / batches if batches else None,
            )
            self._record(
                "rates",
                step=step,
                simulations_per_s=self._status.simulations_per_s,
                mean_batch=self._status.mean_batch,
                restarts=stats.restarts,
            )
            self._mark = (now, counters.simulations, stats)
        self._show(tasks=counters.finished)

    def validated(self, report: EvalReport, promoted: bool, level: int) -> None:
        """One validation, and the curriculum's level after it."""
        self._record("validation", promoted=promoted, **dataclasses.asdict(report))
        self._show(step=report.step, slr_vs_heft=report.slr_vs_heft, level=level)
        if promoted:
            self._progress.message(
                f"step {report.step}: level {report.level + 1} mastered, on to level {level + 1}"
            )

    def tick(self, tasks: int) -> None:
        """Nothing has happened for a while."""
        self._show(tasks=tasks)

    def _record(self, kind: str, *, step: int, **values: object) -> None:
        with self._lock:
            if self._log is None:
                self._log = self._open_log(None)
            self._log.write(kind, step=step, time_s=self.elapsed_s, **values)

    def _show(self, **changes: object) -> None:
        with self._lock:
            self._status = dataclasses.replace(self._status, **changes)  # type: ignore[arg-type]
            self._progress.update(self._status)

    def _open_log(self, purge_step: int | None) -> MetricsLog:
        directory = self._directory
        return MetricsLog(directory.metrics_file, directory.tensorboard, purge_step=purge_step)

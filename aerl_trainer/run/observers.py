"""What a run shows and records; the training loop only says what has happened."""

import dataclasses
import time
from collections.abc import Callable
from threading import Lock
from typing import Protocol

import numpy as np

from aerl_trainer.config import Config
from aerl_trainer.learning.problem_replay import ProblemReplay
from aerl_trainer.learning.records import PolicyReport, TrainReport
from aerl_trainer.network.inference.metrics import InferenceTotals, rates_between
from aerl_trainer.run.records import EvalReport
from aerl_trainer.run.reporting import MetricsLog, Progress, RunDirectory, Status
from aerl_trainer.runtime.pool import PoolStats
from aerl_trainer.tree.records import SearchReport
from dagsched_env.kernels.arrays import Ints

RATE_WINDOW_S = 10.0
"""Simulations per second and the figures of inference are those of about this long."""

FIRST_S = 1.0
"""The first of them come after this long."""

ONE_IN = 50
"""Of so many trees along principal variations one is recorded: a second sees hundreds."""

CLUSTER_S = 2.0
"""Between two looks at the node workers."""


class _Counters(Protocol):
    finished: int
    simulations: int
    by_actor: Ints
    forgotten: int


class RunObserver:
    """Terminal, ``metrics.jsonl`` and TensorBoard of one run. May be called from two threads.

    Args:
        config: of the run.
        directory: where to record.
        stats: reads the totals of inference.
        log: of a run that goes on; None opens one at the first record.
    """

    def __init__(
        self,
        config: Config,
        directory: RunDirectory,
        stats: Callable[[], PoolStats],
        log: MetricsLog | None = None,
    ) -> None:
        self._config, self._directory, self._stats = config, directory, stats
        self._progress = Progress(60.0 * config.run.minutes, f"AERL-DS {directory.path.name}")
        self._log = log
        self._status = Status(levels=len(config.curriculum.levels))
        self._started = time.monotonic()
        self._earlier_s = 0.0
        self._lock = Lock()
        self._schedules = 0
        self._mark: tuple[float, int, PoolStats] = (self._started, 0, stats())
        self._by_actor: Ints = np.zeros(config.run.actors, dtype=np.int64)
        self._latest: tuple[int, _Counters] | None = None
        self._cluster_due = self._started

    @property
    def elapsed_s(self) -> float:
        """Seconds of training, those before a resume included."""
        return self._earlier_s + time.monotonic() - self._started

    def resume(
        self, step: int, time_s: float, level: int, counters: _Counters | None = None
    ) -> None:
        """Continue the clock and the counters of an earlier part of the run.

        Args:
            step: learner steps so far.
            time_s: seconds of training so far.
            level: of the curriculum.
            counters: of the jobs so far; None where a run has none.
        """
        self._earlier_s = time_s
        if counters is not None:
            self._show(jobs=counters.finished)
        self._show(step=step, level=level)

    def __enter__(self) -> "RunObserver":
        self._progress.__enter__()
        if self._config.learner.network:
            backend = self._stats().backend
            self._directory.note("inference", backend)
            self._progress.message(f"inference: {backend}")
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.__exit__()
        if self._log is not None:
            self._log.close()

    def improved(self, report: PolicyReport, replay: ProblemReplay | None = None) -> None:
        """One step of the policy.

        Args:
            report: of the step.
            replay: of the problems; None if there is none.
        """
        stored = 0 if replay is None else len(replay)
        self._record("policy", stored=stored, **dataclasses.asdict(report))
        self._schedules += report.schedules
        self._show(
            step=report.step,
            schedules=self._schedules,
            spread=report.relative_spread,
            staleness=report.staleness if report.trees else None,
            replay=None if replay is None else stored,
        )
        self._look_at_cluster(report.step)

    def trained(self, report: TrainReport) -> None:
        """One step of the network."""
        self._record("train", **dataclasses.asdict(report))
        self._show(loss=report.loss)

    def searched(self, report: SearchReport, step: int, counters: _Counters) -> None:
        """One finished tree.

        Args:
            report: what happened on it.
            step: learner steps so far.
            counters: of the jobs, this one included.
        """
        now = time.monotonic()
        if not self._config.variations or report.job_id % ONE_IN == 0:
            self._record("search", step=step, **dataclasses.asdict(report))
        if self._latest is None:  # what went before is the start of the processes
            self._mark = (now, counters.simulations, self._stats())
            self._by_actor = counters.by_actor.copy()
        elif now - self._mark[0] >= (RATE_WINDOW_S if self._status.simulations_per_s else FIRST_S):
            self._measure(now, step, counters)
        self._latest = (step, counters)
        self._show(jobs=counters.finished)
        self._look_at_cluster(step)

    def ended(self) -> None:
        """There will be no more trees: the rates since the last record."""
        if self._latest is not None:
            step, counters = self._latest
            if counters.simulations > self._mark[1]:
                self._measure(time.monotonic(), step, counters)

    def validated(self, report: EvalReport, promoted: bool, level: int) -> None:
        """One validation.

        Args:
            report: its result.
            promoted: whether it led to a promotion.
            level: of the curriculum after it.
        """
        self._record("validation", promoted=promoted, **dataclasses.asdict(report))
        self._show(
            step=report.step,
            policy=report.slr_vs_heft,
            sampled=report.sampled_vs_heft,
            guided=report.guided_vs_heft,
            network=report.network_vs_heft,
            portfolio=report.portfolio_vs_heft,
            level=level,
        )
        if promoted:
            self._progress.message(
                f"step {report.step}: level {report.level + 1} mastered, on to level {level + 1}"
            )

    def say(self, message: str) -> None:
        """Show a line."""
        self._progress.message(message)

    def tick(self, step: int, jobs: int) -> None:
        """Nothing has happened for a while.

        Args:
            step: learner steps so far.
            jobs: finished so far.
        """
        self._show(jobs=jobs)
        self._look_at_cluster(step)

    def _look_at_cluster(self, step: int) -> None:
        """Show and record the node workers, if there are any, at most once in ``CLUSTER_S``."""
        now = time.monotonic()
        if now < self._cluster_due:
            return
        self._cluster_due = now + CLUSTER_S
        cluster = self._stats().cluster
        if cluster is not None:
            self._record("cluster", step=step, **dataclasses.asdict(cluster))
            self._show(nodes=cluster.nodes)

    def _measure(self, now: float, step: int, counters: _Counters) -> None:
        """Show and record the rates since the last time."""
        (since, simulations_before, before), stats = self._mark, self._stats()
        self._mark = (now, counters.simulations, stats)
        seconds = max(now - since, 1e-9)
        inference = rates_between(before.inference, stats.inference, seconds)
        by_actor = counters.by_actor.copy()
        missing = np.zeros(by_actor.size - self._by_actor.size, dtype=np.int64)
        self._by_actor = np.append(self._by_actor, missing)
        simulations_per_s = (counters.simulations - simulations_before) / seconds
        self._record(
            "rates",
            step=step,
            simulations_per_s=simulations_per_s,
            actors={str(a): n / seconds for a, n in enumerate(by_actor - self._by_actor)},
            restarts=stats.restarts,
            forgotten=counters.forgotten,
            inference={} if inference is None else dataclasses.asdict(inference),
            workers=_each_worker(before.inference, stats.inference, seconds),
        )
        self._by_actor = by_actor
        self._show(
            simulations_per_s=simulations_per_s,
            mean_batch=None if inference is None else inference.mean_batch,
            latency_ms=None if inference is None else inference.latency_ms,
            busy=None if inference is None else inference.busy,
        )

    def _record(self, kind: str, *, step: int, **values: object) -> None:
        with self._lock:
            if self._log is None:
                self._log = open_log(self._directory)
            self._log.write(kind, step=step, time_s=self.elapsed_s, **values)

    def _show(self, **changes: object) -> None:
        with self._lock:
            self._status = dataclasses.replace(self._status, **changes)  # type: ignore[arg-type]
            self._progress.update(self._status)


def open_log(directory: RunDirectory, purge_step: int | None = None) -> MetricsLog:
    """The records of a run.

    Args:
        directory: of the run.
        purge_step: see ``MetricsLog``.

    Raises:
        DAGSchedError: a file cannot be opened; as of ``MetricsLog``.
    """
    return MetricsLog(directory.metrics_file, directory.tensorboard, purge_step=purge_step)


def _each_worker(
    before: InferenceTotals, after: InferenceTotals, seconds: float
) -> dict[str, dict[str, float]]:
    """Rates of each worker that evaluated anything, by its number; empty for a single worker."""
    workers = after.counts.shape[0]
    rates = [rates_between(before.of(w), after.of(w), seconds) for w in range(workers)]
    if workers == 1:
        return {}
    return {str(w): dataclasses.asdict(rate) for w, rate in enumerate(rates) if rate is not None}

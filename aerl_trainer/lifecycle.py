"""The life of a search job: drawn, searched, sampled, replayed, learned from."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from aerl_trainer import seeding
from aerl_trainer.config import Config
from aerl_trainer.curriculum import Curriculum
from aerl_trainer.learning.experiences import make_experiences
from aerl_trainer.learning.learner import Learner
from aerl_trainer.nn.evaluator import TorchEvaluator
from aerl_trainer.nn.network import Network
from aerl_trainer.records import SearchJob, SearchReport
from aerl_trainer.runtime.pool import SearchPool
from aerl_trainer.search.trajectories import sample_trajectories

__all__ = ["LifecycleThread", "JobLifecycle"]


class JobLifecycle:
    """Keeps the pool busy and turns finished trees into experiences.

    Args:
        config: of the run.
        pool: grows the trees.
        learner: receives the experiences.
        curriculum: draws the problems.
    """

    def __init__(
        self, config: Config, pool: SearchPool, learner: Learner, curriculum: Curriculum
    ) -> None:
        self._config, self._pool = config, pool
        self._learner, self._curriculum = learner, curriculum
        self._evaluator = TorchEvaluator(Network(config.network))
        self._fresh: tuple[npt.NDArray[np.float32], int] | None = None
        self.submitted = 0
        """Jobs drawn so far; also the number of the next one."""
        self.finished = 0
        """Jobs that have been learned from."""
        self.simulations = 0

    def publish(self, weights: npt.NDArray[np.float32], version: int) -> None:
        """Use new weights in the search and below the searched part of trajectories."""
        self._fresh = (weights, version)
        self._pool.publish(weights)

    def advance(self, timeout: float) -> SearchReport | None:
        """Fill the pool and harvest at most one finished tree; None if there was none in time."""
        while self._pool.free > 0:
            self._pool.submit(self._draw_job(), self._learner.rollout_weight)
        finished = self._pool.wait(timeout)
        if finished is None:
            return None
        self._load_fresh()
        trajectories = sample_trajectories(
            finished.job.instance,
            finished.tree.arrays,
            self._evaluator,
            self._config.search,
            seeding.generator(finished.job.seed, "trajectories"),
        )
        self._pool.release(finished)
        self._learner.add(make_experiences(finished.job.instance, trajectories, self._config))
        self.simulations += finished.report.simulations
        self.finished += 1
        return finished.report

    def state_dict(self) -> dict[str, Any]:
        """Counters as JSON values; jobs in flight are drawn again after a resume."""
        return {"finished": self.finished, "simulations": self.simulations}

    def load_state_dict(self, record: dict[str, Any]) -> None:
        """Go on behind the last job that was learned from."""
        self.finished = self.submitted = int(record["finished"])
        self.simulations = int(record["simulations"])

    def _load_fresh(self) -> None:
        """Take what was published last.

        The main thread may publish at any point of this: what is taken is looked up once, and
        nothing is reset, so that a later version waits for the next time instead of being lost.
        """
        fresh = self._fresh
        if fresh is not None and fresh[1] != self._evaluator.version:
            self._evaluator.load(*fresh)

    def _draw_job(self) -> SearchJob:
        """The next problem: a function of the run's seed, its number and the curriculum's level."""
        # "task" was the word for a job: another name here would change what a seed means.
        rng = seeding.generator(self._config.run.seed, "task", self.submitted)
        instance = self._curriculum.make_instance(rng)
        job = SearchJob(self.submitted, instance, seed=int(rng.integers(2**31)))
        self.submitted += 1
        return job


class LifecycleThread(threading.Thread):
    """Runs a JobLifecycle beside the learner.

    Args:
        lifecycle: advanced until ``stop``.
        observe: called in this thread with each report.
    """

    def __init__(self, lifecycle: JobLifecycle, observe: Callable[[SearchReport], None]) -> None:
        super().__init__(name="job-lifecycle", daemon=True)
        self._lifecycle, self._observe = lifecycle, observe
        self._stopping = threading.Event()
        self._progress = threading.Event()
        self.error: BaseException | None = None
        """What ended the thread, if it was not ``stop``."""

    def run(self) -> None:
        try:
            while not self._stopping.is_set():
                report = self._lifecycle.advance(timeout=0.1)
                if report is not None:
                    self._observe(report)
                    self._progress.set()
        except BaseException as error:  # handed to the main thread, which raises it
            self.error = error
            self._progress.set()

    def wait_for_progress(self, timeout: float) -> None:
        """Sleep until a job is finished, at most ``timeout`` s; raises what ended the thread."""
        self._progress.wait(timeout)
        self._progress.clear()
        if self.error is not None:
            raise self.error

    def stop(self) -> None:
        """End the thread if it runs, after what it is in the middle of; may be called again."""
        self._stopping.set()
        if self.is_alive():
            self.join()

"""The life of a search job: drawn, searched and harvested by a pool, learned from."""

import dataclasses
import math
import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import numpy.typing as npt

from aerl_trainer.config import Config, seeding
from aerl_trainer.config.stored import stored
from aerl_trainer.learning.network_learner import NetworkLearner
from aerl_trainer.learning.problem_replay import ProblemReplay
from aerl_trainer.policy.fast import FastPolicy
from aerl_trainer.run.curriculum import Curriculum
from aerl_trainer.runtime.harvest import JobPool
from aerl_trainer.tree.records import SearchJob, SearchReport, TreeGroup

MOST_GROUPS = 64
"""Trees that wait for the fast policy to learn from them; older ones are forgotten."""


class JobLifecycle:
    """Keeps a pool busy and hands its harvest to who learns from it.

    It needs a pool to ``advance``; until then its state can be read and restored.

    Args:
        config: of the run.
        curriculum: draws the problems.
        learner: of the network, receives the experiences; None if there is no network.
        replay: gives some of the problems; None if there is none.
    """

    def __init__(
        self,
        config: Config,
        curriculum: Curriculum,
        learner: NetworkLearner | None,
        replay: ProblemReplay | None = None,
    ) -> None:
        self._config = config
        self._learner, self._curriculum, self._replay = learner, curriculum, replay
        self._known: dict[int, tuple[float, tuple[int, int]]] = {}
        self._pool: JobPool | None = None
        self._harvest = threading.Lock()
        self._guide = (FastPolicy().weights, 0)
        self._room = max(MOST_GROUPS, config.policy.instances)
        self._groups: deque[TreeGroup] = deque(maxlen=self._room)
        self._fresh: tuple[npt.NDArray[np.float32], int] | None = None
        self.submitted = 0
        """Jobs drawn so far; also the number of the next one."""
        self.finished = 0
        """Jobs whose trees have been harvested."""
        self.simulations = 0
        self.by_actor = np.zeros(config.run.actors, dtype=np.int64)
        """Simulations by the number of the actor, which each machine counts from 0, since the start
        of this process."""
        self.forgotten = 0
        """Trees, since the start of this process, of which the fast policy has not learned."""

    def search_with(self, pool: JobPool) -> None:
        """Have this pool search the jobs, with the weights that were published last."""
        self._pool = pool
        if self._fresh is not None:
            pool.publish(*self._fresh)

    def publish(self, weights: npt.NDArray[np.float32], version: int) -> None:
        """Use new weights in the search and below the searched part of trajectories."""
        self._fresh = (weights, version)
        if self._pool is not None:
            self._pool.publish(weights, version)

    @property
    def published(self) -> npt.NDArray[np.float32] | None:
        """The weights that were published last: those that the actors hold."""
        return None if self._fresh is None else self._fresh[0]

    def guide(self, policy: FastPolicy, step: int) -> None:
        """Have this policy, of so many learner steps, guide the searches that begin from now on."""
        self._guide = (policy.weights, step)

    @property
    def waiting_groups(self) -> int:
        """Trees that the fast policy has not learned from yet."""
        return len(self._groups)

    def take_groups(self, most: int) -> list[TreeGroup]:
        """The oldest of them, which are forgotten here."""
        return [self._groups.popleft() for _ in range(min(most, len(self._groups)))]

    def advance(self, timeout: float) -> SearchReport | None:
        """Fill the pool and harvest at most one finished tree; None if there was none in time."""
        assert self._pool is not None
        while self._pool.free > 0:
            weight = 1.0 if self._learner is None else self._learner.rollout_weight
            self._pool.submit(self._draw_job(), weight)
        harvest = self._pool.wait(timeout)
        if harvest is None:
            return None
        with self._harvest:
            if self._learner is not None:
                self._learner.add(harvest.experiences)
            if harvest.group is not None:
                known, place = self._known.pop(harvest.report.job_id, (math.inf, None))
                group = dataclasses.replace(harvest.group, known=known, place=place)
                self.forgotten += len(self._groups) == self._room
                self._groups.append(group)
            self.simulations += harvest.report.simulations
            shares = np.array(harvest.report.simulations_by_actor, dtype=np.int64)
            missing = max(0, shares.size - self.by_actor.size)
            self.by_actor = np.append(self.by_actor, np.zeros(missing, dtype=np.int64))
            self.by_actor[: shares.size] += shares
            self.finished += 1
        return harvest.report

    def at_rest(self) -> AbstractContextManager[object]:
        """Within, no tree is harvested: counters and replay belong together."""
        return self._harvest

    def state(self) -> tuple[list[TreeGroup], dict[str, Any]]:
        """Groups that wait, and counters; jobs in flight are drawn again after a resume."""
        counters = {"finished": self.finished, "simulations": self.simulations}
        return list(self._groups), counters

    def restore(self, groups: Iterable[TreeGroup], record: dict[str, Any]) -> None:
        """Go on behind the last job that was harvested.

        Args:
            groups: of ``state``.
            record: of ``state``.

        Raises:
            FormatError: the record is not one of ``state``.
        """
        finished, simulations = (stored(record, key, int) for key in ("finished", "simulations"))
        self._groups = deque(groups, maxlen=self._room)
        self.finished = self.submitted = finished
        self.simulations = simulations

    def _draw_job(self) -> SearchJob:
        """The next problem: a function of the run's seed, its number, curriculum and replay."""
        # "task" was the word for a job: another name here would change what a seed means.
        rng = seeding.generator(self._config.run.seed, "task", self.submitted)
        known = None if self._replay is None else self._replay.draw(rng)
        if known is None:
            instance = self._curriculum.make_instance(rng)
        else:
            instance = known[0].instance
            self._known[self.submitted] = known[0].makespan, known[1]
        seed = int(rng.integers(2**31))
        weights, step = self._guide
        job = SearchJob(self.submitted, instance, seed, policy=weights, step=step)
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
        self.check()

    def check(self) -> None:
        """Raise what has ended the thread, if anything has."""
        if self.error is not None:
            raise self.error

    def stop(self) -> None:
        """End the thread if it runs, after what it is in the middle of; may be called again."""
        self._stopping.set()
        if self.is_alive():
            self.join()

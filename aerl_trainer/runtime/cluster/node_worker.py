"""What a run does on one node: searches by the node's own pool of processes, and rollouts.

An ordinary class: whatever calls it from several threads can be its transport.
"""

import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from aerl_trainer.config import Config
from aerl_trainer.learning.group_gradients import GroupGrader
from aerl_trainer.learning.rank_reward import rank_rewards
from aerl_trainer.learning.replay.arrays import Arrays
from aerl_trainer.policy.fast import FastPolicy
from aerl_trainer.runtime.cluster.parcels import (
    pack_gradients,
    pack_harvest,
    unpack_job,
    unpack_work,
)
from aerl_trainer.runtime.harvest import Harvest, LocalJobs
from aerl_trainer.runtime.pool import PoolStats
from aerl_trainer.runtime.process_pool import ProcessPool
from aerl_trainer.tree.records import SearchJob

FULL_S, PARTLY_S, IDLE_S = 0.1, 0.01, 0.2
"""Longest sleep of the thread of searches: all trees taken, some free, nothing to do."""


class NodeReport(NamedTuple):
    """How a node worker is."""

    pid: int
    stats: PoolStats | None
    """Of its pool; None where the run has no search jobs."""


class NodeWorker:
    """Searches jobs and grades groups for a driver elsewhere. Its methods may run in many threads.

    Args:
        config: of the run; ``run.actors`` is that of this node.
        max_tasks: largest problem that will come; None where there are no search jobs.
        fetch: makes the network's weights of what stands for them in a call.
        log_dir: where its processes write their output; None leaves it where it goes.
    """

    def __init__(
        self,
        config: Config,
        max_tasks: int | None,
        *,
        fetch: Callable[[Any], npt.NDArray[np.float32]] = lambda weights: weights,
        log_dir: Path | None = None,
    ) -> None:
        self._fetch = fetch
        self._grader = GroupGrader(
            config.policy.schedules,
            partial(rank_rewards, temperature=config.learner.rank_temperature),
        )
        self._searches: _Searches | None = None
        if config.has_jobs and max_tasks is not None:
            backend = config.inference.backend if config.learner.network else "prior"
            pool = ProcessPool(config, max_tasks, backend=backend, explore=True, log_dir=log_dir)
            self._searches = _Searches(LocalJobs(config, pool))
        self._version = 0
        self._loading = threading.Lock()

    def ready(self) -> NodeReport:
        """Answered once everything is there."""
        return self.ping()

    def ping(self) -> NodeReport:
        """It lives."""
        stats = None if self._searches is None else self._searches.stats
        return NodeReport(os.getpid(), stats)

    def search(
        self, parcel: Arrays, rollout_weight: float, version: int, weights: list[Any]
    ) -> Arrays:
        """Search a job to its end.

        Args:
            parcel: of ``pack_job``.
            rollout_weight: λ, in [0, 1].
            version: of the network's weights with which it begins; 0 = there are none.
            weights: one item, for ``fetch``; in a list, so that a transport leaves it as it is.
        """
        assert self._searches is not None
        with self._loading:
            if version > self._version:
                self._searches.publish(self._fetch(weights[0]), version)
                self._version = version
        return pack_harvest(self._searches.search(unpack_job(parcel), rollout_weight))

    def gradients(self, weights: npt.NDArray[np.float32], parcel: Arrays) -> Arrays:
        """Draw and grade groups.

        Args:
            weights: of the fast policy.
            parcel: of ``pack_work``.
        """
        policy = FastPolicy(weights)
        return pack_gradients([self._grader(policy, work) for work in unpack_work(parcel)])

    def close(self) -> None:
        """End the processes and free their memory."""
        if self._searches is not None:
            self._searches.close()


class _Searches:
    """A thread that alone works with a pool of jobs, as the pool asks for.

    Args:
        jobs: the pool; closed with this.
    """

    def __init__(self, jobs: LocalJobs) -> None:
        self._jobs = jobs
        self._new: SimpleQueue[_Search] = SimpleQueue()
        self._stopping = threading.Event()
        self.stats = jobs.stats()
        """As of the last harvest."""
        self._thread = threading.Thread(target=self._run, name="searches", daemon=True)
        self._thread.start()

    def search(self, job: SearchJob, rollout_weight: float) -> Harvest:
        """The harvest of a job, once it is finished; raises what keeps the pool from working."""
        search = _Search(job, rollout_weight, Future())
        self._new.put(search)
        return search.harvest.result()

    def publish(self, weights: npt.NDArray[np.float32], version: int) -> None:
        """Use new weights of the network in all searches."""
        self._jobs.publish(weights, version)

    def close(self) -> None:
        """End the thread and the pool; searches that are not finished never are."""
        self._stopping.set()
        self._thread.join()
        self._jobs.close()

    def _run(self) -> None:
        waiting: deque[_Search] = deque()
        running: dict[int, _Search] = {}
        while not self._stopping.is_set():
            self._take(waiting, 0.0 if running else IDLE_S)
            try:
                self._advance(waiting, running)
            except Exception as error:  # handed to who asked for the searches
                for search in (*waiting, *running.values()):
                    search.harvest.set_exception(error)
                waiting.clear()
                running.clear()

    def _take(self, waiting: deque["_Search"], timeout: float) -> None:
        """What has been asked for; waits for the first of it."""
        with contextlib.suppress(Empty):
            waiting.append(self._new.get(timeout=timeout) if timeout else self._new.get_nowait())
            while True:
                waiting.append(self._new.get_nowait())

    def _advance(self, waiting: deque["_Search"], running: dict[int, "_Search"]) -> None:
        """Fill the pool, and harvest at most one finished tree."""
        while waiting and self._jobs.free > 0:
            search = waiting.popleft()
            running[search.job.id] = search
            self._jobs.submit(search.job, search.rollout_weight)
        harvest = self._jobs.wait(PARTLY_S if self._jobs.free > 0 else FULL_S) if running else None
        if harvest is not None:
            self.stats = self._jobs.stats()
            running.pop(harvest.report.job_id).harvest.set_result(harvest)


class _Search(NamedTuple):
    job: SearchJob
    rollout_weight: float
    harvest: "Future[Harvest]"

"""From finished trees to what is learned from: the interface between a run and who searches."""

from functools import partial
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from aerl_trainer.config import Config, seeding
from aerl_trainer.learning.experiences import make_experiences
from aerl_trainer.learning.records import Experience
from aerl_trainer.network.evaluator import TorchEvaluator
from aerl_trainer.network.network import Network
from aerl_trainer.runtime.pool import Finished, PoolStats, SearchPool
from aerl_trainer.tree.records import SearchJob, SearchReport, TreeGroup
from aerl_trainer.tree.trajectories import complete_by_network, sample_trajectories
from aerl_trainer.tree.variation import group_of


class Harvest(NamedTuple):
    """What one search job gives to learn from."""

    report: SearchReport
    group: TreeGroup | None
    """For the fast policy; None where the trees are the network's."""
    experiences: list[Experience]
    """For the network; none where the run has no network."""


class JobPool(Protocol):
    """Searches jobs somewhere, and gives what is learned from them; trees stay where they are."""

    @property
    def free(self) -> int:
        """How many more jobs may be submitted now."""
        ...

    def submit(self, job: SearchJob, rollout_weight: float) -> None:
        """Start a search with λ = ``rollout_weight``."""
        ...

    def wait(self, timeout: float) -> Harvest | None:
        """The next harvest, or None after ``timeout`` seconds."""
        ...

    def publish(self, weights: npt.NDArray[np.float32], version: int) -> None:
        """Use these weights of the network from now on; may be called from another thread."""
        ...

    def stats(self) -> PoolStats: ...

    def close(self) -> None:
        """End all processes and free all shared memory."""
        ...


class Harvester:
    """Takes from finished trees what is learned from."""

    def __init__(self, config: Config) -> None:
        self._config = config
        if config.learner.network:
            self._evaluator = TorchEvaluator(Network(config.network))
        self._fresh: tuple[npt.NDArray[np.float32], int] | None = None

    def publish(self, weights: npt.NDArray[np.float32], version: int) -> None:
        """Use new weights below the searched part of trajectories."""
        self._fresh = (weights, version)

    def harvest(self, finished: Finished) -> Harvest:
        """What a tree gives; a function of its job's seed and of the tree."""
        job, config = finished.job, self._config
        if config.variations:
            return Harvest(finished.report, group_of(job, finished.tree.arrays), [])
        self._load_fresh()
        rng = seeding.generator(job.seed, "trajectories")
        complete = partial(
            complete_by_network,
            job.instance,
            evaluator=self._evaluator,
            config=config.search,
            rng=rng,
        )
        trajectories = sample_trajectories(
            job.instance, finished.tree.arrays, complete, config.search, rng
        )
        experiences = make_experiences(job.instance, trajectories, config)
        return Harvest(finished.report, None, experiences)

    def _load_fresh(self) -> None:
        """Take what was published last.

        Another thread may publish at any point of this: what is taken is looked up once, and
        nothing is reset, so that a later version waits for the next time instead of being lost.
        """
        fresh = self._fresh
        if fresh is not None and fresh[1] != self._evaluator.version:
            self._evaluator.load(*fresh)


class LocalJobs:
    """A ``JobPool`` on this machine: a pool of trees, and the harvest of each.

    Args:
        pool: grows the trees; closed with this.
    """

    def __init__(self, config: Config, pool: SearchPool) -> None:
        self._pool = pool
        self._harvester = Harvester(config)

    @property
    def free(self) -> int:
        return self._pool.free

    def submit(self, job: SearchJob, rollout_weight: float) -> None:
        self._pool.submit(job, rollout_weight)

    def wait(self, timeout: float) -> Harvest | None:
        """The harvest of the next finished tree, or None after ``timeout`` seconds."""
        finished = self._pool.wait(timeout)
        if finished is None:
            return None
        try:
            return self._harvester.harvest(finished)
        finally:
            self._pool.release(finished)

    def publish(self, weights: npt.NDArray[np.float32], version: int) -> None:
        self._harvester.publish(weights, version)
        self._pool.publish(weights)

    def stats(self) -> PoolStats:
        return self._pool.stats()

    def close(self) -> None:
        self._pool.close()

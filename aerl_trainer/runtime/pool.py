"""The interface of search pools, and the pool that searches in this process."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from aerl_trainer.config import Config
from aerl_trainer.network.evaluator import TorchEvaluator
from aerl_trainer.network.inference.inline import InlineEvaluator
from aerl_trainer.network.inference.metrics import InferenceTotals
from aerl_trainer.network.network import Network
from aerl_trainer.policy.encoding.evaluator import Evaluator, PriorEvaluator
from aerl_trainer.tree.alone import search_alone, vary_alone
from aerl_trainer.tree.records import SearchJob, SearchReport
from aerl_trainer.tree.shared_tree import SharedTree


class Finished(NamedTuple):
    """A tree that nobody mutates any more; give it back with ``release``."""

    slot: int
    job: SearchJob
    tree: SharedTree
    report: SearchReport


@dataclass(frozen=True)
class ClusterStats:
    """Where the node workers of a run stand, and totals since the start."""

    nodes: int
    """Node workers that take tasks."""
    queued: int
    """Tasks that wait for a node worker."""
    in_flight: int
    """Tasks that node workers have."""
    arrived: int
    """Search jobs whose harvest nobody has taken yet."""
    lost: int
    """Node workers that have left, died or fallen silent."""
    requeued: int
    """Tasks that were given to another node worker after a loss."""
    dropped: int
    """Harvests older than ``ray.staleness``, whose jobs were searched again."""
    refused: int
    """Harvests that were not valid, whose jobs were searched again."""
    staleness: float
    """Mean over the latest harvests of the versions published while a job was searched."""
    largest_staleness: int
    """The largest of them."""


class PoolStats(NamedTuple):
    """Totals since the start."""

    restarts: int
    """Processes that died and were replaced."""
    backend: str
    """Who evaluates leaves, and why."""
    inference: InferenceTotals
    cluster: ClusterStats | None = None
    """None where all of it is on this machine."""


def no_pool() -> PoolStats:
    """Totals of a run without search jobs, which has no pool."""
    return PoolStats(0, "none", InferenceTotals.zero(1))


class SearchPool(Protocol):
    """Grows one tree per submitted job."""

    @property
    def free(self) -> int:
        """How many more jobs may be submitted now."""
        ...

    def submit(self, job: SearchJob, rollout_weight: float) -> None:
        """Start a search with λ = ``rollout_weight``."""
        ...

    def wait(self, timeout: float) -> Finished | None:
        """The next finished tree, or None after ``timeout`` seconds."""
        ...

    def release(self, finished: Finished) -> None:
        """Hand a tree back; its arrays may be overwritten from now on."""
        ...

    def publish(self, weights: npt.NDArray[np.float32]) -> None:
        """Use these weights from now on."""
        ...

    def stats(self) -> PoolStats: ...

    def close(self) -> None:
        """End all processes and free all shared memory."""
        ...


class LockstepPool:
    """One actor with in-process inference: reproducible to the bit."""

    def __init__(self, config: Config) -> None:
        self._config, self._variations = config.search, config.variations
        self._totals = InferenceTotals.zero(1)
        self._evaluator: Evaluator = PriorEvaluator()
        if config.learner.network:
            self._network = TorchEvaluator(Network(config.network))
            self._evaluator = InlineEvaluator(
                self._network, None, self._totals.counts[0], self._totals.latencies[0]
            )
        self._queue: list[tuple[SearchJob, float]] = []

    @property
    def free(self) -> int:
        return 1 - len(self._queue)

    def submit(self, job: SearchJob, rollout_weight: float) -> None:
        self._queue.append((job, rollout_weight))

    def wait(self, timeout: float) -> Finished | None:
        """Search the submitted job to its end, however long that takes."""
        if not self._queue:
            return None
        job, rollout_weight = self._queue.pop()
        if self._variations:
            tree, report = vary_alone(job, self._config)
        else:
            tree, report = search_alone(
                job, self._evaluator, self._config, rollout_weight=rollout_weight, explore=True
            )
        return Finished(0, job, tree, report)

    def release(self, finished: Finished) -> None:
        finished.tree.close()

    def publish(self, weights: npt.NDArray[np.float32]) -> None:
        self._network.load(weights, self._network.version + 1)

    def stats(self) -> PoolStats:
        return PoolStats(0, "inline, in lock-step with the learner", self._totals.copy())

    def close(self) -> None:
        self._queue.clear()

"""The pool of jobs that a cluster searches, and the groups that it grades."""

import dataclasses
import itertools
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np
import numpy.typing as npt

from aerl_trainer.config import Config
from aerl_trainer.learning.group_gradients import GroupGradient, GroupWork, ThreadedGradients
from aerl_trainer.learning.replay.arrays import Arrays
from aerl_trainer.network.inference.metrics import InferenceTotals
from aerl_trainer.policy.fast import FastPolicy
from aerl_trainer.runtime.cluster.fleet import Fleet
from aerl_trainer.runtime.cluster.node_worker import NodeReport
from aerl_trainer.runtime.cluster.parcels import (
    pack_job,
    pack_work,
    unpack_gradients,
    unpack_harvest,
)
from aerl_trainer.runtime.errors import FleetError
from aerl_trainer.runtime.harvest import Harvest
from aerl_trainer.runtime.pool import ClusterStats, PoolStats
from aerl_trainer.tree.records import SearchJob
from dagsched_env.problem.errors import DAGSchedError

PARTS_PER_CORE = 2
"""Parts into which the groups of a step are cut: more even the load out, fewer cost less."""
RECENT = 256
"""Harvests whose staleness is reported."""
MOST_INVALID = 3
"""Harvests of one job that may be refused; then the error is ours."""
LOOK_S = 0.5


def rooms(config: Config) -> dict[str, Callable[[int], int]]:
    """What a node worker takes at once: twice its trees, so that none waits for the driver."""
    return {
        "search": lambda cores: 2 * config.run.trees_in_flight,
        "gradients": lambda cores: cores,
    }


@dataclasses.dataclass(frozen=True)
class _Ticket:
    """A job on its way."""

    job: SearchJob
    rollout_weight: float
    version: int
    """Publications of either policy before it left."""
    refused: int = 0


class ClusterJobs:
    """Implements ``JobPool`` with the node workers of a fleet.

    Jobs on their way and harvests that nobody has taken are together at most
    ``config.ray.unlearned``: where the driver is slow, the nodes wait.

    Args:
        fleet: of node workers; closed with this.
        put: makes weights available to all nodes, and returns what stands for them.
    """

    def __init__(
        self,
        config: Config,
        fleet: Fleet,
        put: Callable[[npt.NDArray[np.float32]], Any],
    ) -> None:
        self._config, self._fleet, self._put = config, fleet, put
        self._arrived: SimpleQueue[tuple[_Ticket, Future[Arrays]]] = SimpleQueue()
        self._outstanding = self._dropped = self._invalid = 0
        self._weights: tuple[int, list[Any]] = (0, [None])
        self._publications = itertools.count(1)
        self._version = 0
        self._policy: npt.NDArray[np.float32] | None = None
        self._step = 0
        self._staleness: deque[int] = deque([0], maxlen=RECENT)

    @property
    def free(self) -> int:
        room = min(self._fleet.room("search"), self._config.ray.unlearned)
        return max(0, room - self._outstanding)

    def submit(self, job: SearchJob, rollout_weight: float) -> None:
        if job.policy is not self._policy:
            self._policy, self._step = job.policy, job.step
            self._version = next(self._publications)
        self._outstanding += 1
        self._send(_Ticket(job, rollout_weight, self._version))

    def wait(self, timeout: float) -> Harvest | None:
        """The next harvest, checked, or None after ``timeout`` seconds.

        Raises:
            FleetError: the node workers keep dying, or their harvests are not valid.
            DAGSchedError: a job cannot be searched.
        """
        if self._fleet.error is not None:
            raise self._fleet.error
        try:
            ticket, future = self._arrived.get(timeout=timeout)
        except Empty:
            return None
        arrays, staleness = future.result(), self._version - ticket.version
        if staleness > self._config.ray.staleness:
            self._dropped += 1
            job = dataclasses.replace(ticket.job, policy=self._policy, step=self._step)
            self._send(dataclasses.replace(ticket, job=job, version=self._version))
            return None
        try:
            harvest = unpack_harvest(arrays, ticket.job, network=self._config.learner.network)
        except DAGSchedError as error:
            self._refuse(ticket, error)
            return None
        self._staleness.append(staleness)
        self._outstanding -= 1
        return harvest

    def publish(self, weights: npt.NDArray[np.float32], version: int) -> None:
        self._weights = (version, [self._put(weights)])
        self._version = next(self._publications)

    def stats(self) -> PoolStats:
        fleet = self._fleet.stats()
        reports: list[NodeReport] = self._fleet.reports()
        pools = [report.stats for report in reports if report.stats is not None]
        inference = InferenceTotals.zero(1)
        for totals in (pool.inference for pool in pools):
            inference.counts[0] += totals.counts.sum(axis=0)
            inference.latencies[0] += totals.latencies.sum(axis=0)
        cluster = ClusterStats(
            nodes=fleet.members,
            queued=fleet.queued,
            in_flight=fleet.in_flight,
            arrived=self._arrived.qsize(),
            lost=fleet.lost,
            requeued=fleet.requeued,
            dropped=self._dropped,
            refused=self._invalid,
            staleness=float(np.mean(self._staleness)),
            largest_staleness=max(self._staleness),
        )
        backend = pools[0].backend if pools else "by the node workers"
        return PoolStats(sum(pool.restarts for pool in pools), backend, inference, cluster)

    def close(self) -> None:
        self._fleet.close()

    def _send(self, ticket: _Ticket) -> None:
        parcel = pack_job(ticket.job)
        future = self._fleet.submit("search", parcel, ticket.rollout_weight, *self._weights)
        future.add_done_callback(lambda done: self._arrived.put((ticket, done)))

    def _refuse(self, ticket: _Ticket, error: DAGSchedError) -> None:
        """A harvest does not count; its job is searched again."""
        self._invalid += 1
        if ticket.refused + 1 >= MOST_INVALID:
            raise FleetError(
                f"{MOST_INVALID} harvests of job {ticket.job.id} were not valid: {error}"
            ) from error
        self._send(dataclasses.replace(ticket, refused=ticket.refused + 1))


class ClusterGradients:
    """Implements ``Gradients`` with the node workers of a fleet; the result does not depend on it.

    While there is no node worker, the groups are graded in this process. What has ended the fleet
    is raised.

    Args:
        fleet: of node workers.
        here: grades in this process.
    """

    def __init__(self, fleet: Fleet, here: ThreadedGradients) -> None:
        self._fleet, self._here = fleet, here

    def __call__(self, policy: FastPolicy, work: Sequence[GroupWork]) -> list[GroupGradient]:
        self._check()
        parts = min(len(work), PARTS_PER_CORE * self._fleet.room("gradients"))
        if parts == 0:
            return self._here(policy, work)
        bounds = np.linspace(0, len(work), parts + 1).astype(int).tolist()
        cut = [work[a:b] for a, b in itertools.pairwise(bounds)]
        futures = [self._fleet.submit("gradients", policy.weights, pack_work(part)) for part in cut]
        while wait(futures, LOOK_S).not_done and self._fleet.room("gradients"):
            pass
        self._check()
        results = []
        for part, future in zip(cut, futures, strict=True):
            if future.cancel():  # no node worker is left
                results += self._here(policy, part)
            else:
                results += unpack_gradients(future.result(), len(part))
        return results

    def _check(self) -> None:
        if self._fleet.error is not None:
            raise self._fleet.error

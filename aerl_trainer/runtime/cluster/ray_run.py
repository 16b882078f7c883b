"""The node workers of a run, on Ray."""

import contextlib
import dataclasses
import sys
from collections.abc import Iterator

from aerl_trainer.config import Config
from aerl_trainer.runtime.cluster.cluster_jobs import ClusterGradients, ClusterJobs, rooms
from aerl_trainer.runtime.cluster.fleet import Fleet
from aerl_trainer.runtime.cluster.node_worker import NodeWorker
from aerl_trainer.runtime.cluster.ray_nodes import RayMembers, connected, load_ray

__all__ = ["ClusterGradients", "RayNodeWorker", "node_workers"]

MOST_ACTORS = 64


class RayNodeWorker(NodeWorker):
    """A node worker in an actor of Ray.

    Args:
        config: of the run.
        max_tasks: largest problem that will come; None where there are no search jobs.
    """

    def __init__(self, config: Config, max_tasks: int | None) -> None:
        # Else every child that it spawns would import Ray's main module, for nothing.
        vars(sys.modules["__main__"]).pop("__file__", None)
        # A copy: what Ray hands out is read-only.
        super().__init__(config, max_tasks, fetch=lambda weights: load_ray().get(weights).copy())


@contextlib.contextmanager
def node_workers(config: Config, max_tasks: int | None) -> Iterator[tuple[Fleet, ClusterJobs]]:
    """A fleet of the node workers of the cluster ``config.ray.address``, and its pool of jobs.

    Args:
        config: of the run.
        max_tasks: largest problem that will come; None where there are no search jobs.

    Raises:
        DAGSchedError: the cluster cannot be reached, or Ray is not installed.
    """
    with connected(config.ray.address):
        room = rooms(config)
        members = RayMembers(
            RayNodeWorker,
            lambda cores: ((_on_node(config, cores), max_tasks), {}),
            lambda cores: sum(most(cores) for most in room.values()),
        )
        fleet = Fleet(members, room, stall_s=config.ray.stall_s)
        with contextlib.closing(ClusterJobs(config, fleet, load_ray().put)) as jobs:
            yield fleet, jobs


def _on_node(config: Config, cores: int) -> Config:
    """The settings of a node with so many cores."""
    actors = config.ray.actors or min(cores, MOST_ACTORS)
    return dataclasses.replace(config, run=dataclasses.replace(config.run, actors=actors))

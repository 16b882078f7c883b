"""The section of several machines."""

from dataclasses import dataclass

from aerl_trainer.config.checks import ConfigError, require

LOCAL = "local:"


@dataclass(frozen=True)
class RayConfig:
    """Several machines, by a Ray cluster."""

    address: str = ""
    """Of the cluster: HOST:PORT, ``auto`` for the one on this machine, ``local:N`` for N nodes that
    are started on this machine; nothing trains without a cluster."""
    actors: int = 0
    """NUM_ACTORS of a node; 0 = as many as the node has cores."""
    staleness: int = 64
    """Most publications of weights while a job is searched; where there were more, it is searched
    again."""
    unlearned: int = 1024
    """Most search jobs on their way and harvests that wait for the learner, together."""
    stall_s: float = 30.0
    """A node worker that has been silent for so long has left (s)."""

    def __post_init__(self) -> None:
        local_nodes(self.address)
        require(0 <= self.actors <= 64, "ray.actors must lie in [0, 64]")
        require(self.staleness >= 1, "ray.staleness must be at least 1")
        require(self.unlearned >= 1, "ray.unlearned must be at least 1")
        require(self.stall_s >= 1, "ray.stall_s must be at least 1")


def local_nodes(address: str) -> int | None:
    """N of ``local:N``; None for any other address.

    Raises:
        ConfigError: N is not a whole number from 1 to 16.
    """
    if not address.startswith(LOCAL):
        return None
    text = address.removeprefix(LOCAL)
    if not text.isdecimal() or not 1 <= int(text) <= 16:
        raise ConfigError(f"{address} is no address of a cluster: write local:N, N from 1 to 16")
    return int(text)

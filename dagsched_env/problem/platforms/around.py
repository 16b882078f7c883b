"""Platforms around another one: slow links between clusters, tasks with few processors."""

from dataclasses import dataclass, field

import numpy as np

from dagsched_env.kernels.arrays import Floats
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.parameters import (
    Choices,
    WholeChoices,
    check_choices,
    check_fields,
    checked,
    draw_choice,
)
from dagsched_env.problem.platforms.altered import altered, rescaled
from dagsched_env.problem.platforms.ccr import ccr, mean_communication
from dagsched_env.problem.platforms.drawn import PlatformModel, Unrelated
from dagsched_env.problem.workflow import Workflow


@dataclass(frozen=True)
class Clustered:
    """Splits the processors of another platform into clusters whose sizes differ by at most one.

    A transfer between clusters takes ``slowdown`` times as long as the same transfer within one.
    The start-up times (latencies) are ``latency_share`` of the mean communication, and are in the
    same ratio. The mean communication over all pairs of processors, and so CCR, is exactly that of
    the other platform. Around another ``Clustered`` it makes clusters of clusters.

    Args:
        platform: draws the processors.
        n_clusters: number of clusters ≥ 1, or choices of it; at most one per processor is made.
        slowdown: ≥ 1, or choices of it.
        latency_share: in [0, 1], or choices of it.

    Raises:
        DAGSchedError: an argument is out of its range; the message names it.
    """

    platform: PlatformModel = field(default=Unrelated(n_processors=8))
    n_clusters: WholeChoices = checked(2, check_choices, at_least=1, whole=True)
    slowdown: Choices = checked(10.0, check_choices, at_least=1)
    latency_share: Choices = checked(0.1, check_choices, at_least=0, at_most=1)

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def max_processors(self) -> int:
        """Largest p."""
        return self.platform.max_processors

    def __call__(self, workflow: Workflow, rng: np.random.Generator, /) -> Instance:
        """The workflow on one such platform."""
        n_clusters = int(draw_choice(self.n_clusters, rng))
        slowdown = draw_choice(self.slowdown, rng)
        latency_share = draw_choice(self.latency_share, rng)
        instance = self.platform(workflow, rng)
        p = instance.n_processors
        cluster = np.arange(p) * min(n_clusters, p) // p
        ratios = np.where(cluster[:, None] == cluster, 1.0, slowdown)
        return _relinked(instance, ratios, latency_share)


def _relinked(instance: Instance, ratios: Floats, latency_share: float) -> Instance:
    """The instance with its links multiplied by ``ratios``; its mean communication is unchanged."""
    wanted = mean_communication(instance)
    if wanted == 0:  # no edges, no data, or one processor
        return instance
    other = ~np.eye(instance.n_processors, dtype=bool)
    slowed = altered(
        instance,
        inv_bandwidth=instance.inv_bandwidth * ratios,
        latency=instance.latency * ratios,
    )
    scale = (1.0 - latency_share) * wanted / mean_communication(slowed)
    start_up = latency_share * wanted * ratios / ratios[other].mean()
    return altered(
        slowed,
        inv_bandwidth=slowed.inv_bandwidth * scale,
        latency=slowed.latency * scale + start_up,
    )


@dataclass(frozen=True)
class Restricted:
    """Forbids pairs of task and processor of another platform at random.

    Each task keeps one processor, drawn uniformly among those that it could use, and each of the
    others with probability ``share``. Then the data is scaled again: CCR, with computation averaged
    over eligible processors, is exactly that of the other platform.

    Args:
        platform: draws the processors.
        share: in [0, 1], or choices of it; 0 leaves every task one processor, 1 all of them.

    Raises:
        DAGSchedError: an argument is out of its range; the message names it.
    """

    platform: PlatformModel = field(default=Unrelated())
    share: Choices = checked(0.5, check_choices, at_least=0, at_most=1)

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def max_processors(self) -> int:
        """Largest p."""
        return self.platform.max_processors

    def __call__(self, workflow: Workflow, rng: np.random.Generator, /) -> Instance:
        """The workflow on one such platform."""
        share = draw_choice(self.share, rng)
        free = self.platform(workflow, rng)
        draws = np.where(np.isfinite(free.comp), rng.random(free.comp.shape), np.inf)
        kept = draws < share
        kept[np.arange(free.n_tasks), draws.argmin(axis=1)] = True
        restricted = altered(free, comp=np.where(kept, free.comp, np.inf))
        before, after = ccr(free), ccr(restricted)
        if not 0 < after < np.inf:
            return restricted
        return rescaled(restricted, before / after)

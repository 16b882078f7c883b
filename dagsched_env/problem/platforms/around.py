"""Platforms around another one: slow links between clusters, tasks with few processors, and
processors with several cores."""

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from dagsched_env.kernels.arrays import Floats
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.parameters import (
    Choices,
    Range,
    WholeChoices,
    as_choices,
    as_range,
    check_choices,
    check_fields,
    check_range,
    checked,
    draw_choice,
)
from dagsched_env.problem.platforms.altered import altered, rescaled
from dagsched_env.problem.platforms.ccr import ccr, mean_communication
from dagsched_env.problem.platforms.drawn import PlatformModel, Unrelated
from dagsched_env.problem.workflow import CORES, Workflow


def resources_of(platform: PlatformModel) -> int:
    """Number of resources of the instances that a platform makes; 0 where it states none."""
    return int(getattr(platform, "max_resources", 0))


@dataclass(frozen=True)
class _Around:
    platform: PlatformModel = field(default=Unrelated())

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def max_processors(self) -> int:
        """Largest p."""
        return self.platform.max_processors

    @property
    def max_resources(self) -> int:
        """Number of resources of each instance."""
        return resources_of(self.platform)


@dataclass(frozen=True)
class Clustered(_Around):
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
class Restricted(_Around):
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

    share: Choices = checked(0.5, check_choices, at_least=0, at_most=1)

    def __call__(self, workflow: Workflow, rng: np.random.Generator, /) -> Instance:
        """The workflow on one such platform."""
        share = draw_choice(self.share, rng)
        free = self.platform(workflow, rng)
        draws = np.where(np.isfinite(free.comp), rng.random(free.comp.shape), np.inf)
        kept = draws < share
        kept[np.arange(free.n_tasks), draws.argmin(axis=1)] = True
        return _at_ccr_of(free, altered(free, comp=np.where(kept, free.comp, np.inf)))


@dataclass(frozen=True)
class Shared(_Around):
    """Gives the processors of another platform cores, which tasks share.

    Tasks on a processor run at the same time as long as it has the cores that they use together. A
    task uses as many as its workflow records. Else the number is drawn, for each kind of task
    (``Workflow.kinds``), or for each task of a workflow without kinds: log-uniformly, so that 1 is
    as likely as 2 to 3, or as 4 to 7. No task uses more than the largest processor has that can run
    it. The time of a task is the same however many cores it uses. CCR is that of the other
    platform, as with ``Restricted``.

    Args:
        platform: draws the processors, which run one task at a time.
        cores: of a processor, ≥ 1, or choices of it, drawn for each processor.
        demand: cores that a task uses, ≥ 1, or an inclusive range (low, high) of it.

    Raises:
        DAGSchedError: an argument is out of its range; the message names it.
    """

    cores: WholeChoices = checked(8, check_choices, at_least=1, whole=True)
    demand: Range = checked((1, 4), check_range)

    def __post_init__(self) -> None:
        super().__post_init__()
        if resources_of(self.platform):
            raise DAGSchedError(
                f"platform is {self.platform!r}: its processors have resources already"
            )

    @property
    def max_resources(self) -> int:
        """The cores."""
        return 1

    def __call__(self, workflow: Workflow, rng: np.random.Generator, /) -> Instance:
        """The workflow on one such platform."""
        alone = self.platform(workflow, rng)
        choices = np.array(as_choices(self.cores), dtype=np.float64)
        cores = choices[rng.integers(len(choices), size=alone.n_processors)]
        largest = np.where(np.isfinite(alone.comp), cores, 0.0).max(axis=1)
        shared = altered(
            alone,
            demands=np.minimum(self._demands(workflow, rng), largest)[:, None],
            capacities=cores[:, None],
            resource_names=(CORES,),
        )
        return _at_ccr_of(alone, shared)

    def _demands(self, workflow: Workflow, rng: np.random.Generator) -> Floats:
        """``[n]`` cores that each task uses."""
        recorded = workflow.recorded(CORES)
        kinds = np.array(workflow.kinds or workflow.tasks)
        _, first, of_task = np.unique(kinds, return_index=True, return_inverse=True)
        drawn = np.empty(len(first))
        drawn[first.argsort()] = _log_uniform(self.demand, len(first), rng)
        return np.where(np.isnan(recorded), drawn[of_task], recorded)


def _log_uniform(bounds: Range, size: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """``[size]`` whole numbers of a range; their density is that of 1 / x, rounded down."""
    low, high = as_range(bounds)
    begin, end = math.log(low), math.log(high + 1)
    return np.clip(np.floor(np.exp(begin + (end - begin) * rng.random(size))), low, high)


def _at_ccr_of(before: Instance, after: Instance) -> Instance:
    """The second instance, its data scaled so that its CCR is that of the first, where it can."""
    ratio = ccr(after)
    return rescaled(after, ccr(before) / ratio) if 0 < ratio < np.inf else after

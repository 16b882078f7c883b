"""Platforms by name: all take ``n_processors`` and ``ccr``; those with unrelated costs ``beta``."""

from collections.abc import Callable

from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.parameters import Choices, WholeChoices, as_choices, check_choices
from dagsched_env.problem.platforms.around import Clustered, Restricted
from dagsched_env.problem.platforms.drawn import CpuGpu, PlatformModel, Related, Unrelated

PROCESSORS = 4


def _clustered(
    n_processors: WholeChoices = PROCESSORS,
    beta: Choices = 0.5,
    ccr: Choices = 1.0,
    n_clusters: WholeChoices = 2,
    slowdown: Choices = 10.0,
    latency_share: Choices = 0.1,
) -> PlatformModel:
    """Unrelated processors in clusters, with slow links between the clusters.

    Args:
        n_processors: p ≥ 1, or choices of it.
        beta: heterogeneity of the costs, in [0, 2], or choices of it.
        ccr: CCR ≥ 0, or choices of it.
        n_clusters: number of clusters ≥ 1, or choices of it.
        slowdown: of transfers between clusters over those within one, ≥ 1, or choices of it.
        latency_share: of start-up times in the mean communication, in [0, 1], or choices of it.
    """
    return Clustered(Unrelated(n_processors, beta, ccr), n_clusters, slowdown, latency_share)


def _cpu_gpu(
    n_processors: WholeChoices | None = None,
    n_cpus: WholeChoices | None = None,
    n_gpus: int = 1,
    acceleration: tuple[float, float] = (0.5, 30.0),
    ccr: Choices = 1.0,
) -> PlatformModel:
    """Identical CPUs, then identical GPUs.

    Args:
        n_processors: p, CPUs and GPUs together, or choices of it; default 4.
        n_cpus: number of CPUs ≥ 0, or choices of it, in place of ``n_processors``.
        n_gpus: number of GPUs among the processors, ≥ 0.
        acceleration: lowest and highest acceleration of a kind of task on a GPU, > 0.
        ccr: CCR ≥ 0, or choices of it.
    """
    if n_cpus is not None:
        if n_processors is not None:
            raise DAGSchedError("n_processors and n_cpus are both given: leave one out")
        check_choices("n_cpus", n_cpus, at_least=0, whole=True)
        n_processors = tuple(int(cpus) + n_gpus for cpus in as_choices(n_cpus))
    return CpuGpu(PROCESSORS if n_processors is None else n_processors, n_gpus, acceleration, ccr)


def _identical(n_processors: WholeChoices = PROCESSORS, ccr: Choices = 1.0) -> PlatformModel:
    """Every task takes its runtime on every processor.

    Args:
        n_processors: p ≥ 1, or choices of it.
        ccr: CCR ≥ 0, or choices of it.
    """
    return Related(n_processors, (1.0, 1.0), ccr)


def _restricted(
    n_processors: WholeChoices = PROCESSORS,
    beta: Choices = 0.5,
    ccr: Choices = 1.0,
    share: Choices = 0.5,
) -> PlatformModel:
    """Unrelated processors, of which only some can run a task.

    Args:
        n_processors: p ≥ 1, or choices of it.
        beta: heterogeneity of the costs, in [0, 2], or choices of it.
        ccr: CCR ≥ 0, or choices of it.
        share: of the processors that can run a task, in [0, 1], or choices of it; one always can.
    """
    return Restricted(Unrelated(n_processors, beta, ccr), share)


PLATFORMS: dict[str, Callable[..., PlatformModel]] = {
    "clustered": _clustered,
    "cpu_gpu": _cpu_gpu,
    "identical": _identical,
    "related": Related,
    "restricted": _restricted,
    "unrelated": Unrelated,
}
"""Name → platform, sorted; clusters and restrictions are around ``Unrelated`` here."""

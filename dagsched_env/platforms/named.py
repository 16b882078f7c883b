"""Platforms by name: all take ``n_processors`` and ``ccr``; those with unrelated costs ``beta``."""

from collections.abc import Callable

from dagsched_env.errors import DAGSchedError
from dagsched_env.parameters import Choices, WholeChoices, as_choices, check_choices
from dagsched_env.platforms.clustered import Clustered
from dagsched_env.platforms.cpu_gpu import CpuGpu
from dagsched_env.platforms.model import PlatformModel
from dagsched_env.platforms.related import Related
from dagsched_env.platforms.restricted import Restricted
from dagsched_env.platforms.unrelated import Unrelated

__all__ = ["PLATFORMS"]

PROCESSORS = 4


def _clustered(
    n_processors: WholeChoices = PROCESSORS,
    beta: Choices = 0.5,
    ccr: Choices = 1.0,
    n_clusters: WholeChoices = 2,
    slowdown: Choices = 10.0,
    latency_share: Choices = 0.1,
) -> PlatformModel:
    return Clustered(Unrelated(n_processors, beta, ccr), n_clusters, slowdown, latency_share)


def _cpu_gpu(
    n_processors: WholeChoices | None = None,
    n_cpus: WholeChoices | None = None,
    n_gpus: int = 1,
    acceleration: tuple[float, float] = (0.5, 30.0),
    ccr: Choices = 1.0,
) -> PlatformModel:
    """``CpuGpu``, whose size may also be given by the number of its CPUs."""
    if n_cpus is not None:
        if n_processors is not None:
            raise DAGSchedError("n_processors and n_cpus are both given: leave one out")
        check_choices("n_cpus", n_cpus, at_least=0, whole=True)
        n_processors = tuple(int(cpus) + n_gpus for cpus in as_choices(n_cpus))
    return CpuGpu(PROCESSORS if n_processors is None else n_processors, n_gpus, acceleration, ccr)


def _identical(n_processors: WholeChoices = PROCESSORS, ccr: Choices = 1.0) -> PlatformModel:
    """Every task takes its runtime on every processor."""
    return Related(n_processors, (1.0, 1.0), ccr)


def _restricted(
    n_processors: WholeChoices = PROCESSORS,
    beta: Choices = 0.5,
    ccr: Choices = 1.0,
    share: Choices = 0.5,
) -> PlatformModel:
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

"""Platforms by name: all take ``n_processors`` and ``ccr``; those with unrelated costs ``beta``."""

from collections.abc import Callable

from dagsched_env.parameters import Choices, WholeChoices
from dagsched_env.platforms.clustered import Clustered
from dagsched_env.platforms.cpu_gpu import CpuGpu
from dagsched_env.platforms.model import PlatformModel
from dagsched_env.platforms.related import Related
from dagsched_env.platforms.restricted import Restricted
from dagsched_env.platforms.unrelated import Unrelated

__all__ = ["PLATFORMS"]


def _clustered(
    n_processors: WholeChoices = 4, beta: Choices = 0.5, ccr: Choices = 1.0
) -> PlatformModel:
    return Clustered(Unrelated(n_processors, beta, ccr))


def _restricted(
    n_processors: WholeChoices = 4, beta: Choices = 0.5, ccr: Choices = 1.0
) -> PlatformModel:
    return Restricted(Unrelated(n_processors, beta, ccr))


PLATFORMS: dict[str, Callable[..., PlatformModel]] = {
    "clustered": _clustered,
    "cpu_gpu": CpuGpu,
    "related": Related,
    "restricted": _restricted,
    "unrelated": Unrelated,
}
"""Name → platform, sorted; clusters and restrictions are around ``Unrelated`` here."""

"""Platforms: they put a workflow on processors, which makes it an instance.

``Unrelated``, ``Related`` and ``CpuGpu`` draw processors. ``Clustered`` and ``Restricted`` change
the processors of another platform: ``Restricted(Clustered(CpuGpu()))``. Each of these is a callable
``(workflow, rng) -> Instance``. ``Platform`` draws nothing: its speeds and links are given. The
readers of workflow files need a platform that is always the same: ``Platform``, ``RandomPlatform``,
or ``Seeded`` around any other. ``PLATFORMS`` has the platforms that draw, by name.

In reading order:

- ``model``: the protocol of all platforms;
- ``ccr``: the ratio of communication to computation, measured and set exactly;
- ``altered``: an instance with some of its numbers changed;
- ``drawn``: unrelated and related processors; CPUs and GPUs;
- ``machines``: ``Platform``, given by its speeds and links, and ``RandomPlatform``;
- ``clustered``: slow links between clusters, around any platform;
- ``restricted``: tasks that only some processors can run, around any platform;
- ``seeded``: a platform with a fixed seed, for the readers of workflow files;
- ``named``: ``PLATFORMS``, platforms by name.
"""

from dagsched_env.problem.platforms.ccr import ccr
from dagsched_env.problem.platforms.clustered import Clustered
from dagsched_env.problem.platforms.drawn import CpuGpu, Related, Unrelated
from dagsched_env.problem.platforms.machines import Platform, RandomPlatform
from dagsched_env.problem.platforms.model import PlatformModel
from dagsched_env.problem.platforms.named import PLATFORMS
from dagsched_env.problem.platforms.restricted import Restricted
from dagsched_env.problem.platforms.seeded import Seeded

__all__ = [
    "PLATFORMS",
    "Clustered",
    "CpuGpu",
    "Platform",
    "PlatformModel",
    "RandomPlatform",
    "Related",
    "Restricted",
    "Seeded",
    "Unrelated",
    "ccr",
]

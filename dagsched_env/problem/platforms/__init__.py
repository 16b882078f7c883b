"""Platforms: they put a workflow on processors, which makes it an instance.

``Unrelated``, ``Related`` and ``CpuGpu`` draw processors. ``Clustered``, ``Restricted`` and
``Shared`` change the processors of another platform: ``Restricted(Clustered(CpuGpu()))``. Each of
these is a callable ``(workflow, rng) -> Instance``. ``Platform`` draws nothing: its speeds and
links are given. The readers of workflow files need a platform that is always the same:
``Platform``, ``RandomPlatform``, or ``Seeded`` around any other. ``PLATFORMS`` has the platforms
that draw, by name.

In reading order:

- ``ccr``: the ratio of communication to computation, measured and set exactly;
- ``altered``: an instance with some of its numbers changed;
- ``nodes``: processors that run several tasks at once, within cores, memory and other resources;
- ``drawn``: the protocol of all platforms; unrelated and related processors; CPUs and GPUs;
- ``machines``: for workflow files: ``Platform``, given by its speeds and links, ``Seeded`` and
  ``RandomPlatform``;
- ``around``: slow links between clusters, tasks that only some processors can run, processors with
  several cores: around any platform;
- ``named``: ``PLATFORMS``, platforms by name.
"""

from dagsched_env.problem.platforms.around import Clustered, Restricted, Shared
from dagsched_env.problem.platforms.ccr import ccr
from dagsched_env.problem.platforms.drawn import CpuGpu, PlatformModel, Related, Unrelated
from dagsched_env.problem.platforms.machines import Platform, RandomPlatform, Seeded
from dagsched_env.problem.platforms.named import PLATFORMS

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
    "Shared",
    "Unrelated",
    "ccr",
]

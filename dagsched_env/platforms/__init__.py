"""The machines: what turns a workflow into an instance.

``Unrelated``, ``Related`` and ``CpuGpu`` draw processors; ``Clustered`` and ``Restricted`` change
what another one drew: ``Restricted(Clustered(CpuGpu()))``. Each is a callable ``(workflow, rng) ->
Instance``; ``Seeded`` fixes its draw for the readers of workflow files, as ``RandomPlatform`` does
for ``Unrelated``. ``Platform`` is described, not drawn. ``PLATFORMS`` has those that are drawn by
name.
"""

from dagsched_env.platforms.ccr import ccr
from dagsched_env.platforms.clustered import Clustered
from dagsched_env.platforms.cpu_gpu import CpuGpu
from dagsched_env.platforms.machines import Platform, RandomPlatform
from dagsched_env.platforms.model import PlatformModel
from dagsched_env.platforms.named import PLATFORMS
from dagsched_env.platforms.related import Related
from dagsched_env.platforms.restricted import Restricted
from dagsched_env.platforms.seeded import Seeded
from dagsched_env.platforms.unrelated import Unrelated

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

"""Frozen benchmark suites: the same instances on every machine and in every version.

The data folder holds the fingerprint of each instance. ``load`` warns where they differ, which
means that figures from this machine do not compare with published ones.
"""

import json
import warnings
from collections.abc import Callable
from importlib.resources import files

import numpy as np

from dagsched_env import io
from dagsched_env.errors import DAGSchedError
from dagsched_env.generators import TopcuogluGenerator
from dagsched_env.instance import Instance

__all__ = ["SUITES", "load", "published_fingerprints"]

HELDOUT_SIZE = 40
HELDOUT_SEED = 20020313
HELDOUT_CCR = (0.5, 1.0, 2.0, 5.0)
HELDOUT_BETA = (0.5, 1.0)


def load(name: str) -> list[Instance]:
    """The instances of a suite, always in the same order.

    ``"heldout"``: 40 layered graphs of Topcuoglu et al. with n = 30 and p = 4; CCR cycles through
    0.5, 1, 2, 5 and, at a quarter of that pace, β through 0.5 and 1. ``"workflows"``: the bundled
    traces on ``io.RandomPlatform()``.

    Raises:
        DAGSchedError: there is no suite of that name.
    """
    if name not in _BUILDERS:
        raise DAGSchedError(f"no suite {name!r}: there are {', '.join(SUITES)}")
    instances = _BUILDERS[name]()
    if {str(i.name): i.fingerprint for i in instances} != published_fingerprints().get(name):
        warnings.warn(
            f"suite {name!r} differs from the published one with numpy {np.__version__}: "
            "compare its figures only with figures from here",
            stacklevel=2,
        )
    return instances


def published_fingerprints() -> dict[str, dict[str, str]]:
    """Suite → instance name → SHA-256, as frozen in the package."""
    text = (files("dagsched_env") / "data" / "suite_fingerprints.json").read_text(encoding="utf-8")
    table: dict[str, dict[str, str]] = json.loads(text)
    return table


def _heldout() -> list[Instance]:
    instances = []
    for i in range(HELDOUT_SIZE):
        generator = TopcuogluGenerator(
            n_tasks=30,
            n_processors=4,
            ccr=HELDOUT_CCR[i % len(HELDOUT_CCR)],
            beta=HELDOUT_BETA[i // len(HELDOUT_CCR) % len(HELDOUT_BETA)],
        )
        instance = generator(np.random.default_rng([HELDOUT_SEED, i]))
        instances.append(_named(instance, f"heldout-{i:02d}"))
    return instances


def _workflows() -> list[Instance]:
    return [_named(io.load(io.bundled(name)), name) for name in io.BUNDLED]


def _named(instance: Instance, name: str) -> Instance:
    return Instance(
        instance.comp,
        instance.edges,
        instance.data,
        inv_bandwidth=instance.inv_bandwidth,
        latency=instance.latency,
        task_names=instance.task_names,
        processor_names=instance.processor_names,
        name=name,
    )


_BUILDERS: dict[str, Callable[[], list[Instance]]] = {
    "heldout": _heldout,
    "workflows": _workflows,
}

SUITES = tuple(_BUILDERS)
"""Names of the suites."""

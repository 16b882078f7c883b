"""Arrays, ranks and scales of an instance that every encoding of its states needs."""

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from dagsched_env.kernels.arrays import Floats, InstanceArrays
from dagsched_env.problem.instance import Instance


class EncodingContext(NamedTuple):
    """Constant for an instance; shared read-only."""

    g: InstanceArrays
    rank_u: Floats  # [n]
    oct: Floats  # [n, p]
    cp_min: float
    """Unit of all returns (1 where CP_MIN is 0)."""
    rank_scale: float
    """Unit of the times among the features: the largest rank_u, which is the mean critical path."""


_contexts: WeakKeyDictionary[Instance, EncodingContext] = WeakKeyDictionary()


def encoding_context(instance: Instance) -> EncodingContext:
    """The context of an instance, computed once as long as the instance lives."""
    if instance not in _contexts:
        _contexts[instance] = EncodingContext(
            g=instance.arrays,
            rank_u=instance.rank_u,
            oct=instance.oct,
            cp_min=float(instance.time_scale),
            rank_scale=float(np.max(instance.rank_u)) or 1.0,
        )
    return _contexts[instance]

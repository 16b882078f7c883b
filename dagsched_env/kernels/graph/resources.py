"""Whether a problem has resources, which the compiler knows from the types of its arrays.

So each kernel has two versions of machine code, and the one for processors that run one task at a
time contains nothing of resources.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from dagsched_env.kernels.arrays import InstanceArrays


def has_resources(g: InstanceArrays) -> bool:
    """Whether tasks on a processor may overlap, within its capacities."""
    return g.demand.dtype != np.bool_


@overload(has_resources, strict=False)
def _has_resources(g: Any) -> Callable[[Any], bool]:
    known = g.types[g.fields.index("demand")].dtype != types.boolean
    return (lambda g: True) if known else (lambda g: False)

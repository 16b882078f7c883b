"""The first moments from which tasks may start, where a problem has release dates.

As with resources, the compiler knows from the types of the arrays whether there are any: each
kernel has two versions of machine code, and the one without release dates contains nothing of them.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from dagsched_env.kernels.arrays import InstanceArrays
from dagsched_env.kernels.jit import embedded


def has_release(g: InstanceArrays) -> bool:
    """Whether tasks are released, or processors become available, at times of their own."""
    return g.earliest.dtype != np.bool_


@overload(has_release, strict=False)
def _has_release(g: Any) -> Callable[[Any], bool]:
    known = g.types[g.fields.index("earliest")].dtype != types.boolean
    return (lambda g: True) if known else (lambda g: False)


@embedded
def first_start(g: InstanceArrays, task: int, q: int) -> float:
    """The first moment from which a task may start on a processor (time); 0 by default."""
    if has_release(g):
        return 1.0 * g.earliest[task, q]  # type: ignore[no-any-return]
    return 0.0


@embedded
def least_first_start(g: InstanceArrays, task: int) -> float:
    """The least ``first_start`` of a task over its eligible processors (time)."""
    if not has_release(g):
        return 0.0
    least = np.inf
    for q in range(g.comp.shape[1]):
        if g.comp[task, q] < np.inf:
            least = min(least, first_start(g, task, q))
    return least

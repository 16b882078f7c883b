"""The first moments from which tasks may start, where a problem has release dates.

Where it has none, ``earliest`` has no columns. That is looked up while a kernel runs, so that there
is one version of its machine code.
"""

import numpy as np

from dagsched_env.kernels.arrays import InstanceArrays
from dagsched_env.kernels.jit import embedded


@embedded
def has_release(g: InstanceArrays) -> bool:
    """Whether tasks are released, or processors become available, at times of their own."""
    return g.earliest.shape[1] > 0  # type: ignore[no-any-return]


@embedded
def first_start(g: InstanceArrays, task: int, q: int) -> float:
    """The first moment from which a task may start on a processor (time); 0 by default."""
    return g.earliest[task, q] if has_release(g) else 0.0


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

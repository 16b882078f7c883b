"""The eligible processors of each task, by cost."""

from typing import NamedTuple

import numpy as np

from dagsched_env.kernels.arrays import InstanceArrays, Ints
from dagsched_env.kernels.jit import kernel


class Eligibility(NamedTuple):
    """The eligible processors of each task; constant."""

    eligible: Ints  # [n, p] row t begins with its n_eligible[t] processors by increasing cost
    n_eligible: Ints  # [n]


@kernel
def eligibility(g: InstanceArrays) -> Eligibility:
    """The eligible processors of an instance."""
    n, p = g.comp.shape
    c = Eligibility(np.zeros((n, p), dtype=np.int64), np.zeros(n, dtype=np.int64))
    for t in range(n):
        c.eligible[t] = np.argsort(g.comp[t], kind="mergesort")  # inf goes last, ties by index
        c.n_eligible[t] = np.sum(g.comp[t] != np.inf)
    return c

"""The legal (task, processor) pairs of a partial schedule."""

import numpy as np
import numpy.typing as npt

from dagsched_env.kernels.arrays import N_READY, InstanceArrays, StateArrays
from dagsched_env.kernels.jit import borrowing


@borrowing
def legal_pairs(g: InstanceArrays, s: StateArrays, out: npt.NDArray[np.bool_]) -> None:
    """Write where a ready task may run.

    Args:
        out: ``[n, p]`` or larger; True for legal pairs, False elsewhere.
    """
    comp, ready, n_ready = g.comp, s.ready, s.counts[N_READY]
    out[:] = False
    for i in range(n_ready):
        t = ready[i]
        for q in range(comp.shape[1]):
            out[t, q] = comp[t, q] != np.inf

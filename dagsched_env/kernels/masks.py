"""Legal actions of a state."""

import numpy as np
import numpy.typing as npt

from dagsched_env.kernels.arrays import InstanceArrays, StateArrays
from dagsched_env.kernels.jit import kernel

__all__ = ["legal_pairs"]


@kernel
def legal_pairs(g: InstanceArrays, s: StateArrays, out: npt.NDArray[np.bool_]) -> None:
    """Write True into ``out[n, p]`` where a ready task may run on a processor, False elsewhere."""
    out[:] = False
    for i in range(s.counts[1]):
        t = s.ready[i]
        for q in range(g.comp.shape[1]):
            out[t, q] = g.comp[t, q] != np.inf

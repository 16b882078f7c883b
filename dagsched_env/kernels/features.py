"""Per-state features: earliest start, finish and idle gap of every ready (task, processor)."""

import numpy as np

from dagsched_env.kernels.arrays import Floats, InstanceArrays, StateArrays
from dagsched_env.kernels.jit import kernel
from dagsched_env.kernels.timeline import data_ready_time, earliest_slot

__all__ = ["pair_times", "processor_available"]


@kernel
def pair_times(g: InstanceArrays, s: StateArrays, insertion: bool, out: Floats) -> None:
    """Write EST, EFT and gap of every legal pair into ``out[n, p, 3]``; other entries become 0.

    The gap is the idle time that the placement leaves directly before itself.
    """
    out[:] = 0.0
    for i in range(s.counts[1]):
        t = s.ready[i]
        for q in range(g.comp.shape[1]):
            if g.comp[t, q] == np.inf:
                continue
            ready = data_ready_time(g, s, t, q)
            index, start = earliest_slot(s, q, ready, g.comp[t, q], insertion)
            out[t, q, 0] = start
            out[t, q, 1] = start + g.comp[t, q]
            out[t, q, 2] = start - (s.slot_finish[q, index - 1] if index > 0 else 0.0)


@kernel
def processor_available(s: StateArrays, out: Floats) -> None:
    """Write the finish time of the last task on each processor into ``out[p]``."""
    for q in range(s.slot_count.shape[0]):
        count = s.slot_count[q]
        out[q] = s.slot_finish[q, count - 1] if count > 0 else 0.0

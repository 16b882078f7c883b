"""Per-state features: earliest start, finish and idle gap of every ready (task, processor)."""

import numpy as np
import numpy.typing as npt

from dagsched_env.kernels.arrays import UNSCHEDULED, Floats, InstanceArrays, StateArrays
from dagsched_env.kernels.jit import kernel
from dagsched_env.kernels.timeline import data_ready_time, earliest_slot

__all__ = ["dynamic_features", "pair_times", "processor_available"]


@kernel
def pair_times(g: InstanceArrays, s: StateArrays, insertion: bool, out: Floats) -> None:
    """Write EST, EFT and gap of every legal pair into ``out[n, p, 3]``; other entries become 0.

    The gap is the idle time that the placement leaves directly before itself.
    """
    out[:] = 0.0
    for i in range(s.counts[1]):
        t = s.ready[i]
        for q in range(g.comp.shape[1]):
            if g.comp[t, q] != np.inf:
                out[t, q, 0], out[t, q, 1], out[t, q, 2] = _placement(g, s, t, q, insertion)


@kernel
def processor_available(s: StateArrays, out: Floats) -> None:
    """Write the finish time of the last task on each processor into ``out[p]``."""
    for q in range(s.slot_count.shape[0]):
        out[q] = _available(s, q)


@kernel
def dynamic_features(
    g: InstanceArrays,
    s: StateArrays,
    insertion: bool,
    scale: float,
    limit: float,
    tasks: npt.NDArray[np.float32],
    processors: npt.NDArray[np.float32],
    pairs: npt.NDArray[np.float32],
) -> None:
    """Write the features that change from step to step into zeroed, padded arrays.

    Times are divided by ``scale`` and cut at ``limit``. For ``N ≥ n`` and ``P ≥ p``:
    ``tasks[4, N]`` uncompleted, ready, completed, earliest finish; ``processors[1, P]`` available;
    ``pairs[4, N, P]`` placed, EST, EFT, gap.
    """
    for t in range(g.comp.shape[0]):
        if s.processor[t] != UNSCHEDULED:
            tasks[2, t] = 1.0
            pairs[0, t, s.processor[t]] = 1.0
        else:
            tasks[1 if s.missing[t] == 0 else 0, t] = 1.0
        tasks[3, t] = min(s.bound[t] / scale, limit)
    for q in range(g.comp.shape[1]):
        processors[0, q] = min(_available(s, q) / scale, limit)
    for i in range(s.counts[1]):
        t = s.ready[i]
        for q in range(g.comp.shape[1]):
            if g.comp[t, q] == np.inf:
                continue
            start, finish, gap = _placement(g, s, t, q, insertion)
            pairs[1, t, q] = min(start / scale, limit)
            pairs[2, t, q] = min(finish / scale, limit)
            pairs[3, t, q] = min(gap / scale, limit)


@kernel
def _placement(
    g: InstanceArrays, s: StateArrays, t: int, q: int, insertion: bool
) -> tuple[float, float, float]:
    """EST, EFT and gap of the ready task ``t`` on the eligible processor ``q``."""
    ready = data_ready_time(g, s, t, q)
    index, start = earliest_slot(s, q, ready, g.comp[t, q], insertion)
    before = s.slot_finish[q, index - 1] if index > 0 else 0.0
    return start, start + g.comp[t, q], start - before


@kernel
def _available(s: StateArrays, q: int) -> float:
    count = s.slot_count[q]
    return s.slot_finish[q, count - 1] if count > 0 else 0.0

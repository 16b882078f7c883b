"""The groups of arrays that kernels pass around, with their shapes.

``n`` tasks, ``p`` processors, ``m`` edges. A NamedTuple of arrays is a plain argument to numba.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

UNSCHEDULED = -1
"""``StateArrays.processor`` of a task that has not been placed."""

# StateArrays.counts
N_PLACED = 0
N_READY = 1

# StateArrays.totals
MAKESPAN = 0
LOWER_BOUND = 1


class InstanceArrays(NamedTuple):
    """A scheduling problem; constant, shared read-only by every kernel.

    The edges are stored twice in compressed sparse rows: by source (``succ_*``) and by target
    (``pred_*``).
    """

    comp: Floats  # [n, p] execution time, inf = ineligible
    succ_ptr: Ints  # [n + 1]
    succ_task: Ints  # [m]
    succ_data: Floats  # [m]
    pred_ptr: Ints  # [n + 1]
    pred_task: Ints  # [m]
    pred_data: Floats  # [m]
    topo: Ints  # [n] tasks in topological order
    topo_position: Ints  # [n] inverse of topo
    latency: Floats  # [p, p]
    inv_bandwidth: Floats  # [p, p]
    mean_link: Floats  # [2] mean latency and mean inverse bandwidth over pairs of processors
    mean_comp: Floats  # [n] mean execution time over eligible processors
    min_comp: Floats  # [n] minimum execution time


class StateArrays(NamedTuple):
    """A partial schedule; mutated in place by ``state.transitions``.

    The busy intervals of processor q are ``slot_*[q, :slot_count[q]]``, sorted by time.
    """

    processor: Ints  # [n] UNSCHEDULED or the processor
    sequence: Ints  # [n] the first counts[N_PLACED] entries are the tasks in the order of placement
    start: Floats  # [n] valid where scheduled
    finish: Floats  # [n] valid where scheduled
    slot_start: Floats  # [p, n]
    slot_finish: Floats  # [p, n]
    slot_count: Ints  # [p]
    missing: Ints  # [n] predecessors not yet scheduled
    ready: Ints  # [n] the first counts[N_READY] entries are the ready tasks, in no order
    ready_index: Ints  # [n] position of a ready task in `ready`
    bound: Floats  # [n] lower bound on the finish time of every task
    touched: npt.NDArray[np.bool_]  # [n] work space
    counts: Ints  # [2] placed tasks, ready tasks
    totals: Floats  # [2] makespan so far, lower bound on the final makespan


class Placements(NamedTuple):
    """The part of a partial schedule that a list scheduler needs; made by ``lists.placements``.

    The busy intervals are as in ``StateArrays``.
    """

    processor: Ints  # [n] UNSCHEDULED or the processor
    start: Floats  # [n] valid where scheduled
    finish: Floats  # [n] valid where scheduled
    slot_start: Floats  # [p, n]
    slot_finish: Floats  # [p, n]
    slot_count: Ints  # [p]
    largest_gap: Floats  # [p] no idle gap between the busy intervals is longer


def allocate_state(n: int, p: int) -> StateArrays:
    """State arrays of zeros for ``n`` tasks and ``p`` processors.

    ``transitions.reset`` makes them an empty schedule.
    """

    def ints(*shape: int) -> Ints:
        return np.zeros(shape, dtype=np.int64)

    def floats(*shape: int) -> Any:
        return np.zeros(shape, dtype=np.float64)

    return StateArrays(
        processor=ints(n),
        sequence=ints(n),
        start=floats(n),
        finish=floats(n),
        slot_start=floats(p, n),
        slot_finish=floats(p, n),
        slot_count=ints(p),
        missing=ints(n),
        ready=ints(n),
        ready_index=ints(n),
        bound=floats(n),
        touched=np.zeros(n, dtype=np.bool_),
        counts=ints(2),
        totals=floats(2),
    )

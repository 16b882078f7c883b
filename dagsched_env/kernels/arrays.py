"""The groups of arrays that kernels pass around, with their shapes.

``n`` tasks, ``p`` processors, ``m`` edges, ``k`` resources. With k = 0 a processor runs one task at
a time; with k > 0 tasks overlap within its capacities. A NamedTuple of arrays is a plain argument
to numba.
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
    demand: Ints  # [n, k] of a task for each resource, in its unit; of type bool where k = 0
    capacity: Ints  # [p, k] of each resource
    earliest: Floats  # [n, p] first moment of a start; without release dates [n, 0]


class StateArrays(NamedTuple):
    """A partial schedule; mutated in place by ``state.transitions``.

    The busy intervals of processor q are ``slot_*[q, :slot_count[q]]``, disjoint, sorted by time.
    Without resources each is a task. With resources they are a profile: the load is constant in
    each, not 0, and different from that of the one before where they touch. A task covers one or
    several of them, or none if it needs nothing.
    """

    processor: Ints  # [n] UNSCHEDULED or the processor
    sequence: Ints  # [n] the first counts[N_PLACED] entries are the tasks in the order of placement
    start: Floats  # [n] valid where scheduled
    finish: Floats  # [n] valid where scheduled
    slot_start: Floats  # [p, w], w = slots(n, k)
    slot_finish: Floats  # [p, w]
    slot_load: Ints  # [p, w, k] demands of the tasks that run
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
    slot_start: Floats  # [p, w]
    slot_finish: Floats  # [p, w]
    slot_load: Ints  # [p, w, k]
    slot_count: Ints  # [p]
    largest_gap: Floats  # [p] no gap that holds a task is longer; inf where k > 0


def slots(n: int, k: int) -> int:
    """Most busy intervals of a processor: with resources a task begins one and ends one."""
    return n if k == 0 else 2 * n


def allocate_state(n: int, p: int, k: int) -> StateArrays:
    """State arrays of zeros for ``n`` tasks, ``p`` processors and ``k`` resources.

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
        slot_start=floats(p, slots(n, k)),
        slot_finish=floats(p, slots(n, k)),
        slot_load=ints(p, slots(n, k), k),
        slot_count=ints(p),
        missing=ints(n),
        ready=ints(n),
        ready_index=ints(n),
        bound=floats(n),
        touched=np.zeros(n, dtype=np.bool_),
        counts=ints(2),
        totals=floats(2),
    )

"""Per-state features: earliest start, finish and idle gap of every ready (task, processor).

Arrays are taken out of their tuples before the first branch. Otherwise numba counts references to
every array of the tuple in every pass of the loop, which takes ten times longer than the work.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dagsched_env.kernels.arrays import N_READY, UNSCHEDULED, InstanceArrays, StateArrays
from dagsched_env.kernels.graph.resources import has_resources
from dagsched_env.kernels.jit import borrowing, embedded
from dagsched_env.kernels.state.masks import legal_pairs
from dagsched_env.kernels.state.timeline import data_ready_time, earliest_slot, idle_before
from dagsched_env.kernels.state.transitions import place

NO_ACTION = -1
"""In place of a task: nothing is placed."""

# Rows of the dynamic features, in the order of the table in ``dagsched_env.environment.features``.
WAITING, READY, COMPLETED, EARLIEST_FINISH = range(4)  # of a task
PLACED, EST, EFT, GAP = range(4)  # of a pair
LOAD, FREE = range(2)  # of a processor and a resource


class Layout(NamedTuple):
    """Where the features that change are in one buffer of floats, and the padded sizes."""

    tasks: int  # first entry of the block [4, N] of ``dynamic_features``
    processors: int  # [1, P]
    pairs: int  # [4, N, P]
    loads: int  # [2, P, K]
    max_tasks: int  # N
    max_processors: int  # P
    resources: int  # K


@borrowing
def dynamic_features(
    g: InstanceArrays,
    s: StateArrays,
    insertion: bool,
    scale: float,
    limit: float,
    tasks: npt.NDArray[np.float32],
    processors: npt.NDArray[np.float32],
    pairs: npt.NDArray[np.float32],
    loads: npt.NDArray[np.float32],
) -> None:
    """Write the features that change from step to step into zeroed, padded arrays.

    Args:
        insertion: use idle gaps; False appends only.
        scale: > 0; times are divided by it.
        limit: scaled times are cut off at it.
        tasks: ``[4, N]`` waiting for predecessors, ready, scheduled, earliest finish.
        processors: ``[1, P]`` finish of the last task.
        pairs: ``[4, N, P]`` placed, EST, EFT, gap.
        loads: ``[2, P, K]`` load, free.

    ``N ≥ n`` and ``P ≥ p``; the padding is left as it is.
    """
    comp, processor, missing, bound = g.comp, s.processor, s.missing, s.bound
    ready, n_ready = s.ready, s.counts[N_READY]
    for t in range(comp.shape[0]):
        if processor[t] != UNSCHEDULED:
            tasks[COMPLETED, t] = 1.0
            pairs[PLACED, t, processor[t]] = 1.0
        else:
            tasks[READY if missing[t] == 0 else WAITING, t] = 1.0
        tasks[EARLIEST_FINISH, t] = min(bound[t] / scale, limit)
    for q in range(comp.shape[1]):
        processors[0, q] = min(available(s, q) / scale, limit)
        if has_resources(g):
            describe_load(g, s, q, scale, limit, loads)
    for i in range(n_ready):
        t = ready[i]
        for q in range(comp.shape[1]):
            if comp[t, q] == np.inf:
                continue
            start, finish, gap = placement(g, s, t, q, insertion)
            pairs[EST, t, q] = min(start / scale, limit)
            pairs[EFT, t, q] = min(finish / scale, limit)
            pairs[GAP, t, q] = min(gap / scale, limit)


@borrowing
def observe(
    problem: tuple[Any, ...],
    state: tuple[Any, ...],
    task: int,
    q: int,
    insertion: bool,
    scale: float,
    limit: float,
    layout: tuple[int, ...],
    floats: npt.NDArray[np.float32],
    legal: npt.NDArray[np.bool_],
) -> None:
    """Place a task; then ``dynamic_features`` and ``masks.legal_pairs``.

    One call for both, with tuples without names: to find out the types of the arguments takes
    longer than the work on a problem of 30 tasks.

    Args:
        problem: the fields of ``InstanceArrays``.
        state: the fields of ``StateArrays``, of a partial schedule; changed.
        task: a ready task, or ``NO_ACTION`` to place nothing.
        q: an eligible processor.
        insertion: use idle gaps; False appends only.
        scale: > 0; times are divided by it.
        limit: scaled times are cut off at it.
        layout: the fields of ``Layout``.
        floats: the buffer; the features in it are zeroed.
        legal: ``[N, P]`` receives the legal pairs.
    """
    g, s, at = InstanceArrays(*problem), StateArrays(*state), Layout(*layout)
    if task != NO_ACTION:
        place(g, s, task, q, insertion, True)
    size, width = at.max_tasks, at.max_processors
    tasks = floats[at.tasks : at.tasks + 4 * size].reshape(4, size)
    processors = floats[at.processors : at.processors + width].reshape(1, width)
    pairs = floats[at.pairs : at.pairs + 4 * size * width].reshape(4, size, width)
    loads = floats[at.loads : at.loads + 2 * width * at.resources].reshape(2, width, at.resources)
    dynamic_features(g, s, insertion, scale, limit, tasks, processors, pairs, loads)
    legal_pairs(g, s, legal)


@embedded
def placement(
    g: InstanceArrays, s: StateArrays, t: int, q: int, insertion: bool
) -> tuple[float, float, float]:
    """EST, EFT (time) and gap of a ready task on a processor.

    The gap is the idle time that the placement leaves directly before the task.

    Args:
        t: a ready task.
        q: an eligible processor.
        insertion: use idle gaps; False appends only.
    """
    duration = g.comp[t, q]
    ready = data_ready_time(g, s, t, q)
    index, start = earliest_slot(g, s, t, q, ready, duration, insertion)
    return start, start + duration, idle_before(g, s, q, index, start)


@embedded
def available(s: StateArrays, q: int) -> float:
    """Finish time of the last task on processor ``q``; 0 where there is none."""
    count, slot_finish = s.slot_count[q], s.slot_finish
    return slot_finish[q, count - 1] if count > 0 else 0.0


@borrowing
def describe_load(
    g: InstanceArrays,
    s: StateArrays,
    q: int,
    scale: float,
    limit: float,
    loads: npt.NDArray[np.float32],
) -> None:
    """Load and free share of each resource of a processor.

    Args:
        scale: > 0; times are divided by it.
        limit: scaled times are cut off at it.
        loads: ``[2, P, K]``; the entries of ``q`` are written.
    """
    end = available(s, q)
    for r in range(g.capacity.shape[1]):
        used = 0.0
        if g.capacity[q, r] > 0:
            for i in range(s.slot_count[q]):
                used += (s.slot_finish[q, i] - s.slot_start[q, i]) * s.slot_load[q, i, r]
            used /= g.capacity[q, r]
        loads[LOAD, q, r] = min(used / scale, limit)
        loads[FREE, q, r] = max(1.0 - used / end, 0.0) if end > 0.0 else 1.0

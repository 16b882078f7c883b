"""One step of many environments: the kernels of a single one, called row by row.

Arrays of a batch have a leading axis: B environments, or R problems that they share. The other axes
are padded to N tasks, P processors and M edges. ``_problem`` and ``_state`` take the arrays of one
row out of them, for the kernels of a single environment, so that the rules exist once. Those arrays
have n tasks and m edges, but always P processors; no task is eligible for the padded ones.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dagsched_env.kernels.arrays import N_READY, Floats, InstanceArrays, Ints, StateArrays
from dagsched_env.kernels.graph.resources import has_resources
from dagsched_env.kernels.jit import borrowing, embedded
from dagsched_env.kernels.state.completion import best_processor
from dagsched_env.kernels.state.features import (
    COMPLETED,
    EARLIEST_FINISH,
    EFT,
    EST,
    GAP,
    NO_ACTION,
    PLACED,
    READY,
    WAITING,
    Layout,
    available,
    describe_load,
    placement,
)
from dagsched_env.kernels.state.transitions import place, reset

Float32s = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]


class Frames(NamedTuple):
    """Observations without their action masks, one per row, in one block per type of numbers."""

    floats: Float32s  # [rows, W]
    indices: Ints  # [rows, I]
    masks: npt.NDArray[np.int8]  # [rows, K]


class PackedArrays(NamedTuple):
    """R problems, each with the observation at the beginning of an episode; read-only."""

    problems: InstanceArrays  # [R, ...] padded; comp of padded processors is inf
    sizes: Ints  # [R, 3] tasks, processors, edges
    scale: Floats  # [R] unit of all scaled times
    frames: Frames
    legal: Bools  # [R, N, P]


class Batch(NamedTuple):
    """B environments."""

    rows: Ints  # [B] the problem of each
    counts: Ints  # [B, 2] this and the arrays down to ``touched`` are those of ``StateArrays``
    totals: Floats  # [B, 2]
    slot_count: Ints  # [B, P]
    slot_load: Ints  # [B, P, W, K]
    slot_times: Floats  # [B, 2, P, W] slot_start, slot_finish; W = slots(N, K)
    ints: Ints  # [B, 5, N] processor, sequence, missing, ready, ready_index
    floats: Floats  # [B, 3, N] start, finish, bound
    touched: Bools  # [N] work space
    frames: Frames
    legal: Bools  # [B, N, P]


@borrowing
def advance(
    packed: PackedArrays,
    batch: Batch,
    restart: Bools,
    tasks: Ints,
    processors: Ints,
    insertion: bool,
    limit: float,
    layout: Layout,
    placed: Bools,
) -> None:
    """In each environment begin an episode or place a task, if that is legal.

    Args:
        packed: the problems.
        batch: the environments; changed.
        restart: ``[B]`` True: begin an episode and place nothing.
        tasks: ``[B]`` a task, or ``NO_ACTION`` to place nothing.
        processors: ``[B]`` a processor; negative: the processor of the earliest finish.
        insertion: use idle gaps; False appends only.
        limit: scaled times of the observations are cut off at it.
        layout: of the observations.
        placed: ``[B]`` receives True where a task was placed.
    """
    for i in range(batch.rows.shape[0]):
        row = batch.rows[i]
        placed[i] = False
        if not restart[i] and tasks[i] == NO_ACTION:
            continue
        g = _problem(packed, row)
        s = _state(batch, i, g.comp.shape[0])
        if restart[i]:
            reset(g, s)
            _copy(packed.frames.floats[row], batch.frames.floats[i])
            _copy(packed.frames.indices[row], batch.frames.indices[i])
            _copy(packed.frames.masks[row], batch.frames.masks[i])
            _copy(packed.legal[row].reshape(-1), batch.legal[i].reshape(-1))
            continue
        task, q = tasks[i], processors[i]
        legal = batch.legal[i]
        if q < 0:
            q = best_processor(g, s, task, insertion) if legal[task].any() else 0
        if legal[task, q]:
            place(g, s, task, q, insertion, True)
            placed[i] = True
            floats = batch.frames.floats[i]
            _show_placement(
                g, s, task, q, insertion, packed.scale[row], limit, layout, floats, legal
            )


@embedded
def _copy(source: npt.NDArray[Any], target: npt.NDArray[Any]) -> None:
    """``target[:] = source`` without the allocation that numba makes for it."""
    for k in range(source.shape[0]):
        target[k] = source[k]


@embedded
def _problem(packed: PackedArrays, row: int) -> InstanceArrays:
    a = packed.problems
    n, m = packed.sizes[row, 0], packed.sizes[row, 2]
    return InstanceArrays(
        comp=a.comp[row, :n],
        succ_ptr=a.succ_ptr[row, : n + 1],
        succ_task=a.succ_task[row, :m],
        succ_data=a.succ_data[row, :m],
        pred_ptr=a.pred_ptr[row, : n + 1],
        pred_task=a.pred_task[row, :m],
        pred_data=a.pred_data[row, :m],
        topo=a.topo[row, :n],
        topo_position=a.topo_position[row, :n],
        latency=a.latency[row],
        inv_bandwidth=a.inv_bandwidth[row],
        mean_link=a.mean_link[row],
        mean_comp=a.mean_comp[row, :n],
        min_comp=a.min_comp[row, :n],
        demand=a.demand[row, :n],
        capacity=a.capacity[row],
        earliest=a.earliest[row, :n],
    )


@embedded
def _state(batch: Batch, i: int, n: int) -> StateArrays:
    ints, floats = batch.ints[i], batch.floats[i]
    return StateArrays(
        processor=ints[0, :n],
        sequence=ints[1, :n],
        start=floats[0, :n],
        finish=floats[1, :n],
        slot_start=batch.slot_times[i, 0],
        slot_finish=batch.slot_times[i, 1],
        slot_load=batch.slot_load[i],
        slot_count=batch.slot_count[i],
        missing=ints[2, :n],
        ready=ints[3, :n],
        ready_index=ints[4, :n],
        bound=floats[2, :n],
        touched=batch.touched[:n],
        counts=batch.counts[i],
        totals=batch.totals[i],
    )


@embedded
def _show_placement(
    g: InstanceArrays,
    s: StateArrays,
    task: int,
    q: int,
    insertion: bool,
    scale: float,
    limit: float,
    layout: Layout,
    floats: Float32s,
    legal: Bools,
) -> None:
    """Update the features and the mask after ``place(task, q)``; equal to ``features.observe``.

    A placement changes the times of the ready tasks on q, and makes other tasks ready.
    """
    n, p = g.comp.shape
    size, width = layout.max_tasks, layout.max_processors
    status = floats[layout.tasks : layout.tasks + 4 * size].reshape(4, size)
    pairs = floats[layout.pairs : layout.pairs + 4 * size * width].reshape(4, size, width)
    status[READY, task] = 0.0
    status[COMPLETED, task] = 1.0
    for t in range(n):
        status[EARLIEST_FINISH, t] = min(s.bound[t] / scale, limit)
    floats[layout.processors + q] = min(available(s, q) / scale, limit)
    if has_resources(g):
        loads = floats[layout.loads : layout.loads + 2 * width * layout.resources]
        describe_load(g, s, q, scale, limit, loads.reshape(2, width, layout.resources))
    pairs[PLACED, task, q] = 1.0
    for w in range(p):
        legal[task, w] = False
        for k in (EST, EFT, GAP):
            pairs[k, task, w] = 0.0
    for i in range(s.counts[N_READY]):
        t = s.ready[i]
        was_ready = status[READY, t] > 0.0
        status[WAITING, t] = 0.0
        status[READY, t] = 1.0
        for w in range(p):
            if g.comp[t, w] == np.inf or (was_ready and w != q):
                continue
            start, finish, gap = placement(g, s, t, w, insertion)
            legal[t, w] = True
            pairs[EST, t, w] = min(start / scale, limit)
            pairs[EFT, t, w] = min(finish / scale, limit)
            pairs[GAP, t, w] = min(gap / scale, limit)

"""One step of many environments: the kernels of a single one, called row by row.

Arrays of a batch have a leading axis: B environments, or R problems that they share. Behind it they
are padded to N tasks, P processors and M edges; ``_problem`` and ``_state`` cut out of a row the
arrays that the other kernels take, so that the rules exist once. These have n tasks and m edges,
but always P processors: no task can run on those that are not there.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dagsched_env.kernels.arrays import Floats, InstanceArrays, Ints, StateArrays
from dagsched_env.kernels.dispatch import best_processor
from dagsched_env.kernels.features import available, placement
from dagsched_env.kernels.jit import borrowing
from dagsched_env.kernels.state import place, reset

__all__ = ["NO_ACTION", "Batch", "Frames", "Layout", "Pool", "advance"]

Float32s = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]

NO_ACTION = -1
"""In place of a task: an action outside the space, which places nothing."""


class Frames(NamedTuple):
    """Observations but for their action masks, one a row, in a block for each type of numbers."""

    floats: Float32s  # [rows, W]
    indices: Ints  # [rows, I]
    masks: npt.NDArray[np.int8]  # [rows, K]


class Pool(NamedTuple):
    """R problems, each with what an environment shows when an episode on it begins; read-only."""

    problems: InstanceArrays  # [R, ...] padded; comp is inf where there is no processor
    sizes: Ints  # [R, 3] tasks, processors, edges
    scale: Floats  # [R] unit of all scaled times
    frames: Frames
    legal: Bools  # [R, N, P]


class Batch(NamedTuple):
    """B environments."""

    rows: Ints  # [B] the problem of each
    counts: Ints  # [B, 2] of ``StateArrays``, as all up to ``touched``
    totals: Floats  # [B, 2]
    slot_count: Ints  # [B, P]
    ints: Ints  # [B, 5, N] processor, sequence, missing, ready, ready_index
    floats: Floats  # [B, 3 + 2P, N] start, finish, bound, slot_start [P, N], slot_finish [P, N]
    touched: Bools  # [N] scratch
    frames: Frames
    legal: Bools  # [B, N, P]


class Layout(NamedTuple):
    """Where the features that change lie in ``Frames.floats``, and the padded sizes."""

    tasks: int  # first entry of the block [4, N] of ``features.dynamic_features``
    processors: int  # [1, P]
    pairs: int  # [4, N, P]
    max_tasks: int  # N
    max_processors: int  # P


@borrowing
def advance(
    pool: Pool,
    batch: Batch,
    restart: Bools,
    tasks: Ints,
    processors: Ints,
    insertion: bool,
    limit: float,
    layout: Layout,
    placed: Bools,
) -> None:
    """Begin an episode where ``restart[B]``, else place a task if that is legal.

    ``tasks[B]`` holds ``NO_ACTION`` where nothing is to be placed; a negative entry of
    ``processors[B]`` stands for the processor of the earliest finish. Writes ``placed[B]``.
    """
    for i in range(batch.rows.shape[0]):
        row = batch.rows[i]
        placed[i] = False
        if not restart[i] and tasks[i] == NO_ACTION:
            continue
        g = _problem(pool, row)
        s = _state(batch, i, g.comp.shape[0])
        if restart[i]:
            reset(g, s)
            _copy(pool.frames.floats[row], batch.frames.floats[i])
            _copy(pool.frames.indices[row], batch.frames.indices[i])
            _copy(pool.frames.masks[row], batch.frames.masks[i])
            _copy(pool.legal[row].reshape(-1), batch.legal[i].reshape(-1))
            continue
        task, q = tasks[i], processors[i]
        legal = batch.legal[i]
        if q < 0:
            q = best_processor(g, s, task, insertion) if legal[task].any() else 0
        if legal[task, q]:
            place(g, s, task, q, insertion, True)
            placed[i] = True
            floats = batch.frames.floats[i]
            _show_placement(g, s, task, q, insertion, pool.scale[row], limit, layout, floats, legal)


@borrowing
def _copy(source: npt.NDArray[Any], target: npt.NDArray[Any]) -> None:
    """``target[:] = source``, for which numba would allocate."""
    for k in range(source.shape[0]):
        target[k] = source[k]


@borrowing
def _problem(pool: Pool, row: int) -> InstanceArrays:
    a = pool.problems
    n, m = pool.sizes[row, 0], pool.sizes[row, 2]
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
    )


@borrowing
def _state(batch: Batch, i: int, n: int) -> StateArrays:
    ints, floats, slot_count = batch.ints[i], batch.floats[i], batch.slot_count[i]
    p = slot_count.shape[0]
    return StateArrays(
        processor=ints[0, :n],
        sequence=ints[1, :n],
        start=floats[0, :n],
        finish=floats[1, :n],
        slot_start=floats[3 : 3 + p],
        slot_finish=floats[3 + p : 3 + 2 * p],
        slot_count=slot_count,
        missing=ints[2, :n],
        ready=ints[3, :n],
        ready_index=ints[4, :n],
        bound=floats[2, :n],
        touched=batch.touched[:n],
        counts=batch.counts[i],
        totals=batch.totals[i],
    )


@borrowing
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
    """Turn the features of a state into those after ``place(task, q)``, as ``features.observe``.

    A placement changes the times of the ready tasks on q, and makes other tasks ready.
    """
    n, p = g.comp.shape
    size, width = layout.max_tasks, layout.max_processors
    status = floats[layout.tasks : layout.tasks + 4 * size].reshape(4, size)
    pairs = floats[layout.pairs : layout.pairs + 4 * size * width].reshape(4, size, width)
    status[1, task] = 0.0
    status[2, task] = 1.0
    for t in range(n):
        status[3, t] = min(s.bound[t] / scale, limit)
    floats[layout.processors + q] = min(available(s, q) / scale, limit)
    pairs[0, task, q] = 1.0
    for w in range(p):
        legal[task, w] = False
        for k in range(1, 4):
            pairs[k, task, w] = 0.0
    for i in range(s.counts[1]):
        t = s.ready[i]
        was_ready = status[1, t] > 0.0
        status[0, t] = 0.0
        status[1, t] = 1.0
        for w in range(p):
            if g.comp[t, w] == np.inf or (was_ready and w != q):
                continue
            start, finish, gap = placement(g, s, t, w, insertion)
            legal[t, w] = True
            pairs[1, t, w] = min(start / scale, limit)
            pairs[2, t, w] = min(finish / scale, limit)
            pairs[3, t, w] = min(gap / scale, limit)

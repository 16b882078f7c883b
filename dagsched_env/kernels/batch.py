"""One step of many environments: the kernels of a single one, called row by row.

Arrays of a batch have a leading axis: B environments, or R problems that they share. Behind it they
are flat and padded to N tasks, P processors and M edges; ``_problem`` and ``_state`` cut out of a
row the arrays that the other kernels take, so that the rules exist once.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt

from dagsched_env.kernels.arrays import Floats, InstanceArrays, Ints, StateArrays
from dagsched_env.kernels.dispatch import best_processor
from dagsched_env.kernels.features import _available, _placement
from dagsched_env.kernels.state import place, reset

__all__ = ["NO_ACTION", "Batch", "Frames", "Layout", "Pool", "advance"]

Float32s = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]
Function = TypeVar("Function", bound=Callable[..., Any])

NO_ACTION = -1
"""In place of a task: an action outside the space, which places nothing."""

BORROWING: dict[str, Any] = {"cache": True, "nogil": True, "_nrt": False}


class Frames(NamedTuple):
    """Observations but for their action masks, one a row, in a block for each type of numbers."""

    floats: Float32s  # [rows, W]
    indices: Ints  # [rows, I]
    masks: npt.NDArray[np.int8]  # [rows, K]


class Pool(NamedTuple):
    """R problems, each with what an environment shows when an episode on it begins; read-only."""

    problems: InstanceArrays  # [R, padded size]
    sizes: Ints  # [R, 3] tasks, processors, edges
    scale: Floats  # [R] unit of all scaled times
    frames: Frames
    legal: Bools  # [R, N, P]


class Batch(NamedTuple):
    """B environments."""

    rows: Ints  # [B] the problem of each
    ints: Ints  # [B, 2 + 5N + P] of ``StateArrays``; a row begins with counts and processor
    floats: Floats  # [B, 2 + 3N + 2PN] of ``StateArrays``; with totals, start and finish
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


def _borrowing_kernel(function: Function) -> Function:
    """A kernel that counts no references to arrays: its caller owns them all while it runs.

    Counting the views of the 28 arrays of a row takes as long as the work on them. Such a kernel
    may neither allocate nor return arrays to Python.
    """
    return cast(Function, numba.njit(**BORROWING)(function))


@_borrowing_kernel
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
        s = _state(batch, i, g.comp.shape[0], g.comp.shape[1])
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


@_borrowing_kernel
def _copy(source: npt.NDArray[Any], target: npt.NDArray[Any]) -> None:
    """``target[:] = source``, for which numba would allocate."""
    for k in range(source.shape[0]):
        target[k] = source[k]


@_borrowing_kernel
def _problem(pool: Pool, row: int) -> InstanceArrays:
    a = pool.problems
    n, p, m = pool.sizes[row, 0], pool.sizes[row, 1], pool.sizes[row, 2]
    return InstanceArrays(
        a.comp[row, : n * p].reshape(n, p),
        a.succ_ptr[row, : n + 1],
        a.succ_task[row, :m],
        a.succ_data[row, :m],
        a.pred_ptr[row, : n + 1],
        a.pred_task[row, :m],
        a.pred_data[row, :m],
        a.topo[row, :n],
        a.topo_position[row, :n],
        a.latency[row, : p * p].reshape(p, p),
        a.inv_bandwidth[row, : p * p].reshape(p, p),
        a.mean_link[row],
        a.mean_comp[row, :n],
        a.min_comp[row, :n],
    )


@_borrowing_kernel
def _state(batch: Batch, i: int, n: int, p: int) -> StateArrays:
    """The layout of a row: one behind the other, each as long as this problem needs it."""
    ints, floats = batch.ints[i], batch.floats[i]
    ready, slots = 2 + 3 * n, 2 + 3 * n
    return StateArrays(
        processor=ints[2 : 2 + n],
        sequence=ints[2 + n : 2 + 2 * n],
        start=floats[2 : 2 + n],
        finish=floats[2 + n : 2 + 2 * n],
        slot_start=floats[slots : slots + p * n].reshape(p, n),
        slot_finish=floats[slots + p * n : slots + 2 * p * n].reshape(p, n),
        slot_count=ints[ready + 2 * n : ready + 2 * n + p],
        missing=ints[2 + 2 * n : 2 + 3 * n],
        ready=ints[ready : ready + n],
        ready_index=ints[ready + n : ready + 2 * n],
        bound=floats[2 + 2 * n : 2 + 3 * n],
        touched=batch.touched[:n],
        counts=ints[:2],
        totals=floats[:2],
    )


@_borrowing_kernel
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
    floats[layout.processors + q] = min(_available(s, q) / scale, limit)
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
            start, finish, gap = _placement(g, s, t, w, insertion)
            legal[t, w] = True
            pairs[1, t, w] = min(start / scale, limit)
            pairs[2, t, w] = min(finish / scale, limit)
            pairs[3, t, w] = min(gap / scale, limit)

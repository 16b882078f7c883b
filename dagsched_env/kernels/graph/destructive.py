"""Destructive bounds: whether a schedule can end by a horizon, as far as its windows tell.

A horizon that is refuted is a lower bound on the makespan (Klein, Scholl 1999, "Computing lower
bounds by destructive improvement").
"""

import numpy as np

from dagsched_env.kernels.arrays import Floats, InstanceArrays, Ints
from dagsched_env.kernels.graph.bounds import load_weights, weighted_work, widest_window
from dagsched_env.kernels.graph.companions import exclude_misfits
from dagsched_env.kernels.graph.windows import (
    MOST,
    PROGRESS,
    SLACK,
    TAKEN,
    Windows,
    make_due,
    raise_heads,
)
from dagsched_env.kernels.jit import kernel

SWEEPS = 8
"""Most times that all that is due is looked at for one horizon."""
PROBINGS = 3
"""Most times that all tasks are probed."""
LOAD_STEPS = 10
"""What the fit of the loads takes, for each pair of a task and a processor."""


@kernel
def refutes(
    g: InstanceArrays,
    back: InstanceArrays,
    w: Windows,
    horizon: float,
    effort: Ints,
    probing: bool,
) -> bool:
    """Whether the windows show that no schedule ends by the horizon.

    Args:
        g: the problem, without resources.
        back: the reversed problem.
        w: windows for this horizon or a later one; they become smaller.
        horizon: makespan in question (time), > 0.
        effort: steps taken so far, which grow, and the most to be taken; with more of them nothing
            is refuted.
        probing: look at what follows from each processor of each task.
    """
    w.due[:] = w.due_back[:] = True
    effort[TAKEN] += LOAD_STEPS * g.comp.size
    if not _settle(g, back, w, horizon, effort) or _overloads(g, w, horizon):
        return True
    if probing:
        trial = _copied(w)
        for _ in range(PROBINGS):
            possible, changed = _probe(g, back, w, trial, horizon, effort)
            if not possible or (changed and _overloads(g, w, horizon)):
                return True
            if not changed or effort[TAKEN] > effort[MOST]:
                break
    return False


@kernel
def _settle(
    g: InstanceArrays, back: InstanceArrays, w: Windows, horizon: float, effort: Ints
) -> bool:
    """Make the windows smaller until nothing changes; whether the horizon remains possible."""
    back_w = Windows(w.tail, w.head, w.sent_back, w.sent, w.due_back, w.due, w.alike)
    for _ in range(SWEEPS):
        possible, _ = raise_heads(g, w, horizon, effort)
        if not possible:
            return False
        possible, _ = raise_heads(back, back_w, horizon, effort)
        if not possible:
            return False
        if w.due.any():
            continue
        possible, changed = exclude_misfits(g, w, horizon, effort)
        if not possible:
            return False
        if not changed or effort[TAKEN] > effort[MOST]:
            break
    return True


@kernel
def _overloads(g: InstanceArrays, w: Windows, horizon: float) -> bool:
    """Whether the tasks are too much work for the processors on which they still can be.

    The bounds ``load`` and ``window`` of the problem without the excluded pairs.
    """
    n, p = g.comp.shape
    comp = g.comp.copy()
    least_head, least_tail = np.empty(n), np.empty(n)
    for t in range(n):
        least_head[t], least_tail[t] = w.head[t].min(), w.tail[t].min()
        for q in range(p):
            if w.head[t, q] == np.inf:
                comp[t, q] = np.inf
    work = weighted_work(comp, load_weights(comp, np.ones(n, dtype=np.bool_)))
    widest, _, _ = widest_window(work, least_head, least_tail)
    return max(work.sum(), widest) > horizon * (1.0 + SLACK)  # type: ignore[no-any-return]


@kernel
def _probe(
    g: InstanceArrays,
    back: InstanceArrays,
    w: Windows,
    trial: Windows,
    horizon: float,
    effort: Ints,
) -> tuple[bool, bool]:
    """Suppose of each task that it is on one processor, on each in turn, and see what follows.

    One of these suppositions is true. Where one is impossible, the pair is excluded; and what
    follows from all the others holds: each head is at least the least of them, each tail, too.

    Args:
        w: settled windows, which become smaller.
        trial: work space of the same size.
        horizon: makespan in question (time).
        effort: steps taken so far, which grow, and the most to be taken.

    Returns:
        Whether the horizon remains possible; whether a window has changed.
    """
    n, p = g.comp.shape
    changed = False
    head, tail = np.empty((n, p)), np.empty((n, p))
    for v in g.topo:
        if np.isfinite(w.head[v]).sum() < 2:
            continue
        head[:], tail[:] = np.inf, np.inf
        excluded = False
        for q in range(p):
            if w.head[v, q] == np.inf:
                continue
            _copy(w, trial)
            for a in range(p):
                if a != q:
                    trial.head[v, a] = trial.tail[v, a] = np.inf
            make_due(g, trial, v)
            trial.due[v] = trial.due_back[v] = True
            if _settle(g, back, trial, horizon, effort):
                np.minimum(head, trial.head, head)
                np.minimum(tail, trial.tail, tail)
            else:
                w.head[v, q] = w.tail[v, q] = np.inf
                excluded = True
            effort[TAKEN] += (n + w.sent.shape[0]) * p // 4  # the copies
            if effort[TAKEN] > effort[MOST]:
                break
        if w.head[v].min() == np.inf:
            return False, True
        if effort[TAKEN] > effort[MOST]:  # what follows from the others is not known
            return True, changed or excluded
        if _narrow(g, w, head, tail, horizon) or excluded:
            changed = True
            make_due(g, w, v)
            if not _settle(g, back, w, horizon, effort):
                return False, True
    return True, changed


@kernel
def _narrow(g: InstanceArrays, w: Windows, head: Floats, tail: Floats, horizon: float) -> bool:
    """Take over later heads and tails; whether one of them was later."""
    n, p = head.shape
    least = PROGRESS * horizon
    changed = False
    for t in range(n):
        moved = False
        for q in range(p):
            if w.head[t, q] < np.inf:
                moved = moved or head[t, q] > w.head[t, q] + least
                moved = moved or tail[t, q] > w.tail[t, q] + least
                w.head[t, q] = max(w.head[t, q], head[t, q])
                w.tail[t, q] = max(w.tail[t, q], tail[t, q])
                if w.head[t, q] == np.inf:
                    w.tail[t, q] = np.inf
        if moved:
            changed = True
            make_due(g, w, t)
    return changed


@kernel
def _copied(w: Windows) -> Windows:
    return Windows(
        w.head.copy(),
        w.tail.copy(),
        w.sent.copy(),
        w.sent_back.copy(),
        w.due.copy(),
        w.due_back.copy(),
        w.alike,
    )


@kernel
def _copy(source: Windows, target: Windows) -> None:
    target.head[:] = source.head
    target.tail[:] = source.tail
    target.sent[:] = source.sent
    target.sent_back[:] = source.sent_back
    target.due[:] = source.due
    target.due_back[:] = source.due_back

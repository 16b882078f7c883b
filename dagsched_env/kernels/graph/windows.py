"""Windows: when each task can run on each processor, if a schedule is to end by a horizon.

The window of task t on processor q begins at its head and ends its tail before the horizon: in
every schedule that ends by the horizon and has t on q, t runs within. A pair of a task and a
processor is excluded where no such schedule has t on q; its head and its tail are inf. A task with
no processor left refutes the horizon: every schedule is longer.

What is said here of inputs, heads and ancestors holds of outputs, tails and descendants on the
reversed graph. All of it is for processors that run one task at a time, not for resources.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dagsched_env.kernels.arrays import Floats, InstanceArrays, Ints
from dagsched_env.kernels.graph.bounds import ascending
from dagsched_env.kernels.graph.communication import communication
from dagsched_env.kernels.jit import kernel

SLACK = 1e-9
"""Share of the horizon by which a time has to be too late, so that rounding refutes nothing."""
PROGRESS = 1e-3
"""Share of the horizon by which a window has to become smaller for others to be looked at again."""
ROUNDS = 16
"""Most starts that are tried for one head."""

# Indices of ``effort``: steps of about ten nanoseconds that were taken, and the most of them. When
# they are used up, windows stay as wide as they are.
TAKEN = 0
MOST = 1


class Windows(NamedTuple):
    """All windows, and which have to be looked at; changed in place.

    ``sent[e, q]`` is a time before which the data of edge e cannot be on q if its task is
    elsewhere.
    """

    head: Floats  # [n, p] time; inf = excluded
    tail: Floats  # [n, p] time; inf = excluded
    sent: Floats  # [m, p] edges in the order of ``pred_task``
    sent_back: Floats  # [m, p] the same on the reversed graph, in the order of ``succ_task``
    due: npt.NDArray[np.bool_]  # [n] whose heads are to be raised
    due_back: npt.NDArray[np.bool_]  # [n] whose tails are to be raised
    alike: bool  # a transfer takes the same time between any two processors


class Ancestors(NamedTuple):
    """Work space: the ancestors that must share a processor with a task."""

    latest: Floats  # [n] latest start there; inf = need not share it
    found: Ints  # [n]


@kernel
def raise_heads(g: InstanceArrays, w: Windows, horizon: float, effort: Ints) -> tuple[bool, bool]:
    """Raise the heads of all tasks that are due, and exclude pairs whose window is too short.

    The proof is at ``_lateness``.

    Args:
        horizon: makespan in question (time).
        effort: steps taken so far, which grow, and the most to be taken.

    Returns:
        Whether the horizon remains possible; whether a window has changed.
    """
    n, p = g.comp.shape
    space = Ancestors(np.full(n, np.inf), np.empty(n, dtype=np.int64))
    slack = SLACK * horizon
    changed = False
    effort[TAKEN] += n
    for v in g.topo:
        if not w.due[v] or effort[TAKEN] > effort[MOST]:
            continue
        w.due[v] = False
        _find_sent(g, w, v)
        effort[TAKEN] += p * (1 + g.pred_ptr[v + 1] - g.pred_ptr[v])
        moved, possible = False, False
        for q in range(p):
            if w.head[v, q] == np.inf:
                continue
            head = _least_start(g, w, v, q, horizon, space, effort)
            if head + g.comp[v, q] + w.tail[v, q] > horizon + slack:
                w.head[v, q] = w.tail[v, q] = np.inf
                moved = True
                continue
            possible = True
            if head > w.head[v, q]:
                moved = moved or head > w.head[v, q] + PROGRESS * horizon
                w.head[v, q] = head
        if not possible:
            return False, True
        if moved:
            changed = True
            make_due(g, w, v)
    return True, changed


@kernel
def make_due(g: InstanceArrays, w: Windows, v: int) -> None:
    """Have the neighbours of a task looked at again, whose windows follow from its own."""
    w.due[g.succ_task[g.succ_ptr[v] : g.succ_ptr[v + 1]]] = True
    w.due_back[g.pred_task[g.pred_ptr[v] : g.pred_ptr[v + 1]]] = True


@kernel
def _find_sent(g: InstanceArrays, w: Windows, v: int) -> None:
    """``sent`` of the inputs of a task."""
    p = g.comp.shape[1]
    for e in range(g.pred_ptr[v], g.pred_ptr[v + 1]):
        u = g.pred_task[e]
        if w.alike:
            first, second, at = np.inf, np.inf, -1
            for a in range(p):
                finish = w.head[u, a] + g.comp[u, a]
                if finish < first:
                    first, second, at = finish, first, a
                elif finish < second:
                    second = finish
            transfer = communication(g, g.pred_data[e], 0, p - 1)
            for q in range(p):
                w.sent[e, q] = (second if q == at else first) + transfer
        else:
            for q in range(p):
                least = np.inf
                for a in range(p):
                    if a != q and w.head[u, a] < np.inf:
                        transfer = communication(g, g.pred_data[e], a, q)
                        least = min(least, w.head[u, a] + g.comp[u, a] + transfer)
                w.sent[e, q] = least


@kernel
def _least_start(
    g: InstanceArrays,
    w: Windows,
    v: int,
    q: int,
    horizon: float,
    space: Ancestors,
    effort: Ints,
) -> float:
    """The least start of task v on processor q that ``_lateness`` does not refute, or less."""
    slack = SLACK * horizon
    low, high = w.head[v, q], 0.0
    for e in range(g.pred_ptr[v], g.pred_ptr[v + 1]):
        u = g.pred_task[e]
        low = max(low, min(w.sent[e, q], w.head[u, q] + g.comp[u, q]))
        high = max(high, w.sent[e, q])
    # Then all inputs may come from elsewhere; or it is too late anyway.
    high = min(high, horizon - w.tail[v, q] - g.comp[v, q])
    halve = False
    for _ in range(ROUNDS):
        if low >= high - slack:
            break
        start = 0.5 * (low + high) if halve else low
        late = _lateness(g, w, v, q, start, horizon, space, effort)
        if late > 0.0:
            low = start + late
        elif halve:
            high = start
        else:
            break
        halve = not halve
    return low  # type: ignore[no-any-return]


@kernel
def _lateness(
    g: InstanceArrays,
    w: Windows,
    v: int,
    q: int,
    start: float,
    horizon: float,
    space: Ancestors,
    effort: Ints,
) -> float:
    """0 if task v may start on processor q by ``start``; else how much later it starts, at least.

    Suppose that it does start by then. If the data of an input is sent to q after that at the
    earliest, its task is on q too. It starts there before v by its cost, and so that its own tail
    meets the horizon. The same holds of its inputs, with this latest start, and so on. These
    ancestors run on q one after the other, each from its head on, and are done by ``start``: a
    contradiction if they cannot be, or if the head of one is after its latest start.

    With a later start all latest starts are later by no more, and a part of the ancestors is found.
    The contradiction remains as long as each of the times in it is too late.
    """
    slack = SLACK * horizon
    space.latest[v] = start
    space.found[0] = v
    count, left, i, late = 1, 1, g.topo_position[v], np.inf
    fits = True
    while left > 0 and fits:  # all descendants of a task come before it
        t = g.topo[i]
        i -= 1
        effort[TAKEN] += 1
        if space.latest[t] == np.inf:
            continue
        left -= 1
        if t != v:
            in_time = horizon - w.tail[t, q] - g.comp[t, q]
            space.latest[t] = min(space.latest[t], in_time)
        latest = space.latest[t]
        if w.head[t, q] > latest + slack and t != v:
            late = min(late, w.head[t, q] - latest)
            fits = False
        for e in range(g.pred_ptr[t], g.pred_ptr[t + 1]):
            effort[TAKEN] += 1
            u = g.pred_task[e]
            if not fits or w.sent[e, q] <= latest + slack:
                continue
            late = min(late, w.sent[e, q] - latest)
            if w.head[u, q] == np.inf:
                fits = False
                break
            if space.latest[u] == np.inf:
                space.found[count] = u
                count += 1
                left += 1
            space.latest[u] = min(space.latest[u], latest - g.comp[u, q])
    for k in range(count):
        space.latest[space.found[k]] = np.inf
    if not fits:
        return late
    ancestors = space.found[1:count]
    effort[TAKEN] += 3 * count
    end = 0.0
    for k in ascending(w.head[ancestors, q]):
        u = ancestors[k]
        end = max(end, w.head[u, q]) + g.comp[u, q]
    return min(late, end - start) if end > start + slack else 0.0

"""Pairs of a task and a processor that bring too many other tasks to the processor."""

import numpy as np

from dagsched_env.kernels.arrays import InstanceArrays, Ints
from dagsched_env.kernels.graph.bounds import ascending
from dagsched_env.kernels.graph.windows import MOST, SLACK, TAKEN, Windows, make_due
from dagsched_env.kernels.jit import kernel


@kernel
def exclude_misfits(
    g: InstanceArrays, w: Windows, horizon: float, effort: Ints
) -> tuple[bool, bool]:
    """Exclude pairs with which too many tasks would have to be on one processor.

    Suppose that task v is on q. If an input from elsewhere comes too late for v to end within its
    window there, the task of the input is on q, too; and so is an output of v that would be too
    late elsewhere. The same holds of these tasks, and so on. They run on q one after the other,
    each in its window, or v is not on q. The test is that for one machine with interruptions: in
    no interval may the tasks whose windows lie in it take longer than it lasts.

    The companions of a companion are companions. So where those of v fit, each of them fits, too.

    Args:
        horizon: makespan in question (time).
        effort: steps taken so far, which grow, and the most to be taken.

    Returns:
        Whether the horizon remains possible; whether a pair was excluded.
    """
    n, p = g.comp.shape
    changed = False
    found = np.empty(n, dtype=np.int64)
    mark = np.full(n, -1)
    effort[TAKEN] += n * p
    for q in range(p):
        fits = np.zeros(n, dtype=np.bool_)
        for v in g.topo:
            if w.head[v, q] == np.inf or fits[v] or effort[TAKEN] > effort[MOST]:
                continue
            count = _companions(g, w, v, q, horizon, found, mark, effort)
            if count > 0 and _fit_one_by_one(g, w, found[:count], q, horizon, effort):
                fits[found[:count]] = True
                continue
            w.head[v, q] = w.tail[v, q] = np.inf
            changed = True
            make_due(g, w, v)
            if w.head[v].min() == np.inf:
                return False, True
    return True, changed


@kernel
def _companions(
    g: InstanceArrays,
    w: Windows,
    v: int,
    q: int,
    horizon: float,
    found: Ints,
    mark: Ints,
    effort: Ints,
) -> int:
    """Find the tasks that are on q if task v is; v is the first of them.

    Args:
        found: ``[n]`` is filled with them.
        mark: ``[n]`` of the last v·p + q for which a task was found.

    Returns:
        Their number; 0 if one of them cannot be on q.
    """
    slack = SLACK * horizon
    name = v * g.comp.shape[1] + q
    found[0] = v
    mark[v] = name
    count, done = 1, 0
    while done < count:
        t = found[done]
        done += 1
        for e in range(g.pred_ptr[t], g.pred_ptr[t + 1]):
            u = g.pred_task[e]
            if w.sent[e, q] + g.comp[t, q] + w.tail[t, q] > horizon + slack and mark[u] != name:
                if w.head[u, q] == np.inf:
                    return 0
                found[count] = u
                mark[u] = name
                count += 1
        for e in range(g.succ_ptr[t], g.succ_ptr[t + 1]):
            u = g.succ_task[e]
            if (
                w.head[t, q] + g.comp[t, q] + w.sent_back[e, q] > horizon + slack
                and mark[u] != name
            ):
                if w.head[u, q] == np.inf:
                    return 0
                found[count] = u
                mark[u] = name
                count += 1
        effort[TAKEN] += g.pred_ptr[t + 1] - g.pred_ptr[t] + g.succ_ptr[t + 1] - g.succ_ptr[t]
    return count


@kernel
def _fit_one_by_one(
    g: InstanceArrays, w: Windows, tasks: Ints, q: int, horizon: float, effort: Ints
) -> bool:
    """Whether no interval has windows of tasks on q that take longer than it lasts."""
    effort[TAKEN] += tasks.shape[0] ** 2
    by_tail = tasks[ascending(-w.tail[tasks, q])]
    for first in tasks:
        end = w.head[first, q]
        for t in by_tail:
            if w.head[t, q] >= w.head[first, q]:
                end += g.comp[t, q]
                if end + w.tail[t, q] > horizon * (1.0 + SLACK):
                    return False
    return True

"""Kernels: one pass over the ready tasks, which says what starts now."""

import numpy as np

from aerl_trainer.online.context import MACHINES, TASKS, DispatchContext, DispatchWork
from aerl_trainer.online.network import add_gradient, score
from aerl_trainer.online.view import describe, look, starts_now
from aerl_trainer.policy.choosing import draw, most_probable
from dagsched_env.kernels.arrays import Floats, InstanceArrays
from dagsched_env.kernels.graph.resources import has_resources
from dagsched_env.kernels.jit import borrowing, embedded
from dagsched_env.kernels.online.dispatch import room_from
from dagsched_env.kernels.online.situation import N_READY, N_RUNNING, NOW, SituationArrays

MOST_WAITS = 24
"""A pass ends when so many tasks have been assigned that wait."""

GREEDY = -1.0
"""In place of a random number: the most probable pair."""


@borrowing
def decide(
    g: InstanceArrays,
    s: SituationArrays,
    c: DispatchContext,
    w: DispatchWork,
    weights: Floats,
    uniforms: Floats,
    gradient: Floats,
) -> int:
    """Assign ready tasks to machines until nothing more could start; say which start now.

    Each choice is among the tasks of highest rank_u that are not assigned yet (of several graphs,
    half of them of graphs with least work left), and for each of them
    among the machines where it is expected to finish first, after those that run and those that are
    assigned already. A task that cannot start yet holds its machine for the time of this pass.

    Args:
        w: scratch; ``starts`` receives tasks and machines.
        weights: ``[N_WEIGHTS]``.
        uniforms: ``[m]`` numbers in [0, 1), used in turn from ``w.used`` on, or all ``GREEDY``.
        gradient: ``[1, N_WEIGHTS]`` that of the log-probability of all choices is added; or
            ``[0, N_WEIGHTS]``.

    Returns:
        How many start.
    """
    look(g, s, c, w)
    held, listed, started, waiting, more = s.counts[N_RUNNING], 0, 0, 0, True
    while waiting < MOST_WAITS:
        while more and listed < TASKS:
            short = _is_short(w, listed)
            t = _next_task(s, c, w, short)
            more = t >= 0
            if more and _can_run(g, s, t):
                _enter(g, s, c, w, t, listed, held, short)
                listed += 1
        if listed == 0 or not _some_may_start(g, s, w, listed, more):
            break
        count = _pair_up(g, s, c, w, listed)
        score(w, weights, count)
        uniform = uniforms[w.used[0] % uniforms.shape[0]]
        w.used[0] += 1
        k = most_probable(w.logits, count) if uniform < 0.0 else draw(w.logits, count, uniform)
        if gradient.shape[0] > 0:
            add_gradient(w, weights, count, k, gradient[0])
        row, q = w.pair_row[k], w.pair_machine[k]
        t = w.tasks[row]
        if starts_now(g, s, w, row, q):
            w.starts[started, 0], w.starts[started, 1] = t, q
            started += 1
        else:
            waiting += 1
            w.queue[q] += 1
        s.machine[t] = q  # for the time of this call
        w.holds[held], w.until[t] = t, w.finish[row, q]
        held += 1
        _hold(g, w, t, q)
        _leave(g, w, row, listed)
        listed -= 1
        for i in range(listed):
            _find_room(g, s, w, i, q, held)
    for i in range(s.counts[N_READY]):
        s.machine[s.listed[0, i]] = -1
    return started


@embedded
def _is_short(w: DispatchWork, listed: int) -> bool:
    """Whether the next task of the short list is one of a graph with little work left: of several
    graphs half of the list is."""
    by_rank = 0
    for i in range(listed):
        by_rank += 0 if w.short[i] else 1
    return w.left.shape[0] > 1 and by_rank >= TASKS // 2


@borrowing
def _next_task(s: SituationArrays, c: DispatchContext, w: DispatchWork, short: bool) -> int:
    """The first ready task that has not been seen, by ``_is_before``; −1 if there is none.

    Args:
        short: of the graph with least work left.
    """
    best = -1
    for i in range(s.counts[N_READY]):
        t = s.listed[0, i]
        if w.seen[t]:
            continue
        if best < 0:
            best = t
        elif short and w.left[c.graph[t]] != w.left[c.graph[best]]:
            if w.left[c.graph[t]] < w.left[c.graph[best]]:
                best = t
        elif _is_before(s, c, t, best):
            best = t
    if best >= 0:
        w.seen[best] = True
    return best


@embedded
def _is_before(s: SituationArrays, c: DispatchContext, t: int, u: int) -> bool:
    """By rank_u, the highest first; of equal ones that which has been ready for longest, then the
    lowest."""
    if c.rank[t] != c.rank[u]:
        return c.rank[t] > c.rank[u]  # type: ignore[no-any-return]
    if s.since[t] != s.since[u]:
        return s.since[t] < s.since[u]  # type: ignore[no-any-return]
    return t < u


@borrowing
def _can_run(g: InstanceArrays, s: SituationArrays, t: int) -> bool:
    """Whether some machine that works can run a task."""
    for q in range(g.comp.shape[1]):  # noqa: SIM110 - a generator is no kernel
        if s.up[q] and g.comp[t, q] < np.inf:
            return True
    return False


@borrowing
def _enter(
    g: InstanceArrays,
    s: SituationArrays,
    c: DispatchContext,
    w: DispatchWork,
    t: int,
    listed: int,
    held: int,
    short: bool,
) -> None:
    """Put a task into the short list, at its place by ``_is_before``."""
    row = listed
    while row > 0 and _is_before(s, c, t, w.tasks[row - 1]):
        _move(g, w, row - 1, row)
        row -= 1
    w.tasks[row], w.short[row] = t, short
    for q in range(g.comp.shape[1]):
        w.room[row, q], w.finish[row, q] = np.inf, np.inf
        _find_room(g, s, w, row, q, held)


@embedded
def _move(g: InstanceArrays, w: DispatchWork, row: int, to: int) -> None:
    """A task of the short list gets another place there."""
    w.tasks[to], w.short[to] = w.tasks[row], w.short[row]
    for q in range(g.comp.shape[1]):
        w.room[to, q], w.finish[to, q] = w.room[row, q], w.finish[row, q]


@embedded
def _find_room(
    g: InstanceArrays, s: SituationArrays, w: DispatchWork, row: int, q: int, held: int
) -> None:
    """From when on a machine has room for a task of the short list, and when that ends there."""
    t = w.tasks[row]
    if not s.up[q] or g.comp[t, q] == np.inf:
        return
    if has_resources(g):
        w.room[row, q] = room_from(g, s, t, q, w.holds, held, w.until)
    else:
        w.room[row, q] = w.free_at[q]
    w.finish[row, q] = max(s.arrival[t, q], w.room[row, q]) + g.comp[t, q]


@embedded
def _hold(g: InstanceArrays, w: DispatchWork, t: int, q: int) -> None:
    """A task that is assigned takes its share of a machine."""
    w.free_at[q] = max(w.free_at[q], w.until[t])
    if not has_resources(g):
        w.taken[q] = 1.0
        return
    for r in range(g.demand.shape[1]):
        if g.capacity[q, r] > 0:
            w.taken[q] = min(1.0, w.taken[q] + g.demand[t, r] / g.capacity[q, r])


@borrowing
def _leave(g: InstanceArrays, w: DispatchWork, row: int, listed: int) -> None:
    """Take a task out of the short list; those behind it move up."""
    for i in range(row, listed - 1):
        _move(g, w, i + 1, i)


@borrowing
def _some_may_start(
    g: InstanceArrays, s: SituationArrays, w: DispatchWork, listed: int, more: bool
) -> bool:
    """False where nothing that is not assigned could start now.

    Args:
        listed: length of the short list.
        more: there may be tasks outside it, of which only the machines are looked at.
    """
    if more:
        if has_resources(g):
            return True
        for q in range(g.comp.shape[1]):
            if s.up[q] and s.free[q, 0] > 0 and w.free_at[q] <= s.clock[NOW]:
                return True
        return False
    for i in range(listed):
        for q in range(g.comp.shape[1]):
            if starts_now(g, s, w, i, q):
                return True
    return False


@borrowing
def _pair_up(
    g: InstanceArrays, s: SituationArrays, c: DispatchContext, w: DispatchWork, listed: int
) -> int:
    """List the pairs with their features, those of one task by expected finish.

    Returns:
        How many there are.
    """
    count, p = 0, g.comp.shape[1]
    for row in range(listed):
        first, t = count, w.tasks[row]
        for q in range(p):
            finish = w.finish[row, q]
            if finish == np.inf:
                continue
            at = count  # insertion by finish; of equal ones the lowest machine is first
            while at > first and w.finish[row, w.pair_machine[at - 1]] > finish:
                at -= 1
            if at - first == MACHINES:
                continue
            count = min(count + 1, first + MACHINES)
            for k in range(count - 1, at, -1):
                w.pair_machine[k] = w.pair_machine[k - 1]
            w.pair_machine[at], w.pair_row[count - 1] = q, row
        least_cost = np.inf
        for q in range(p):
            least_cost = min(least_cost, w.finish[row, q] + c.to_go[t, q])
        least = w.finish[row, w.pair_machine[first]]
        second = w.finish[row, w.pair_machine[first + 1]] if count > first + 1 else np.inf
        describe(g, s, c, w, row, least, second, least_cost, first, count)
    return count

"""Kernels: one pass over the ready tasks, which says what starts now."""

import numpy as np

from aerl_trainer.online.context import MACHINES, TASKS, DispatchContext, DispatchWork
from aerl_trainer.online.network import add_gradient, draw, most_probable, score
from aerl_trainer.online.view import describe, look, starts_now
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

    Each choice is among the tasks of highest rank_u that are not assigned yet, and for each of them
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
            t = _next_task(s, c, w)
            more = t >= 0
            if more and _enter(g, s, w, t, listed, held):
                listed += 1
        if listed == 0 or not _some_may_start(g, s, w, listed, more):
            break
        count = _pair_up(g, s, c, w, listed)
        score(w, weights, count)
        uniform = uniforms[w.used[0] % uniforms.shape[0]]
        w.used[0] += 1
        k = most_probable(w, count) if uniform < 0.0 else draw(w, count, uniform)
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
def _next_task(s: SituationArrays, c: DispatchContext, w: DispatchWork) -> int:
    """The ready task of highest rank that has not been seen; of equal ones that which has been
    ready for longest, then the lowest; −1 if there is none."""
    best = -1
    for i in range(s.counts[N_READY]):
        t = s.listed[0, i]
        if w.seen[t]:
            continue
        if best < 0 or c.rank[t] > c.rank[best]:
            best = t
        elif c.rank[t] == c.rank[best]:
            older = s.since[t] < s.since[best]
            if older or (s.since[t] == s.since[best] and t < best):
                best = t
    if best >= 0:
        w.seen[best] = True
    return best


@embedded
def _enter(
    g: InstanceArrays, s: SituationArrays, w: DispatchWork, t: int, row: int, held: int
) -> bool:
    """Put a task into the short list; False where no machine that works can run it."""
    w.tasks[row] = t
    found = False
    for q in range(g.comp.shape[1]):
        w.room[row, q], w.finish[row, q] = np.inf, np.inf
        if s.up[q] and g.comp[t, q] < np.inf:
            found = True
            _find_room(g, s, w, row, q, held)
    return found


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


@embedded
def _leave(g: InstanceArrays, w: DispatchWork, row: int, listed: int) -> None:
    """Take a task out of the short list; those behind it move up."""
    for i in range(row, listed - 1):
        w.tasks[i] = w.tasks[i + 1]
        for q in range(g.comp.shape[1]):
            w.room[i, q], w.finish[i, q] = w.room[i + 1, q], w.finish[i + 1, q]


@embedded
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


@embedded
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

"""The pairs of a state that are worth scoring, their features and logits.

A placement changes the earliest starts of the ready tasks on one processor only, so these are
cached: a step costs O(ready tasks + scored pairs), and few pairs are scored.
"""

import math

import numpy as np
import numpy.typing as npt

from aerl_trainer.policy.context import HEIRS, PolicyContext
from aerl_trainer.policy.encoding.candidates import INSERTION
from aerl_trainer.policy.encoding.context import EncodingContext
from aerl_trainer.policy.encoding.features import index_of
from aerl_trainer.policy.weights import (
    BIAS,
    HIDDEN,
    INITIAL_SCALE,
    INPUT,
    LINEAR,
    N_FEATURES,
    N_UNSHARED,
    OUTPUT,
    ROW,
    SCALE,
    Weights,
)
from aerl_trainer.policy.workspace import PolicyWorkspace
from dagsched_env.kernels.arrays import MAKESPAN, N_PLACED, N_READY, InstanceArrays, StateArrays
from dagsched_env.kernels.graph.communication import communication
from dagsched_env.kernels.graph.release import first_start, least_first_start
from dagsched_env.kernels.graph.resources import has_resources
from dagsched_env.kernels.jit import borrowing, embedded, inlined
from dagsched_env.kernels.state.features import available
from dagsched_env.kernels.state.timeline import (
    earliest_slot,
    idle_before,
    share_in_use,
    share_taken,
)

# Columns, as constants of the kernels.
EFT_DELAY = index_of("policy", "eft_delay")
PATH_DELAY = index_of("policy", "path_delay")
COMP_EXCESS = index_of("policy", "comp_excess")
EST_DELAY = index_of("policy", "est_delay")
RANK_LAG = index_of("policy", "rank_lag")
GROWTH = index_of("policy", "growth")
GAP = index_of("policy", "gap")
LOAD_EXCESS = index_of("policy", "load_excess")
LOCAL_INPUTS = index_of("policy", "local_inputs")
LOCAL_SIBLINGS = index_of("policy", "local_siblings")
OUTPUT_VOLUME = index_of("policy", "output")
COMP = index_of("policy", "comp")
OCT_EXCESS = index_of("policy", "oct_excess")
LOG_CCR = index_of("policy", "log_ccr")
LOG_SPREAD = index_of("policy", "log_spread")
PARALLELISM = index_of("policy", "parallelism")
PLACED = index_of("policy", "placed")
URGENCY = index_of("policy", "urgency")
ADVANTAGE = index_of("policy", "advantage")
PATH_ADVANTAGE = index_of("policy", "path_advantage")
RIVAL = index_of("policy", "rival")
CHILD_DELAY = index_of("policy", "child_delay")
CHILD_WAIT = index_of("policy", "child_wait")
OPENS = index_of("policy", "opens")
CROWD = index_of("policy", "crowd")
BUSY = index_of("policy", "busy")
INSERTED = index_of("policy", "inserted")
LOG_OUT = index_of("policy", "log_out")
RELATIVE_COMP = index_of("policy", "relative_comp")
SLOWNESS = index_of("policy", "slowness")
SPARE = index_of("policy", "spare")
BESIDE = index_of("policy", "beside")

LEAST_CROWD = 0.01
"""Processors that ready tasks fill which need next to nothing."""
LARGEST = float(np.finfo(np.float64).max)


@borrowing
def begin(f: PolicyContext, w: PolicyWorkspace, s: StateArrays) -> None:
    """Fill the caches for a state, whatever they held before.

    Args:
        w: out: its caches.
        s: any state; ``w.state`` or another.
    """
    g = f.c.g
    n, p = g.comp.shape
    for q in range(p):
        w.load[q] = 0.0
        w.available[q] = available(s, q)
    for t in range(n):
        w.least_known[t] = least_first_start(g, t)
        for q in range(p):
            w.placed_data[t, q] = 0.0
            w.known[t, q] = first_start(g, t, q)
    for i in range(s.counts[N_PLACED]):
        _count_in(f, w, s, s.sequence[i], s.processor[s.sequence[i]])
    _open_from(f, w, s, 0, np.inf)


@embedded
def follow(
    f: PolicyContext, w: PolicyWorkspace, s: StateArrays, task: int, q: int, before: int
) -> None:
    """Bring the caches up to date after a placement.

    Args:
        w: its caches, of the state before.
        s: the state after the placement.
        task: that has been placed.
        q: its processor.
        before: how many tasks were ready before it.
    """
    _count_in(f, w, s, task, q)
    placed_start, placed_finish = s.start[task], s.finish[task]
    w.available[q] = available(s, q)
    _unlist(w, task, before)
    occupies = _occupies(f, s, task, q)
    first = np.inf
    for i in range(before - 1):
        t = w.order[i]
        start = w.start[t, q]
        left = start - placed_finish
        # Of two tasks without duration one is behind the other. No branches but the rare ones.
        if (left < 0.0) & (w.finish[t, q] > placed_start):
            # Beside the new task, if both fit.
            _fit(f, w, s, t, q, start if has_resources(f.c.g) else placed_finish)
            w.stale[t] = True
        elif (left >= 0.0) & (left < w.gap[t, q]) & occupies:
            w.gap[t, q] = left
        # What is stale is no more than the time itself.
        if w.least_finish[t] < first:
            if w.stale[t]:
                _summarise(f, w, t)
            first = min(first, w.least_finish[t])
    # The tasks that have become ready are the last ones.
    _open_from(f, w, s, before - 1, first)


@embedded
def short_list(f: PolicyContext, w: PolicyWorkspace, s: StateArrays) -> int:
    """Find the pairs of highest prior, best first; equal ones by action number.

    Args:
        w: its caches; ``actions`` and ``delays``, which increase, are written.
        s: the state, not terminal.

    Returns:
        How many there are, at most ``f.listed``.
    """
    p = f.c.g.comp.shape[1]
    top = f.c.rank_u[w.order[0]]
    kept, limit = 0, LARGEST
    for i in range(s.counts[N_READY]):
        t = w.order[i]
        lag = top - f.c.rank_u[t]
        # The best pair of a task has the delay of its rank alone.
        if lag > limit:
            break
        _look_at(f, w, s, t)
        for q in range(p):
            delay = w.total[t, q] - w.least_total[t] + lag
            if delay <= limit:
                kept = _insert(w, kept, f.listed, t * p + q, delay)
                if kept == f.listed:
                    limit = w.delays[kept - 1]
    for k in range(kept):
        w.delays[k] /= f.step
        w.tasks[k], w.processors[k] = divmod(w.actions[k], p)
    return kept


@borrowing
def take_pairs(
    f: PolicyContext,
    w: PolicyWorkspace,
    s: StateArrays,
    actions: npt.NDArray[np.int32],
    count: int,
) -> None:
    """Have pairs of the caller's choice scored instead of the short list.

    Args:
        w: its caches; ``actions`` and ``delays`` are written.
        s: the state, not terminal.
        actions: ``[count or more]`` legal pairs ``t * p + q``.
        count: how many, at most K.
    """
    p = f.c.g.comp.shape[1]
    top = f.c.rank_u[w.order[0]]
    for k in range(count):
        t, q = actions[k] // p, actions[k] % p
        _look_at(f, w, s, t)
        w.actions[k], w.tasks[k], w.processors[k] = actions[k], t, q
        w.delays[k] = (w.total[t, q] - w.least_total[t] + top - f.c.rank_u[t]) / f.step


@embedded
def score(
    f: PolicyContext, w: PolicyWorkspace, s: StateArrays, weights: Weights, count: int
) -> None:
    """Write features, hidden units, values and logits of the listed pairs.

    Args:
        f: the problem.
        w: its caches, ``actions`` and ``delays``; the arrays behind them are written.
        s: the state.
        weights: of the policy.
        count: how many pairs are listed.
    """
    describe(f, w, s, count)
    # Loops of constant length over neighbours in memory, which the compiler turns into few wide
    # instructions; one loop for all sums would prevent that. Two partial sums wait less for each
    # other.
    for k in range(count):
        for h in range(HIDDEN):
            even, odd = weights[BIAS + h], np.float32(0.0)
            for j in range(0, seen(f.c.g), 2):
                even += weights[INPUT + j * HIDDEN + h] * w.x[k, j]
                odd += weights[INPUT + (j + 1) * HIDDEN + h] * w.x[k, j + 1]
            w.hidden[k, h] = max(even + odd, np.float32(0.0))
    # The sum of all products of a pair, first in parts. The length of a row is no constant here:
    # the compiler would unroll the loop before it could take wide instructions.
    parts = w.parts.shape[1]
    for k in range(count):
        for i in range(parts):
            part = weights[OUTPUT + i] * w.hidden[k, i]
            for j in range(0, ROW, HIDDEN):
                part += weights[LINEAR + j + i] * w.x[k, j + i]
            w.parts[k, i] = part
    scale = scale_of(weights)
    for k in range(count):
        total = np.float32(0.0)
        for i in range(HIDDEN):
            total += w.parts[k, i]
        w.values[k] = total - w.delays[k]
        w.logits[k] = scale * w.values[k]


@embedded
def seen(g: InstanceArrays) -> int:
    """How many features may differ from 0; known when a kernel is compiled."""
    return N_FEATURES if has_resources(g) else N_UNSHARED


@inlined
def scale_of(weights: Weights) -> float:
    """s of the policy."""
    return INITIAL_SCALE * math.exp(weights[SCALE])


@borrowing
def _look_at(f: PolicyContext, w: PolicyWorkspace, s: StateArrays, t: int) -> None:
    """What all pairs of a ready task need."""
    g = f.c.g
    if w.stale[t]:
        _summarise(f, w, t)
    w.opened[t] = 0
    for q in range(g.comp.shape[1]):
        w.near[t, q] = 0.0
    for e in range(g.succ_ptr[t], g.succ_ptr[t + 1]):
        child = g.succ_task[e]
        w.opened[t] += s.missing[child] == 1
        for q in range(g.comp.shape[1]):
            w.near[t, q] += w.placed_data[child, q]


@embedded
def describe(f: PolicyContext, w: PolicyWorkspace, s: StateArrays, count: int) -> None:
    """Write the features ``x`` of the listed pairs.

    Args:
        w: its caches and the pairs, by ``short_list`` or ``take_pairs``; ``x`` is written.
        count: how many pairs are listed.
    """
    c = f.c
    n, p = c.g.comp.shape
    unit = 1.0 / f.step
    top, load, first_end = c.rank_u[w.order[0]], 0.0, np.inf
    for q in range(p):
        load += w.load[q]
        first_end = min(first_end, w.available[q])
        w.gain[q] = w.next_gain[q] = 0.0
        if has_resources(c.g):
            w.crowd[q] = _crowd(c.g, w, s, q)
    crowd = math.log(s.counts[N_READY] / p)
    for k in range(count):
        t, q, x = w.tasks[k], w.processors[k], w.x[k]
        cost, finish, total = c.g.comp[t, q], w.finish[t, q], w.total[t, q]
        x[EFT_DELAY] = (finish - w.least_finish[t]) * unit
        x[PATH_DELAY] = (total - w.least_total[t]) * unit
        x[COMP_EXCESS] = (cost - c.g.min_comp[t]) * unit
        x[EST_DELAY] = (w.start[t, q] - w.least_start[t]) * unit
        x[RANK_LAG] = (top - c.rank_u[t]) * unit
        x[GROWTH] = (w.least_finish[t] - s.totals[MAKESPAN]) * unit
        x[GAP] = w.gap[t, q] * unit
        x[LOAD_EXCESS] = (w.load[q] - load / p) * unit
        x[LOCAL_INPUTS] = w.placed_data[t, q] * f.per_input[t]
        x[LOCAL_SIBLINGS] = w.near[t, q] * f.per_sibling[t]
        x[OUTPUT_VOLUME] = f.output[t] * unit
        x[COMP] = cost * unit
        x[OCT_EXCESS] = (c.oct[t, q] + cost - c.rank_u[t]) * unit
        x[LOG_CCR] = f.log_ccr
        x[LOG_SPREAD] = f.log_spread
        x[PARALLELISM] = f.parallelism
        x[PLACED] = s.counts[N_PLACED] / n
        x[URGENCY] = (w.least_finish[t] - w.first[0]) * unit
        x[OPENS] = f.logs[w.opened[t]]
        x[CROWD] = crowd
        x[BUSY] = (w.available[q] - first_end) * unit
        x[INSERTED] = max(0.0, w.available[q] - w.start[t, q]) * unit
        x[LOG_OUT] = f.logs[c.g.succ_ptr[t + 1] - c.g.succ_ptr[t]]
        x[RELATIVE_COMP] = f.relative_comp[t, q]
        x[SLOWNESS] = f.slowness[q]
        if has_resources(c.g):
            x[CROWD] = w.crowd[q]
            x[SPARE], x[BESIDE] = 1.0 - share_taken(c.g, t, q), w.beside[t, q]
        # Of the other processors: the least one, which is the next one where this is the least.
        other_finish = w.least_finish[t] if finish > w.least_finish[t] else w.next_finish[t]
        other_total = w.least_total[t] if total > w.least_total[t] else w.next_total[t]
        x[ADVANTAGE] = min((other_finish - finish) * unit, 1.0)
        x[PATH_ADVANTAGE] = min((other_total - total) * unit, 1.0)
        gain = x[PATH_ADVANTAGE]
        w.next_gain[q] = max(w.next_gain[q], min(w.gain[q], gain))
        w.gain[q] = max(w.gain[q], gain)
        x[CHILD_DELAY] = (_look_ahead(f, w, t, q) - total) * unit
        x[CHILD_WAIT] = 0.0
        if f.heirs[t, 0] >= 0:
            known = w.least_known[c.g.succ_task[f.heirs[t, 0]]]
            x[CHILD_WAIT] = max(0.0, known - finish) * unit
    # The other pairs on a processor are of other tasks.
    for k in range(count):
        q, x = w.processors[k], w.x[k]
        x[RIVAL] = w.next_gain[q] if x[PATH_ADVANTAGE] == w.gain[q] else w.gain[q]


@embedded
def _crowd(g: InstanceArrays, w: PolicyWorkspace, s: StateArrays, q: int) -> float:
    """ln of how many processors like one the ready tasks would fill, for each that there is."""
    share = 0.0
    for i in range(s.counts[N_READY]):
        share += min(share_taken(g, w.order[i], q), 1.0)
    return math.log(max(share, LEAST_CROWD) / g.comp.shape[1])


@borrowing
def _look_ahead(f: PolicyContext, w: PolicyWorkspace, t: int, q: int) -> float:
    """The longest path from a ready task on q through a critical successor, on its best processor.

    Given the inputs that are placed; at least EFT + OCT (time).
    """
    g, finish = f.c.g, w.finish[t, q]
    ahead: float = w.total[t, q]
    for i in range(HEIRS):
        e = f.heirs[t, i]
        if e < 0:
            break
        child, data = g.succ_task[e], g.succ_data[e]
        # On q itself, which is often soon enough.
        least = max(finish, w.known[child, q], _free(g, w, q)) + f.through[child, q]
        if least > ahead:
            for other in range(g.comp.shape[1]):
                sent = finish + communication(g, data, q, other)
                start = max(sent, w.known[child, other], _free(g, w, other))
                least = min(least, start + f.through[child, other])
            ahead = max(ahead, least)
    return ahead


@embedded
def _free(g: InstanceArrays, w: PolicyWorkspace, q: int) -> float:
    """When a successor may start on a processor; with resources perhaps at once."""
    return 0.0 if has_resources(g) else w.available[q]


@borrowing
def _count_in(f: PolicyContext, w: PolicyWorkspace, s: StateArrays, task: int, q: int) -> None:
    """A task is on a processor: its load, the data of its outputs and when they arrive."""
    g = f.c.g
    w.load[q] += f.work[task, q]
    for e in range(g.succ_ptr[task], g.succ_ptr[task + 1]):
        child = g.succ_task[e]
        w.placed_data[child, q] += g.succ_data[e]
        least = np.inf
        for other in range(g.comp.shape[1]):
            arrival = s.finish[task] + communication(g, g.succ_data[e], q, other)
            w.known[child, other] = max(w.known[child, other], arrival)
            if g.comp[child, other] < np.inf:
                least = min(least, w.known[child, other])
        w.least_known[child] = least


@borrowing
def _open_from(f: PolicyContext, w: PolicyWorkspace, s: StateArrays, i: int, first: float) -> None:
    """The ready tasks from the i-th on are new; ``first`` is the least EFT of the others."""
    for k in range(i, s.counts[N_READY]):
        t = s.ready[k]
        _open(f, w, s, t)
        _list(f.c, w, t, k)
        first = min(first, w.least_finish[t])
    w.first[0] = first


@borrowing
def _open(f: PolicyContext, w: PolicyWorkspace, s: StateArrays, t: int) -> None:
    """A task is ready: everything about it."""
    g = f.c.g
    p = g.comp.shape[1]
    for q in range(p):
        w.arrival[q] = first_start(g, t, q)
    for e in range(g.pred_ptr[t], g.pred_ptr[t + 1]):
        u = g.pred_task[e]
        for q in range(p):
            sent = communication(g, g.pred_data[e], s.processor[u], q)
            w.arrival[q] = max(w.arrival[q], s.finish[u] + sent)
    for q in range(p):
        w.start[t, q] = w.finish[t, q] = w.total[t, q] = np.inf
        if g.comp[t, q] < np.inf:
            _fit(f, w, s, t, q, w.arrival[q])
    _summarise(f, w, t)


@borrowing
def _fit(
    f: PolicyContext, w: PolicyWorkspace, s: StateArrays, t: int, q: int, earliest: float
) -> None:
    """Start of a ready task on an eligible processor, and the gap before it."""
    cost = f.c.g.comp[t, q]
    index, start = earliest_slot(f.c.g, s, t, q, earliest, cost, INSERTION)
    w.start[t, q], w.finish[t, q] = start, start + cost
    w.total[t, q] = start + cost + f.c.oct[t, q]
    w.gap[t, q] = idle_before(f.c.g, s, q, index, start)
    if has_resources(f.c.g):
        w.beside[t, q] = share_in_use(f.c.g, s, q, index, start) if start + cost > start else 0.0


@embedded
def _occupies(f: PolicyContext, s: StateArrays, task: int, q: int) -> bool:
    """Whether a task that has been placed is among the busy intervals of its processor."""
    if has_resources(f.c.g):
        return share_taken(f.c.g, task, q) > 0.0 and bool(s.finish[task] > s.start[task])
    return True


@borrowing
def _summarise(f: PolicyContext, w: PolicyWorkspace, t: int) -> None:
    """The least times of a ready task over its processors, and the next ones."""
    start, finish, total = np.inf, np.inf, np.inf
    next_finish, next_total = np.inf, np.inf
    for q in range(f.c.g.comp.shape[1]):
        start = min(start, w.start[t, q])
        next_finish = min(next_finish, max(finish, w.finish[t, q]))
        finish = min(finish, w.finish[t, q])
        next_total = min(next_total, max(total, w.total[t, q]))
        total = min(total, w.total[t, q])
    w.least_start[t], w.least_finish[t], w.least_total[t] = start, finish, total
    w.next_finish[t], w.next_total[t] = next_finish, next_total
    w.stale[t] = False


@borrowing
def _list(c: EncodingContext, w: PolicyWorkspace, t: int, count: int) -> None:
    """Put a task in its place among ``count`` others by rank_u."""
    i = count
    while i > 0 and _ranks_before(c, t, w.order[i - 1]):
        w.order[i] = w.order[i - 1]
        i -= 1
    w.order[i] = t


@borrowing
def _unlist(w: PolicyWorkspace, t: int, count: int) -> None:
    """Take a task out of the ``count`` by rank_u."""
    i = 0
    while w.order[i] != t:
        i += 1
    for k in range(i, count - 1):
        w.order[k] = w.order[k + 1]


@inlined
def _ranks_before(c: EncodingContext, a: int, b: int) -> bool:
    return bool(c.rank_u[a] > c.rank_u[b] or (c.rank_u[a] == c.rank_u[b] and a < b))


@inlined
def _insert(w: PolicyWorkspace, kept: int, most: int, action: int, delay: float) -> int:
    """Put a pair into the short list if it is good enough; returns how many it holds.

    Args:
        w: its ``actions`` and ``delays`` are the list.
        kept: how many it holds.
        most: how many it can hold.
        action: the pair, ``task * p + processor``.
        delay: its prior, with the sign changed.
    """
    i = kept
    if kept == most:
        last = most - 1
        if delay > w.delays[last] or (delay == w.delays[last] and action > w.actions[last]):
            return kept
        i = last
    else:
        kept += 1
    while i > 0 and (
        delay < w.delays[i - 1] or (delay == w.delays[i - 1] and action < w.actions[i - 1])
    ):
        w.delays[i], w.actions[i] = w.delays[i - 1], w.actions[i - 1]
        i -= 1
    w.delays[i], w.actions[i] = delay, action
    return kept

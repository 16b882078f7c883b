"""The pairs of a state that are worth scoring, their features and logits.

A placement changes the earliest starts of the ready tasks on one processor only, so these are
cached: a step costs O(ready tasks + scored pairs), and few pairs are scored.
"""

import math

import numpy as np
import numpy.typing as npt

from aerl_trainer.encoding.candidates import INSERTION
from aerl_trainer.encoding.context import EncodingContext
from aerl_trainer.encoding.features import index_of
from aerl_trainer.policy.context import SHORT_LIST, PolicyContext, PolicyWorkspace
from aerl_trainer.policy.weights import (
    BIAS,
    HIDDEN,
    INITIAL_SCALE,
    INPUT,
    LINEAR,
    N_FEATURES,
    OUTPUT,
    SCALE,
    Weights,
)
from dagsched_env.kernels.arrays import StateArrays
from dagsched_env.kernels.graph.communication import communication
from dagsched_env.kernels.jit import borrowing, inlined
from dagsched_env.kernels.state.timeline import earliest_slot

__all__ = ["begin", "follow", "scale_of", "score", "short_list", "take_pairs"]

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


@borrowing
def begin(f: PolicyContext, w: PolicyWorkspace, s: StateArrays) -> None:
    """Fill the caches for a state, whatever they held before.

    Args:
        f: the problem.
        w: out: its caches.
        s: any state; ``w.state`` or another.
    """
    g = f.c.g
    n, p = g.comp.shape
    for q in range(p):
        w.load[q] = 0.0
        for t in range(n):
            w.placed_data[t, q] = 0.0
    for i in range(s.counts[0]):
        _count_in(f, w, s.sequence[i], s.processor[s.sequence[i]])
    for i in range(s.counts[1]):
        _open(f, w, s, s.ready[i])


@borrowing
def follow(
    f: PolicyContext, w: PolicyWorkspace, s: StateArrays, task: int, q: int, before: int
) -> None:
    """Bring the caches up to date after a placement.

    Args:
        f: the problem.
        w: its caches, of the state before.
        s: the state after the placement.
        task: that has been placed.
        q: its processor.
        before: how many tasks were ready before it.
    """
    _count_in(f, w, task, q)
    placed_start, placed_finish = s.start[task], s.finish[task]
    # The tasks that have become ready are the last ones.
    for i in range(before - 1):
        t = s.ready[i]
        start = w.start[t, q]
        if start == np.inf:
            continue
        # Before the other case: of two tasks without duration one is behind the other.
        if placed_finish <= start:
            w.gap[t, q] = min(w.gap[t, q], start - placed_finish)
            continue
        if start + f.c.g.comp[t, q] <= placed_start:
            continue
        _fit(f, w, s, t, q)
        _summarise(f, w, t)
    for i in range(before - 1, s.counts[1]):
        _open(f, w, s, s.ready[i])


@borrowing
def short_list(f: PolicyContext, w: PolicyWorkspace, s: StateArrays) -> int:
    """Find the pairs of highest prior, best first; equal ones by action number.

    Args:
        f: the problem.
        w: its caches; ``actions`` and ``delays``, which increase, are written.
        s: the state, not terminal.

    Returns:
        How many there are, at most ``SHORT_LIST``.
    """
    c = f.c
    p = c.g.comp.shape[1]
    # The best pair of a task has the delay of its rank alone: no pair of another task than those of
    # highest rank can be among so many best ones.
    tasks = 0
    for i in range(s.counts[1]):
        t = s.ready[i]
        if tasks == SHORT_LIST and not _ranks_before(c, t, w.tasks[tasks - 1]):
            continue
        k = tasks if tasks < SHORT_LIST else SHORT_LIST - 1
        tasks = k + 1
        while k > 0 and _ranks_before(c, t, w.tasks[k - 1]):
            w.tasks[k] = w.tasks[k - 1]
            k -= 1
        w.tasks[k] = t
    top = c.rank_u[w.tasks[0]]
    kept = 0
    for i in range(tasks):
        t = w.tasks[i]
        lag = top - c.rank_u[t]
        if kept == SHORT_LIST and lag > w.delays[kept - 1] * c.rank_scale:
            break
        for q in range(p):
            if c.g.comp[t, q] == np.inf:
                continue
            total = w.start[t, q] + c.g.comp[t, q] + c.oct[t, q]
            delay = (total - w.least_total[t] + lag) / c.rank_scale
            kept = _insert(w, kept, t * p + q, delay)
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
        f: the problem.
        w: its caches; ``actions`` and ``delays`` are written.
        s: the state, not terminal.
        actions: ``[count or more]`` legal pairs ``t * p + q``.
        count: how many, at most K.
    """
    c = f.c
    p = c.g.comp.shape[1]
    top = 0.0
    for i in range(s.counts[1]):
        top = max(top, c.rank_u[s.ready[i]])
    for k in range(count):
        t, q = actions[k] // p, actions[k] % p
        total = w.start[t, q] + c.g.comp[t, q] + c.oct[t, q]
        w.actions[k] = actions[k]
        w.delays[k] = (total - w.least_total[t] + top - c.rank_u[t]) / c.rank_scale


@borrowing
def score(
    f: PolicyContext, w: PolicyWorkspace, s: StateArrays, weights: Weights, count: int
) -> None:
    """Write features, hidden units and logits of the listed pairs.

    Args:
        f: the problem.
        w: its caches, ``actions`` and ``delays``; the last three arrays are written.
        s: the state.
        weights: of the policy.
        count: how many pairs are listed.
    """
    _describe(f, w, s, count)
    scale = scale_of(weights)
    for k in range(count):
        x, hidden = w.x[k], w.hidden[k]
        for h in range(HIDDEN):
            hidden[h] = weights[BIAS + h]
        value = np.float32(0.0)
        for j in range(N_FEATURES):
            value += weights[LINEAR + j] * x[j]
            for h in range(HIDDEN):
                hidden[h] += weights[INPUT + j * HIDDEN + h] * x[j]
        for h in range(HIDDEN):
            hidden[h] = max(hidden[h], np.float32(0.0))
            value += weights[OUTPUT + h] * hidden[h]
        w.logits[k] = scale * (value - w.delays[k])


@inlined
def scale_of(weights: Weights) -> float:
    """s of the policy."""
    return INITIAL_SCALE * math.exp(weights[SCALE])


@borrowing
def _describe(f: PolicyContext, w: PolicyWorkspace, s: StateArrays, count: int) -> None:
    c = f.c
    n, p = c.g.comp.shape
    unit = 1.0 / c.rank_scale
    top, first, load = 0.0, np.inf, 0.0
    for i in range(s.counts[1]):
        t = s.ready[i]
        top = max(top, c.rank_u[t])
        first = min(first, w.least_finish[t])
    for q in range(p):
        load += w.load[q]
    for k in range(count):
        t, q = w.actions[k] // p, w.actions[k] % p
        cost, x = c.g.comp[t, q], w.x[k]
        finish = w.start[t, q] + cost
        near = 0.0
        for e in range(c.g.succ_ptr[t], c.g.succ_ptr[t + 1]):
            near += w.placed_data[c.g.succ_task[e], q]
        x[EFT_DELAY] = (finish - w.least_finish[t]) * unit
        x[PATH_DELAY] = (finish + c.oct[t, q] - w.least_total[t]) * unit
        x[COMP_EXCESS] = (cost - c.g.min_comp[t]) * unit
        x[EST_DELAY] = (w.start[t, q] - w.least_start[t]) * unit
        x[RANK_LAG] = (top - c.rank_u[t]) * unit
        x[GROWTH] = (w.least_finish[t] - s.totals[0]) * unit
        x[GAP] = w.gap[t, q] * unit
        x[LOAD_EXCESS] = (w.load[q] - load / p) * unit
        x[LOCAL_INPUTS] = w.placed_data[t, q] / f.inputs[t]
        x[LOCAL_SIBLINGS] = near / f.siblings[t]
        x[OUTPUT_VOLUME] = f.output[t] * unit
        x[COMP] = cost * unit
        x[OCT_EXCESS] = (c.oct[t, q] + cost - c.rank_u[t]) * unit
        x[LOG_CCR] = f.log_ccr
        x[LOG_SPREAD] = f.log_spread
        x[PARALLELISM] = f.parallelism
        x[PLACED] = s.counts[0] / n
        x[URGENCY] = (w.least_finish[t] - first) * unit


@borrowing
def _count_in(f: PolicyContext, w: PolicyWorkspace, task: int, q: int) -> None:
    """A task is on a processor: its load, and the data of its outputs."""
    g = f.c.g
    w.load[q] += g.comp[task, q]
    for e in range(g.succ_ptr[task], g.succ_ptr[task + 1]):
        w.placed_data[g.succ_task[e], q] += g.succ_data[e]


@borrowing
def _open(f: PolicyContext, w: PolicyWorkspace, s: StateArrays, t: int) -> None:
    """A task is ready: everything about it."""
    g = f.c.g
    p = g.comp.shape[1]
    for q in range(p):
        w.arrival[t, q] = 0.0
    for e in range(g.pred_ptr[t], g.pred_ptr[t + 1]):
        u = g.pred_task[e]
        for q in range(p):
            sent = communication(g, g.pred_data[e], s.processor[u], q)
            w.arrival[t, q] = max(w.arrival[t, q], s.finish[u] + sent)
    for q in range(p):
        w.start[t, q] = np.inf
        if g.comp[t, q] < np.inf:
            _fit(f, w, s, t, q)
    _summarise(f, w, t)


@borrowing
def _fit(f: PolicyContext, w: PolicyWorkspace, s: StateArrays, t: int, q: int) -> None:
    """Earliest start of a ready task on an eligible processor, and the gap before it."""
    index, start = earliest_slot(s, q, w.arrival[t, q], f.c.g.comp[t, q], INSERTION)
    w.start[t, q] = start
    w.gap[t, q] = start - (s.slot_finish[q, index - 1] if index > 0 else 0.0)


@borrowing
def _summarise(f: PolicyContext, w: PolicyWorkspace, t: int) -> None:
    """The least times of a ready task over its processors."""
    start, finish, total = np.inf, np.inf, np.inf
    for q in range(f.c.g.comp.shape[1]):
        if w.start[t, q] < np.inf:
            end = w.start[t, q] + f.c.g.comp[t, q]
            start = min(start, w.start[t, q])
            finish = min(finish, end)
            total = min(total, end + f.c.oct[t, q])
    w.least_start[t], w.least_finish[t], w.least_total[t] = start, finish, total


@inlined
def _ranks_before(c: EncodingContext, a: int, b: int) -> bool:
    return bool(c.rank_u[a] > c.rank_u[b] or (c.rank_u[a] == c.rank_u[b] and a < b))


@inlined
def _insert(w: PolicyWorkspace, kept: int, action: int, delay: float) -> int:
    """Put a pair into the short list if it is good enough; returns how many it holds."""
    i = kept
    if kept == SHORT_LIST:
        last = SHORT_LIST - 1
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

"""Candidate actions of a state with their prior, and what the network sees of them.

Times are in units of ``SearchContext.rank_scale``. The hand-made prior is
``logit(t, q) = -10·(EFT + OCT - min)/R - 10·(max ready rank_u - rank_u(t))/R``: tasks in HEFT's
order, processors by PEFT's optimistic finish.
"""

import numpy as np
import numpy.typing as npt

from aerl_trainer.search.context import SearchContext
from dagsched_env.kernels.arrays import Floats, Ints, StateArrays
from dagsched_env.kernels.jit import borrowing, inlined
from dagsched_env.kernels.state.timeline import data_ready_time, earliest_slot

__all__ = [
    "INSERTION",
    "N_PAIR_FEATURES",
    "N_STATE_FEATURES",
    "describe",
    "score_pairs",
    "select_candidates",
]

PRIOR_SHARPNESS = 10.0
INSERTION = True
"""The search places tasks by insertion, as the environment does by default."""

N_PAIR_FEATURES = 12
N_STATE_FEATURES = 8


@borrowing
def score_pairs(
    c: SearchContext, s: StateArrays, actions: Ints, starts: Floats, gaps: Floats, logits: Floats
) -> int:
    """List every legal pair with its EST, idle gap and prior logit; returns how many there are.

    The four arrays have room for ``n * p`` entries; an action is ``t * p + q``.
    """
    p = c.g.comp.shape[1]
    count = 0
    top_rank = 0.0
    least = np.inf
    for i in range(s.counts[1]):
        t = s.ready[i]
        top_rank = max(top_rank, c.rank_u[t])
        for q in range(p):
            if c.g.comp[t, q] == np.inf:
                continue
            ready = data_ready_time(c.g, s, t, q)
            index, start = earliest_slot(s, q, ready, c.g.comp[t, q], INSERTION)
            actions[count] = t * p + q
            starts[count] = start
            gaps[count] = start - (s.slot_finish[q, index - 1] if index > 0 else 0.0)
            logits[count] = start + c.g.comp[t, q] + c.oct[t, q]
            least = min(least, logits[count])
            count += 1
    for k in range(count):
        delay = logits[k] - least + top_rank - c.rank_u[actions[k] // p]
        logits[k] = -PRIOR_SHARPNESS * delay / c.rank_scale
    return count


@borrowing
def select_candidates(
    actions: Ints, logits: Floats, count: int, limit: int, min_prior: float, positions: Ints
) -> int:
    """Find the at most ``limit`` actions of highest prior among those of prior ≥ ``min_prior``.

    Equal priors go by action number, so the choice does not depend on the order in which ready
    tasks are stored.

    Args:
        actions: from ``score_pairs``, as are ``logits`` and ``count``.
        logits: of the prior.
        count: length of both.
        limit: at least 1.
        min_prior: in [0, 1).
        positions: ``[limit or count]`` out: where the chosen ones lie, by decreasing prior.

    Returns:
        How many were chosen, at least 1.
    """
    kept = 0
    for k in range(count):
        if kept < limit:
            kept += 1
        elif not _goes_before(logits, actions, k, positions[limit - 1]):
            continue
        i = kept - 1
        while i > 0 and _goes_before(logits, actions, k, positions[i - 1]):
            positions[i] = positions[i - 1]
            i -= 1
        positions[i] = k
    if min_prior == 0.0:
        return kept
    highest, total = logits[positions[0]], 0.0
    for k in range(count):
        total += np.exp(logits[k] - highest)
    while np.exp(logits[positions[kept - 1]] - highest) < min_prior * total and kept > 1:
        kept -= 1
    return kept


@inlined
def _goes_before(logits: Floats, actions: Ints, a: int, b: int) -> bool:
    return bool(logits[a] > logits[b] or (logits[a] == logits[b] and actions[a] < actions[b]))


@borrowing
def describe(
    c: SearchContext,
    s: StateArrays,
    tail_makespan: float,
    positions: Ints,
    actions: Ints,
    starts: Floats,
    gaps: Floats,
    logits: Floats,
    pair_features: npt.NDArray[np.float32],
    state_features: npt.NDArray[np.float32],
) -> None:
    """Write the network's dynamic inputs of one state.

    Args:
        c: the problem.
        s: the state.
        tail_makespan: makespan of its deterministic list-scheduling tail.
        positions: ``[k]`` where the candidates lie in the next four arrays.
        actions: from ``score_pairs``, as are ``starts``, ``gaps`` and ``logits``.
        starts: earliest start times.
        gaps: idle time before each placement.
        logits: prior logits.
        pair_features: ``[k, N_PAIR_FEATURES]`` out.
        state_features: ``[N_STATE_FEATURES]`` out.
    """
    p = c.g.comp.shape[1]
    unit = 1.0 / c.rank_scale
    first_start, first_finish, first_total, top_rank = np.inf, np.inf, np.inf, 0.0
    for k in positions:
        t, q = actions[k] // p, actions[k] % p
        finish = starts[k] + c.g.comp[t, q]
        first_start = min(first_start, starts[k])
        first_finish = min(first_finish, finish)
        first_total = min(first_total, finish + c.oct[t, q])
        top_rank = max(top_rank, c.rank_u[t])
    for i in range(positions.shape[0]):
        k = positions[i]
        t, q = actions[k] // p, actions[k] % p
        finish = starts[k] + c.g.comp[t, q]
        row = pair_features[i]
        row[0] = logits[k] / PRIOR_SHARPNESS
        row[1] = (starts[k] - first_start) * unit
        row[2] = (finish - first_finish) * unit
        row[3] = (finish + c.oct[t, q] - first_total) * unit
        row[4] = (top_rank - c.rank_u[t]) * unit
        row[5] = gaps[k] * unit
        row[6] = c.g.comp[t, q] * unit
        row[7] = (c.g.comp[t, q] - c.g.min_comp[t]) * unit
        row[8] = (finish - s.bound[t]) * unit
        row[9] = (finish + c.rank_u[t] - c.g.mean_comp[t] - tail_makespan) * unit
        row[10] = max(0.0, finish - s.totals[0]) * unit
        row[11] = s.slot_count[q] / c.g.comp.shape[0]
    _describe_state(c, s, tail_makespan, first_total, state_features)


@borrowing
def _describe_state(
    c: SearchContext,
    s: StateArrays,
    tail_makespan: float,
    first_total: float,
    out: npt.NDArray[np.float32],
) -> None:
    n, p = c.g.comp.shape
    unit = 1.0 / c.rank_scale
    earliest, latest, busy = np.inf, 0.0, 0.0
    for q in range(p):
        count = s.slot_count[q]
        available = s.slot_finish[q, count - 1] if count > 0 else 0.0
        earliest = min(earliest, available)
        latest = max(latest, available)
        for i in range(count):
            busy += s.slot_finish[q, i] - s.slot_start[q, i]
    out[0] = s.counts[0] / n
    out[1] = s.counts[1] / n
    out[2] = (tail_makespan - s.totals[1]) * unit
    out[3] = (tail_makespan - s.totals[0]) * unit
    out[4] = (tail_makespan - first_total) * unit
    out[5] = (latest - earliest) * unit
    out[6] = busy / (p * latest) if latest > 0.0 else 1.0
    out[7] = np.log(p)

"""Legal pairs of a state with the hand-made prior, and which of them are kept as candidates.

The prior is ``logit(t, q) = -10·(EFT + OCT - min)/R - 10·(max ready rank_u - rank_u(t))/R`` with
R = ``EncodingContext.rank_scale``: tasks in HEFT's order, processors by PEFT's optimistic finish.
"""

import numpy as np

from aerl_trainer.policy.encoding.context import EncodingContext
from dagsched_env.kernels.arrays import N_READY, Floats, Ints, StateArrays
from dagsched_env.kernels.jit import borrowing, inlined
from dagsched_env.kernels.state.timeline import data_ready_time, earliest_slot, idle_before

PRIOR_SHARPNESS = 10.0
INSERTION = True
"""Policies place tasks by insertion, as the environment does by default."""


@borrowing
def score_pairs(
    c: EncodingContext, s: StateArrays, actions: Ints, starts: Floats, gaps: Floats, logits: Floats
) -> int:
    """List every legal pair with its EST, idle gap and prior logit.

    Args:
        actions: ``[n * p]`` out: ``t * p + q``.
        starts: ``[n * p]`` out: EST (time).
        gaps: ``[n * p]`` out: idle time left directly before the task (time).
        logits: ``[n * p]`` out: of the prior, ≤ 0.

    Returns:
        How many pairs there are: the length of what is valid in the four arrays.
    """
    p = c.g.comp.shape[1]
    count = 0
    top_rank = 0.0
    least = np.inf
    for i in range(s.counts[N_READY]):
        t = s.ready[i]
        top_rank = max(top_rank, c.rank_u[t])
        for q in range(p):
            if c.g.comp[t, q] == np.inf:
                continue
            ready = data_ready_time(c.g, s, t, q)
            index, start = earliest_slot(c.g, s, t, q, ready, c.g.comp[t, q], INSERTION)
            actions[count] = t * p + q
            starts[count] = start
            gaps[count] = idle_before(c.g, s, q, index, start)
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

    Equal priors are ordered by action number, so the choice does not depend on the order in which
    ready tasks are stored.

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

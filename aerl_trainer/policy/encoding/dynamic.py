"""Features of a state and of its candidates; they change with every placement."""

import numpy as np
import numpy.typing as npt

from aerl_trainer.policy.encoding.candidates import INSERTION, PRIOR_SHARPNESS
from aerl_trainer.policy.encoding.context import EncodingContext
from aerl_trainer.policy.encoding.features import index_of
from dagsched_env.kernels.arrays import (
    LOWER_BOUND,
    MAKESPAN,
    N_PLACED,
    N_READY,
    UNSCHEDULED,
    Floats,
    Ints,
    StateArrays,
)
from dagsched_env.kernels.graph.resources import has_resources
from dagsched_env.kernels.jit import borrowing
from dagsched_env.kernels.state.timeline import earliest_slot, share_in_use, share_taken

# Columns, as constants of the kernels.
PRIOR = index_of("pair", "prior")
EST_DELAY = index_of("pair", "est_delay")
EFT_DELAY = index_of("pair", "eft_delay")
PATH_DELAY = index_of("pair", "path_delay")
RANK_LAG = index_of("pair", "rank_lag")
GAP = index_of("pair", "gap")
COMP = index_of("pair", "comp")
COMP_EXCESS = index_of("pair", "comp_excess")
BOUND_EXCESS = index_of("pair", "bound_excess")
PATH_EXCESS = index_of("pair", "path_excess")
GROWTH = index_of("pair", "growth")
QUEUE = index_of("pair", "queue")
SPARE = index_of("pair", "spare")
BESIDE = index_of("pair", "beside")
PLACED = index_of("state", "placed")
READY = index_of("state", "ready")
OVER_BOUND = index_of("state", "over_bound")
OVER_MAKESPAN = index_of("state", "over_makespan")
OVER_PATH = index_of("state", "over_path")
IMBALANCE = index_of("state", "imbalance")
UTILISATION = index_of("state", "utilisation")
LOG_P = index_of("state", "log_p")
UNCOMPLETED = index_of("status", "uncompleted")
READY_TASK = index_of("status", "ready")
COMPLETED = index_of("status", "completed")


@borrowing
def describe_tasks(s: StateArrays, status: npt.NDArray[np.int8]) -> None:
    """Write which of the features ``status`` each task has; exactly one of them is 1.

    Args:
        status: ``[at least n]`` out.
    """
    for t in range(s.processor.shape[0]):
        if s.processor[t] != UNSCHEDULED:
            status[t] = COMPLETED
        elif s.missing[t] == 0:
            status[t] = READY_TASK
        else:
            status[t] = UNCOMPLETED


@borrowing
def describe(
    c: EncodingContext,
    s: StateArrays,
    completion_makespan: float,
    positions: Ints,
    actions: Ints,
    starts: Floats,
    gaps: Floats,
    logits: Floats,
    pair_features: npt.NDArray[np.float32],
    state_features: npt.NDArray[np.float32],
) -> None:
    """Write the dynamic features of one state; see the table in ``features``.

    Args:
        completion_makespan: makespan of its list completion (time).
        positions: ``[k]`` where the candidates lie in the next four arrays.
        actions: from ``score_pairs``, as are ``starts``, ``gaps`` and ``logits``.
        starts: earliest start times.
        gaps: idle time before each placement.
        logits: prior logits.
        pair_features: ``[k, pair features]`` out.
        state_features: ``[state features]`` out.
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
        path = finish + c.rank_u[t] - c.g.mean_comp[t]
        row = pair_features[i]
        row[PRIOR] = logits[k] / PRIOR_SHARPNESS
        row[EST_DELAY] = (starts[k] - first_start) * unit
        row[EFT_DELAY] = (finish - first_finish) * unit
        row[PATH_DELAY] = (finish + c.oct[t, q] - first_total) * unit
        row[RANK_LAG] = (top_rank - c.rank_u[t]) * unit
        row[GAP] = gaps[k] * unit
        row[COMP] = c.g.comp[t, q] * unit
        row[COMP_EXCESS] = (c.g.comp[t, q] - c.g.min_comp[t]) * unit
        row[BOUND_EXCESS] = (finish - s.bound[t]) * unit
        row[PATH_EXCESS] = (path - completion_makespan) * unit
        row[GROWTH] = max(0.0, finish - s.totals[MAKESPAN]) * unit
        row[QUEUE] = s.slot_count[q] / c.g.comp.shape[0]
        row[SPARE] = 1.0 - share_taken(c.g, t, q)
        row[BESIDE] = 0.0
        if has_resources(c.g):
            index, start = earliest_slot(c.g, s, t, q, starts[k], c.g.comp[t, q], INSERTION)
            row[BESIDE] = share_in_use(c.g, s, q, index, start)
    _describe_state(c, s, completion_makespan, first_total, state_features)


@borrowing
def _describe_state(
    c: EncodingContext,
    s: StateArrays,
    completion_makespan: float,
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
    out[PLACED] = s.counts[N_PLACED] / n
    out[READY] = s.counts[N_READY] / n
    out[OVER_BOUND] = (completion_makespan - s.totals[LOWER_BOUND]) * unit
    out[OVER_MAKESPAN] = (completion_makespan - s.totals[MAKESPAN]) * unit
    out[OVER_PATH] = (completion_makespan - first_total) * unit
    out[IMBALANCE] = (latest - earliest) * unit
    out[UTILISATION] = busy / (p * latest) if latest > 0.0 else 1.0
    out[LOG_P] = np.log(p)

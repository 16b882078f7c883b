"""A mini-batch of states on its way from the simulator to the network and back."""

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from aerl_trainer.search.context import SearchContext
from aerl_trainer.search.features import (
    INSERTION,
    N_PAIR_FEATURES,
    N_STATE_FEATURES,
    describe,
    score_pairs,
    select_candidates,
)
from aerl_trainer.shared_memory import ArraySpec
from dagsched_env.instance import Instance
from dagsched_env.kernels.arrays import UNSCHEDULED, Floats, Ints, StateArrays, allocate_state
from dagsched_env.kernels.jit import borrowing
from dagsched_env.kernels.state.completion import complete
from dagsched_env.kernels.state.transitions import copy_state

__all__ = [
    "Evaluator",
    "LeafArrays",
    "PriorEvaluator",
    "Scratch",
    "allocate_leaves",
    "allocate_scratch",
    "leaf_specs",
    "least_makespan",
    "write_state",
]


class LeafArrays(NamedTuple):
    """Shapes: B states, at most K candidates each. The evaluator fills the last two."""

    terminal: npt.NDArray[np.bool_]  # [B]
    lower_bound: npt.NDArray[np.float64]  # [B] of the state, as the rewards go by it (time)
    least_makespan: npt.NDArray[np.float64]  # [B] a sharper bound, for cutting off (time)
    dropped: npt.NDArray[np.bool_]  # [B] not every legal action is a candidate
    tail_makespan: npt.NDArray[np.float64]  # [B] of the deterministic tail (time)
    value: npt.NDArray[np.float64]  # [B] what is backed up
    best: npt.NDArray[np.float64]  # [B] return of the best complete schedule through the state
    priors: npt.NDArray[np.float32]  # [B, K] policy over the candidates
    n_candidates: npt.NDArray[np.int32]  # [B]
    candidates: npt.NDArray[np.int32]  # [B, K] actions task * p + processor
    prior_logits: npt.NDArray[np.float32]  # [B, K] of the hand-made prior
    pair_features: npt.NDArray[np.float32]  # [B, K, N_PAIR_FEATURES]
    state_features: npt.NDArray[np.float32]  # [B, N_STATE_FEATURES]
    logits: npt.NDArray[np.float32]  # [B, K] the network's, added to the prior's
    prediction: npt.NDArray[np.float32]  # [B] the network's value head


class Scratch(NamedTuple):
    """Work space of one process for one size of problem."""

    state: StateArrays
    tail: StateArrays
    actions: Ints  # [n * p]
    starts: Floats  # [n * p]
    gaps: Floats  # [n * p]
    logits: Floats  # [n * p]
    positions: Ints  # [n * p] of the candidates in the four above
    path: Ints  # [n]
    silence: Floats  # [n + n * p] zeros: the noise of a deterministic tail


class Evaluator(Protocol):
    """Something that fills ``logits`` and ``prediction`` of a batch."""

    def evaluate(self, instance: Instance, leaves: LeafArrays, count: int) -> int:
        """Evaluate the first ``count`` states of one problem; returns the model version."""
        ...


class PriorEvaluator:
    """No network: the hand-made prior and the list-scheduling tail as they are."""

    def evaluate(self, instance: Instance, leaves: LeafArrays, count: int) -> int:
        leaves.logits[:count] = 0.0
        leaves.prediction[:count] = 0.0
        return 0


def leaf_specs(batch: int, width: int) -> dict[str, ArraySpec]:
    """Shape and dtype of every array of ``LeafArrays`` for B = batch, K = width."""
    b, k = (batch,), (batch, width)
    return {
        "terminal": (b, np.bool_),
        "lower_bound": (b, np.float64),
        "least_makespan": (b, np.float64),
        "dropped": (b, np.bool_),
        "tail_makespan": (b, np.float64),
        "value": (b, np.float64),
        "best": (b, np.float64),
        "priors": (k, np.float32),
        "n_candidates": (b, np.int32),
        "candidates": (k, np.int32),
        "prior_logits": (k, np.float32),
        "pair_features": ((batch, width, N_PAIR_FEATURES), np.float32),
        "state_features": ((batch, N_STATE_FEATURES), np.float32),
        "logits": (k, np.float32),
        "prediction": (b, np.float32),
    }


def allocate_leaves(batch: int, width: int) -> LeafArrays:
    """Zeroed arrays in this process's own memory."""
    return LeafArrays(**{n: np.zeros(s, d) for n, (s, d) in leaf_specs(batch, width).items()})


def allocate_scratch(n: int, p: int) -> Scratch:
    """Work space for problems of n tasks and p processors."""
    return Scratch(
        state=allocate_state(n, p),
        tail=allocate_state(n, p),
        actions=np.zeros(n * p, dtype=np.int64),
        starts=np.zeros(n * p),
        gaps=np.zeros(n * p),
        logits=np.zeros(n * p),
        positions=np.zeros(n * p, dtype=np.int64),
        path=np.zeros(n, dtype=np.int64),
        silence=np.zeros(n + n * p),
    )


@borrowing
def least_makespan(
    floor: float, after: Floats, least_after: Floats, processor: Ints, finish: Floats
) -> float:
    """Lower bound on the makespan of every completion of a state (time).

    The bound of the instance, and of each task its earliest finish plus what must follow it.

    Args:
        floor: from ``SearchContext``, as are ``after`` and ``least_after``.
        after: ``[n, p]``
        least_after: ``[n]``
        processor: ``[n]`` of the state.
        finish: ``[n]`` earliest finish of each task: the ``bound`` of the state.
    """
    # Single arrays: counting references to those of two structs takes longer than the loop.
    least = floor
    for t in range(processor.shape[0]):
        q = processor[t]
        rest = least_after[t] if q == UNSCHEDULED else after[t, q]
        least = max(least, finish[t] + rest)
    return least


@borrowing
def write_state(
    c: SearchContext,
    w: Scratch,
    s: StateArrays,
    leaves: LeafArrays,
    b: int,
    min_prior: float,
    features: bool,
) -> None:
    """Write state ``s`` as row ``b``: candidates and prior, and with ``features`` the inputs of the
    network, among them the makespan of the deterministic tail.
    """
    leaves.lower_bound[b] = s.totals[1]
    leaves.terminal[b] = s.counts[1] == 0
    leaves.dropped[b] = False
    if leaves.terminal[b]:
        leaves.n_candidates[b] = 0
        leaves.tail_makespan[b] = leaves.least_makespan[b] = s.totals[0]
        return
    leaves.least_makespan[b] = least_makespan(c.floor, c.after, c.least_after, s.processor, s.bound)
    count = score_pairs(c, s, w.actions, w.starts, w.gaps, w.logits)
    width = leaves.candidates.shape[1]
    kept = select_candidates(w.actions, w.logits, count, width, min_prior, w.positions)
    leaves.n_candidates[b] = kept
    leaves.dropped[b] = kept < count
    for i in range(kept):
        leaves.candidates[b, i] = w.actions[w.positions[i]]
        leaves.prior_logits[b, i] = w.logits[w.positions[i]]
    if features:
        copy_state(s, w.tail)
        tail = complete(c.g, w.tail, c.rank_u, c.oct, 0.0, w.silence, INSERTION)
        leaves.tail_makespan[b] = tail
        describe(
            c,
            s,
            tail,
            w.positions[:kept],
            w.actions,
            w.starts,
            w.gaps,
            w.logits,
            leaves.pair_features[b],
            leaves.state_features[b],
        )

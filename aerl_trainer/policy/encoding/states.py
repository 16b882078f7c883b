"""A batch of states as a policy sees them, with room for its answers."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aerl_trainer.memory.shared_memory import ArraySpec
from aerl_trainer.policy.encoding.candidates import INSERTION, score_pairs, select_candidates
from aerl_trainer.policy.encoding.context import EncodingContext
from aerl_trainer.policy.encoding.dynamic import describe, describe_tasks
from aerl_trainer.policy.encoding.features import group_size
from dagsched_env.kernels.arrays import (
    LOWER_BOUND,
    MAKESPAN,
    N_READY,
    Floats,
    Ints,
    StateArrays,
    allocate_state,
)
from dagsched_env.kernels.jit import borrowing, inlined
from dagsched_env.kernels.state.completion import complete
from dagsched_env.kernels.state.transitions import copy_state


class EncodedStates(NamedTuple):
    """B states of at most N tasks with at most K candidates. An ``Evaluator`` fills the last two.

    The list completion of a state finishes it by deterministic list scheduling.
    """

    terminal: npt.NDArray[np.bool_]  # [B] all tasks are placed; the state has no candidates
    lower_bound: npt.NDArray[np.float64]  # [B] of the simulator, on which rewards are based (time)
    completion_makespan: npt.NDArray[np.float64]  # [B] of the list completion (time)
    dropped: npt.NDArray[np.bool_]  # [B] not every legal action is a candidate
    n_candidates: npt.NDArray[np.int32]  # [B]
    candidates: npt.NDArray[np.int32]  # [B, K] actions task * p + processor
    prior_logits: npt.NDArray[np.float32]  # [B, K] of the hand-made prior, or what replaces it
    pair_features: npt.NDArray[np.float32]  # [B, K, pair features]
    state_features: npt.NDArray[np.float32]  # [B, state features]
    status: npt.NDArray[np.int8]  # [B, N] which feature of the group ``status`` each task has
    policy: npt.NDArray[np.float32]  # [B, K] over the candidates, see `write_policy`
    logits: npt.NDArray[np.float32]  # [B, K] answer: added to the prior's
    prediction: npt.NDArray[np.float32]  # [B] answer: of the value head


class Workspace(NamedTuple):
    """Work space of one process for one size of problem."""

    state: StateArrays
    completion: StateArrays
    actions: Ints  # [n * p]
    starts: Floats  # [n * p]
    gaps: Floats  # [n * p]
    logits: Floats  # [n * p]
    positions: Ints  # [n * p] of the candidates in the four above
    no_noise: Floats  # [n + n * p] zeros, for a list completion


def state_specs(batch: int, width: int, tasks: int) -> dict[str, ArraySpec]:
    """Shape and dtype of every array of ``EncodedStates`` for B = batch, K = width, N = tasks."""
    b, k = (batch,), (batch, width)
    return {
        "terminal": (b, np.bool_),
        "lower_bound": (b, np.float64),
        "completion_makespan": (b, np.float64),
        "dropped": (b, np.bool_),
        "n_candidates": (b, np.int32),
        "candidates": (k, np.int32),
        "prior_logits": (k, np.float32),
        "pair_features": ((*k, group_size("pair")), np.float32),
        "state_features": ((*b, group_size("state")), np.float32),
        "status": ((*b, tasks), np.int8),
        "policy": (k, np.float32),
        "logits": (k, np.float32),
        "prediction": (b, np.float32),
    }


def allocate_states(batch: int, width: int, tasks: int) -> EncodedStates:
    """Zeroed arrays for B = batch, K = width, N = tasks, in the memory of this process."""
    specs = state_specs(batch, width, tasks)
    return EncodedStates(**{name: np.zeros(shape, kind) for name, (shape, kind) in specs.items()})


def allocate_workspace(n: int, p: int, k: int) -> Workspace:
    """Work space for problems of n tasks, p processors and k resources."""
    return Workspace(
        state=allocate_state(n, p, k),
        completion=allocate_state(n, p, k),
        actions=np.zeros(n * p, dtype=np.int64),
        starts=np.zeros(n * p),
        gaps=np.zeros(n * p),
        logits=np.zeros(n * p),
        positions=np.zeros(n * p, dtype=np.int64),
        no_noise=np.zeros(n + n * p),
    )


@borrowing
def encode_state(
    c: EncodingContext,
    w: Workspace,
    s: StateArrays,
    states: EncodedStates,
    b: int,
    min_prior: float,
    prior: bool,
    features: bool,
    completed: bool = False,
) -> None:
    """Write a state as one row of a batch.

    Args:
        w: work space; ``s`` may be its ``state``.
        states: out: its row ``b``, but for the answers.
        b: the row.
        min_prior: pairs of a smaller hand-made prior are dropped, in [0, 1).
        prior: False sets the logit of every pair to 0: candidates are the pairs of lowest number.
        features: False leaves out the features and the list completion, which take the most time.
        completed: ``w.completion`` is the list completion of the state already.
    """
    states.lower_bound[b] = s.totals[LOWER_BOUND]
    states.terminal[b] = s.counts[N_READY] == 0
    states.dropped[b] = False
    if features:
        describe_tasks(s, states.status[b])
    if states.terminal[b]:
        states.n_candidates[b] = 0
        states.completion_makespan[b] = s.totals[MAKESPAN]
        return
    count = score_pairs(c, s, w.actions, w.starts, w.gaps, w.logits)
    if not prior:
        for i in range(count):
            w.logits[i] = 0.0
    width = states.candidates.shape[1]
    kept = select_candidates(w.actions, w.logits, count, width, min_prior, w.positions)
    states.n_candidates[b] = kept
    states.dropped[b] = kept < count
    for i in range(kept):
        states.candidates[b, i] = w.actions[w.positions[i]]
        states.prior_logits[b, i] = w.logits[w.positions[i]]
    if features:
        if not completed:
            copy_state(s, w.completion)
            complete(c.g, w.completion, c.rank_u, c.oct, 0.0, w.no_noise, INSERTION)
        makespan = w.completion.totals[MAKESPAN]
        states.completion_makespan[b] = makespan
        describe(
            c,
            s,
            makespan,
            w.positions[:kept],
            w.actions,
            w.starts,
            w.gaps,
            w.logits,
            states.pair_features[b],
            states.state_features[b],
        )


@borrowing
def write_policy(states: EncodedStates, count: int) -> None:
    """Policy of the first ``count`` states: softmax of prior logits plus the evaluator's logits."""
    for b in range(count):
        softmax(states.n_candidates[b], states.prior_logits[b], states.logits[b], states.policy[b])


@inlined
def softmax(
    count: int,
    prior_logits: npt.NDArray[np.float32],
    logits: npt.NDArray[np.float32],
    policy: npt.NDArray[np.float32],
) -> float:
    """Write the softmax of the sum of two rows of logits.

    Args:
        count: how many entries there are.
        prior_logits: ``[K]`` of the prior.
        logits: ``[K]`` of the evaluator.
        policy: ``[K]`` out.

    Returns:
        The sum of the weights by which they are divided; 0 without entries.
    """
    highest = -np.inf
    for i in range(count):
        highest = max(highest, prior_logits[i] + logits[i])
    total = 0.0
    for i in range(count):
        weight = np.exp(prior_logits[i] + logits[i] - highest)
        policy[i] = weight
        total += weight
    for i in range(count):
        policy[i] /= total
    return total

"""From an evaluator's answers to priors over the candidates and values to back up."""

import numpy as np
import numpy.typing as npt

from aerl_trainer.policy.encoding.context import EncodingContext
from aerl_trainer.policy.encoding.states import softmax
from aerl_trainer.tree.leaves import LeafBatch
from dagsched_env.kernels.arrays import Floats
from dagsched_env.kernels.jit import borrowing, inlined


@borrowing
def take_answers(
    c: EncodingContext,
    leaves: LeafBatch,
    count: int,
    noise: Floats,
    noise_fraction: float,
    rollout_weight: float,
    value_only: bool,
    rank_value: bool,
) -> bool:
    """Turn logits and predictions into priors and what is backed up.

    The value head predicts the return to go as a residual, in units of the rank scale, on that of
    the list completion (or, with ``rank_value``, a rank reward); v of a terminal state is 0.
    ``value = (reward so far) + λ·(return of the rollout) + (1 - λ)·v``, and
    ``best_return`` is the return of the rollout's whole schedule; with ``value_only`` both are v.
    Candidates are sorted by their prior, as the tree wants them.

    Args:
        leaves: its states are answered and ``rollout_makespan`` is set; ``value``,
            ``best_return`` and the policy of the states are written.
        count: leaves in the batch.
        noise: ``[n_candidates[0]]`` mixed into the priors of row 0, or empty.
        noise_fraction: its share, in [0, 1].
        rollout_weight: λ, in [0, 1].
        value_only: see above.
        rank_value: see above.

    Returns:
        False where any prior or value is not finite.
    """
    states = leaves.states
    finite = True
    for b in range(count):
        k, priors = states.n_candidates[b], states.policy[b]
        total = softmax(k, states.prior_logits[b], states.logits[b], priors)
        if b == 0:
            for i in range(noise.shape[0]):
                priors[i] = (1.0 - noise_fraction) * priors[i] + noise_fraction * noise[i]
        _sort(k, states.candidates[b], priors)
        v = 0.0
        if not states.terminal[b] and rank_value:
            v = states.prediction[b]
        elif not states.terminal[b]:
            residual = states.prediction[b] * c.rank_scale
            v = (states.lower_bound[b] - states.completion_makespan[b] + residual) / c.cp_min
        if value_only:
            leaves.value[b] = v
            leaves.best_return[b] = v
        else:
            collected = 1.0 - states.lower_bound[b] / c.cp_min
            rollout_return = (states.lower_bound[b] - leaves.rollout_makespan[b]) / c.cp_min
            leaves.value[b] = (
                collected + rollout_weight * rollout_return + (1.0 - rollout_weight) * v
            )
            leaves.best_return[b] = collected + rollout_return
        finite = finite and np.isfinite(total) and np.isfinite(leaves.value[b])
    return finite


@inlined
def _sort(count: int, candidates: npt.NDArray[np.int32], priors: npt.NDArray[np.float32]) -> None:
    """By decreasing prior; equal ones keep their order. They are nearly sorted already."""
    for k in range(1, count):
        action, prior = candidates[k], priors[k]
        i = k
        while i > 0 and priors[i - 1] < prior:
            candidates[i], priors[i] = candidates[i - 1], priors[i - 1]
            i -= 1
        candidates[i], priors[i] = action, prior

"""What the answers of an evaluator mean: priors over the candidates, and values to back up."""

import numpy as np
import numpy.typing as npt

from aerl_trainer.search.context import SearchContext
from aerl_trainer.search.leaves import LeafArrays
from dagsched_env.kernels.arrays import Floats
from dagsched_env.kernels.jit import borrowing, inlined

__all__ = ["set_priors", "take_answers"]


@borrowing
def set_priors(leaves: LeafArrays, count: int) -> None:
    """Policy of each state: softmax of the hand-made prior plus the network's logits."""
    for b in range(count):
        _softmax(leaves.n_candidates[b], leaves.prior_logits[b], leaves.logits[b], leaves.priors[b])


@borrowing
def take_answers(
    c: SearchContext,
    leaves: LeafArrays,
    count: int,
    noise: Floats,
    noise_fraction: float,
    tail_weight: float,
    value_only: bool,
    rank_value: bool,
) -> bool:
    """Turn logits and predictions into priors and what is backed up.

    The value head predicts the return to go as a residual, in units of the rank scale, on that of
    the deterministic tail (or, with ``rank_value``, a rank reward); v of a terminal state is 0.
    ``value = (reward so far) + λ·(return of the randomised tail) + (1 - λ)·v``; with
    ``value_only`` it is v alone. Candidates are sorted by their prior, as the tree wants them.

    Args:
        c: the problem.
        leaves: ``best`` holds the makespans of the randomised tails, and their returns afterwards.
        count: states in ``leaves``.
        noise: ``[n_candidates[0]]`` mixed into the priors of row 0, or empty.
        noise_fraction: its share, in [0, 1].
        tail_weight: λ.
        value_only: see above.
        rank_value: see above.

    Returns:
        False where any prior or value is not finite.
    """
    finite = True
    for b in range(count):
        k, priors = leaves.n_candidates[b], leaves.priors[b]
        total = _softmax(k, leaves.prior_logits[b], leaves.logits[b], priors)
        if b == 0:
            for i in range(noise.shape[0]):
                priors[i] = (1.0 - noise_fraction) * priors[i] + noise_fraction * noise[i]
        _sort(k, leaves.candidates[b], priors)
        v = 0.0
        if not leaves.terminal[b] and rank_value:
            v = leaves.prediction[b]
        elif not leaves.terminal[b]:
            residual = leaves.prediction[b] * c.rank_scale
            v = (leaves.lower_bound[b] - leaves.tail_makespan[b] + residual) / c.cp_min
        if value_only:
            leaves.value[b] = v
            leaves.best[b] = v
        else:
            collected = 1.0 - leaves.lower_bound[b] / c.cp_min
            tail_return = (leaves.lower_bound[b] - leaves.best[b]) / c.cp_min
            leaves.value[b] = collected + tail_weight * tail_return + (1.0 - tail_weight) * v
            leaves.best[b] = collected + tail_return
        finite = finite and np.isfinite(total) and np.isfinite(leaves.value[b])
    return finite


@inlined
def _softmax(
    count: int,
    prior_logits: npt.NDArray[np.float32],
    logits: npt.NDArray[np.float32],
    priors: npt.NDArray[np.float32],
) -> float:
    """Returns the sum of the weights before they are divided by it; 0 without candidates."""
    highest = -np.inf
    for i in range(count):
        highest = max(highest, prior_logits[i] + logits[i])
    total = 0.0
    for i in range(count):
        weight = np.exp(prior_logits[i] + logits[i] - highest)
        priors[i] = weight
        total += weight
    for i in range(count):
        priors[i] /= total
    return total


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

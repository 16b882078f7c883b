"""The fast policy as the prior over the candidates of a state.

It takes the place of the hand-made prior, which is in ``encoding.candidates``.
"""

import numpy as np

from aerl_trainer.policy.context import PolicyContext
from aerl_trainer.policy.encoding.states import EncodedStates
from aerl_trainer.policy.scoring import score, take_pairs
from aerl_trainer.policy.weights import Weights
from aerl_trainer.policy.workspace import PolicyWorkspace
from dagsched_env.kernels.arrays import StateArrays
from dagsched_env.kernels.jit import borrowing


@borrowing
def write_prior(
    f: PolicyContext,
    w: PolicyWorkspace,
    s: StateArrays,
    weights: Weights,
    temperature: float,
    states: EncodedStates,
    b: int,
) -> None:
    """Replace the prior logits of an encoded state by those of the policy.

    Args:
        w: its caches are those of ``s``; room for as many pairs as a state has candidates.
        s: the state, not terminal.
        temperature: by which the logits are divided, > 0.
        states: its row ``b`` is the encoded ``s``; ``prior_logits`` are replaced.
        b: the row.
    """
    # 64 bits as in rollouts: one machine code of what is called serves both.
    count: int = np.int64(states.n_candidates[b])  # type: ignore[assignment]
    take_pairs(f, w, s, states.candidates[b], count)
    score(f, w, s, weights, count)
    for k in range(count):
        states.prior_logits[b, k] = w.logits[k] / temperature

"""The weights of the fast policy as one flat vector, and what lies where in it.

``logit = s·(prior + w·x + v·relu(U x + b))`` with ``s = INITIAL_SCALE·exp(θ)``; the vector holds θ,
w, b, v and U, in this order. All zero but for b and U, it is the hand-made prior.
"""

import numpy as np
import numpy.typing as npt

from aerl_trainer.policy.encoding.features import group_size, index_of

Weights = npt.NDArray[np.float32]
"""``[N_WEIGHTS]``"""

N_FEATURES = group_size("policy")
N_UNSHARED = index_of("policy", "spare")
"""The features from here on are 0 without resources; kernels leave them out there."""
HIDDEN = 16
"""Units of the hidden layer."""
ROW = -(-N_FEATURES // HIDDEN) * HIDDEN
"""Length of a row of features in memory: whole groups of ``HIDDEN``, zeros behind the features."""
INITIAL_SCALE = 33.0
"""Sharpness of the hand-made prior as a policy to sample from."""

# Where the parts begin.
SCALE = 0
LINEAR = 1
BIAS = LINEAR + N_FEATURES
OUTPUT = BIAS + HIDDEN
INPUT = OUTPUT + HIDDEN
N_WEIGHTS = INPUT + N_FEATURES * HIDDEN


def initial_weights(rng: np.random.Generator) -> Weights:
    """Random hidden units whose outputs are 0: the policy starts as the hand-made prior."""
    weights = np.zeros(N_WEIGHTS, dtype=np.float32)
    weights[INPUT:] = rng.normal(0.0, 1.0 / np.sqrt(N_FEATURES), N_FEATURES * HIDDEN)
    return weights

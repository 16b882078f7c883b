"""The weights of the learned dispatcher as one flat vector, and what lies where in it.

``logit = w·x + v·a(U x + b)`` with ``a(z) = z / (1 + |z|)``, a sigmoid like tanh that costs little.
The vector holds w, b, v and U, in this order.
"""

import numpy as np
import numpy.typing as npt

from aerl_trainer.online.features import FINISH, N_FEATURES, PLACE
from dagsched_env.kernels.arrays import Floats
from dagsched_env.problem.errors import DAGSchedError

HIDDEN = 16
"""Units of the hidden layer."""

# Where the parts begin.
LINEAR = 0
BIAS = LINEAR + N_FEATURES
OUTPUT = BIAS + HIDDEN
INPUT = OUTPUT + HIDDEN
N_WEIGHTS = INPUT + N_FEATURES * HIDDEN

FIRST_PLACE = -16.0
FIRST_FINISH = -24.0
"""Of the initial weights: the most probable pair is that of list scheduling by rank_u."""


def initial_weights(rng: np.random.Generator) -> Floats:
    """``[N_WEIGHTS]`` list scheduling by rank_u; random hidden units whose outputs are 0."""
    weights = np.zeros(N_WEIGHTS)
    weights[LINEAR + PLACE] = FIRST_PLACE
    weights[LINEAR + FINISH] = FIRST_FINISH
    weights[BIAS:OUTPUT] = rng.normal(0.0, 0.3, HIDDEN)
    weights[INPUT:] = rng.normal(0.0, 1.5 / np.sqrt(N_FEATURES), N_FEATURES * HIDDEN)
    return weights


def checked_weights(weights: npt.ArrayLike) -> Floats:
    """A copy for kernels.

    Raises:
        DAGSchedError: weights of another length, or that are not finite.
    """
    found: Floats = np.array(weights, dtype=np.float64)
    if found.shape != (N_WEIGHTS,) or not np.isfinite(found).all():
        raise DAGSchedError(
            f"weights has shape {list(found.shape)}: it takes {N_WEIGHTS} finite numbers"
        )
    return found

"""Weights of a fast policy that tests share."""

import numpy as np

from aerl_trainer.policy.weights import N_WEIGHTS, SCALE, Weights, initial_weights


def some_weights(seed: int = 0) -> Weights:
    """All parts matter, and no pair is certain."""
    rng = np.random.default_rng(seed)
    weights = initial_weights(rng)
    weights += (0.2 * rng.normal(size=N_WEIGHTS)).astype(np.float32)
    weights[SCALE] = -1.5
    return weights

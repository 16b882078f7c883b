"""Kernels: a choice among a few pairs by their logits."""

import math

from dagsched_env.kernels.arrays import Floats
from dagsched_env.kernels.jit import embedded

NEGLIGIBLE = -40.0
"""A logit so far below the highest has probability 0: less than double precision can add to 1."""


@embedded
def most_probable(logits: Floats, count: int) -> int:
    """The pair of the highest of the first ``count`` logits; the first of equal ones."""
    best = 0
    for k in range(1, count):
        if logits[k] > logits[best]:
            best = k
    return best


@embedded
def normalise(logits: Floats, count: int) -> None:
    """Turn the first ``count`` logits into probabilities."""
    highest, total = logits[most_probable(logits, count)], 0.0
    for k in range(count):
        below = logits[k] - highest
        logits[k] = math.exp(below) if below > NEGLIGIBLE else 0.0
        total += logits[k]
    for k in range(count):
        logits[k] /= total


@embedded
def draw(logits: Floats, count: int, uniform: float) -> int:
    """Turn the first ``count`` logits into probabilities, and draw a pair.

    Args:
        logits: become probabilities.
        count: of pairs.
        uniform: in [0, 1).
    """
    normalise(logits, count)
    left = uniform
    for k in range(count):
        left -= logits[k]
        if left < 0.0:
            return k
    return most_probable(logits, count)  # rounding

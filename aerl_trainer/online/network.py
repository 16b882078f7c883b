"""Kernels: the network that scores pairs, a choice among them, the gradient of its logarithm."""

import math

from aerl_trainer.online.context import DispatchWork
from aerl_trainer.online.features import N_FEATURES
from aerl_trainer.online.weights import BIAS, HIDDEN, INPUT, LINEAR, OUTPUT
from dagsched_env.kernels.arrays import Floats
from dagsched_env.kernels.jit import borrowing, embedded

NEGLIGIBLE = -40.0
"""A logit so far below the highest has probability 0."""


@borrowing
def score(w: DispatchWork, weights: Floats, count: int) -> None:
    """Write the logits of the first ``count`` pairs, and their hidden units."""
    for k in range(count):
        x, hidden = w.x[k], w.hidden[k]
        for h in range(HIDDEN):
            hidden[h] = weights[BIAS + h]
        logit = 0.0
        for j in range(N_FEATURES):
            value = x[j]
            logit += weights[LINEAR + j] * value
            for h in range(HIDDEN):
                hidden[h] += value * weights[INPUT + j * HIDDEN + h]
        for h in range(HIDDEN):
            hidden[h] = hidden[h] / (1.0 + abs(hidden[h]))
            logit += weights[OUTPUT + h] * hidden[h]
        w.logits[k] = logit


@embedded
def most_probable(w: DispatchWork, count: int) -> int:
    """The pair of the highest logit; the first of equal ones."""
    best = 0
    for k in range(1, count):
        if w.logits[k] > w.logits[best]:
            best = k
    return best


@embedded
def draw(w: DispatchWork, count: int, uniform: float) -> int:
    """Turn the logits into probabilities, and draw a pair.

    Args:
        count: of pairs.
        uniform: in [0, 1).
    """
    highest, total = w.logits[most_probable(w, count)], 0.0
    for k in range(count):
        below = w.logits[k] - highest
        w.logits[k] = math.exp(below) if below > NEGLIGIBLE else 0.0
        total += w.logits[k]
    left, chosen = uniform, -1
    for k in range(count):
        w.logits[k] /= total
        left -= w.logits[k]
        if left < 0.0 and chosen < 0:
            chosen = k
    return chosen if chosen >= 0 else most_probable(w, count)  # rounding


@borrowing
def add_gradient(w: DispatchWork, weights: Floats, count: int, chosen: int, out: Floats) -> None:
    """Add the gradient of the logarithm of a choice's probability.

    Args:
        w: its ``logits`` are probabilities.
        count: of pairs.
        chosen: one of them.
        out: ``[N_WEIGHTS]``.
    """
    for k in range(count):
        credit = (1.0 if k == chosen else 0.0) - w.logits[k]
        if abs(credit) < 1e-9:
            continue
        x, hidden = w.x[k], w.hidden[k]
        for h in range(HIDDEN):
            unit = hidden[h]
            slope = (1.0 - abs(unit)) * (1.0 - abs(unit))
            w.slopes[h] = credit * weights[OUTPUT + h] * slope
            out[OUTPUT + h] += credit * unit
            out[BIAS + h] += w.slopes[h]
        for j in range(N_FEATURES):
            value = x[j]
            out[LINEAR + j] += credit * value
            for h in range(HIDDEN):
                out[INPUT + j * HIDDEN + h] += w.slopes[h] * value

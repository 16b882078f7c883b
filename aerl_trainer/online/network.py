"""Kernels: the network that scores pairs, and the gradient of the logarithm of a choice."""

from aerl_trainer.online.context import DispatchWork
from aerl_trainer.online.features import N_FEATURES
from aerl_trainer.online.weights import BIAS, HIDDEN, INPUT, LINEAR, OUTPUT
from dagsched_env.kernels.arrays import Floats
from dagsched_env.kernels.jit import borrowing


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

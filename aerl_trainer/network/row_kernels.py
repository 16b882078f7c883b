"""The kernels behind ``rows``: each passes once over many rows, forward or backward.

D is the width of the network, F a number of features.
"""

import numpy as np
import numpy.typing as npt

from dagsched_env.kernels.arrays import Ints
from dagsched_env.kernels.jit import embedded, kernel, summing

Floats32 = npt.NDArray[np.float32]
ZERO = np.float32(0.0)


@kernel
def send_messages(
    features: Floats32,
    weight: Floats32,
    values: Floats32,
    source: Ints,
    target: Ints,
    share: Floats32,
    received: Floats32,
) -> None:
    """Mean of ``relu(features[i] · weight + values[source[i]])`` over the messages to each target.

    Args:
        features: ``[M, F]``
        weight: ``[F, D]``
        values: ``[S, D]``
        source: ``[M]`` row of ``values``.
        target: ``[M]`` row of ``received``.
        share: ``[T]`` out: 1 / number of messages to each target; zero before.
        received: ``[T, D]`` out; zero before.
    """
    message = np.empty(values.shape[1], dtype=np.float32)
    for i in range(target.shape[0]):
        share[target[i]] += np.float32(1.0)
    for t in range(share.shape[0]):
        share[t] = np.float32(1.0) / max(share[t], np.float32(1.0))
    for i in range(target.shape[0]):
        out, a, part = received[target[i]], values[source[i]], share[target[i]]
        for j in range(message.shape[0]):
            message[j] = a[j]
        _add_product(features, i, weight, message)
        for j in range(message.shape[0]):
            out[j] += part * max(message[j], ZERO)


@kernel
def message_gradients(
    gradient: Floats32,
    features: Floats32,
    weight: Floats32,
    values: Floats32,
    source: Ints,
    target: Ints,
    share: Floats32,
    of_weight: Floats32,
    of_values: Floats32,
) -> None:
    """Gradients of ``send_messages``.

    Args:
        gradient: ``[T, D]`` of what was received.
        share: what it wrote.
        of_weight: out; zero before.
        of_values: out; zero before.
    """
    message = np.empty(values.shape[1], dtype=np.float32)
    for i in range(target.shape[0]):
        t, a, part = target[i], values[source[i]], share[target[i]]
        for j in range(message.shape[0]):
            message[j] = a[j]
        _add_product(features, i, weight, message)
        for j in range(message.shape[0]):
            slope = part * gradient[t, j]
            message[j] = slope if message[j] > ZERO else ZERO
        out = of_values[source[i]]
        for j in range(message.shape[0]):
            out[j] += message[j]
        for f in range(features.shape[1]):
            factor = features[i, f]
            for j in range(message.shape[0]):
                of_weight[f, j] += factor * message[j]


@kernel
def add_rows(first: Floats32, second: Floats32, row: Ints, other_row: Ints, rows: Floats32) -> None:
    """Turn each row into ``relu(rows[i] + first[row[i]] + second[other_row[i]])``.

    Args:
        first: ``[T, D]``
        second: ``[Q, D]``
        row: ``[N]``
        other_row: ``[N]``
        rows: ``[N, D]`` changed.
    """
    for i in range(rows.shape[0]):
        out, a, b = rows[i], first[row[i]], second[other_row[i]]
        for j in range(out.shape[0]):
            out[j] = max(out[j] + a[j] + b[j], ZERO)


@kernel
def add_gradients(
    rows: Floats32,
    row: Ints,
    other_row: Ints,
    gradient: Floats32,
    of_first: Floats32,
    of_second: Floats32,
) -> None:
    """Gradients of ``add_rows``.

    Args:
        rows: what it wrote.
        gradient: ``[N, D]`` of what it wrote; then of the rows before, 0 where ``rows`` is 0.
        of_first: out; zero before.
        of_second: out; zero before.
    """
    for i in range(rows.shape[0]):
        slope, a, b = gradient[i], of_first[row[i]], of_second[other_row[i]]
        for j in range(slope.shape[0]):
            slope[j] = slope[j] if rows[i, j] > ZERO else ZERO
        for j in range(slope.shape[0]):
            a[j] += slope[j]
        for j in range(slope.shape[0]):
            b[j] += slope[j]


@kernel
def pool_segments(values: Floats32, bias: Floats32, begin: Ints, pooled: Floats32) -> None:
    """Mean and maximum over each segment of ``relu(values + bias)``.

    Args:
        values: ``[N, D]``
        bias: ``[D]``
        begin: ``[B + 1]`` where the segments begin.
        pooled: ``[B, 2 * D]`` out: means, then maxima; zero before.
    """
    width = bias.shape[0]
    for b in range(begin.shape[0] - 1):
        mean, peak = pooled[b, :width], pooled[b, width:]
        for i in range(begin[b], begin[b + 1]):
            for j in range(width):
                value = max(values[i, j] + bias[j], ZERO)
                mean[j] += value
                peak[j] = max(value, peak[j])
        share = np.float32(1.0 / max(begin[b + 1] - begin[b], 1))
        for j in range(width):
            mean[j] *= share


@kernel
def pool_gradients(
    gradient: Floats32,
    others: Floats32,
    values: Floats32,
    bias: Floats32,
    begin: Ints,
    pooled: Floats32,
    of_values: Floats32,
    of_bias: Floats32,
) -> None:
    """Gradients of ``pool_segments``; that of a maximum goes to the first row that has it.

    Args:
        gradient: ``[B, 2 * D]`` of what it wrote.
        others: ``[N, D]`` gradient of the values that comes from elsewhere.
        pooled: what it wrote.
        of_values: out: with the others.
        of_bias: out; zero before.
    """
    width = bias.shape[0]
    of_peak = np.empty(width, dtype=np.float32)
    for b in range(begin.shape[0] - 1):
        peak = pooled[b, width:]
        share = np.float32(1.0 / max(begin[b + 1] - begin[b], 1))
        for j in range(width):
            of_peak[j] = gradient[b, width + j]
        for i in range(begin[b], begin[b + 1]):
            for j in range(width):
                value = values[i, j] + bias[j]
                slope = gradient[b, j] * share if value > ZERO else ZERO
                taken = of_peak[j] if value > ZERO and value == peak[j] else ZERO
                of_peak[j] -= taken
                of_values[i, j] = others[i, j] + slope + taken
                of_bias[j] += slope + taken


@summing
def score_rows(
    values: Floats32,
    bias: Floats32,
    context: Floats32,
    weight: Floats32,
    begin: Ints,
    scores: Floats32,
) -> None:
    """``weight · relu(relu(values[i] + bias) + context[b])``.

    Args:
        values: ``[N, D]``
        bias: ``[D]``
        context: ``[B, D]``
        weight: ``[D]``
        begin: ``[B + 1]`` where the segments begin.
        scores: ``[N]`` out.
    """
    for b in range(context.shape[0]):
        for i in range(begin[b], begin[b + 1]):
            total = ZERO
            for j in range(bias.shape[0]):
                hidden = max(values[i, j] + bias[j], ZERO)
                total += max(hidden + context[b, j], ZERO) * weight[j]
            scores[i] = total


@kernel
def score_gradients(
    gradient: Floats32,
    values: Floats32,
    bias: Floats32,
    context: Floats32,
    weight: Floats32,
    begin: Ints,
    of_values: Floats32,
    of_bias: Floats32,
    of_context: Floats32,
    of_weight: Floats32,
) -> None:
    """Gradients of ``score_rows``.

    Args:
        gradient: ``[N]`` of the scores.
        of_values: out.
        of_bias: out; zero before.
        of_context: out; zero before.
        of_weight: out; zero before.
    """
    width = bias.shape[0]
    for b in range(context.shape[0]):
        for i in range(begin[b], begin[b + 1]):
            for j in range(width):
                value = values[i, j] + bias[j]
                active = max(value, ZERO) + context[b, j]
                slope = gradient[i] * weight[j] if active > ZERO else ZERO
                of_context[b, j] += slope
                of_weight[j] += gradient[i] * max(active, ZERO)
                of_values[i, j] = slope if value > ZERO else ZERO
                of_bias[j] += of_values[i, j]


@embedded
def _add_product(features: Floats32, i: int, weight: Floats32, out: Floats32) -> None:
    """Add ``features[i] · weight`` to ``out``."""
    for f in range(features.shape[1]):
        factor, w = features[i, f], weight[f]
        for j in range(out.shape[0]):
            out[j] += factor * w[j]

"""What the network does with every edge, pair and candidate, in one pass over them each.

On the CPU these operations are kernels, forward and backward: written with torch they are chains of
passes over memory that take far longer than the arithmetic. ``by_torch`` holds the same for other
devices. The candidates of a state are a *segment*: rows that lie side by side.
"""

from typing import Any

import numpy.typing as npt
import torch
from torch import Tensor

from aerl_trainer.network import by_torch, row_kernels

OPERATIONS = ("embed", "messages", "pool", "score")
"""What ``by_torch`` has, too."""


def messages(
    features: Tensor, weight: Tensor, values: Tensor, ends: tuple[Tensor, Tensor], size: int
) -> Tensor:
    """Mean of ``relu(weight · features[i] + values[source[i]])`` over the messages i to a target.

    Args:
        features: ``[M, F]``
        weight: ``[D, F]``
        values: ``[S, D]``
        ends: ``[M]`` source and ``[M]`` target of each message.
        size: T, number of targets.

    Returns:
        ``[T, D]``; 0 where there is no message.
    """
    if features.device.type != "cpu":
        return by_torch.messages(features, weight, values, ends, size)
    columns = weight.t().contiguous()
    received: Tensor = _Messages.apply(features, columns, values, *ends, size)  # type: ignore[no-untyped-call]
    return received


def embed(
    features: Tensor,
    weight: Tensor,
    first: Tensor,
    second: Tensor,
    rows: tuple[Tensor, Tensor],
    hidden: Tensor,
) -> Tensor:
    """``hidden · relu(weight · features[i] + first[rows[0][i]] + second[rows[1][i]])`` for each i.

    Args:
        features: ``[N, F]``
        weight: ``[D, F]``
        first: ``[T, D]``
        second: ``[Q, D]``
        rows: ``[N]`` and ``[N]``
        hidden: ``[D, D]``

    Returns:
        ``[N, D]``
    """
    if features.device.type != "cpu":
        return by_torch.embed(features, weight, first, second, rows, hidden)
    embedded: Tensor = _Embed.apply(features, weight, first, second, *rows, hidden)  # type: ignore[no-untyped-call]
    return embedded


def pool(values: Tensor, bias: Tensor, begin: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and maximum over each segment of ``relu(values + bias)``; 0 where it is empty.

    Args:
        values: ``[N, D]``
        bias: ``[D]``
        begin: ``[B + 1]`` where the segments begin; the last entry is N.

    Returns:
        ``[B, 2 * D]`` the means, then the maxima; and the values, for all further uses: their
        gradients then are summed in passing.
    """
    if values.device.type != "cpu":
        return by_torch.pool(values, bias, begin)
    result: tuple[Tensor, Tensor] = _Pool.apply(values, bias, begin)  # type: ignore[no-untyped-call]
    return result


def score(values: Tensor, bias: Tensor, context: Tensor, weight: Tensor, begin: Tensor) -> Tensor:
    """``weight · relu(relu(values[i] + bias) + context[b])`` for each row i of each segment b.

    Args:
        values: ``[N, D]``
        bias: ``[D]``
        context: ``[B, D]``
        weight: ``[D]``
        begin: ``[B + 1]`` as in ``pool``.

    Returns:
        ``[N]``
    """
    if values.device.type != "cpu":
        return by_torch.score(values, bias, context, weight, begin)
    scores: Tensor = _Score.apply(values, bias, context, weight, begin)  # type: ignore[no-untyped-call]
    return scores


class _Messages(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, features: Tensor, *others: Any) -> Tensor:
        *tensors, size = others
        share = features.new_zeros(size)
        received = features.new_zeros(size, tensors[0].shape[1])
        row_kernels.send_messages(*_arrays(features, *tensors, share, received))
        ctx.save_for_backward(features, *tensors, share)
        return received

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        _, weight, values, *_ = ctx.saved_tensors
        results = torch.zeros_like(weight), torch.zeros_like(values)
        inputs = (gradients[0].contiguous(), *ctx.saved_tensors)
        row_kernels.message_gradients(*_arrays(*inputs, *results))
        return None, *results, None, None, None


class _Embed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, features: Tensor, weight: Tensor, *others: Tensor) -> Tensor:
        *added, hidden = others
        active = features @ weight.t()
        row_kernels.add_rows(*_arrays(*added, active))
        ctx.save_for_backward(features, *added, active, hidden)
        return active @ hidden.t()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        features, first, second, *ends, active, hidden = ctx.saved_tensors
        slopes = gradients[0] @ hidden
        of_added = torch.zeros_like(first), torch.zeros_like(second)
        row_kernels.add_gradients(*_arrays(active, *ends, slopes, *of_added))
        of_hidden = gradients[0].t() @ active
        return None, slopes.t() @ features, *of_added, None, None, of_hidden


class _Pool(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, bias: Tensor, begin: Tensor) -> tuple[Tensor, Tensor]:
        pooled = values.new_zeros(begin.shape[0] - 1, 2 * values.shape[1])
        row_kernels.pool_segments(*_arrays(values, bias, begin, pooled))
        ctx.save_for_backward(values, bias, begin, pooled)
        return pooled, values

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        values, bias, _, _ = ctx.saved_tensors
        inputs = (*(gradient.contiguous() for gradient in gradients), *ctx.saved_tensors)
        results = torch.empty_like(values), torch.zeros_like(bias)
        row_kernels.pool_gradients(*_arrays(*inputs, *results))
        return *results, None


class _Score(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, *others: Tensor) -> Tensor:
        scores = values.new_empty(values.shape[0])
        row_kernels.score_rows(*_arrays(values, *others, scores))
        ctx.save_for_backward(values, *others)
        return scores

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        values, *others, _ = ctx.saved_tensors
        results = torch.empty_like(values), *(torch.zeros_like(tensor) for tensor in others)
        row_kernels.score_gradients(
            *_arrays(gradients[0].contiguous(), *ctx.saved_tensors, *results)
        )
        return *results, None


def _arrays(*tensors: Tensor) -> list[npt.NDArray[Any]]:
    return [tensor.detach().numpy() for tensor in tensors]

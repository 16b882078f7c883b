"""The operations of ``rows`` written with torch: for any device, and what they are tested by."""

import torch
from torch import Tensor


def messages(
    features: Tensor, weight: Tensor, values: Tensor, ends: tuple[Tensor, Tensor], size: int
) -> Tensor:
    """See ``rows.messages``."""
    source, target = ends
    sent = torch.relu(torch.addmm(values.index_select(0, source), features, weight.t()))
    total = sent.new_zeros(size, sent.shape[1]).index_add(0, target, sent)
    count = sent.new_zeros(size).index_add(0, target, sent.new_ones(sent.shape[0]))
    return total / count.clamp(min=1).unsqueeze(1)


def embed(
    features: Tensor,
    weight: Tensor,
    first: Tensor,
    second: Tensor,
    rows: tuple[Tensor, Tensor],
    hidden: Tensor,
) -> Tensor:
    """See ``rows.embed``."""
    added = first.index_select(0, rows[0]) + second.index_select(0, rows[1])
    return torch.relu(torch.addmm(added, features, weight.t())) @ hidden.t()


def pool(values: Tensor, bias: Tensor, begin: Tensor) -> tuple[Tensor, Tensor]:
    """See ``rows.pool``."""
    lengths, segment = _segments(values, begin)
    hidden = torch.relu(values + bias)
    empty = hidden.new_zeros(lengths.shape[0], hidden.shape[1])
    mean = empty.index_add(0, segment, hidden) / lengths.clamp(min=1).unsqueeze(1)
    highest = empty.scatter_reduce(0, segment.unsqueeze(1).expand_as(hidden), hidden, "amax")
    return torch.cat([mean, highest], dim=1), values


def score(values: Tensor, bias: Tensor, context: Tensor, weight: Tensor, begin: Tensor) -> Tensor:
    """See ``rows.score``."""
    _, segment = _segments(values, begin)
    hidden = torch.relu(values + bias) + context.index_select(0, segment)
    return torch.relu(hidden) @ weight


def _segments(values: Tensor, begin: Tensor) -> tuple[Tensor, Tensor]:
    """Length of each segment, and the segment of each row."""
    lengths = begin.diff()
    numbers = torch.arange(lengths.shape[0], device=begin.device)
    return lengths, numbers.repeat_interleave(lengths, output_size=values.shape[0])

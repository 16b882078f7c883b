"""The attention model of Kool, van Hoof, Welling 2019 (arXiv:1803.08475) for tours of points.

Encoder: a transformer without positions, d = 128, 8 heads, 3 layers, feed-forward 512. Decoder: at
each step one query, made of the mean embedding, the first and the last point, attends to the points
that are left (the glimpse); the glimpse is compared with each of them, and tanh clips the result.

The query is a sum, of one part of the first point and one of the last, so all its products with
keys are sums of entries of two tables, which are computed once for each set of points; so are the
products of the values of the glimpse with the keys of the comparison. A step then adds two rows,
takes a softmax for each head, and multiplies once. The projections of the glimpse and of the
comparison follow each other without anything between, so they are one matrix here.
"""

import dataclasses
import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from aerl_trainer.baselines.reinforce import Rollouts
from tsp.points import normalised, tour_lengths

__all__ = ["AttentionPolicy", "Encoded", "ModelSettings"]

FORBIDDEN = -1e9
"""Added to the scores of points that have been visited."""
LEAST_UNIFORM = 1e-30
"""Of the numbers that actions are drawn by; its logarithm is finite."""


@dataclasses.dataclass(frozen=True)
class ModelSettings:
    """Sizes of the network; the defaults are those of the paper."""

    width: int = 128
    heads: int = 8
    layers: int = 3
    feed_forward: int = 512
    clip: float = 10.0
    """The logits lie in ± this."""
    norm: str = "batch"
    """``"batch"`` as in Kool et al., ``"instance"`` as in POMO."""
    free_start: bool = True
    """The policy chooses the first point, by a learned query; otherwise sequence s begins at s."""


class Encoded(NamedTuple):
    """What the decoder needs to know of B sets of n points; H heads."""

    points: Tensor
    """``[B, n, 2]``, as they were given."""
    queries: Tensor
    """``[B, 2n + 1, H·n]``: scores of all points, for the part of the query of each last point, of
    each first point, and of the start; a state's scores are the sum of one or two rows."""
    outcomes: Tensor
    """``[B, H·n, n]``: what attention to each point adds to the comparison with each point."""


class _Layer(nn.Module):
    """Attention and feed-forward, each with a skip connection and a norm: equations 7 and 8."""

    def __init__(self, settings: ModelSettings) -> None:
        super().__init__()
        width = settings.width
        self._heads = settings.heads
        self.project = nn.Linear(width, 3 * width, bias=False)
        self.combine = nn.Linear(width, width, bias=False)
        self.norms = nn.ModuleList(_Norm(settings) for _ in range(2))
        self.widen = nn.Linear(width, settings.feed_forward)
        self.narrow = nn.Linear(settings.feed_forward, width)

    def forward(self, x: Tensor) -> Tensor:
        """``[B, n, width]`` → the same."""
        batch, count, width = x.shape
        parts = self.project(x).view(batch, count, 3, self._heads, -1).permute(2, 0, 3, 1, 4)
        heads = functional.scaled_dot_product_attention(parts[0], parts[1], parts[2])
        x = self.norms[0](x + self.combine(heads.transpose(1, 2).reshape(batch, count, width)))
        return self.norms[1](x + self.narrow(functional.relu(self.widen(x))))


class _Norm(nn.Module):
    """Of each feature, over all points of a batch or over those of one problem."""

    def __init__(self, settings: ModelSettings) -> None:
        super().__init__()
        kinds = {"batch": nn.BatchNorm1d, "instance": nn.InstanceNorm1d}
        self._batch = settings.norm == "batch"
        self.norm = kinds[settings.norm](settings.width, affine=True)

    def forward(self, x: Tensor) -> Tensor:
        """``[B, n, width]`` → the same."""
        if self._batch:
            return self.norm(x.reshape(-1, x.shape[-1])).view_as(x)
        return self.norm(x.transpose(1, 2)).transpose(1, 2)


class AttentionPolicy(nn.Module):
    """Writes tours point by point; a ``SequencePolicy`` of ``aerl_trainer.baselines.reinforce``.

    A batch of problems is a tensor ``[B, n, 2]`` of coordinates, n ≥ 3, in any unit and place.
    """

    def __init__(self, settings: ModelSettings | None = None) -> None:
        super().__init__()
        self.settings = settings = settings or ModelSettings()
        width = settings.width
        self.embed = nn.Linear(2, width)
        self.layers = nn.ModuleList(_Layer(settings) for _ in range(settings.layers))
        self.project = nn.Linear(width, 5 * width, bias=False)
        self.project_mean = nn.Linear(width, width, bias=False)
        self.start = nn.Parameter(torch.empty(width).uniform_(-1, 1) / math.sqrt(width))

    def encode(self, problems: Tensor) -> Encoded:
        """Embed the points, and compute the tables of the decoder."""
        batch, count, _ = problems.shape
        x = self.embed(normalised(problems))
        for layer in self.layers:
            x = layer(x)
        heads, width = self.settings.heads, self.settings.width
        parts = self.project(x).view(batch, count, 5, width)
        mean = self.project_mean(x.mean(dim=1, keepdim=True))
        queries = torch.cat((parts[:, :, 0], parts[:, :, 1] + mean, self.start + mean), dim=1)
        keys, values, compared = (self._split(parts[:, :, i]) for i in (2, 3, 4))
        scores = self._split(queries) @ keys.transpose(2, 3) / math.sqrt(width // heads)
        outcomes = values @ compared.transpose(2, 3) / math.sqrt(width)
        return Encoded(
            problems,
            scores.transpose(1, 2).reshape(batch, 2 * count + 1, heads * count),
            outcomes.reshape(batch, heads * count, count),
        )

    def rollouts(
        self, encoded: Encoded, starts: int, *, generator: torch.Generator | None
    ) -> Rollouts:
        """Write ``starts`` tours of each set of points; see ``SequencePolicy``."""
        points, table, outcomes = encoded
        batch, count, _ = points.shape
        heads = self.settings.heads
        rows = torch.arange(batch)[:, None] * table.shape[1]
        table = table.reshape(-1, heads * count)
        left = points.new_ones(batch, starts, count)
        actions = torch.empty(batch, starts, count, dtype=torch.int64)
        if self.settings.free_start:
            scores = table[(rows + 2 * count).expand(-1, starts)]
            actions[..., 0] = self._choose(scores, left, outcomes, generator)
        else:
            actions[..., 0] = torch.arange(starts)
        left.scatter_(2, actions[..., :1], 0.0)
        context = table[rows + count + actions[..., 0]]
        for step in range(1, count):
            last = actions[..., step - 1]
            forbidden = last[..., None, None].expand(-1, -1, heads, 1)
            context.view(batch, starts, heads, count).scatter_(3, forbidden, FORBIDDEN)
            chosen = self._choose(context + table[rows + last], left, outcomes, generator)
            actions[..., step] = chosen
            left.scatter_(2, chosen[..., None], 0.0)
        return Rollouts(actions, tour_lengths(points, actions))

    def log_probabilities(self, encoded: Encoded, actions: Tensor) -> Tensor:
        """``[B, S]``; see ``SequencePolicy``. The last point of a tour is no choice."""
        _, table, outcomes = encoded
        batch, starts, count = actions.shape
        one = torch.eye(count)[actions]
        visited = one.cumsum(dim=2) - one
        steps = slice(0 if self.settings.free_start else 1, count - 1)
        states = torch.cat(
            (
                one.roll(1, dims=2),
                one[:, :, :1].expand_as(one),
                torch.zeros(batch, starts, count, 1),
                visited,
            ),
            dim=3,
        )
        if self.settings.free_start:
            states[:, :, 0] = 0.0
            states[:, :, 0, 2 * count] = 1.0
        states = states[:, :, steps]
        # Visited points are rows of the table too: so all sums are one product of matrices.
        shut = (FORBIDDEN * torch.eye(count)).repeat(1, self.settings.heads)
        table = torch.cat((table, shut.expand(batch, -1, -1)), dim=1)
        scores = torch.bmm(states.reshape(batch, -1, 3 * count + 1), table)
        compared = self._compare(scores, outcomes).view(batch, starts, -1, count)
        logits = compared + FORBIDDEN * visited[:, :, steps]
        chosen = logits.gather(3, actions[:, :, steps, None]).squeeze(3)
        return (chosen - logits.logsumexp(dim=3)).sum(dim=2)

    def _split(self, x: Tensor) -> Tensor:
        """``[B, L, width]`` → ``[B, H, L, width / H]``."""
        return x.view(*x.shape[:2], self.settings.heads, -1).transpose(1, 2)

    def _compare(self, scores: Tensor, outcomes: Tensor) -> Tensor:
        """Logits ``[B, L, n]`` of states with these scores ``[B, L, H·n]``: equations 5 and 7."""
        batch, states, _ = scores.shape
        attention = scores.view(batch, states, self.settings.heads, -1).softmax(dim=-1)
        compared = torch.bmm(attention.view(batch, states, -1), outcomes)
        return self.settings.clip * torch.tanh(compared)

    def _choose(
        self, scores: Tensor, left: Tensor, outcomes: Tensor, generator: torch.Generator | None
    ) -> Tensor:
        """One of the points that are left, ``[B, S]``."""
        weights = self._compare(scores, outcomes).exp() * left
        if generator is not None:
            # Of exponential variables, divided by weights, each is the least with a probability
            # in proportion to its weight. None is infinite: no weight but those of visited points
            # may become 0.
            uniform = torch.rand(weights.shape, generator=generator).clamp_(min=LEAST_UNIFORM)
            weights /= -uniform.log_()
        return weights.argmax(dim=-1)

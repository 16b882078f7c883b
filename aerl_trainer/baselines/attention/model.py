"""The attention model (Kool, van Hoof, Welling 2019) for task graphs: encoder and decoder.

The encoder's layers are those of the paper, but that the structure of the graph says who attends
to whom, and adds to the scores, and that normalisation is that of a layer: a token is the same
whatever else is in the batch. The decoder scores the pairs of a state: a glimpse at all of them,
then logits clipped by ``CLIPPING * tanh``.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from aerl_trainer.baselines.attention.graphs import RELATIONS, Graphs
from aerl_trainer.config import AttentionConfig
from aerl_trainer.policy.encoding.features import group_size
from aerl_trainer.policy.weights import N_FEATURES

CLIPPING = 10.0
"""No logit lies further from 0 (Bello et al. 2017)."""
FEED_FORWARD = 4
"""Width of the hidden layer of a feed-forward part, in widths of the model."""
MASKED = -1e9
"""A score that is as good as minus infinity, and has a gradient."""


class Embedding(NamedTuple):
    """What the decoder needs of B problems of at most N tasks and P processors."""

    task: Tensor  # [B, N, width]
    processor: Tensor  # [B, P, width]
    graph: Tensor  # [B, width]


class States(NamedTuple):
    """M states with at most K pairs each; what lies behind the end of a list is masked."""

    x: Tensor  # [M, K, N_FEATURES]
    tasks: Tensor  # [M, K] int64
    processors: Tensor  # [M, K] int64
    listed: Tensor  # [M, K] bool
    problem: Tensor  # [M] int64, rows of the embedding


class AttentionModel(nn.Module):
    """Encoder and decoder.

    Args:
        config: sizes.
    """

    def __init__(self, config: AttentionConfig) -> None:
        super().__init__()
        width = config.width
        self.task_in = nn.Linear(group_size("task"), width)
        self.processor_in = nn.Linear(group_size("processor"), width)
        self.layers = nn.ModuleList(EncoderLayer(width, config.heads) for _ in range(config.layers))
        self.norm = nn.LayerNorm(width)
        self.task_out = nn.Linear(width, width)
        self.processor_out = nn.Linear(width, width)
        self.graph_out = nn.Linear(width, width)
        self.decoder = Decoder(width, config.heads)

    def encode(self, graphs: Graphs) -> Embedding:
        """Embeddings of all tasks and processors, and the mean of a problem's tasks."""
        tokens = torch.cat((self.task_in(graphs.task), self.processor_in(graphs.processor)), dim=1)
        for layer in self.layers:
            tokens = layer(tokens, graphs)
        tokens = self.norm(tokens)
        n = graphs.task.shape[1]
        tasks = tokens[:, :n]
        count = graphs.real.sum(dim=1, keepdim=True)
        mean = (tasks * graphs.real.unsqueeze(-1)).sum(dim=1) / count
        return Embedding(
            self.task_out(tasks), self.processor_out(tokens[:, n:]), self.graph_out(mean)
        )

    def decode(self, embedding: Embedding, states: States) -> Tensor:
        """Log-probabilities ``[M, K]`` of the pairs; 0 chance where none is listed."""
        logits: Tensor = self.decoder(embedding, states)
        return logits.masked_fill(~states.listed, MASKED).log_softmax(dim=-1)


class EncoderLayer(nn.Module):
    """Multi-head attention along the relations, then a feed-forward part; both residual."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.relation = nn.Linear(RELATIONS, heads, bias=False)
        self.query_key_value = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width)
        self.first_norm = nn.LayerNorm(width)
        self.second_norm = nn.LayerNorm(width)
        self.feed_forward = nn.Sequential(
            nn.Linear(width, FEED_FORWARD * width),
            nn.ReLU(),
            nn.Linear(FEED_FORWARD * width, width),
        )

    def forward(self, tokens: Tensor, graphs: Graphs) -> Tensor:
        batch, size, width = tokens.shape
        joined = self.query_key_value(self.first_norm(tokens))
        query, key, value = joined.view(batch, size, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = query @ key.transpose(2, 3) / math.sqrt(width // self.heads)
        scores = scores + self.relation(graphs.relation).permute(0, 3, 1, 2)
        weights = scores.masked_fill(~graphs.attends.unsqueeze(1), MASKED).softmax(dim=-1)
        mixed = (weights @ value).transpose(1, 2).reshape(batch, size, width)
        tokens = tokens + self.out(mixed)
        out: Tensor = tokens + self.feed_forward(self.second_norm(tokens))
        return out


class Decoder(nn.Module):
    """Scores the pairs of a state from embeddings and dynamic features.

    The keys of a pair are its hidden vector itself: the matrices that attention has for keys and
    values are applied to queries and glimpses, of which a state has one, not one for each pair.
    """

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.pair_in = nn.Linear(N_FEATURES, width)
        self.state_in = nn.Linear(N_FEATURES, width)
        self.query = nn.Linear(width, heads * width)
        self.glimpse = nn.Linear((heads + 1) * width, width)
        self.direct = nn.Linear(N_FEATURES, 1, bias=False)
        nn.init.zeros_(self.direct.weight)

    def forward(self, embedding: Embedding, states: States) -> Tensor:
        """Logits ``[M, K]``, clipped."""
        listed = states.listed.unsqueeze(1)
        share = states.listed / states.listed.sum(dim=1, keepdim=True)
        mean = (share.unsqueeze(1) @ states.x).squeeze(1)
        context = torch.relu(self.state_in(mean) + embedding.graph.index_select(0, states.problem))
        hidden = self._pairs(embedding, states)
        scale = 1.0 / math.sqrt(hidden.shape[2])
        query = self.query(context).view(-1, self.heads, hidden.shape[2])
        scores = (query @ hidden.transpose(1, 2) * scale).masked_fill(~listed, MASKED)
        seen = (scores.softmax(dim=-1) @ hidden).flatten(start_dim=1)
        glimpse = self.glimpse(torch.cat((seen, context), dim=1)).unsqueeze(2)
        score = hidden @ glimpse * scale + self.direct(states.x)
        return CLIPPING * torch.tanh(score.squeeze(2))

    def _pairs(self, embedding: Embedding, states: States) -> Tensor:
        """``[M, K, width]`` of the task, the processor and the features of each pair."""
        size, width = embedding.processor.shape[1:]
        tasks = embedding.task + self.pair_in.bias
        pairs = (tasks.unsqueeze(2) + embedding.processor.unsqueeze(1)).view(-1, width)
        task = states.problem.unsqueeze(1) * embedding.task.shape[1] + states.tasks
        fixed = pairs.index_select(0, (task * size + states.processors).flatten())
        features = states.x.flatten(0, 1)
        hidden = torch.addmm(fixed, features, self.pair_in.weight.t())
        return torch.relu_(hidden).view(*states.tasks.shape, width)

"""The policy and value network: a static encoder, run once per instance, and a light decoder.

It takes any number of tasks, processors and edges and does not depend on their order. Both heads
are residuals that start at zero: the policy on the hand-made prior, the value on the return of the
list completion, so an untrained network is already a sound scheduler.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from aerl_trainer.config import NetworkConfig
from aerl_trainer.encoding.features import group_size

__all__ = ["Embedding", "GraphTensors", "Network", "StateTensors"]


class GraphTensors(NamedTuple):
    """G instances as one disconnected graph: T tasks, Q processors, R pairs, M edges in all."""

    task: Tensor  # [T, task features]
    processor: Tensor  # [Q, processor features]
    pair: Tensor  # [R, static pair features]
    pair_task: Tensor  # [R] row in `task`
    pair_processor: Tensor  # [R] row in `processor`
    edge: Tensor  # [M, edge features]
    edge_source: Tensor  # [M] row in `task`
    edge_target: Tensor  # [M] row in `task`
    task_graph: Tensor  # [T] instance of each task
    n_graphs: int


class StateTensors(NamedTuple):
    """B states with at most K candidates each; rows refer to a GraphTensors."""

    task: Tensor  # [B, K] row in `GraphTensors.task`
    processor: Tensor  # [B, K] row in `GraphTensors.processor`
    graph: Tensor  # [B] instance of each state
    mask: Tensor  # [B, K] True where there is a candidate
    pair_features: Tensor  # [B, K, pair features]
    state_features: Tensor  # [B, state features]


class Embedding(NamedTuple):
    """What the decoder needs of the encoder: constant during a search, cached per instance."""

    task: Tensor  # [T, width]
    processor: Tensor  # [Q, width]
    graph: Tensor  # [G, width]


class Network(nn.Module):
    """Encoder and decoder; ``forward`` runs both."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        width = config.width
        self.encoder = Encoder(width, config.layers)
        self.decoder = Decoder(width)

    def forward(self, graphs: GraphTensors, states: StateTensors) -> tuple[Tensor, Tensor]:
        """Policy logits ``[B, K]``, to be added to the prior's, and predictions ``[B]``."""
        return self.decode(self.encode(graphs), states)

    def encode(self, graphs: GraphTensors) -> Embedding:
        """Static embeddings of instances."""
        embedding: Embedding = self.encoder(graphs)
        return embedding

    def decode(self, embedding: Embedding, states: StateTensors) -> tuple[Tensor, Tensor]:
        """Logits and predictions of states from the embeddings of their instances."""
        logits, prediction = self.decoder(embedding, states)
        return logits, prediction


class Encoder(nn.Module):
    """Rounds of message passing along the edges, in both directions, after mixing in the costs."""

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.task_in = nn.Linear(group_size("task"), width)
        self.processor_in = nn.Linear(group_size("processor"), width)
        self.pair_in = nn.Sequential(nn.Linear(group_size("static_pair"), width), nn.ReLU())
        self.pair_to_task = nn.Linear(width, width)
        self.pair_to_processor = nn.Linear(width, width)
        self.layers = nn.ModuleList(MessageLayer(width) for _ in range(layers))
        self.task_out = nn.Linear(width, width)
        self.processor_out = nn.Linear(width, width)
        self.graph_out = nn.Linear(width, width)

    def forward(self, graphs: GraphTensors) -> Embedding:
        pair = self.pair_in(graphs.pair)
        n_tasks, n_processors = graphs.task.shape[0], graphs.processor.shape[0]
        from_pairs = scatter_mean(pair, graphs.pair_task, n_tasks)
        task = torch.relu(self.task_in(graphs.task) + self.pair_to_task(from_pairs))
        from_pairs = scatter_mean(pair, graphs.pair_processor, n_processors)
        processor = torch.relu(
            self.processor_in(graphs.processor) + self.pair_to_processor(from_pairs)
        )
        for layer in self.layers:
            task = layer(task, graphs)
        pooled = scatter_mean(task, graphs.task_graph, graphs.n_graphs)
        return Embedding(self.task_out(task), self.processor_out(processor), self.graph_out(pooled))


class MessageLayer(nn.Module):
    """One residual round: messages from predecessors and from successors, with edge costs."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.from_source = nn.Linear(width, width)
        self.from_target = nn.Linear(width, width)
        self.edge_down = nn.Linear(group_size("edge"), width)
        self.edge_up = nn.Linear(group_size("edge"), width)
        self.update = nn.Sequential(nn.Linear(3 * width, width), nn.ReLU(), nn.Linear(width, width))
        self.norm = nn.LayerNorm(width)

    def forward(self, task: Tensor, graphs: GraphTensors) -> Tensor:
        source, target = graphs.edge_source, graphs.edge_target
        down = torch.relu(self.from_source(task)[source] + self.edge_down(graphs.edge))
        up = torch.relu(self.from_target(task)[target] + self.edge_up(graphs.edge))
        n = task.shape[0]
        inputs = [task, scatter_mean(down, target, n), scatter_mean(up, source, n)]
        out: Tensor = self.norm(task + self.update(torch.cat(inputs, dim=1)))
        return out


class Decoder(nn.Module):
    """Scores candidates from static embeddings, dynamic features and a pooled context."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.pair_in = nn.Linear(group_size("pair"), width)
        self.state_in = nn.Linear(group_size("state"), width)
        self.pair_hidden = nn.Linear(width, width)
        self.context = nn.Linear(3 * width, width)
        self.context_to_pair = nn.Linear(width, width)
        self.policy = nn.Linear(width, 1)
        self.value_hidden = nn.Linear(width, width)
        self.value = nn.Linear(width, 1)
        for head in (self.policy, self.value):
            nn.init.zeros_(head.weight)
            nn.init.zeros_(head.bias)

    def forward(self, embedding: Embedding, states: StateTensors) -> tuple[Tensor, Tensor]:
        # Rows by `embedding`: indexing takes several times as long, on the CPU.
        pair = self.pair_in(states.pair_features)
        pair = pair + nn.functional.embedding(states.task, embedding.task)
        pair = pair + nn.functional.embedding(states.processor, embedding.processor)
        hidden = torch.relu(self.pair_hidden(torch.relu(pair)))
        mask = states.mask.unsqueeze(-1)
        hidden = hidden * mask
        mean = hidden.sum(dim=1) / mask.sum(dim=1).clamp(min=1)
        highest = hidden.amax(dim=1)
        state = torch.relu(self.state_in(states.state_features) + embedding.graph[states.graph])
        context = torch.relu(self.context(torch.cat([mean, highest, state], dim=1)))
        scored = torch.relu(hidden + self.context_to_pair(context).unsqueeze(1))
        logits = self.policy(scored).squeeze(-1)
        prediction = self.value(torch.relu(self.value_hidden(context))).squeeze(-1)
        return logits, prediction


def scatter_mean(values: Tensor, index: Tensor, size: int) -> Tensor:
    """Mean of the rows that share an index.

    Args:
        values: ``[N, D]``
        index: ``[N]`` in 0 … size - 1.
        size: rows of the result.

    Returns:
        ``[size, D]``; 0 where no row has the index.
    """
    total = values.new_zeros(size, values.shape[1]).index_add_(0, index, values)
    count = values.new_zeros(size).index_add_(0, index, values.new_ones(index.shape[0]))
    return total / count.clamp(min=1).unsqueeze(1)

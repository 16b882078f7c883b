"""The policy and value network: a static encoder, run once per instance, and a light decoder.

It takes any number of tasks, processors and edges and does not depend on their order. Both heads
are residuals that start at zero: the policy on the hand-made prior, the value on the return of the
list completion, so an untrained network is already a sound scheduler.
"""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from aerl_trainer.config import NetworkConfig
from aerl_trainer.network import rows
from aerl_trainer.policy.encoding.features import group_size
from dagsched_env.problem.errors import DAGSchedError


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
    """B states with N candidates in all, those of a state side by side; rows of a GraphTensors."""

    task: Tensor  # [N] row in `GraphTensors.task`
    processor: Tensor  # [N] row in `GraphTensors.processor`
    pair_features: Tensor  # [N, pair features]
    graph: Tensor  # [B] instance of each state
    state_features: Tensor  # [B, state features]
    first: Tensor  # [B + 1] the first candidate of each state; the last entry is N
    status: Tensor  # [L] row in `Embedding.status` of each task of each state, state by state
    first_task: Tensor  # [B + 1] the first of them of each state; the last entry is L


class Embedding(NamedTuple):
    """What the decoder needs of the encoder: constant during a search, cached per instance."""

    task: Tensor  # [T, width]
    processor: Tensor  # [Q, width]
    graph: Tensor  # [G, width]
    status: Tensor  # [T * S, width] each task once with each of the S status features


class Network(nn.Module):
    """Encoder and decoder; ``forward`` runs both."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        width = config.width
        self.encoder = Encoder(width, config.layers)
        self.decoder = Decoder(width)

    def forward(self, graphs: GraphTensors, states: StateTensors) -> tuple[Tensor, Tensor]:
        """Policy logits ``[N]``, to be added to the prior's, and predictions ``[B]``."""
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
        self.pair_in = nn.Linear(group_size("static_pair"), width)
        self.pair_to_task = nn.Linear(width, width)
        self.pair_to_processor = nn.Linear(width, width)
        self.layers = nn.ModuleList(MessageLayer(width) for _ in range(layers))
        self.task_out = nn.Linear(width, width)
        self.processor_out = nn.Linear(width, width)
        self.graph_out = nn.Linear(width, width)
        self.status_out = nn.Linear(width, width)
        self.status_in = nn.Linear(group_size("status"), width, bias=False)

    def forward(self, graphs: GraphTensors) -> Embedding:
        weight, bias = self.pair_in.weight, self.pair_in.bias.unsqueeze(0)
        anywhere = torch.zeros_like(graphs.pair_task)

        def from_pairs(target: Tensor, size: int) -> Tensor:
            return rows.messages(graphs.pair, weight, bias, (anywhere, target), size)

        of_task = from_pairs(graphs.pair_task, graphs.task.shape[0])
        task = torch.relu(self.task_in(graphs.task) + self.pair_to_task(of_task))
        of_processor = from_pairs(graphs.pair_processor, graphs.processor.shape[0])
        processor = torch.relu(
            self.processor_in(graphs.processor) + self.pair_to_processor(of_processor)
        )
        for layer in self.layers:
            task = layer(task, graphs)
        pooled = scatter_mean(task, graphs.task_graph, graphs.n_graphs)
        with_status = self.status_out(task).unsqueeze(1) + self.status_in.weight.t()
        return Embedding(
            self.task_out(task),
            self.processor_out(processor),
            self.graph_out(pooled),
            torch.relu(with_status).flatten(end_dim=1),
        )


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
        source, target, n = graphs.edge_source, graphs.edge_target, task.shape[0]
        bias = self.from_source.bias + self.edge_down.bias
        sent = functional.linear(task, self.from_source.weight, bias)
        down = rows.messages(graphs.edge, self.edge_down.weight, sent, (source, target), n)
        bias = self.from_target.bias + self.edge_up.bias
        sent = functional.linear(task, self.from_target.weight, bias)
        up = rows.messages(graphs.edge, self.edge_up.weight, sent, (target, source), n)
        first = cast(nn.Linear, self.update[0])
        update = self.update[1:](apply_to_parts(first, [task, down, up]))
        out: Tensor = self.norm(task + update)
        return out


class Decoder(nn.Module):
    """Scores candidates from static embeddings, dynamic features and a pooled context.

    The context has the mean over all tasks of what each is worth uncompleted, ready or completed.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.pair_in = nn.Linear(group_size("pair"), width)
        self.state_in = nn.Linear(group_size("state"), width)
        self.pair_hidden = nn.Linear(width, width)
        self.context = nn.Linear(4 * width, width)
        self.context_to_pair = nn.Linear(width, width)
        self.policy = nn.Linear(width, 1)
        self.value_hidden = nn.Linear(width, width)
        self.value = nn.Linear(width, 1)
        for head in (self.policy, self.value):
            nn.init.zeros_(head.weight)
            nn.init.zeros_(head.bias)

    def forward(self, embedding: Embedding, states: StateTensors) -> tuple[Tensor, Tensor]:
        weight, tasks = self.pair_in.weight, embedding.task + self.pair_in.bias
        ends = states.task, states.processor
        to_hidden, bias = self.pair_hidden.weight, self.pair_hidden.bias
        features, processors = states.pair_features, embedding.processor
        hidden = rows.embed(features, weight, tasks, processors, ends, to_hidden)
        graph = embedding.graph.index_select(0, states.graph)
        state = torch.relu(self.state_in(states.state_features) + graph)
        pooled, hidden = rows.pool(hidden, bias, states.first)
        tasks = functional.embedding_bag(
            states.status, embedding.status, states.first_task[:-1], mode="mean"
        )
        context = torch.relu(apply_to_parts(self.context, [pooled, state, tasks]))
        of_state, weight = self.context_to_pair(context), self.policy.weight[0]
        logits = rows.score(hidden, bias, of_state, weight, states.first) + self.policy.bias
        prediction = self.value(torch.relu(self.value_hidden(context))).squeeze(-1)
        return logits, prediction


def require_status(source: Path, tensors: Collection[str]) -> None:
    """Refuse the network of a version that did not see the status of tasks.

    Args:
        source: the checkpoint, for the message.
        tensors: names of those of its network; none where it has no network.

    Raises:
        DAGSchedError: it is such a one. A checkpoint that lacks other tensors as well is damaged,
            which is for others to say.
    """
    if "decoder.state_in.weight" in tensors and "encoder.status_in.weight" not in tensors:
        raise DAGSchedError(
            f"{source}: its network is of an earlier version, which did not see the status of "
            "tasks: train a new one"
        )


def apply_to_parts(linear: nn.Linear, parts: Sequence[Tensor]) -> Tensor:
    """A linear layer of the parts ``[N, …]`` side by side, which are never joined."""
    widths = [part.shape[1] for part in parts]
    weights: Sequence[Tensor] = torch.split(linear.weight, widths, dim=1)
    total: Tensor = linear.bias
    for part, weight in zip(parts, weights, strict=True):
        total = torch.addmm(total, part, weight.t())
    return total


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

"""A graph network in plain torch: it learns HEFT's ranks from the graph, and schedules by them.

    python examples/graph_network.py [--steps N]

`dagsched_env.environment.pyg.to_pyg` gives `x`, `edge_index` and `edge_attr`, as PyTorch Geometric;
`torch_geometric.data.Data(**graph)` would take them as well. The network sees costs only, none of
the ranks. Messages run from successors to predecessors, as HEFT's recursion does.
"""

import argparse

import gymnasium
import numpy as np
import torch
from torch import nn

import dagsched_env  # registers DAGSched-v0
from dagsched_env.environment.features import FLOAT_FEATURES
from dagsched_env.environment.pyg import to_pyg
from dagsched_env.generators import TopcuogluGenerator

PROBLEMS = TopcuogluGenerator(n_tasks=20, n_processors=4)
NAMES = [feature.name for feature in FLOAT_FEATURES if feature.group == "task"]
INPUTS = [NAMES.index(name) for name in ("mean_comp", "min_comp", "data_in", "data_out")]
TARGET = NAMES.index("rank_u")


class RankNetwork(nn.Module):
    """One number per task, after some rounds of messages against the edges."""

    def __init__(self, width=32, rounds=10):
        super().__init__()
        self.rounds = rounds
        self.encode = nn.Linear(len(INPUTS), width)
        self.message = nn.Linear(width + 1, width)
        self.update = nn.Linear(2 * width, width)
        self.read = nn.Linear(width, 1)

    def forward(self, graph):
        source, target = graph["edge_index"]
        own = hidden = torch.relu(self.encode(graph["x"][:, INPUTS]))
        to = source[:, None].expand(-1, own.shape[1])
        for _ in range(self.rounds):
            sent = torch.cat([hidden[target], graph["edge_attr"]], dim=1)
            sent = torch.relu(self.message(sent))
            most = torch.zeros_like(own).scatter_reduce(0, to, sent, "amax")
            hidden = torch.relu(self.update(torch.cat([own, most], dim=1)))
        return self.read(hidden)[:, 0]


def as_torch(source):
    return {name: torch.from_numpy(array) for name, array in to_pyg(source).items()}


def batch(graphs):
    """Many graphs as one that is not connected: the second begins where the first ends."""
    starts = np.cumsum([0, *(len(graph["x"]) for graph in graphs)])
    edges = [g["edge_index"] + int(start) for g, start in zip(graphs, starts[:-1], strict=True)]
    whole = {name: torch.cat([g[name] for g in graphs]) for name in ("x", "edge_attr")}
    return whole | {"edge_index": torch.cat(edges, dim=1)}


def train(network, steps, rng):
    graph = batch([as_torch(PROBLEMS(rng)) for _ in range(64)])
    optimizer = torch.optim.Adam(network.parameters(), lr=5e-3)
    for step in range(steps + 1):
        loss = nn.functional.mse_loss(network(graph), graph["x"][:, TARGET])
        if step % max(steps // 4, 1) == 0:
            print(f"step {step:4d}  loss {loss.item():.4f}")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def play(score, instance):
    """The ready task with the highest score, where it finishes first."""
    env = gymnasium.make("DAGSched-v0", instances=instance, action="task")
    observation, info = env.reset()
    scores, over = score(observation), False
    while not over:
        action = np.where(info["action_mask"] == 1, scores, -np.inf).argmax()
        _, _, over, _, info = env.step(int(action))
    return info["makespan"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=600)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    network = RankNetwork()
    train(network, arguments.steps, rng)

    @torch.no_grad()
    def learned(observation):
        return network(as_torch(observation)).numpy()

    rules = {"any order": lambda o: rng.random(int(o["task_mask"].sum())), "network": learned}
    tests = [PROBLEMS(rng) for _ in range(30)]
    heft = dagsched_env.SCHEDULERS["heft"]
    print(f"{len(tests)} new graphs: mean makespan / HEFT")
    for name, rule in rules.items():
        ratio = np.mean([play(rule, x) / heft(x).makespan for x in tests])
        print(f"  {name:<10}{ratio:.3f}")


if __name__ == "__main__":
    main()

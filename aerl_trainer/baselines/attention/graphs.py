"""Problems as tokens: one for each task and processor, padded, with what each pair has in common.

Who attends to whom is the structure of the graph: a task to its ancestors and descendants, to the
processors that can run it, and to itself; a processor to its tasks and to all processors.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from aerl_trainer.policy.encoding.features import group_size
from aerl_trainer.policy.encoding.static import static_features
from dagsched_env.kernels.arrays import InstanceArrays
from dagsched_env.kernels.jit import borrowing
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance

PAIR, EDGE = group_size("static_pair"), group_size("edge")
(ITSELF, PROCESSORS, ANCESTOR, DESCENDANT, INPUT, OUTPUT, RUNS_ON, RUNS) = range(8)
"""Columns of the relation of a token to another one: 1 where it holds. Itself; both are processors;
the other is an ancestor, a descendant; a direct predecessor, a direct successor; a processor that
can run the token; a task that the token can run."""
FIRST_EDGE = 8
FIRST_PAIR = FIRST_EDGE + 2 * EDGE
RELATIONS = FIRST_PAIR + 2 * PAIR
"""Columns in all: the features of an edge follow, for either direction, then those of a pair."""
MOST_RELATIONS = 10_000_000
"""Pairs of tokens of a batch: so many take 3 GB."""


class Graphs(NamedTuple):
    """B problems of at most N tasks and P processors; padding is 0."""

    task: Tensor  # [B, N, task features]
    processor: Tensor  # [B, P, processor features]
    relation: Tensor  # [B, N + P, N + P, RELATIONS] of the row's token to the column's
    attends: Tensor  # [B, N + P, N + P] bool: the row's token to the column's
    real: Tensor  # [B, N] bool: a task, no padding


def graphs_of(problems: Sequence[Instance]) -> Graphs:
    """The tokens of problems.

    Raises:
        DAGSchedError: there are more than ``MOST_RELATIONS`` pairs of tokens.
    """
    n = max(instance.n_tasks for instance in problems)
    p = max(instance.n_processors for instance in problems)
    size = len(problems)
    if size * (n + p) ** 2 > MOST_RELATIONS:
        raise DAGSchedError(
            f"{size} problem(s) of {n} tasks: the attention model compares all tasks with each "
            f"other, and takes at most {math.isqrt(MOST_RELATIONS // size) - p}; in training a "
            "smaller reinforce.problems leaves room for more"
        )
    task = np.zeros((size, n, group_size("task")), dtype=np.float32)
    processor = np.zeros((size, p, group_size("processor")), dtype=np.float32)
    relation = np.zeros((size, n + p, n + p, RELATIONS), dtype=np.float32)
    real = np.zeros((size, n), dtype=np.bool_)
    for b, instance in enumerate(problems):
        features = static_features(instance)
        task[b, : instance.n_tasks] = features.task
        processor[b, : instance.n_processors] = features.processor
        real[b, : instance.n_tasks] = True
        _relate_tasks(relation[b], instance, features.edge, features.edge_index)
        _relate_processors(relation[b], instance, features.pair, n)
    return Graphs(
        task=torch.from_numpy(task),
        processor=torch.from_numpy(processor),
        relation=torch.from_numpy(relation),
        attends=torch.from_numpy(relation[..., :FIRST_EDGE].any(axis=-1)),
        real=torch.from_numpy(real),
    )


def _relate_tasks(
    relation: npt.NDArray[np.float32],
    instance: Instance,
    edge: npt.NDArray[np.float32],
    edge_index: npt.NDArray[np.int64],
) -> None:
    """Each task to itself, to ancestors and descendants, and along the edges."""
    own = np.arange(instance.n_tasks)
    relation[own, own, ITSELF] = 1.0
    _relate_ancestors(instance.arrays, relation)
    source, target = edge_index[:, 0], edge_index[:, 1]
    relation[target, source, INPUT] = relation[source, target, OUTPUT] = 1.0
    relation[target, source, FIRST_EDGE : FIRST_EDGE + EDGE] = edge
    relation[source, target, FIRST_EDGE + EDGE : FIRST_PAIR] = edge


def _relate_processors(
    relation: npt.NDArray[np.float32],
    instance: Instance,
    pair: npt.NDArray[np.float32],
    first: int,
) -> None:
    """All processors to each other, and to the tasks that they can run; ``first`` is their row."""
    tasks, processors = np.nonzero(np.isfinite(instance.comp))
    rows = first + processors
    relation[tasks, rows, RUNS_ON] = relation[rows, tasks, RUNS] = 1.0
    relation[tasks, rows, FIRST_PAIR : FIRST_PAIR + PAIR] = pair[tasks, processors]
    relation[rows, tasks, FIRST_PAIR + PAIR :] = pair[tasks, processors]
    them = slice(first, first + instance.n_processors)
    relation[them, them, PROCESSORS] = 1.0
    own = np.arange(first, first + instance.n_processors)
    relation[own, own, ITSELF] = 1.0


@borrowing
def _relate_ancestors(g: InstanceArrays, relation: npt.NDArray[np.float32]) -> None:
    """A task's ancestors are its predecessors and theirs; both directions are written."""
    n = g.topo.shape[0]
    for i in range(n):
        t = g.topo[i]
        for e in range(g.pred_ptr[t], g.pred_ptr[t + 1]):
            u = g.pred_task[e]
            for a in range(n):
                if a == u or relation[u, a, ANCESTOR] > 0.0:
                    relation[t, a, ANCESTOR] = 1.0
                    relation[a, t, DESCENDANT] = 1.0

"""From numpy records to the network's tensors."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from aerl_trainer.nn.features import StaticFeatures
from aerl_trainer.nn.network import GraphBatch, StateBatch
from aerl_trainer.search.leaves import LeafArrays

__all__ = ["NetworkInputs", "Rows", "batch_graphs", "batch_states"]


def batch_graphs(graphs: Sequence[StaticFeatures], device: torch.device) -> GraphBatch:
    """Join instances into one disconnected graph."""
    n_tasks = [g.task.shape[0] for g in graphs]
    n_processors = [g.processor.shape[0] for g in graphs]
    task_offset = np.concatenate([[0], np.cumsum(n_tasks)])
    processor_offset = np.concatenate([[0], np.cumsum(n_processors)])
    pair_task, pair_processor = [], []
    for i, (n, p) in enumerate(zip(n_tasks, n_processors, strict=True)):
        pair_task.append(np.repeat(np.arange(n), p) + task_offset[i])
        pair_processor.append(np.tile(np.arange(p), n) + processor_offset[i])
    edges = [g.edge_index + task_offset[i] for i, g in enumerate(graphs)]

    def tensor(array: npt.NDArray[Any]) -> torch.Tensor:
        return _tensor(array, device)

    return GraphBatch(
        task=tensor(np.concatenate([g.task for g in graphs])),
        processor=tensor(np.concatenate([g.processor for g in graphs])),
        pair=tensor(np.concatenate([g.pair.reshape(-1, g.pair.shape[2]) for g in graphs])),
        pair_task=tensor(np.concatenate(pair_task)),
        pair_processor=tensor(np.concatenate(pair_processor)),
        edge=tensor(np.concatenate([g.edge for g in graphs])),
        edge_source=tensor(np.concatenate([e[:, 0] for e in edges])),
        edge_target=tensor(np.concatenate([e[:, 1] for e in edges])),
        task_graph=tensor(np.repeat(np.arange(len(graphs)), n_tasks)),
        n_graphs=len(graphs),
    )


class NetworkInputs(NamedTuple):
    """The part of ``LeafArrays`` that the network reads; B states, K candidates at most."""

    n_candidates: npt.NDArray[np.int32]  # [B]
    candidates: npt.NDArray[np.int32]  # [B, K] actions task * p + processor
    pair_features: npt.NDArray[np.float32]  # [B, K, N_PAIR_FEATURES]
    state_features: npt.NDArray[np.float32]  # [B, N_STATE_FEATURES]

    @classmethod
    def of(cls, leaves: LeafArrays, count: int) -> "NetworkInputs":
        """Views of the first ``count`` rows, cut to the widest one."""
        width = max(int(leaves.n_candidates[:count].max()), 1)
        return cls(
            leaves.n_candidates[:count],
            leaves.candidates[:count, :width],
            leaves.pair_features[:count, :width],
            leaves.state_features[:count],
        )

    @classmethod
    def join(cls, parts: "Sequence[NetworkInputs]") -> "NetworkInputs":
        """One batch of several, padded to the widest."""
        if len(parts) == 1:
            return parts[0]
        width = max(part.candidates.shape[1] for part in parts)

        def padded(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
            missing = [(0, 0), (0, width - array.shape[1])] + [(0, 0)] * (array.ndim - 2)
            return np.pad(array, missing)

        return cls(
            np.concatenate([part.n_candidates for part in parts]),
            np.concatenate([padded(part.candidates) for part in parts]),
            np.concatenate([padded(part.pair_features) for part in parts]),
            np.concatenate([part.state_features for part in parts]),
        )


class Rows(NamedTuple):
    """Where the instance of each state lies in a GraphBatch or a joined Embedding."""

    graph: npt.NDArray[np.int64]  # [B] index of the instance
    processors: npt.NDArray[np.int64]  # [G] p of each instance
    task_offset: npt.NDArray[np.int64]  # [G] its first task
    processor_offset: npt.NDArray[np.int64]  # [G] its first processor

    @classmethod
    def of(cls, graph: npt.ArrayLike, sizes: Sequence[tuple[int, int]]) -> "Rows":
        """Rows for instances of the given (n, p), joined in this order."""
        n, p = np.array(sizes, dtype=np.int64).T
        return cls(np.asarray(graph, dtype=np.int64), p, np.cumsum(n) - n, np.cumsum(p) - p)


def batch_states(inputs: NetworkInputs, rows: Rows, device: torch.device) -> StateBatch:
    """States as tensors; a terminal state has no candidates and an empty mask."""
    mask = np.arange(inputs.candidates.shape[1]) < inputs.n_candidates[:, None]
    actions = np.where(mask, inputs.candidates, 0)
    p = rows.processors[rows.graph][:, None]
    pair_features = np.where(mask[:, :, None], inputs.pair_features, np.float32(0))
    return StateBatch(
        task=_tensor(actions // p + rows.task_offset[rows.graph][:, None], device),
        processor=_tensor(actions % p + rows.processor_offset[rows.graph][:, None], device),
        graph=_tensor(rows.graph, device),
        mask=_tensor(mask, device),
        pair_features=_tensor(pair_features, device),
        state_features=_tensor(inputs.state_features.copy(), device),
    )


def _tensor(array: npt.NDArray[Any], device: torch.device) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(array)).to(device)

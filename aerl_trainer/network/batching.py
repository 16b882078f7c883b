"""From numpy records to the network's tensors."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from aerl_trainer.network.network import GraphTensors, StateTensors
from aerl_trainer.policy.encoding.features import group_size
from aerl_trainer.policy.encoding.states import EncodedStates
from aerl_trainer.policy.encoding.static import StaticFeatures
from dagsched_env.kernels.jit import kernel

N_STATUS = group_size("status")


def batch_graphs(graphs: Sequence[StaticFeatures], device: torch.device) -> GraphTensors:
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

    return GraphTensors(
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
    """The part of ``EncodedStates`` that the network reads; B states, K candidates at most."""

    n_candidates: npt.NDArray[np.int32]  # [B]
    candidates: npt.NDArray[np.int32]  # [B, K] actions task * p + processor
    pair_features: npt.NDArray[np.float32]  # [B, K, pair features]
    state_features: npt.NDArray[np.float32]  # [B, state features]
    status: npt.NDArray[np.int8]  # [B, N] of each task of a state

    @classmethod
    def of(cls, states: EncodedStates, count: int) -> "NetworkInputs":
        """Views of the first ``count`` rows."""
        return cls(
            states.n_candidates[:count],
            states.candidates[:count],
            states.pair_features[:count],
            states.state_features[:count],
            states.status[:count],
        )


class Rows(NamedTuple):
    """Where the instance of each state lies in a GraphTensors or a joined Embedding."""

    graph: npt.NDArray[np.int64]  # [B] index of the instance
    tasks: npt.NDArray[np.int64]  # [G] n of each instance
    processors: npt.NDArray[np.int64]  # [G] p of each instance
    task_offset: npt.NDArray[np.int64]  # [G] its first task
    processor_offset: npt.NDArray[np.int64]  # [G] its first processor

    @classmethod
    def of(cls, graph: npt.ArrayLike, sizes: Sequence[tuple[int, int]]) -> "Rows":
        """Rows for instances of the given (n, p), joined in this order."""
        n, p = np.array(sizes, dtype=np.int64).T
        offsets = np.cumsum(n) - n, np.cumsum(p) - p
        return cls(np.asarray(graph, dtype=np.int64), n.copy(), p.copy(), *offsets)


class HostBuffers:
    """Memory on the host's side of transfers, by name: allocated when first needed, then reused.

    For a CUDA device it is page-locked, so that copies from and to it run beside the host. Before a
    buffer is used again the caller waits for its copies.

    Args:
        device: the other side.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._buffers: dict[str, torch.Tensor] = {}

    def get(self, name: str, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        """A contiguous tensor on a buffer; its contents are arbitrary.

        Args:
            name: of the buffer.
            shape: of the tensor.
            dtype: of the buffer: always the same for a name.
        """
        size = math.prod(shape)
        buffer = self._buffers.get(name)
        if buffer is None or buffer.numel() < size:
            pinned = self.device.type == "cuda"
            buffer = torch.empty(2 * size, dtype=dtype, pin_memory=pinned)
            self._buffers[name] = buffer
        return buffer[:size].view(*shape)


def pack_states(parts: Sequence[NetworkInputs], rows: Rows, buffers: HostBuffers) -> StateTensors:
    """Several batches as one, without their padding. A terminal state has no candidates.

    Args:
        parts: the batches, B states together.
        rows: the instance of each state.
        buffers: where the tensors are made; their device is that of the result.

    On the CPU the result lies in the buffers themselves: it is valid until they are used again. On
    a CUDA device the copies are queued on the current stream.
    """
    count = rows.graph.shape[0]
    total = sum(int(part.n_candidates.sum()) for part in parts)
    tasks = int(rows.tasks[rows.graph].sum())
    host = StateTensors(
        task=buffers.get("task", (total,), torch.int64),
        processor=buffers.get("processor", (total,), torch.int64),
        pair_features=buffers.get("pair", (total, group_size("pair")), torch.float32),
        graph=buffers.get("graph", (count,), torch.int64),
        state_features=buffers.get("state", (count, group_size("state")), torch.float32),
        first=buffers.get("first", (count + 1,), torch.int64),
        status=buffers.get("status", (tasks,), torch.int64),
        first_task=buffers.get("first_task", (count + 1,), torch.int64),
    )
    arrays = [tensor.numpy() for tensor in host]
    host.first[0] = host.first_task[0] = 0
    done = 0
    for part in parts:
        _pack_rows(done, *part, *rows, *arrays)
        done += part.n_candidates.shape[0]
    return StateTensors(*(tensor.to(buffers.device, non_blocking=True) for tensor in host))


@kernel
def _pack_rows(
    done: int,
    n_candidates: npt.NDArray[np.int32],
    candidates: npt.NDArray[np.int32],
    pair_features: npt.NDArray[np.float32],
    state_features: npt.NDArray[np.float32],
    status: npt.NDArray[np.int8],
    graph: npt.NDArray[np.int64],
    tasks: npt.NDArray[np.int64],
    processors: npt.NDArray[np.int64],
    task_offset: npt.NDArray[np.int64],
    processor_offset: npt.NDArray[np.int64],
    out_task: npt.NDArray[np.int64],
    out_processor: npt.NDArray[np.int64],
    out_pair: npt.NDArray[np.float32],
    out_graph: npt.NDArray[np.int64],
    out_state: npt.NDArray[np.float32],
    out_first: npt.NDArray[np.int64],
    out_status: npt.NDArray[np.int64],
    out_first_task: npt.NDArray[np.int64],
) -> None:
    """Write a ``NetworkInputs`` as the states from ``done`` on of a ``StateTensors``."""
    for b in range(n_candidates.shape[0]):
        row = done + b
        g, begin, count = graph[row], out_first[row], n_candidates[b]
        out_graph[row] = g
        out_state[row] = state_features[b]
        out_first[row + 1] = begin + count
        begin_tasks = out_first_task[row]
        out_first_task[row + 1] = begin_tasks + tasks[g]
        for t in range(tasks[g]):
            out_status[begin_tasks + t] = (task_offset[g] + t) * N_STATUS + status[b, t]
        for i in range(count):
            action = candidates[b, i]
            out_task[begin + i] = action // processors[g] + task_offset[g]
            out_processor[begin + i] = action % processors[g] + processor_offset[g]
            for j in range(out_pair.shape[1]):
                out_pair[begin + i, j] = pair_features[b, i, j]


@kernel
def unpack_logits(
    n_candidates: npt.NDArray[np.int32],
    packed: npt.NDArray[np.float32],
    begin: int,
    logits: npt.NDArray[np.float32],
) -> int:
    """Give each of B states the logits of its candidates.

    Args:
        n_candidates: ``[B]``
        packed: ``[N]`` those of all candidates, side by side.
        begin: where those of the first state begin.
        logits: ``[B, K]`` out; the padding is left as it is.

    Returns:
        Where the next logits begin.
    """
    for b in range(n_candidates.shape[0]):
        for i in range(n_candidates[b]):
            logits[b, i] = packed[begin]
            begin += 1
    return begin


def _tensor(array: npt.NDArray[Any], device: torch.device) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(array)).to(device)

"""Evaluates states with a network in this process; embeddings are cached per instance."""

from collections import OrderedDict
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch.nn.utils import parameters_to_vector

from aerl_trainer.config import NetworkConfig
from aerl_trainer.network.batching import (
    HostBuffers,
    NetworkInputs,
    Rows,
    batch_graphs,
    pack_states,
    unpack_logits,
)
from aerl_trainer.network.network import Embedding, Network
from aerl_trainer.policy.encoding.states import EncodedStates
from aerl_trainer.policy.encoding.static import static_features
from dagsched_env.problem.instance import Instance

CACHED_INSTANCES = 64


@dataclass(frozen=True)
class Request:
    """States of one problem that wait for an evaluation."""

    instance: Instance
    states: EncodedStates
    count: int


class TorchEvaluator:
    """The in-process backend of inference, and the inside of an inference worker.

    On a CUDA device everything runs on one separate stream, between page-locked buffers that are
    reused, and the host waits once for each batch.

    Args:
        network: its weights are replaced by ``load``; never trained here.
        device: where it runs.
    """

    def __init__(self, network: Network, device: torch.device | str = "cpu") -> None:
        self._device = torch.device(device)
        self._stream: torch.cuda.Stream | None = None
        if self._device.type == "cuda":
            self._stream = torch.cuda.Stream(self._device)  # type: ignore[no-untyped-call]
        self._buffers = HostBuffers(self._device)
        with self._on_stream():
            self._network = network.to(self._device).eval()
        self._embeddings: OrderedDict[str, Embedding] = OrderedDict()
        self.version = 0

    def load(self, weights: npt.NDArray[np.float32], version: int) -> None:
        """Take new weights, as made by ``flat_weights``.

        They are copied into the parameters rather than put in their place: slices of a vector lie
        at any address, and on some processors the last digit of a matrix product depends on that.
        """
        with torch.no_grad(), self._on_stream():
            vector = torch.from_numpy(weights.copy()).to(self._device)
            parameters = list(self._network.parameters())
            parts = torch.split(vector, [parameter.numel() for parameter in parameters])
            for parameter, part in zip(parameters, parts, strict=True):
                parameter.copy_(part.view_as(parameter))
        self._embeddings.clear()
        self.version = version

    def evaluate(self, instance: Instance, states: EncodedStates, count: int) -> int:
        """Fill ``logits`` and ``prediction``; returns the version of the weights.

        Args:
            states: answered.
            count: how many of the rows.
        """
        return self.evaluate_requests([Request(instance, states, count)])

    @torch.inference_mode()
    def evaluate_requests(self, requests: Sequence[Request]) -> int:
        """Evaluate the states of several problems in one pass of the decoder."""
        instances = {request.instance.fingerprint: request.instance for request in requests}
        index = {key: i for i, key in enumerate(instances)}
        rows = Rows.of(
            np.repeat(
                [index[request.instance.fingerprint] for request in requests],
                [request.count for request in requests],
            ),
            [instance.comp.shape for instance in instances.values()],
        )
        inputs = [NetworkInputs.of(request.states, request.count) for request in requests]
        with self._on_stream():
            embedding = _join([self._embed(instance) for instance in instances.values()])
            tensors = pack_states(inputs, rows, self._buffers)
            outputs = self._network.decode(embedding, tensors)
            logits, prediction = self._to_host(*outputs)
        _scatter(requests, logits, prediction)
        return self.version

    def _on_stream(self) -> AbstractContextManager[object]:
        return nullcontext() if self._stream is None else torch.cuda.stream(self._stream)

    def _to_host(
        self, logits: torch.Tensor, prediction: torch.Tensor
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Both outputs, once everything queued before is done."""
        results = []
        for name, tensor in (("logits", logits), ("prediction", prediction)):
            host = self._buffers.get(name, tensor.shape, tensor.dtype)
            results.append(host.copy_(tensor, non_blocking=True).numpy())
        if self._stream is not None:
            self._stream.synchronize()
        return results[0], results[1]

    def _embed(self, instance: Instance) -> Embedding:
        key = instance.fingerprint
        if key not in self._embeddings:
            graphs = batch_graphs([static_features(instance)], self._device)
            self._embeddings[key] = self._network.encode(graphs)
            if len(self._embeddings) > CACHED_INSTANCES:
                self._embeddings.popitem(last=False)
        self._embeddings.move_to_end(key)
        return self._embeddings[key]


def flat_weights(network: Network) -> npt.NDArray[np.float32]:
    """All parameters in one vector, in the order of the module."""
    with torch.no_grad():
        vector: npt.NDArray[np.float32] = parameters_to_vector(network.parameters()).cpu().numpy()
    return vector


def weight_count(config: NetworkConfig) -> int:
    """Length of ``flat_weights`` of a network of this size."""
    return sum(parameter.numel() for parameter in Network(config).parameters())


def _join(parts: Sequence[Embedding]) -> Embedding:
    if len(parts) == 1:
        return parts[0]
    return Embedding(*(torch.cat(tensors) for tensors in zip(*parts, strict=True)))


def _scatter(
    requests: Sequence[Request],
    logits: npt.NDArray[np.float32],
    prediction: npt.NDArray[np.float32],
) -> None:
    row, begin = 0, 0
    for request in requests:
        states, count = request.states, request.count
        begin = unpack_logits(states.n_candidates[:count], logits, begin, states.logits)
        states.prediction[:count] = prediction[row : row + count]
        row += count

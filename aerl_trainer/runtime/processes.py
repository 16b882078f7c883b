"""Entry points of the child processes. They import torch only where they need it."""

import os
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal, NamedTuple

from aerl_trainer.config import InferenceConfig, NetworkConfig
from aerl_trainer.memory.shared_memory import BlockHandle
from aerl_trainer.network.inference.client import InferenceClient, WorkerGone
from aerl_trainer.network.inference.request_slots import RequestSlots, RequestSlotsHandle
from aerl_trainer.network.inference.weights import WeightBuffer
from aerl_trainer.policy.encoding.evaluator import Evaluator, PriorEvaluator
from aerl_trainer.runtime.actor import Actor
from aerl_trainer.tree.shared_tree import SharedTree

Backend = Literal["server", "inline", "prior"]
"""Who evaluates leaves: inference workers, the actor's own network, or no network at all."""


class ChildSpec(NamedTuple):
    """What every child needs to attach; picklable when it is started."""

    parent_pid: int
    log_path: Path | None
    backend: Backend
    network: NetworkConfig
    inference: InferenceConfig
    trees: list[BlockHandle]
    requests: RequestSlotsHandle
    weights: BlockHandle


def run_actor(spec: ChildSpec, index: int, parent: "Connection[Any, Any]") -> None:
    """Body of an actor process.

    Args:
        spec: what to attach to.
        index: number of the actor.
        parent: the pipe to the parent.
    """
    running = _prepare(spec)
    requests = RequestSlots.attach(spec.requests)
    trees = [SharedTree.attach(handle) for handle in spec.trees]
    make = _evaluator_factory(spec, index, requests, running)
    try:
        Actor(index, trees, requests.states[index], make, parent, running).run()
    except (WorkerGone, EOFError, ConnectionError) as ended:
        print(f"actor {index}: {ended!r}", file=sys.stderr)


def run_worker(spec: ChildSpec, worker: int, device: str, orders: "Connection[Any, Any]") -> None:
    """Body of an inference worker.

    Args:
        spec: what to attach to.
        worker: its number.
        device: of torch.
        orders: the pipe from the parent.
    """
    running = _prepare(spec)
    import torch

    from aerl_trainer.network.evaluator import TorchEvaluator
    from aerl_trainer.network.inference.worker import InferenceWorker
    from aerl_trainer.network.network import Network

    torch.set_num_threads(1)
    evaluator = TorchEvaluator(Network(spec.network), device)
    requests = RequestSlots.attach(spec.requests)
    weights = WeightBuffer.attach(spec.weights)
    try:
        inference_worker = InferenceWorker(
            requests, worker, weights, evaluator, orders, spec.inference, running
        )
        inference_worker.serve()
    except (EOFError, ConnectionError) as ended:
        print(f"inference worker {worker}: {ended!r}", file=sys.stderr)


def _prepare(spec: ChildSpec) -> Callable[[], bool]:
    """Write to the log, and watch whether the parent lives."""
    if spec.log_path is not None:
        log = os.open(spec.log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.close(log)
    return lambda: os.getppid() == spec.parent_pid


def _evaluator_factory(
    spec: ChildSpec, index: int, requests: RequestSlots, running: Callable[[], bool]
) -> Callable[[int], Evaluator]:
    if spec.backend == "server":
        return lambda tree: InferenceClient(requests, index, tree, running)
    if spec.backend == "prior":
        return lambda tree: PriorEvaluator()
    import torch

    from aerl_trainer.network.evaluator import TorchEvaluator
    from aerl_trainer.network.inference.inline import InlineEvaluator
    from aerl_trainer.network.network import Network

    torch.set_num_threads(1)
    inline = InlineEvaluator(
        TorchEvaluator(Network(spec.network)),
        WeightBuffer.attach(spec.weights),
        requests.counts[index],
        requests.latencies[index],
    )
    return lambda tree: inline

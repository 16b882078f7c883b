"""The inference worker: batches the posted leaves of all actors into one pass of the network."""

import time
from collections.abc import Callable
from multiprocessing.connection import Connection

import torch

from aerl_trainer.config import InferenceConfig
from aerl_trainer.inference.arena import (
    BATCHES,
    BUSY_NS,
    COUNT,
    IDLE,
    LEAVES,
    SLOT,
    STATUS,
    VERSION,
    Arena,
)
from aerl_trainer.inference.weights import WeightBuffer
from aerl_trainer.nn.evaluator import Request, TorchEvaluator
from dagsched_env.instance import Instance

__all__ = ["InferenceServer", "pick_device"]

IDLE_WAIT_S = 0.05


def pick_device(name: str) -> torch.device:
    """``auto`` is the GPU where there is one, else the CPU."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return torch.device(name)


class InferenceServer:
    """Serves until told to stop.

    Batching is greedy: it takes what is posted, waits at most ``deadline_ms`` for actors that have
    not posted yet, and never for one that does not come. New weights are taken between batches.

    Args:
        arena: the shared slots.
        weights: published by the learner.
        evaluator: does the work.
        orders: ``(slot, instance)`` when a tree slot gets a new problem, None to stop.
        config: the deadline.
        running: False once the parent is gone.
    """

    def __init__(
        self,
        arena: Arena,
        weights: WeightBuffer,
        evaluator: TorchEvaluator,
        orders: "Connection[None, tuple[int, Instance] | None]",
        config: InferenceConfig,
        running: Callable[[], bool],
    ) -> None:
        self._arena, self._weights, self._evaluator = arena, weights, evaluator
        self._orders, self._running = orders, running
        self._deadline_s = config.deadline_ms / 1000.0
        self._instances: dict[int, Instance] = {}
        self._stopped = False

    def serve(self) -> None:
        """Answer requests until stopped."""
        while not self._stopped and self._running():
            self._arena.work.acquire(timeout=IDLE_WAIT_S)
            actors = self._collect()
            # After collecting: the order with its instance was sent before any of these requests.
            self._read_orders()
            if actors and not self._stopped:
                self._answer(actors)

    def _collect(self) -> list[int]:
        """Actors that have posted, after a short wait for the others."""
        deadline = time.perf_counter() + self._deadline_s
        actors = self._arena.posted()
        while actors and len(actors) < self._arena.handle.actors:
            left = deadline - time.perf_counter()
            if left <= 0 or not self._arena.work.acquire(timeout=left):
                break
            actors = self._arena.posted()
        return actors

    def _answer(self, actors: list[int]) -> None:
        started = time.perf_counter_ns()
        control, arena = self._arena.control, self._arena
        if self._weights.version != self._evaluator.version:
            self._evaluator.load(*self._weights.read())
        requests = [
            Request(
                self._instances[int(control[actor, SLOT])],
                arena.leaves[actor],
                int(control[actor, COUNT]),
            )
            for actor in actors
        ]
        version = self._evaluator.evaluate_requests(requests)
        arena.totals[BATCHES] += 1
        arena.totals[LEAVES] += sum(request.count for request in requests)
        arena.totals[BUSY_NS] += time.perf_counter_ns() - started
        for actor in actors:
            control[actor, VERSION] = version
            control[actor, STATUS] = IDLE
            arena.answers[actor].release()

    def _read_orders(self) -> None:
        while self._orders.poll():
            order = self._orders.recv()
            if order is None:
                self._stopped = True
                return
            slot, instance = order
            self._instances[slot] = instance

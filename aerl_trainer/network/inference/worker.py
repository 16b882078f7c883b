"""An inference worker: batches the posted states of its actors into one pass of the network."""

import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import Protocol

import numpy as np
import numpy.typing as npt

from aerl_trainer.config import InferenceConfig
from aerl_trainer.network.evaluator import Request
from aerl_trainer.network.inference.metrics import count_batch
from aerl_trainer.network.inference.request_slots import RequestSlots, Ticket
from aerl_trainer.network.inference.weights import WeightBuffer
from dagsched_env.problem.instance import Instance

IDLE_WAIT_S = 0.05
WAIT_SHARE = 0.25
"""Of the last pass: what a worker may wait for more requests. Without it two halves of the actors
take turns, and a pass whose cost hardly depends on its batch is made twice as often as needed."""
LONGEST_WAIT_S = 0.005
"""At most, whatever the last pass took: a first pass also starts the device."""


class BatchEvaluator(Protocol):
    """What an inference worker needs of an evaluator."""

    @property
    def version(self) -> int:
        """Of the weights in use."""
        ...

    def load(self, weights: npt.NDArray[np.float32], version: int) -> None:
        """Use other weights."""
        ...

    def evaluate_requests(self, requests: Sequence[Request]) -> int:
        """Fill ``logits`` and ``prediction`` of all requests; returns the version."""
        ...


class InferenceWorker:
    """Serves until told to stop.

    Batching is greedy: it takes what is posted, and waits for those of its actors that have not
    posted yet at most ``deadline_ms``, or a quarter of the last pass, up to 5 ms, where that is
    longer; so an actor that posts nothing delays the others little. New weights are taken between
    batches.

    Args:
        slots: the shared request slots.
        worker: number of this worker, which says whose requests it answers.
        weights: published by the learner.
        evaluator: does the work.
        orders: ``(job slot, instance)`` when a job slot gets a new problem, None to stop.
        config: the deadline.
        running: False once the parent is gone.
    """

    def __init__(
        self,
        slots: RequestSlots,
        worker: int,
        weights: WeightBuffer,
        evaluator: BatchEvaluator,
        orders: "Connection[None, tuple[int, Instance] | None]",
        config: InferenceConfig,
        running: Callable[[], bool],
    ) -> None:
        self._slots, self._worker, self._weights = slots, worker, weights
        self._evaluator, self._orders, self._running = evaluator, orders, running
        self._clients = len(range(worker, slots.actors, slots.workers))
        self._deadline_s = config.deadline_ms / 1000.0
        self._last_pass_s = 0.0
        self._instances: dict[int, Instance] = {}
        self._stopped = False

    def serve(self) -> None:
        """Answer requests until stopped."""
        while not self._stopped and self._running():
            self._slots.work[self._worker].wait(IDLE_WAIT_S)
            depth = len(self._slots.waiting(self._worker))
            tickets = self._collect() if depth else []
            # After collecting: the order with its instance was sent before any of these requests.
            self._read_orders()
            if not self._stopped and (tickets := self._still_valid(tickets)):
                self._answer(tickets, depth)

    def _collect(self) -> list[Ticket]:
        """Requests that wait, after a short wait for the other actors."""
        wait = max(self._deadline_s, min(WAIT_SHARE * self._last_pass_s, LONGEST_WAIT_S))
        deadline = time.monotonic() + wait
        tickets = self._slots.waiting(self._worker)
        while len(tickets) < self._clients:
            left = deadline - time.monotonic()
            if left <= 0 or not self._slots.work[self._worker].wait(left):
                break
            tickets = self._slots.waiting(self._worker)
        return tickets

    def _still_valid(self, tickets: list[Ticket]) -> list[Ticket]:
        """Without those of actors that have been found dead, whose tree may have changed since.

        A worker that has just replaced a dead one may also find requests before the orders that
        tell it of their trees: they wait.
        """
        waiting = set(self._slots.waiting(self._worker))
        return [t for t in tickets if t in waiting and t.tree in self._instances]

    def _answer(self, tickets: list[Ticket], depth: int) -> None:
        started = time.monotonic_ns()
        if self._weights.version != self._evaluator.version:
            self._evaluator.load(*self._weights.read())
        states, instances = self._slots.states, self._instances
        version = self._evaluator.evaluate_requests(
            [Request(instances[t.tree], states[t.actor], t.rows) for t in tickets]
        )
        now = time.monotonic_ns()
        self._last_pass_s = (now - started) / 1e9
        count_batch(
            self._slots.counts[self._worker],
            self._slots.latencies[self._worker],
            leaves=sum(ticket.rows for ticket in tickets),
            depth=depth,
            busy_ns=now - started,
            latencies_ns=[now - ticket.posted_ns for ticket in tickets],
            staleness=self._weights.version - version,
        )
        for ticket in tickets:
            self._slots.answer(ticket, version)

    def _read_orders(self) -> None:
        while self._orders.poll():
            order = self._orders.recv()
            if order is None:
                self._stopped = True
                return
            slot, instance = order
            self._instances[slot] = instance

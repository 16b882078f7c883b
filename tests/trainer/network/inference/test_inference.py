"""Inference: the server answers as the network alone would, whoever else lives or dies."""

import multiprocessing
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from aerl_trainer.config import InferenceConfig, NetworkConfig
from aerl_trainer.network.batching import HostBuffers
from aerl_trainer.network.evaluator import TorchEvaluator, flat_weights, weight_count
from aerl_trainer.network.inference.bell import Bell
from aerl_trainer.network.inference.client import InferenceClient, WorkerGone
from aerl_trainer.network.inference.inline import InlineEvaluator
from aerl_trainer.network.inference.metrics import (
    BATCHES,
    BUSY_NS,
    DEPTH,
    LATENCY_NS,
    LEAVES,
    REQUESTS,
    STALENESS,
    InferenceTotals,
)
from aerl_trainer.network.inference.request_slots import RequestSlots, Ticket
from aerl_trainer.network.inference.weights import WeightBuffer
from aerl_trainer.network.inference.worker import LONGEST_WAIT_S, InferenceWorker
from aerl_trainer.network.network import Network
from aerl_trainer.policy.encoding.context import encoding_context
from aerl_trainer.policy.encoding.states import (
    EncodedStates,
    allocate_states,
    allocate_workspace,
    encode_state,
)
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.simulator import State
from helpers.small_runs import eventually, problem

NETWORK = NetworkConfig(width=8, layers=1)
ACTORS, BATCH, WIDTH, TASKS = 3, 4, 12, 10
CONTEXT = multiprocessing.get_context("spawn")
PROBLEMS = [problem(6, 2, seed=0), problem(9, 3, seed=1)]


def network(seed: int = 0) -> Network:
    """With heads that say something."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        made = Network(NETWORK)
        for head in (made.decoder.policy, made.decoder.value):
            nn.init.normal_(head.weight)
    return made


def fill(leaves: EncodedStates, instance: Instance, count: int, seed: int) -> None:
    """Random states of an instance as the first rows."""
    rng, workspace = np.random.default_rng(seed), allocate_workspace(*instance.shape)
    for row in range(count):
        state = State(instance)
        for _ in range(rng.integers(instance.n_tasks)):
            state.apply(*rng.choice(np.argwhere(state.legal())).tolist())
        encode_state(
            encoding_context(instance), workspace, state.arrays, leaves, row, 0.0, True, True
        )


def assert_answered(
    leaves: EncodedStates, instance: Instance, count: int, seed: int, by: TorchEvaluator
) -> None:
    """The rows hold what ``by`` makes of the same states."""
    expected = allocate_states(BATCH, WIDTH, TASKS)
    fill(expected, instance, count, seed)
    by.evaluate(instance, expected, count)
    for row in range(count):
        k = int(expected.n_candidates[row])
        assert leaves.n_candidates[row] == k
        assert leaves.logits[row, :k] == pytest.approx(expected.logits[row, :k], rel=1e-5, abs=1e-5)
    assert leaves.prediction[:count] == pytest.approx(
        expected.prediction[:count], rel=1e-5, abs=1e-5
    )
    assert np.abs(expected.logits).max() > 0.05, "the network says something"


class Service:
    """Inference servers in threads, one for each device, and what their clients need."""

    def __init__(self, devices: Sequence[str] = ("cpu",), deadline_ms: float = 0.2) -> None:
        self.slots = RequestSlots.create(ACTORS, BATCH, WIDTH, TASKS, len(devices))
        self.weights = WeightBuffer.create(weight_count(NETWORK))
        self.alive = True
        self.orders: list[Connection[Any, Any]] = []
        self.evaluators = [TorchEvaluator(network(), device) for device in devices]
        self.threads = []
        for worker, evaluator in enumerate(self.evaluators):
            here, there = CONTEXT.Pipe()
            self.orders.append(here)
            server = InferenceWorker(
                self.slots,
                worker,
                self.weights,
                evaluator,
                there,
                InferenceConfig(deadline_ms=deadline_ms),
                lambda: self.alive,
            )
            self.threads.append(threading.Thread(target=server.serve, daemon=True))

    def order(self, slot: int, instance: Instance) -> None:
        """Tell every worker what a tree slot holds."""
        for line in self.orders:
            line.send((slot, instance))

    def start(self) -> None:
        for thread in self.threads:
            thread.start()

    def stop(self) -> None:
        self.alive = False
        for thread in self.threads:
            thread.join(30)
            assert not thread.is_alive()
        self.close()

    def close(self) -> None:
        self.slots.close()
        self.weights.close()

    def client(self, actor: int, slot: int) -> InferenceClient:
        return InferenceClient(self.slots, actor, slot, lambda: self.alive)

    def ask(self, actor: int, slot: int, count: int, seed: int) -> int:
        """Fill the actor's slot with random states and have them evaluated."""
        leaves = self.slots.states[actor]
        fill(leaves, PROBLEMS[slot], count, seed)
        return self.client(actor, slot).evaluate(PROBLEMS[slot], leaves, count)

    def post(self, actor: int, slot: int, count: int, seed: int) -> Ticket:
        """As an actor does that will never look at the answer."""
        fill(self.slots.states[actor], PROBLEMS[slot], count, seed)
        return self.slots.post(actor, slot, count)

    def is_answered(self, ticket: Ticket) -> bool:
        return self.slots.version_of(ticket) is not None

    def total(self, which: int) -> int:
        return self.slots.totals().total(which)


@contextmanager
def service(**options: Any) -> Iterator[Service]:
    made = Service(**options)
    for slot, instance in enumerate(PROBLEMS):
        made.order(slot, instance)
    made.start()
    try:
        yield made
    finally:
        made.stop()


# -- the server ----------------------------------------------------------------------------------


def test_the_server_answers_as_the_network_alone() -> None:
    alone = TorchEvaluator(network())
    with service() as s:
        for slot, count, seed in [(0, 4, 0), (1, 1, 1), (0, 3, 2)]:
            assert s.ask(0, slot, count, seed) == 0, "nothing has been published"
            assert_answered(s.slots.states[0], PROBLEMS[slot], count, seed, alone)
        assert s.total(BATCHES) == s.total(REQUESTS) == 3
        assert s.total(LEAVES) == 8
        assert s.slots.waiting(0) == []


def test_clients_of_several_problems_share_a_pass() -> None:
    """All posted before the server looks: one batch, every row answered in its own slot."""
    with service(deadline_ms=1000.0) as s:
        actors = [
            threading.Thread(target=s.ask, args=(actor, actor % 2, actor + 2, actor), daemon=True)
            for actor in range(ACTORS)
        ]
        for actor in actors:
            actor.start()
        for actor in actors:
            actor.join(30)
        assert s.total(BATCHES) == 1
        assert s.total(REQUESTS) == ACTORS
        assert s.total(LEAVES) == 2 + 3 + 4
        for actor in range(ACTORS):
            instance, alone = PROBLEMS[actor % 2], TorchEvaluator(network())
            assert_answered(s.slots.states[actor], instance, actor + 2, actor, alone)


class Clock:
    """Time that passes only where somebody sleeps or works; stands for the module ``time``."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def monotonic_ns(self) -> int:
        return round(1e9 * self.now)


class ClockedBell:
    """Whoever sleeps on it lets the time pass."""

    def __init__(self, clock: Clock) -> None:
        self.clock, self.count = clock, 0

    def ring(self) -> None:
        self.count += 1

    def wait(self, timeout: float) -> bool:
        if self.count == 0:
            self.clock.now += timeout
            return False
        self.count -= 1
        return True


class ClockedEvaluator:
    """Its passes take the given times, and evaluate nothing."""

    version = 0

    def __init__(self, clock: Clock, passes_s: Sequence[float]) -> None:
        self.clock, self.passes_s = clock, list(passes_s)

    def load(self, weights: Any, version: int) -> None:
        raise AssertionError("nothing has been published")

    def evaluate_requests(self, requests: Any) -> int:
        self.clock.now += self.passes_s.pop(0)
        return self.version


def waits_for_one_client(
    monkeypatch: pytest.MonkeyPatch, passes_s: list[float], deadline_ms: float
) -> list[float]:
    """Seconds that each request of one of three clients lies there, beside its pass."""
    made, clock, waits = Service(), Clock(), []
    monkeypatch.setattr("aerl_trainer.network.inference.worker.time", clock)
    monkeypatch.setattr("aerl_trainer.network.inference.request_slots.time", clock)
    here, there = CONTEXT.Pipe()
    here.send((0, PROBLEMS[0]))
    passes = len(passes_s)
    monkeypatch.setattr(made.slots, "work", [ClockedBell(clock)])

    def running() -> bool:
        waits.append((made.total(LATENCY_NS) - made.total(BUSY_NS)) / 1e9)
        if made.total(BATCHES) < passes and not made.slots.waiting(0):
            made.post(1, 0, 2, seed=0)
        return made.total(BATCHES) < passes

    try:
        InferenceWorker(
            made.slots,
            0,
            made.weights,
            ClockedEvaluator(clock, passes_s),
            there,
            InferenceConfig(deadline_ms=deadline_ms),
            running,
        ).serve()
    finally:
        made.close()
    return np.diff(waits).tolist()


def test_a_client_that_never_comes_stalls_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others wait for it a quarter of a pass, and hardly so after one that took long."""
    passes_s = [0.004, 0.008, 3.0, 0.004, 0.0001, 0.001]
    waits = waits_for_one_client(monkeypatch, passes_s, deadline_ms=0.2)
    assert waits == pytest.approx([0.0002, 0.001, 0.002, LONGEST_WAIT_S, 0.001, 0.0002], abs=1e-8)


def test_the_deadline_holds_where_it_is_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    waits = waits_for_one_client(monkeypatch, [0.001, 3.0, 0.001], deadline_ms=20.0)
    assert waits == pytest.approx([0.02] * 3, abs=1e-8)


def test_an_answer_to_a_dead_client_is_no_obstacle() -> None:
    with service() as s:
        ticket = s.post(2, 0, 3, 0)  # and dies
        eventually(lambda: s.is_answered(ticket), "the answer to the dead")
        s.post(2, 0, 3, 0)
        s.slots.clear(2)
        s.ask(0, 0, 2, 1)
        assert_answered(s.slots.states[0], PROBLEMS[0], 2, 1, TorchEvaluator(network()))
        s.ask(2, 1, 4, 2)  # its successor, with a ring too many
        assert_answered(s.slots.states[2], PROBLEMS[1], 4, 2, TorchEvaluator(network()))


def test_a_lost_wake_up_delays_but_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with service() as s:
        monkeypatch.setattr(s.slots, "work", [Bell()])  # nobody sleeps on this one
        ticket = s.post(0, 0, 2, 0)
        monkeypatch.undo()
        eventually(lambda: s.is_answered(ticket), "the answer")
        assert_answered(s.slots.states[0], PROBLEMS[0], 2, 0, TorchEvaluator(network()))


def test_requests_wait_for_a_new_server() -> None:
    """What a dead server left unanswered lies in the slots; its successor finds it."""
    made = Service()
    try:
        ticket = made.post(1, 0, 2, 0)
        made.start()
        time.sleep(0.2)
        assert not made.is_answered(ticket), "nobody has told the new one of the problem"
        made.order(0, PROBLEMS[0])
        eventually(lambda: made.is_answered(ticket), "the answer")
        assert_answered(made.slots.states[1], PROBLEMS[0], 2, 0, TorchEvaluator(network()))
    finally:
        made.stop()


def test_new_weights_are_taken_and_their_version_comes_back() -> None:
    with service() as s:
        assert s.ask(0, 0, 2, 0) == 0
        for version in (1, 2):
            assert s.weights.publish(flat_weights(network(seed=version))) == version
            assert s.ask(0, 0, 2, 0) == version
            alone = TorchEvaluator(network(seed=version))
            assert_answered(s.slots.states[0], PROBLEMS[0], 2, 0, alone)


def test_a_slot_can_get_a_new_problem() -> None:
    with service() as s:
        s.ask(0, 0, 1, 0)
        s.order(0, PROBLEMS[1])
        fill(s.slots.states[0], PROBLEMS[1], 4, 3)
        s.client(0, 0).evaluate(PROBLEMS[1], s.slots.states[0], 4)
        assert_answered(s.slots.states[0], PROBLEMS[1], 4, 3, TorchEvaluator(network()))


def test_the_server_stops_when_told() -> None:
    with service() as s:
        s.orders[0].send(None)
        s.threads[0].join(30)
        assert not s.threads[0].is_alive()


def test_a_client_woken_too_early_waits_on() -> None:
    """The number is the truth: a bell may hold a wake-up meant for a predecessor."""
    slots = RequestSlots.create(1, BATCH, WIDTH, TASKS)
    client = InferenceClient(slots, 0, 0, running=lambda: True)
    arguments = (PROBLEMS[0], slots.states[0], 1)
    thread = threading.Thread(target=client.evaluate, args=arguments, daemon=True)
    slots.answers[0].ring()
    try:
        thread.start()
        thread.join(0.5)
        assert thread.is_alive()
    finally:
        (ticket,) = slots.waiting(0)
        slots.answer(ticket, 0)
        thread.join(30)
        assert not thread.is_alive()
        slots.close()


def test_a_client_gives_up_when_nobody_is_there() -> None:
    slots = RequestSlots.create(1, BATCH, WIDTH, TASKS)
    try:
        client = InferenceClient(slots, 0, 0, running=lambda: False)
        with pytest.raises(WorkerGone):
            client.evaluate(PROBLEMS[0], slots.states[0], 1)
    finally:
        slots.close()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_the_server_on_a_gpu_answers_as_the_network_on_the_cpu() -> None:
    with service(devices=["cuda"]) as s:
        for slot, seed in [(0, 0), (1, 1)]:
            leaves = s.slots.states[slot]
            s.ask(slot, slot, 4, seed)
            expected = on_cpu(slot, 4, seed)
            for row in range(4):
                k = int(expected.n_candidates[row])
                assert leaves.logits[row, :k] == pytest.approx(expected.logits[row, :k], abs=1e-3)
            assert leaves.prediction == pytest.approx(expected.prediction, abs=1e-3)
        s.weights.publish(flat_weights(network(seed=1)))
        assert s.ask(0, 0, 2, 0) == 1


def on_cpu(slot: int, count: int, seed: int) -> EncodedStates:
    """What the network makes of random states on the CPU."""
    leaves = allocate_states(BATCH, WIDTH, TASKS)
    fill(leaves, PROBLEMS[slot], count, seed)
    TorchEvaluator(network()).evaluate(PROBLEMS[slot], leaves, count)
    return leaves


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_works_on_its_own_stream_between_pinned_buffers() -> None:
    evaluator = TorchEvaluator(network(), "cuda")
    assert evaluator._stream is not None
    assert evaluator._stream != torch.cuda.default_stream()
    leaves = allocate_states(BATCH, WIDTH, TASKS)
    for seed, (slot, count) in enumerate([(0, 1), (1, 4), (0, 3), (1, 2)] * 3):
        fill(leaves, PROBLEMS[slot], count, seed)
        evaluator.evaluate(PROBLEMS[slot], leaves, count)
        expected = on_cpu(slot, count, seed)
        assert leaves.prediction[:count] == pytest.approx(expected.prediction[:count], abs=1e-3)
        for row in range(count):
            k = int(expected.n_candidates[row])
            assert leaves.logits[row, :k] == pytest.approx(expected.logits[row, :k], abs=1e-3)
    assert all(buffer.is_pinned() for buffer in evaluator._buffers._buffers.values())


def test_buffers_are_reused_and_grow() -> None:
    buffers = HostBuffers(torch.device("cpu"))
    first = buffers.get("a", (4, 6), torch.float32)
    assert first.shape == (4, 6)
    assert first.is_contiguous()
    assert buffers.get("a", (3, 2), torch.float32).data_ptr() == first.data_ptr()
    assert buffers.get("b", (4, 6), torch.float32).data_ptr() != first.data_ptr()
    grown = buffers.get("a", (40, 60), torch.float32)
    assert grown.shape == (40, 60)
    assert buffers.get("a", (4, 6), torch.float32).data_ptr() == grown.data_ptr()


def test_leftovers_of_another_batch_do_not_show() -> None:
    """Batches of changing size and width through the same buffers."""
    evaluator, leaves = TorchEvaluator(network()), allocate_states(BATCH, WIDTH, TASKS)
    for seed, (slot, count) in enumerate([(1, 4), (0, 1), (1, 2), (0, 4)] * 3):
        fill(leaves, PROBLEMS[slot], count, seed)
        evaluator.evaluate(PROBLEMS[slot], leaves, count)
        expected = on_cpu(slot, count, seed)
        assert leaves.prediction[:count].tolist() == expected.prediction[:count].tolist()
        for row in range(count):
            k = int(expected.n_candidates[row])
            assert leaves.logits[row, :k].tolist() == expected.logits[row, :k].tolist()


# -- several workers -----------------------------------------------------------------------------


def test_each_worker_answers_its_own_actors() -> None:
    """Actors 0 and 2 belong to worker 0, actor 1 to worker 1."""
    with service(devices=["cpu", "cpu"]) as s:
        for actor, slot in [(0, 0), (1, 1), (2, 1), (1, 0)]:
            s.ask(actor, slot, 2 + actor, 10 * actor)
            alone = TorchEvaluator(network())
            assert_answered(s.slots.states[actor], PROBLEMS[slot], 2 + actor, 10 * actor, alone)
        assert s.slots.counts[:, BATCHES].tolist() == [2, 2]
        assert s.slots.counts[:, LEAVES].tolist() == [2 + 4, 3 + 3]
        assert s.slots.latencies.sum(axis=1).tolist() == [2, 2]


def test_a_worker_that_is_away_holds_up_its_own_actors_alone() -> None:
    with service(devices=["cpu", "cpu"]) as s:
        s.orders[1].send(None)
        s.threads[1].join(30)
        ticket = s.post(1, 0, 2, 0)
        for seed in range(3):
            s.ask(0, 0, 2, seed)
        assert not s.is_answered(ticket)
        assert s.slots.waiting(0) == []
        assert s.slots.waiting(1) == [ticket]


def test_every_worker_follows_the_weights() -> None:
    with service(devices=["cpu", "cpu"]) as s:
        for version in (1, 2):
            s.weights.publish(flat_weights(network(seed=version)))
            for actor in range(ACTORS):
                assert s.ask(actor, 0, 2, 0) == version
                alone = TorchEvaluator(network(seed=version))
                assert_answered(s.slots.states[actor], PROBLEMS[0], 2, 0, alone)


def test_a_withdrawn_request_is_not_evaluated() -> None:
    """Its tree may hold a smaller problem by now, to which its actions are unknown."""
    with service(deadline_ms=1000.0) as s:
        s.post(0, 1, 4, 0)
        s.slots.clear(0)
        s.order(1, problem(2, 1))
        ticket = s.post(1, 0, 2, 0)
        eventually(lambda: s.is_answered(ticket), "the answer to the living")
        assert s.total(REQUESTS) == 1


# -- what is counted ------------------------------------------------------------------------------


def test_the_server_counts_what_its_clients_see() -> None:
    with service() as s:
        started = time.monotonic_ns()
        for seed in range(4):
            s.ask(0, 0, 3, seed)
        elapsed = time.monotonic_ns() - started
        totals = s.slots.totals()
        assert totals.total(DEPTH) == totals.latencies.sum() == 4
        assert 0 < totals.total(BUSY_NS) < totals.total(LATENCY_NS) < elapsed
        assert totals.total(STALENESS) == 0
        assert s.slots.totals() is not totals


def test_staleness_is_what_was_published_during_a_batch() -> None:
    with service() as s:
        evaluate = s.evaluators[0].evaluate_requests

        def overtaken(requests: Any) -> int:
            version = evaluate(requests)
            for seed in (1, 2):
                s.weights.publish(flat_weights(network(seed=seed)))
            return version

        s.evaluators[0].evaluate_requests = overtaken  # type: ignore[method-assign]
        assert s.ask(0, 0, 2, 0) == 0
        assert s.total(STALENESS) == 2


# -- inline ---------------------------------------------------------------------------------------


def test_the_inline_evaluator_follows_the_weights() -> None:
    buffer = WeightBuffer.create(weight_count(NETWORK))
    try:
        totals = InferenceTotals.zero(1)
        inline = InlineEvaluator(TorchEvaluator(network()), buffer, *(t[0] for t in totals))
        for version in range(3):
            if version:
                buffer.publish(flat_weights(network(seed=version)))
            leaves = allocate_states(BATCH, WIDTH, TASKS)
            fill(leaves, PROBLEMS[0], 4, 5)
            assert inline.evaluate(PROBLEMS[0], leaves, 4) == version
            assert_answered(leaves, PROBLEMS[0], 4, 5, TorchEvaluator(network(seed=version)))
        assert totals.total(BATCHES) == totals.total(DEPTH) == totals.latencies.sum() == 3
        assert totals.total(LEAVES) == 12
        assert totals.total(STALENESS) == 0
        assert 0 < totals.total(BUSY_NS) == totals.total(LATENCY_NS)
    finally:
        buffer.close()

"""Inference: the server answers as the network alone would, whoever else lives or dies."""

import multiprocessing
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import pytest
import torch
from small_runs import eventually, problem
from torch import nn

from aerl_trainer.config import InferenceConfig, NetworkConfig
from aerl_trainer.inference.arena import (
    BATCHES,
    COUNT,
    IDLE,
    LEAVES,
    POSTED,
    SLOT,
    STATUS,
    VERSION,
    Arena,
)
from aerl_trainer.inference.client import InferenceClient, ServerGone
from aerl_trainer.inference.inline import InlineEvaluator
from aerl_trainer.inference.server import InferenceServer, pick_device
from aerl_trainer.inference.weights import WeightBuffer
from aerl_trainer.nn.evaluator import TorchEvaluator, flat_weights, weight_count
from aerl_trainer.nn.network import Network
from aerl_trainer.search.context import make_context
from aerl_trainer.search.leaves import (
    LeafArrays,
    allocate_leaves,
    allocate_scratch,
    leaf_specs,
    write_state,
)
from dagsched_env.instance import Instance
from dagsched_env.simulator import State

NETWORK = NetworkConfig(width=8, layers=1)
ACTORS, BATCH, WIDTH = 3, 4, 12
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


def fill(leaves: LeafArrays, instance: Instance, count: int, seed: int) -> None:
    """Random states of an instance as the first rows."""
    rng, scratch = np.random.default_rng(seed), allocate_scratch(*instance.comp.shape)
    for row in range(count):
        state = State(instance)
        for _ in range(rng.integers(instance.n_tasks)):
            state.apply(*rng.choice(np.argwhere(state.legal())).tolist())
        write_state(make_context(instance), scratch, state.arrays, leaves, row, 0.0, True)


def assert_answered(
    leaves: LeafArrays, instance: Instance, count: int, seed: int, by: TorchEvaluator
) -> None:
    """The rows hold what ``by`` makes of the same states."""
    expected = allocate_leaves(BATCH, WIDTH)
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
    """An inference server in a thread, and what its clients need."""

    def __init__(self, device: str = "cpu", deadline_ms: float = 0.2) -> None:
        self.arena = Arena.create(CONTEXT, ACTORS, BATCH, WIDTH)
        self.weights = WeightBuffer.create(weight_count(NETWORK))
        self.orders: Connection[Any, Any]
        self.orders, server_end = CONTEXT.Pipe()
        self.alive = True
        self.server = InferenceServer(
            self.arena,
            self.weights,
            TorchEvaluator(network(), device),
            server_end,
            InferenceConfig(deadline_ms=deadline_ms),
            lambda: self.alive,
        )
        self.thread = threading.Thread(target=self.server.serve, daemon=True)

    def client(self, actor: int, slot: int) -> InferenceClient:
        return InferenceClient(self.arena, actor, slot, lambda: self.alive)

    def ask(self, actor: int, slot: int, count: int, seed: int) -> int:
        """Fill the actor's slot with random states and have them evaluated."""
        leaves = self.arena.leaves[actor]
        fill(leaves, PROBLEMS[slot], count, seed)
        return self.client(actor, slot).evaluate(PROBLEMS[slot], leaves, count)

    def post(self, actor: int, slot: int, count: int, seed: int) -> None:
        """As an actor does that will never look at the answer."""
        fill(self.arena.leaves[actor], PROBLEMS[slot], count, seed)
        self.arena.control[actor, [SLOT, COUNT]] = slot, count
        self.arena.control[actor, STATUS] = POSTED
        self.arena.work.release()


@contextmanager
def service(**options: Any) -> Iterator[Service]:
    made = Service(**options)
    for slot, instance in enumerate(PROBLEMS):
        made.orders.send((slot, instance))
    made.thread.start()
    try:
        yield made
    finally:
        made.alive = False
        made.thread.join(30)
        assert not made.thread.is_alive()
        made.arena.close()
        made.weights.close()


# -- the server ----------------------------------------------------------------------------------


def test_the_server_answers_as_the_network_alone() -> None:
    alone = TorchEvaluator(network())
    with service() as s:
        for slot, count, seed in [(0, 4, 0), (1, 1, 1), (0, 3, 2)]:
            assert s.ask(0, slot, count, seed) == 0, "nothing has been published"
            assert_answered(s.arena.leaves[0], PROBLEMS[slot], count, seed, alone)
        assert s.arena.totals[BATCHES] == 3
        assert s.arena.totals[LEAVES] == 8
        assert s.arena.posted() == []


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
        assert s.arena.totals[BATCHES] == 1
        assert s.arena.totals[LEAVES] == 2 + 3 + 4
        for actor in range(ACTORS):
            instance, alone = PROBLEMS[actor % 2], TorchEvaluator(network())
            assert_answered(s.arena.leaves[actor], instance, actor + 2, actor, alone)


def test_a_client_that_never_comes_stalls_nobody() -> None:
    with service() as s:
        for seed in range(5):
            s.ask(1, 1, 2, seed)
        assert s.arena.totals[BATCHES] == 5


def test_an_answer_to_a_dead_client_is_no_obstacle() -> None:
    with service() as s:
        s.post(2, 0, 3, 0)  # and dies
        eventually(lambda: s.arena.control[2, STATUS] == IDLE, "the answer to the dead")
        s.post(2, 0, 3, 0)
        s.arena.clear(2)
        s.ask(0, 0, 2, 1)
        assert_answered(s.arena.leaves[0], PROBLEMS[0], 2, 1, TorchEvaluator(network()))
        s.ask(2, 1, 4, 2)  # its successor, with a wake-up too many in the semaphore
        assert_answered(s.arena.leaves[2], PROBLEMS[1], 4, 2, TorchEvaluator(network()))


def test_a_lost_wake_up_delays_but_loses_nothing() -> None:
    with service() as s:
        fill(s.arena.leaves[0], PROBLEMS[0], 2, 0)
        s.arena.control[0, [SLOT, COUNT]] = 0, 2
        s.arena.control[0, STATUS] = POSTED  # nobody releases the semaphore
        eventually(lambda: s.arena.control[0, STATUS] == IDLE, "the answer")
        assert_answered(s.arena.leaves[0], PROBLEMS[0], 2, 0, TorchEvaluator(network()))


def test_requests_wait_for_a_new_server() -> None:
    """What a dead server left unanswered lies in the arena; its successor finds it."""
    made = Service()
    try:
        made.post(1, 0, 2, 0)
        made.orders.send((0, PROBLEMS[0]))
        made.thread.start()
        eventually(lambda: made.arena.control[1, STATUS] == IDLE, "the answer")
        assert_answered(made.arena.leaves[1], PROBLEMS[0], 2, 0, TorchEvaluator(network()))
    finally:
        made.alive = False
        made.thread.join(30)
        made.arena.close()
        made.weights.close()


def test_new_weights_are_taken_and_their_version_comes_back() -> None:
    with service() as s:
        assert s.ask(0, 0, 2, 0) == 0
        for version in (1, 2):
            assert s.weights.publish(flat_weights(network(seed=version))) == version
            assert s.ask(0, 0, 2, 0) == version
            assert s.arena.control[0, VERSION] == version
            alone = TorchEvaluator(network(seed=version))
            assert_answered(s.arena.leaves[0], PROBLEMS[0], 2, 0, alone)


def test_a_slot_can_get_a_new_problem() -> None:
    with service() as s:
        s.ask(0, 0, 1, 0)
        s.orders.send((0, PROBLEMS[1]))
        fill(s.arena.leaves[0], PROBLEMS[1], 4, 3)
        s.client(0, 0).evaluate(PROBLEMS[1], s.arena.leaves[0], 4)
        assert_answered(s.arena.leaves[0], PROBLEMS[1], 4, 3, TorchEvaluator(network()))


def test_the_server_stops_when_told() -> None:
    with service() as s:
        s.orders.send(None)
        s.thread.join(30)
        assert not s.thread.is_alive()


def test_a_client_woken_too_early_waits_on() -> None:
    """The status is the truth: a semaphore may hold a wake-up meant for a predecessor."""
    arena = Arena.create(CONTEXT, 1, BATCH, WIDTH)
    client = InferenceClient(arena, 0, 0, running=lambda: True)
    arguments = (PROBLEMS[0], arena.leaves[0], 1)
    thread = threading.Thread(target=client.evaluate, args=arguments, daemon=True)
    arena.answers[0].release()
    try:
        thread.start()
        thread.join(0.5)
        assert thread.is_alive()
    finally:
        arena.control[0, STATUS] = IDLE
        thread.join(30)
        assert not thread.is_alive()
        arena.close()


def test_a_client_gives_up_when_nobody_is_there() -> None:
    arena = Arena.create(CONTEXT, 1, BATCH, WIDTH)
    try:
        client = InferenceClient(arena, 0, 0, running=lambda: False)
        with pytest.raises(ServerGone):
            client.evaluate(PROBLEMS[0], arena.leaves[0], 1)
    finally:
        arena.close()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_the_server_on_a_gpu_answers_as_the_network_on_the_cpu() -> None:
    with service(device="cuda") as s:
        for slot, seed in [(0, 0), (1, 1)]:
            leaves = s.arena.leaves[slot]
            s.ask(slot, slot, 4, seed)
            expected = allocate_leaves(BATCH, WIDTH)
            fill(expected, PROBLEMS[slot], 4, seed)
            TorchEvaluator(network()).evaluate(PROBLEMS[slot], expected, 4)
            for row in range(4):
                k = int(expected.n_candidates[row])
                assert leaves.logits[row, :k] == pytest.approx(expected.logits[row, :k], abs=1e-3)
            assert leaves.prediction == pytest.approx(expected.prediction, abs=1e-3)
        s.weights.publish(flat_weights(network(seed=1)))
        assert s.ask(0, 0, 2, 0) == 1


# -- arena and weights ---------------------------------------------------------------------------


def test_slots_do_not_overlap() -> None:
    arena = Arena.create(CONTEXT, 2, BATCH, WIDTH)
    try:
        specs = leaf_specs(BATCH, WIDTH)
        for value, leaves in enumerate(arena.leaves, start=1):
            for name, array in leaves._asdict().items():
                assert array.shape == specs[name][0]
                array[...] = value
        assert all((array == 1).all() for array in arena.leaves[0])
        assert not arena.control.any()
        other = Arena.attach(arena.handle)
        assert other.leaves[1].value.tolist() == [2.0] * BATCH
        other.control[1, STATUS] = POSTED
        assert arena.posted() == [1]
        arena.clear(1)
        assert other.posted() == []
        other.close()
    finally:
        arena.close()


def test_weights_are_read_with_their_version() -> None:
    buffer = WeightBuffer.create(3)
    try:
        assert buffer.version == 0
        reader = WeightBuffer.attach(buffer.handle)
        for version in (1, 2):
            assert buffer.publish(np.full(3, version, dtype=np.float32)) == version
            weights, found = reader.read()
            assert found == reader.version == version
            assert weights.tolist() == [version] * 3
        weights[:] = 0
        assert reader.read()[0].tolist() == [2, 2, 2], "a copy"
        reader.close()
    finally:
        buffer.close()


def test_weights_and_version_are_never_torn() -> None:
    """A reader beside a writer sees each vector whole, with its own number."""
    buffer = WeightBuffer.create(20_000)
    reader = WeightBuffer.attach(buffer.handle)
    done = threading.Event()

    def write() -> None:
        for version in range(1, 200):
            buffer.publish(np.full(20_000, version, dtype=np.float32))
        done.set()

    writer = threading.Thread(target=write, daemon=True)
    try:
        writer.start()
        while not done.is_set():
            weights, version = reader.read()
            assert (weights == version).all()
        writer.join()
        assert reader.version == 199
    finally:
        writer.join()
        reader.close()
        buffer.close()


def test_the_inline_evaluator_follows_the_weights() -> None:
    buffer = WeightBuffer.create(weight_count(NETWORK))
    try:
        inline = InlineEvaluator(TorchEvaluator(network()), buffer)
        for version in range(3):
            if version:
                buffer.publish(flat_weights(network(seed=version)))
            leaves = allocate_leaves(BATCH, WIDTH)
            fill(leaves, PROBLEMS[0], 4, 5)
            assert inline.evaluate(PROBLEMS[0], leaves, 4) == version
            assert_answered(leaves, PROBLEMS[0], 4, 5, TorchEvaluator(network(seed=version)))
    finally:
        buffer.close()


@pytest.mark.parametrize("found", [True, False])
def test_auto_takes_a_gpu_if_there_is_one(
    monkeypatch: pytest.MonkeyPatch, found: Callable[[], bool]
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: found)
    assert pick_device("auto").type == ("cuda" if found else "cpu")
    assert pick_device("cpu").type == "cpu"

"""The shared slots and weights: requests and answers that belong together, nothing torn."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from aerl_trainer.network.inference.request_slots import RequestSlots
from aerl_trainer.network.inference.weights import WeightBuffer
from aerl_trainer.policy.encoding.states import state_specs
from helpers.small_runs import shared_memory_of

ACTORS, BATCH, WIDTH, TASKS = 3, 4, 12, 10


@pytest.fixture
def slots() -> Iterator[RequestSlots]:
    made = RequestSlots.create(ACTORS, BATCH, WIDTH, TASKS)
    try:
        yield made
    finally:
        made.close()


def test_a_request_waits_until_it_is_answered(slots: RequestSlots) -> None:
    ticket = slots.post(1, 3, 4)
    assert (ticket.actor, ticket.tree, ticket.rows) == (1, 3, 4)
    other = RequestSlots.attach(slots.handle)
    assert other.waiting(0) == [ticket]
    assert slots.version_of(ticket) is None
    other.answer(ticket, 7)
    assert slots.version_of(ticket) == 7
    assert slots.waiting(0) == []
    assert slots.answers[1].wait(0)
    other.close()


def test_what_a_dead_client_posted_is_withdrawn(slots: RequestSlots) -> None:
    slots.post(1, 0, 1)
    kept = slots.post(2, 0, 1)
    slots.clear(1)
    assert slots.waiting(0) == [kept]


def test_an_answer_to_the_dead_is_none_for_its_successor(slots: RequestSlots) -> None:
    """A worker has taken the request of an actor that dies, and answers it to the next one."""
    stale = slots.post(0, 0, 2)
    slots.clear(0)
    slots.answer(stale, 1)  # before the successor asks
    assert slots.waiting(0) == []
    stale = slots.post(0, 0, 2)
    slots.clear(0)
    fresh = slots.post(0, 0, 3)
    slots.answer(stale, 1)  # while the successor waits
    assert slots.version_of(fresh) is None
    assert slots.waiting(0) == [fresh]
    slots.answer(fresh, 2)
    assert slots.version_of(fresh) == 2


def test_nothing_of_a_closed_arena_is_left() -> None:
    descriptors, before = Path("/proc/self/fd"), shared_memory_of(os.getpid())
    open_before = len(os.listdir(descriptors))
    slots = RequestSlots.create(ACTORS, BATCH, WIDTH, TASKS, workers=2)
    made = shared_memory_of(os.getpid())
    other = RequestSlots.attach(slots.handle)
    other.close()
    assert shared_memory_of(os.getpid()) == made > before, "only the creator gives it back"
    assert len(os.listdir(descriptors)) == open_before + 3 + ACTORS + 2, (
        "memory, its map, lock, bells"
    )
    slots.close()
    del other, slots
    assert shared_memory_of(os.getpid()) == before
    assert len(os.listdir(descriptors)) == open_before


def test_slots_do_not_overlap() -> None:
    slots = RequestSlots.create(2, BATCH, WIDTH, TASKS)
    try:
        specs = state_specs(BATCH, WIDTH, TASKS)
        for value, leaves in enumerate(slots.states, start=1):
            for name, array in leaves._asdict().items():
                assert array.shape == specs[name][0]
                array[...] = value
        assert all((array == 1).all() for array in slots.states[0])
        assert slots.waiting(0) == []
        assert not any(slots.totals().counts.ravel())
        other = RequestSlots.attach(slots.handle)
        assert other.states[1].prediction.tolist() == [2.0] * BATCH
        other.close()
    finally:
        slots.close()


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

"""The shared slots and weights: requests and answers that belong together, nothing torn."""

import multiprocessing
import os
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from aerl_trainer.inference.arena import Arena
from aerl_trainer.inference.weights import WeightBuffer
from aerl_trainer.search.leaves import leaf_specs
from helpers.faults import left_by

ACTORS, BATCH, WIDTH = 3, 4, 12
CONTEXT = multiprocessing.get_context("spawn")


@pytest.fixture
def arena() -> Iterator[Arena]:
    made = Arena.create(CONTEXT, ACTORS, BATCH, WIDTH)
    try:
        yield made
    finally:
        made.close()


def test_a_request_waits_until_it_is_answered(arena: Arena) -> None:
    ticket = arena.post(1, 3, 4)
    assert (ticket.actor, ticket.tree, ticket.rows) == (1, 3, 4)
    other = Arena.attach(arena.handle)
    assert other.waiting(0) == [ticket]
    assert arena.version_of(ticket) is None
    other.answer(ticket, 7)
    assert arena.version_of(ticket) == 7
    assert arena.waiting(0) == []
    assert arena.answers[1].acquire(timeout=0)
    other.close()


def test_what_a_dead_client_posted_is_withdrawn(arena: Arena) -> None:
    arena.post(1, 0, 1)
    kept = arena.post(2, 0, 1)
    arena.clear(1)
    assert arena.waiting(0) == [kept]


def test_an_answer_to_the_dead_is_none_for_its_successor(arena: Arena) -> None:
    """A worker has taken the request of an actor that dies, and answers it to the next one."""
    stale = arena.post(0, 0, 2)
    arena.clear(0)
    arena.answer(stale, 1)  # before the successor asks
    assert arena.waiting(0) == []
    stale = arena.post(0, 0, 2)
    arena.clear(0)
    fresh = arena.post(0, 0, 3)
    arena.answer(stale, 1)  # while the successor waits
    assert arena.version_of(fresh) is None
    assert arena.waiting(0) == [fresh]
    arena.answer(fresh, 2)
    assert arena.version_of(fresh) == 2


def test_nothing_of_a_closed_arena_is_left() -> None:
    before = left_by(os.getpid())
    arena = Arena.create(CONTEXT, ACTORS, BATCH, WIDTH, workers=2)
    made = set(left_by(os.getpid())) - set(before)
    assert sum(name.startswith("sem.") for name in made) == ACTORS + 2
    other = Arena.attach(arena.handle)
    other.close()
    assert made <= set(left_by(os.getpid())), "only the creator removes them"
    arena.close()
    assert left_by(os.getpid()) == before


def test_slots_do_not_overlap() -> None:
    arena = Arena.create(CONTEXT, 2, BATCH, WIDTH)
    try:
        specs = leaf_specs(BATCH, WIDTH)
        for value, leaves in enumerate(arena.leaves, start=1):
            for name, array in leaves._asdict().items():
                assert array.shape == specs[name][0]
                array[...] = value
        assert all((array == 1).all() for array in arena.leaves[0])
        assert arena.waiting(0) == []
        assert not any(arena.totals().counts.ravel())
        other = Arena.attach(arena.handle)
        assert other.leaves[1].value.tolist() == [2.0] * BATCH
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

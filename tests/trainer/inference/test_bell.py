"""The bell wakes one sleeper, in whichever process, by a clock that cannot be set."""

import threading
from multiprocessing import get_context

from aerl_trainer.inference.bell import Bell


def test_rings_are_kept_until_somebody_waits() -> None:
    bell = Bell()
    assert not bell.wait(0.0)
    bell.ring()
    bell.ring()
    assert bell.wait(0.0)
    assert not bell.wait(0.0), "several rings count as one"


def test_a_sleeper_wakes_up() -> None:
    bell = Bell()
    thread = threading.Thread(target=bell.ring)
    thread.start()
    assert bell.wait(60.0)
    thread.join()


def test_it_reaches_a_spawned_process() -> None:
    there, here = Bell(), Bell()
    process = get_context("spawn").Process(target=answer, args=(there, here))
    process.start()
    there.ring()
    assert here.wait(60.0)
    process.join(60)
    assert process.exitcode == 0


def answer(asked: Bell, answered: Bell) -> None:
    assert asked.wait(60.0)
    answered.ring()

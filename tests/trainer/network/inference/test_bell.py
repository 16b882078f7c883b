"""The bell wakes one sleeper, in whichever process, by a clock that cannot be set."""

import fcntl
import os
import resource
import threading
from multiprocessing import get_context

import pytest

from aerl_trainer.network.inference.bell import Bell


def test_rings_are_kept_until_somebody_waits() -> None:
    bell = Bell()
    assert not bell.wait(0.0)
    bell.ring()
    bell.ring()
    assert bell.wait(0.0)
    assert not bell.wait(0.0), "several rings count as one"


def test_a_process_may_have_thousands_of_open_files() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2048:
        pytest.skip("this machine allows fewer")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2048), hard))
    try:
        low = os.eventfd(0, os.EFD_NONBLOCK)
        bell = Bell(fcntl.fcntl(low, fcntl.F_DUPFD, 1500))
        os.close(low)
        assert not bell.wait(0.0002)
        bell.ring()
        assert bell.wait(60.0)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


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

"""Child processes: the signals that are not theirs, and those that stand still."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

import pytest

from aerl_trainer.memory.shared_memory import BlockHandle, SharedBlock
from aerl_trainer.runtime import crew, watch
from aerl_trainer.runtime.children import Child, cause_of_death, dismiss, kill, start_child
from aerl_trainer.runtime.watch import Watch
from aerl_trainer.solving.solver import solve
from aerl_trainer.tree.records import SearchJob
from dagsched_env.problem.errors import DAGSchedError
from helpers import actions
from helpers.faults import freeze_when, is_writing
from helpers.pools import OpenPool
from helpers.small_runs import eventually, is_running, problem, small_config

CONTEXT = multiprocessing.get_context("spawn")


@pytest.fixture
def child() -> Iterator[Child]:
    started = start_child(CONTEXT, actions.waits_for_a_word, "waiting")
    yield started
    dismiss([started])


def blocked_in(pid: int) -> set[signal.Signals]:
    (line,) = [
        line
        for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
        if line.startswith("SigBlk")
    ]
    mask = int(line.split()[1], 16)
    return {number for number in signal.Signals if mask >> (number - 1) & 1}


def test_ctrl_c_and_the_end_of_the_terminal_are_the_parents(child: Child) -> None:
    """The same where the tracker of multiprocessing is dead, which has nothing of ours to track."""
    resource_tracker.ensure_running()
    tracker = int(vars(resource_tracker._resource_tracker)["_pid"])
    os.kill(tracker, signal.SIGKILL)
    eventually(lambda: not is_running(tracker), "the end of the tracker")
    second = start_child(
        CONTEXT, actions.waits_for_a_word, "second"
    )  # a warning would be an error here
    try:
        for started in (child, second):
            blocked = blocked_in(started.process.pid or 0)
            assert {signal.SIGINT, signal.SIGHUP} <= blocked
        assert not {signal.SIGINT, signal.SIGHUP} & blocked_in(os.getpid())
    finally:
        dismiss([second])


def test_a_daemonic_process_solves_without_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(multiprocessing.current_process())["_config"], "daemon", True)
    instance = problem(20, 3, 1)
    result = solve(instance, actors=2, simulations=100, checkpoint=None)
    result.schedule.validate(instance)
    assert result.simulations >= 100
    with pytest.raises(DAGSchedError, match="daemon=False, or with one actor"):
        start_child(CONTEXT, actions.waits_for_a_word, "never")


class Gone:
    """The pipe to a parent that was killed before it had read everything."""

    def poll(self, timeout: float = 0.0) -> bool:
        raise ConnectionResetError(104, "Connection reset by peer")


@pytest.mark.parametrize("name", ["actor-0", "inference-0"])
def test_a_child_whose_parent_is_killed_leaves_in_one_line(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    started: dict[str, tuple[Any, ...]] = {}
    attached: list[SharedBlock] = []

    def attach(handle: BlockHandle) -> SharedBlock:
        attached.append(SharedBlock(handle, created=False))
        return attached[-1]

    def start(context: Any, target: Any, name: str, *arguments: Any) -> Child:
        started[name] = (target, *arguments)
        return start_child(context, actions.waits_for_a_word, name)

    monkeypatch.setattr(crew, "start_child", start)
    monkeypatch.setattr(SharedBlock, "attach", attach)
    pool = OpenPool(small_config(), 8, backend="server", explore=False)
    try:
        target, spec, *arguments = started[name]
        target(spec._replace(parent_pid=os.getppid()), *arguments, Gone())
    finally:
        pool.close()
        for block in attached:  # which would end with the child's process
            block.close()
    assert len(capsys.readouterr().err.splitlines()) == 1


# -- those that stand still ----------------------------------------------------------------------


@pytest.fixture
def quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "LOOK_EVERY_S", 0.01)


@pytest.mark.usefixtures("quick_looks")
def test_a_child_that_stands_still_is_killed(child: Child) -> None:
    live = start_child(CONTEXT, actions.waits_for_a_word, "live")
    looking = Watch(lambda: [child, live])
    try:
        os.kill(child.process.pid or 0, signal.SIGSTOP)
        assert cause_of_death(child).startswith("was killed by SIGKILL")
        assert live.process.is_alive()
    finally:
        looking.close()
        kill([live])


def test_a_child_that_goes_on_in_time_is_left_alone(
    child: Child, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after Ctrl-Z and ``fg``: looks in a row count."""
    states = iter([True] * (watch.MOST_LOOKS - 1) + [False] + [True] * (watch.MOST_LOOKS - 1))
    looked, done = [], threading.Event()

    def is_stopped(pid: int) -> bool:
        looked.append(pid)
        state = next(states, None)
        if state is None:
            done.set()
        return bool(state)

    monkeypatch.setattr(watch, "LOOK_EVERY_S", 0.001)
    monkeypatch.setattr(watch, "_is_stopped", is_stopped)
    looking = Watch(lambda: [child])
    assert done.wait(60)
    looking.close()
    assert child.process.is_alive()


@pytest.mark.usefixtures("quick_looks")
def test_a_search_ends_although_an_actor_stands_still_with_the_lock() -> None:
    """Its parent waits for the same lock at times, so that it could not look after it itself."""
    config = small_config(search={"budget": 3000, "batch_size": 32}, run={"actors": 2})
    pool = OpenPool(config, 60, backend="prior", explore=False)
    try:
        frozen = False
        for number in range(20):  # on a busy machine a search may be over before the actor is met
            pool.submit(SearchJob(number, problem(n=60, seed=0), seed=0), 1.0)
            eventually(lambda: pool.tree(0).simulations > 0, "the search")
            frozen = freeze_when(pool.actor_pids()[0], lambda: is_writing(pool, 0), 2.0)
            finished = eventually(lambda: pool.wait(1.0), "a finished tree", 120.0)
            assert finished.report.outcome == "complete"
            pool.release(finished)
            if frozen:
                break
        assert frozen
        assert pool.stats().restarts >= 1
    finally:
        pool.close()

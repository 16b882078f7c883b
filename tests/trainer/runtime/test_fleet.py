"""Tasks over members that come and go: each ends once, with one result."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import numpy as np
import pytest

from aerl_trainer.runtime.cluster import fleet as fleet_module
from aerl_trainer.runtime.cluster.fleet import Fleet
from aerl_trainer.runtime.errors import FleetError
from helpers.small_runs import eventually


class GoneError(Exception):
    """The member is."""


class Machine:
    """A member whose answers the test gives, or that answers by itself."""

    def __init__(self, name: str, answers: bool) -> None:
        self.name, self.answers, self.alive, self.silent = name, answers, True, False
        self.calls: list[tuple[str, tuple[Any, ...], Future[Any]]] = []
        self.lock = threading.Lock()

    def call(self, method: str, *arguments: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        with self.lock:
            if not self.alive:
                future.set_exception(GoneError(self.name))
            elif method in ("ready", "ping") and not self.silent:
                future.set_result(self.name)
            else:
                self.calls.append((method, arguments, future))
        if self.answers and self.alive and not self.silent:
            self.answer()
        return future

    def answer(self) -> None:
        """All calls so far."""
        with self.lock:
            calls, self.calls = self.calls, []
        for _, arguments, future in calls:
            future.set_result((self.name, *arguments))

    def die(self) -> None:
        with self.lock:
            self.alive = False
            calls, self.calls = self.calls, []
        for _, _, future in calls:
            future.set_exception(GoneError(self.name))

    def kill(self) -> None:
        self.die()


class Site:
    """The members of a test."""

    def __init__(self, *names: str, answers: bool = True) -> None:
        self.answers = answers
        self.names = set(names)
        self.machines: dict[str, Machine] = {}
        self.started = Counter[str]()

    def present(self) -> dict[str, int]:
        return dict.fromkeys(sorted(self.names), 2)

    def start(self, member: str) -> Machine:
        self.started[member] += 1
        self.machines[member] = Machine(member, self.answers)
        return self.machines[member]

    def is_loss(self, error: BaseException) -> bool:
        return isinstance(error, GoneError)


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet_module, "TICK_S", 0.005)
    monkeypatch.setattr(fleet_module, "LOOK_EVERY_S", 0.01)


@pytest.fixture
def fleets() -> Iterator[list[Fleet]]:
    made: list[Fleet] = []
    yield made
    for fleet in made:
        fleet.close()


def fleet_on(site: Site, fleets: list[Fleet], stall_s: float = 60.0) -> Fleet:
    fleets.append(Fleet(site, {"work": lambda cores: cores}, stall_s=stall_s))
    return fleets[-1]


def test_tasks_come_back_to_whom_they_belong(fleets: list[Fleet]) -> None:
    fleet = fleet_on(Site("a", "b"), fleets)
    futures = [fleet.submit("work", i) for i in range(50)]
    assert [future.result(10)[1] for future in futures] == list(range(50))
    assert fleet.room("work") == 4
    assert fleet.stats()._replace(members=0) == (0, 0, 0, 0, 0)


def test_no_member_gets_more_than_it_has_room_for(fleets: list[Fleet]) -> None:
    site = Site("a", answers=False)
    fleet = fleet_on(site, fleets)
    futures = [fleet.submit("work", i) for i in range(5)]
    eventually(lambda: "a" in site.machines and len(site.machines["a"].calls) == 2, "two tasks")
    time.sleep(0.05)
    assert len(site.machines["a"].calls) == 2
    assert fleet.stats().queued == 3
    while not all(future.done() for future in futures):
        site.machines["a"].answer()
    assert [future.result() for future in futures] == [("a", i) for i in range(5)]


def test_tasks_of_a_dead_member_go_to_another(fleets: list[Fleet]) -> None:
    site = Site("a", answers=False)
    fleet = fleet_on(site, fleets)
    futures = [fleet.submit("work", i) for i in range(2)]
    eventually(lambda: "a" in site.machines and len(site.machines["a"].calls) == 2, "two tasks")
    first = site.machines["a"]
    site.answers, site.names = True, {"b"}
    assert [future.result(10) for future in futures] == [("b", 0), ("b", 1)]
    assert not first.alive
    assert fleet.stats()[3:] == (1, 2)


def test_a_member_that_dies_is_started_again(fleets: list[Fleet]) -> None:
    site = Site("a", answers=False)
    fleet = fleet_on(site, fleets)
    future = fleet.submit("work", 7)
    eventually(lambda: "a" in site.machines and site.machines["a"].calls, "the task")
    site.answers = True
    site.machines["a"].die()
    assert future.result(10) == ("a", 7)
    assert site.started["a"] == 2


def test_a_silent_member_has_left_and_its_late_answer_counts_no_more(fleets: list[Fleet]) -> None:
    site = Site("a", answers=False)
    fleet = fleet_on(site, fleets, stall_s=0.1)
    future = fleet.submit("work", 7)
    eventually(lambda: "a" in site.machines and site.machines["a"].calls, "the task")
    silent = site.machines["a"]
    _, _, asked = silent.calls[0]
    silent.kill = lambda: None  # type: ignore[method-assign]
    site.names.add("b")
    site.answers, silent.silent = True, True
    assert future.result(10)[1] == 7
    asked.set_result(("a", "too late"))
    time.sleep(0.05)
    assert future.result()[1] == 7
    assert fleet.stats().lost == 1


def test_an_error_of_a_task_is_its_result(fleets: list[Fleet]) -> None:
    site = Site("a", answers=False)
    fleet = fleet_on(site, fleets)
    future = fleet.submit("work")
    eventually(lambda: "a" in site.machines and site.machines["a"].calls, "the task")
    site.machines["a"].calls.pop()[2].set_exception(ZeroDivisionError("of the task"))
    with pytest.raises(ZeroDivisionError):
        future.result(10)
    assert fleet.stats().lost == 0


def test_a_member_that_is_never_ready_has_left(
    fleets: list[Fleet], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_module, "LONGEST_START_S", 0.1)
    site = Site("a")
    start = site.start

    def start_in_silence_at_first(name: str) -> Machine:
        machine = start(name)
        machine.silent = site.started[name] == 1
        return machine

    monkeypatch.setattr(site, "start", start_in_silence_at_first)
    fleet = fleet_on(site, fleets)
    assert fleet.submit("work", 7).result(10) == ("a", 7)
    assert fleet.stats().lost == 1


@pytest.mark.parametrize("names", ["a", "ab"])
def test_a_task_that_kills_whoever_has_it_ends_alone(
    fleets: list[Fleet], names: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one member of two cores the second task is there each time, and not to blame."""
    monkeypatch.setattr(fleet_module, "LONGEST_PAUSE_S", 0.02)
    site = Site(*names, answers=False)
    fleet = fleet_on(site, fleets)
    deadly, *others = [fleet.submit("work", i) for i in range(6)]
    while not (deadly.done() and all(other.done() for other in others)):
        for machine in list(site.machines.values()):
            if any(arguments == (0,) for _, arguments, _ in machine.calls):
                machine.die()
            else:
                machine.answer()
        time.sleep(0.002)
    with pytest.raises(FleetError, match="8 node workers were lost with the same task"):
        deadly.result()
    assert [other.result()[1] for other in others] == [1, 2, 3, 4, 5]
    assert fleet.error is None


def test_a_suspect_gets_its_turn_while_others_keep_coming(
    fleets: list[Fleet], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of another method, so that no member would ever have nothing to do."""
    monkeypatch.setattr(fleet_module, "LONGEST_PAUSE_S", 0.02)
    site = Site("a", answers=False)
    fleet = Fleet(site, {"others": lambda cores: cores, "work": lambda cores: cores}, stall_s=60.0)
    fleets.append(fleet)
    losses, task = 0, fleet.submit("work", 0)
    others = [fleet.submit("others", i) for i in range(6)]
    end = time.monotonic() + 20.0
    while not task.done() and time.monotonic() < end:
        for machine in list(site.machines.values()):
            if losses < 3 and any(method == "work" for method, _, _ in machine.calls):
                losses += 1
                machine.die()
            elif machine.calls:  # one of them, so that there is always another
                with machine.lock:
                    _, arguments, future = machine.calls.pop(0)
                future.set_result(arguments)
                others.append(fleet.submit("others", len(others)))
        time.sleep(0.002)
    assert (losses, task.done()) == (3, True)
    assert task.result(0) == (0,)


def test_members_that_only_die_end_the_fleet(
    fleets: list[Fleet], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_module, "FRUITLESS_LOSSES", 3)
    site = Site("a")
    monkeypatch.setattr(site, "start", lambda name: (m := Machine(name, True), m.die())[0])
    fleet = fleet_on(site, fleets)
    future = fleet.submit("work")
    with pytest.raises(FleetError, match="5 node workers were lost in a row"):
        future.result(10)
    with pytest.raises(FleetError):
        fleet.submit("work")


def test_one_that_dies_at_once_each_time_is_left_in_peace_longer_and_longer(
    fleets: list[Fleet], monkeypatch: pytest.MonkeyPatch
) -> None:
    site = Site("a", "b")
    start = site.start

    def start_b_in_vain(name: str) -> Machine:
        machine = start(name)
        if name == "b":
            machine.die()
        return machine

    monkeypatch.setattr(site, "start", start_b_in_vain)
    fleet = fleet_on(site, fleets)
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        assert fleet.submit("work", 1).result(10) == ("a", 1)
    assert 2 <= site.started["b"] <= 8, "not at each of some fifty looks"


def test_what_is_not_done_is_cancelled_at_the_end(fleets: list[Fleet]) -> None:
    site = Site("a", answers=False)
    fleet = fleet_on(site, fleets)
    futures = [fleet.submit("work", i) for i in range(4)]
    eventually(lambda: "a" in site.machines and len(site.machines["a"].calls) == 2, "two tasks")
    fleet.close()
    assert all(future.cancelled() for future in futures)
    assert not site.machines["a"].alive


@pytest.mark.parametrize("seed", range(5))
def test_random_deaths_departures_and_silence_lose_and_repeat_nothing(
    fleets: list[Fleet], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    site = Site("a", "b", "c", answers=False)
    fleet = fleet_on(site, fleets, stall_s=0.15)
    results = Counter[int]()
    futures = []
    for i in range(60):
        futures.append(fleet.submit("work", i))
        futures[-1].add_done_callback(lambda done: results.update([done.result()[1]]))
    while not all(future.done() for future in futures):
        machine = site.machines.get(str(rng.choice(["a", "b", "c"])))
        event = rng.random()
        if machine is None:
            continue
        if event < 0.03:
            machine.die()
        elif event < 0.05:
            machine.silent = True
        elif event < 0.08:
            site.names ^= {machine.name}
        elif not machine.silent:
            machine.answer()
        time.sleep(0.002)
    eventually(lambda: results.total() == 60, "all results")
    assert results == Counter(range(60))
    assert [future.result()[1] for future in futures] == list(range(60))

"""Tasks over members that come and go: each task ends once, whatever happens to who works on it.

No word of Ray in here: ``Members`` says who is there, and a ``Handle`` calls one of them.
"""

import contextlib
import itertools
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, Protocol

from aerl_trainer.runtime.errors import FleetError

TICK_S = 0.25
"""Longest sleep of the fleet's thread; a loss by silence is noticed so much later."""
LOOK_EVERY_S = 1.0
FRUITLESS_LOSSES = 20
"""Members that are lost in a row without one finished task, beyond as many as there ever were at
once: then the error is ours."""
LONGEST_START_S = 600.0
"""Of a member, until it is ready: it may have kernels to compile."""
MOST_LOSSES = 8
"""Members that may be lost with one and the same task; then the task is to blame."""
SUSPECT_LOSSES = 2
"""From so many on a task has a member to itself, so that no other is blamed with it."""
LONGEST_PAUSE_S = 60.0
"""Before a member is started again that is lost each time before it has finished a task."""


class Handle(Protocol):
    """One member at work."""

    def call(self, method: str, *arguments: Any) -> "Future[Any]":
        """Have it do something; the future is set by any thread."""
        ...

    def kill(self) -> None:
        """End it, without waiting for it."""
        ...


class Members(Protocol):
    """Who could work."""

    def present(self) -> Mapping[str, int]:
        """Those that are there now, with their cores."""
        ...

    def start(self, member: str) -> Handle:
        """Begin to work there; it answers ``ready`` once it can take tasks."""
        ...

    def is_loss(self, error: BaseException) -> bool:
        """Whether a call has failed because the member is gone, not because of its task."""
        ...


class FleetStats(NamedTuple):
    """Where a fleet stands, and totals since its start."""

    members: int
    """That take tasks."""
    queued: int
    """Tasks that nobody works on."""
    in_flight: int
    lost: int
    """Members that have left, died or fallen silent."""
    requeued: int
    """Tasks that were given to another member after a loss."""


@dataclass(eq=False)
class _Task:
    method: str
    arguments: tuple[Any, ...]
    future: "Future[Any]"
    losses: int = 0
    """Members that were lost while they had it."""

    @property
    def suspect(self) -> bool:
        """Whether it may be what kills them."""
        return self.losses >= SUSPECT_LOSSES


@dataclass(eq=False)
class _Member:
    handle: Handle
    cores: int
    heard: float
    """When it answered last; when it was started if it has not answered yet."""
    ready: bool = False
    asked: bool = False
    tasks: dict[int, _Task] = field(default_factory=dict)
    """By the number of the attempt."""
    report: Any = None
    """Its last answer to ``ping``."""


class Fleet:
    """Gives tasks to members, and gives them to others when a member is lost.

    One thread of its own owns everything. A member is lost when a call fails for its death, when it
    is no longer present, when it is not ready ten minutes after its start, or when it has not
    answered a ``ping`` for ``stall_s``; then it is killed, and an answer that it still gives counts
    no more. Where it is present again, another is started in its place, which takes tasks from when
    it has answered ``ready``. A task with which one member after the other is lost ends with a
    ``FleetError``.

    Args:
        members: who could work.
        room: method → how many of its tasks a member with so many cores takes at once.
        stall_s: longest silence of a member (s).
    """

    def __init__(
        self,
        members: Members,
        room: Mapping[str, Callable[[int], int]],
        *,
        stall_s: float,
    ) -> None:
        self._source, self._room, self._stall_s = members, room, stall_s
        self._members: dict[str, _Member] = {}
        self._queues: dict[str, deque[_Task]] = {method: deque() for method in room}
        self._attempts = itertools.count()
        self._events: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._looked = -float("inf")
        self._lost = self._requeued = self._fruitless = self._most = 0
        self._losses = Counter[str]()
        self._pause_ends: dict[str, float] = {}
        self._closing = threading.Event()
        self.error: BaseException | None = None
        """What ended the fleet's thread, if it was not ``close``."""
        self._thread = threading.Thread(target=self._run, name="fleet", daemon=True)
        self._thread.start()

    def submit(self, method: str, *arguments: Any) -> "Future[Any]":
        """Have some member do something; the future gets its result, or the error of the task.

        Args:
            method: one of ``room``.
            arguments: of the call; the same in each attempt.
        """
        if self.error is not None:
            raise self.error
        task = _Task(method, arguments, Future())
        self._events.put(lambda: self._queues[method].append(task))
        return task.future

    def room(self, method: str) -> int:
        """How many tasks of a method the members take at once."""
        ready = [member for member in list(self._members.values()) if member.ready]
        return sum(self._room[method](member.cores) for member in ready)

    def stats(self) -> FleetStats:
        """As of now; numbers of different moments where tasks move meanwhile."""
        members = list(self._members.values())
        return FleetStats(
            sum(member.ready for member in members),
            sum(map(len, self._queues.values())),
            sum(len(member.tasks) for member in members),
            self._lost,
            self._requeued,
        )

    def reports(self) -> list[Any]:
        """The last answer to ``ping`` of each member."""
        return [m.report for m in list(self._members.values()) if m.report is not None]

    def close(self) -> None:
        """Kill all members; tasks that are not done are cancelled. May be called again."""
        self._closing.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._closing.is_set():
                self._handle_events()
                now = time.monotonic()
                if now - self._looked >= LOOK_EVERY_S:
                    self._looked = now
                    self._look(now)
                self._dispatch()
        except BaseException as error:  # handed to who submits and waits
            self.error = error
        finally:
            self._end()

    def _handle_events(self) -> None:
        """All that has happened; sleeps until the first of it."""
        with contextlib.suppress(Empty):
            self._events.get(timeout=TICK_S)()
            for _ in range(self._events.qsize()):  # no more, however fast they come
                self._events.get_nowait()()

    def _look(self, now: float) -> None:
        """Who has come, who has gone, who is silent; ask the others how they are."""
        present = self._source.present()
        for name, member in list(self._members.items()):
            if name not in present:
                self._lose(name, member, "it has left")
            elif now - member.heard > (limit := self._stall_s if member.ready else LONGEST_START_S):
                self._lose(name, member, f"it has not answered for {limit:g} s")
        for name, cores in present.items():
            if name not in self._members and now >= self._pause_ends.get(name, now):
                self._start(name, cores)
        for name, member in list(self._members.items()):
            if member.ready and not member.asked:
                member.asked = True
                self._call(name, member, "ping", (), self._answered)

    def _start(self, name: str, cores: int) -> None:
        member = _Member(self._source.start(name), cores, time.monotonic())
        self._members[name] = member
        self._most = max(self._most, len(self._members))
        self._call(name, member, "ready", (), self._answered)

    def _answered(self, name: str, member: _Member, answer: "Future[Any]") -> None:
        member.asked, member.heard = False, time.monotonic()
        member.report = answer.result()
        member.ready = True

    def _dispatch(self) -> None:
        """Give each queued task to the member with the most room for it.

        While a suspect waits for a member that has nothing else to do, nobody gets anything.
        """
        for method, queue in self._queues.items():
            while queue and queue[0].suspect:
                rooms = self._rooms(method)
                idle = [n for n, room in rooms.items() if room > 0 and not self._members[n].tasks]
                if not idle:
                    return
                self._give(idle[0], queue.popleft())
        for method, queue in self._queues.items():
            rooms = self._rooms(method) if queue else {}
            while rooms and queue and not queue[0].suspect:
                name = max(rooms, key=rooms.__getitem__)
                if rooms[name] <= 0:
                    break
                rooms[name] -= self._give(name, queue.popleft())

    def _rooms(self, method: str) -> dict[str, int]:
        """How many more tasks of a method each member takes."""
        return {
            name: self._room_left(member, method)
            for name, member in self._members.items()
            if member.ready
        }

    def _room_left(self, member: _Member, method: str) -> int:
        if any(task.suspect for task in member.tasks.values()):
            return 0
        working = sum(task.method == method for task in member.tasks.values())
        return self._room[method](member.cores) - working

    def _give(self, name: str, task: _Task) -> bool:
        """Have a member do a task, unless nobody wants it any more; whether it does."""
        if task.future.cancelled():
            return False
        member, attempt = self._members[name], next(self._attempts)
        member.tasks[attempt] = task

        def done(_: str, __: _Member, answer: "Future[Any]") -> None:
            del member.tasks[attempt]
            self._fruitless = 0
            self._losses.pop(name, None)
            error = answer.exception()
            with contextlib.suppress(InvalidStateError):  # nobody wants it any more
                if error is None:
                    task.future.set_result(answer.result())
                else:
                    task.future.set_exception(error)

        self._call(name, member, task.method, task.arguments, done)
        return True

    def _call(
        self,
        name: str,
        member: _Member,
        method: str,
        arguments: tuple[Any, ...],
        then: Callable[[str, _Member, "Future[Any]"], None],
    ) -> None:
        """Call a member; ``then`` runs in the fleet's thread, unless the member is lost by then."""

        def arrive(answer: "Future[Any]") -> None:
            if self._members.get(name) is not member:
                return
            error = answer.exception()
            if error is not None and self._source.is_loss(error):
                self._lose(name, member, str(error))
            else:
                then(name, member, answer)

        future = member.handle.call(method, *arguments)
        future.add_done_callback(lambda answer: self._events.put(lambda: arrive(answer)))

    def _lose(self, name: str, member: _Member, why: str) -> None:
        """Take a member's tasks back, to the head of the queue."""
        del self._members[name]
        member.handle.kill()
        self._lost += 1
        self._fruitless += 1
        self._losses[name] += 1
        pause = LOOK_EVERY_S * (2 ** min(self._losses[name], 10) - 2)
        self._pause_ends[name] = time.monotonic() + min(pause, LONGEST_PAUSE_S)
        for task in reversed(member.tasks.values()):
            self._take_back(task, why)
        if self._fruitless > FRUITLESS_LOSSES + self._most:
            raise FleetError(
                f"{self._fruitless} node workers were lost in a row, the last one because {why}"
            )

    def _take_back(self, task: _Task, why: str) -> None:
        """Queue it again, unless it has cost too many members."""
        task.losses += 1
        if task.losses < MOST_LOSSES:
            self._requeued += 1
            self._queues[task.method].appendleft(task)
            return
        with contextlib.suppress(InvalidStateError):  # nobody wants it any more
            task.future.set_exception(
                FleetError(
                    f"{task.losses} node workers were lost with the same task, the last one "
                    f"because {why}"
                )
            )

    def _end(self) -> None:
        for member in self._members.values():
            member.handle.kill()
        tasks = [task for member in self._members.values() for task in member.tasks.values()]
        self._members.clear()
        while True:  # those that were submitted last
            try:
                self._events.get_nowait()()
            except Empty:
                break
        for task in itertools.chain(tasks, *self._queues.values()):
            if self.error is None:
                task.future.cancel()
            elif not task.future.done():
                task.future.set_exception(self.error)

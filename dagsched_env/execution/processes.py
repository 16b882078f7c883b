"""Jobs as processes of this machine.

A command is a process group of its own. Functions go to worker processes, which are started when
they are needed and used again. All machines of the plan are this one: it is they that limit what
runs at once.
"""

import multiprocessing
import os
import pickle
import resource
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, NamedTuple, Protocol

from dagsched_env.execution.groups import GRACE_S, signal_group
from dagsched_env.execution.jobs import Job, JobGraph
from dagsched_env.execution.worker import serve
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule


class Done(NamedTuple):
    """The end of a job, or of one attempt."""

    task: int
    start: float
    finish: float
    """Both in seconds of ``time.monotonic`` of this machine; exact after ``Backend.measured``."""
    result: Any
    error: str | None
    """Why it failed; None = it did not."""
    memory: float | None = None
    """The most that it used (bytes), where that is known."""
    result_bytes: float | None = None
    """Size of what it returned, where that is known; there after ``Backend.measured``."""
    in_vain: int = 0
    """Attempts before this one of which the backend told nobody; there after
    ``Backend.measured``."""


class StartAll(Protocol):
    """Hands over all jobs of a plan at once; ``Backend.wait`` tells when each has ended."""

    def __call__(self, graph: JobGraph, plan: Schedule, order: list[int], retries: int) -> None: ...


class Backend(Protocol):
    """Where jobs run."""

    def whole_plans(self, graph: JobGraph, instance: Instance) -> StartAll | None:
        """What takes over a plan as a whole, if the backend keeps its order and limits itself."""
        ...

    def start(self, task: int, job: Job, inputs: Sequence[Any], machine: int) -> None:
        """Begin a job; ``inputs`` are the results of those before it."""
        ...

    def wait(self, timeout_s: float | None) -> list[Done]:
        """Jobs that have ended since; at least one, unless the time is over."""
        ...

    def value(self, result: Any) -> Any:
        """What a function has returned, from what ``Done`` and ``inputs`` have of it."""
        ...

    def measured(self, done: list[Done]) -> list[Done]:
        """The same, with times of start and finish as they were measured where they ran, and the
        sizes of results."""
        ...

    def cancel(self, task: int) -> None:
        """End a job that runs; ``wait`` tells nothing more of it."""
        ...

    def close(self) -> None:
        """End all that runs."""
        ...


class Processes:
    """The backend of this machine."""

    def __init__(self) -> None:
        # A server that forks on demand: forking this process could copy a lock that is held.
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["dagsched_env.execution.worker"])
        self._commands: dict[int, _Command] = {}
        self._calls: dict[int, _Worker] = {}
        self._idle: list[_Worker] = []
        self._failed: list[Done] = []

    def whole_plans(self, graph: JobGraph, instance: Instance) -> StartAll | None:
        """As of ``Backend``: none."""
        return None

    def start(self, task: int, job: Job, inputs: Sequence[Any], machine: int) -> None:
        """As of ``Backend``."""
        try:
            if callable(job.action):
                self._calls[task] = worker = self._free_worker()
                worker.pipe.send((job.action, tuple(inputs)))
            else:
                self._commands[task] = _Command(job.action)
        except (OSError, ValueError, pickle.PicklingError, AttributeError, TypeError) as error:
            now = time.monotonic()
            told = f"cannot be started: {error}"
            if task in self._calls:
                self._idle.append(self._calls.pop(task))
            if callable(job.action):
                told += " (a function has to be at the top level of a module)"
            self._failed.append(Done(task, now, now, None, told))

    def wait(self, timeout_s: float | None) -> list[Done]:
        """As of ``Backend``."""
        done, self._failed = self._failed, []
        if done:
            return done
        commands = {command.ends: task for task, command in self._commands.items()}
        calls = {worker.pipe: task for task, worker in self._calls.items()}
        for ended in wait([*commands, *calls], timeout_s):
            if isinstance(ended, int):
                task = commands[ended]
                done.append(self._commands.pop(task).done(task))
            elif isinstance(ended, Connection):
                done.append(self._returned(calls[ended]))
        return done

    def value(self, result: Any) -> Any:
        """As of ``Backend``."""
        return result

    def measured(self, done: list[Done]) -> list[Done]:
        """As of ``Backend``."""
        return done

    def cancel(self, task: int) -> None:
        """As of ``Backend``."""
        for running in (self._commands, self._calls):
            if task in running:
                _end([running.pop(task)])

    def close(self) -> None:
        """As of ``Backend``; workers that wait for work end, too."""
        running: list[_Running] = [*self._commands.values(), *self._calls.values()]
        self._commands.clear()
        self._calls.clear()
        _end(running)
        while self._idle:
            self._idle.pop().leave()

    def _free_worker(self) -> "_Worker":
        """One that waits for work, or a new one; one that has died meanwhile leaves."""
        while self._idle:
            worker = self._idle.pop()
            if worker.alive:
                return worker
            worker.leave()
        return _Worker(self._context)

    def _returned(self, task: int) -> Done:
        """What a function has returned; where its process has died, that."""
        worker = self._calls.pop(task)
        try:
            answer = worker.pipe.recv_bytes()
        except (EOFError, OSError):
            now = time.monotonic()
            code = worker.leave()
            return Done(task, worker.since, now, None, f"its process has ended with code {code}")
        self._idle.append(worker)
        try:
            start, finish, result, error = pickle.loads(answer)  # noqa: S301 - as ``recv`` does
        except Exception as problem:  # whatever the class of somebody else does
            now = time.monotonic()
            told = f"its result cannot be read: {type(problem).__name__}: {problem}"
            return Done(task, worker.since, now, None, told)
        size = None if result is None else float(len(answer))
        return Done(task, start, finish, result, error, result_bytes=size)


class _Running(Protocol):
    """A process group."""

    pid: int

    def wait(self, timeout_s: float | None) -> None:
        """Until its first process has ended, or the time is over."""

    def clean_up(self) -> None:
        """After that."""


class _Command:
    """A command that runs."""

    def __init__(self, action: str | Sequence[str]) -> None:
        self._start = self._finish = time.monotonic()
        self._process = subprocess.Popen(
            action, shell=isinstance(action, str), start_new_session=True, stdin=subprocess.DEVNULL
        )
        self.pid = self._process.pid
        self.ends = os.pidfd_open(self.pid)
        # Who waits for the jobs may be busy when this one ends: with its next plan, for example.
        self._clock = threading.Thread(target=self._time, daemon=True)
        self._clock.start()

    def done(self, task: int) -> Done:
        self._clock.join()
        _, status, usage = os.wait4(self.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        self._process.returncode = code  # it is waited for here, for the sake of its memory
        self.clean_up()
        error = None if code == 0 else f"exit code {code}"
        # Linux counts what this process had when it began the command.
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        memory = usage.ru_maxrss * 1024.0 if usage.ru_maxrss > own else None
        return Done(task, self._start, self._finish, None, error, memory)

    def wait(self, timeout_s: float | None) -> None:
        self._clock.join(timeout_s)

    def clean_up(self) -> None:
        self._process.wait()
        os.close(self.ends)

    def _time(self) -> None:
        wait([self.ends])
        self._finish = time.monotonic()


class _Worker:
    """A process that calls functions."""

    def __init__(self, context: Any) -> None:
        self.pipe, there = context.Pipe()
        self._process: BaseProcess = context.Process(target=serve, args=(there,), daemon=True)
        self._process.start()
        there.close()
        assert self._process.pid is not None
        self.pid = self._process.pid
        self.since = time.monotonic()

    @property
    def alive(self) -> bool:
        return self._process.is_alive()

    def leave(self) -> int | None:
        """Let it end; its exit code."""
        self.pipe.close()
        self._process.join(GRACE_S)
        return self._process.exitcode

    def wait(self, timeout_s: float | None) -> None:
        self._process.join(timeout_s)

    def clean_up(self) -> None:
        self.pipe.close()


def _end(running: Sequence[_Running]) -> None:
    """Ask process groups to end, all at once, and make those that do not; an interrupt, too."""
    try:
        for each in running:
            signal_group(each.pid, signal.SIGTERM)
        deadline = time.monotonic() + GRACE_S
        for each in running:
            each.wait(max(0.0, deadline - time.monotonic()))
    finally:
        for each in running:
            signal_group(each.pid, signal.SIGKILL)
        for each in running:
            each.wait(None)
            each.clean_up()

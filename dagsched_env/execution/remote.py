"""What runs on the workers of a cluster, of Dask or of Ray."""

import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from dagsched_env.execution.groups import GRACE_S, signal_group
from dagsched_env.execution.jobs import Job


class Timed(NamedTuple):
    """What a job returned, on its worker."""

    value: Any
    start: float
    finish: float
    """Both in seconds of ``time.monotonic`` of the worker."""


def as_function(job: Job, name: str | None = None) -> Callable[..., Any]:
    """The action of a job; a command is a function that raises where it fails.

    Args:
        job: the job.
        name: of a command that ``end_command`` is to find, distinct on the cluster.
    """
    if callable(job.action):
        return job.action
    return _Command(job.action, name)


_commands: dict[str, int] = {}
"""Those that run on this worker: name → process group."""


class _Command:
    def __init__(self, action: str | Sequence[str], name: str | None) -> None:
        self.action, self.name = action, name

    def __call__(self, *_: Any) -> None:
        process = subprocess.Popen(
            self.action,
            shell=isinstance(self.action, str),
            stdin=subprocess.DEVNULL,
            start_new_session=self.name is not None,
        )
        if self.name is not None:
            _commands[self.name] = process.pid
        try:
            code = process.wait()
        finally:
            _commands.pop(self.name or "", None)
        if code:
            raise RuntimeError(f"exit code {code}")


def end_command(name: str) -> None:
    """On a worker: ask a command to end, if it runs here, and make it if it does not."""
    if (group := _commands.get(name)) is not None:
        signal_group(group, signal.SIGTERM)
        later = threading.Timer(GRACE_S, signal_group, (group, signal.SIGKILL))
        later.daemon = True
        later.start()


def timed(action: Callable[..., Any], *inputs: Timed) -> Timed:
    """Call it with the results of the jobs before it."""
    start = time.monotonic()
    value = action(*(each.value for each in inputs))
    return Timed(value, start, time.monotonic())


def clock_ahead(clock_there: Callable[[], float]) -> float:
    """By how much the clock of a worker is ahead of ours; of three tries the quickest."""
    tries = []
    for _ in range(3):
        before = time.monotonic()
        there = clock_there()
        took = time.monotonic() - before
        tries.append((took, there - before - took / 2))
    _, ahead = min(tries)
    return ahead

"""What runs on the workers of a cluster, of Dask or of Ray."""

import subprocess
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from dagsched_env.execution.jobs import Job


class Timed(NamedTuple):
    """What a job returned, on its worker."""

    value: Any
    start: float
    finish: float
    """Both in seconds of ``time.monotonic`` of the worker."""


def as_function(job: Job) -> Callable[..., Any]:
    """The action of a job; a command is a function that raises where it fails."""
    if callable(job.action):
        return job.action
    return _Command(job.action)


class _Command:
    def __init__(self, action: str | Sequence[str]) -> None:
        self.action = action

    def __call__(self, *_: Any) -> None:
        code = subprocess.run(
            self.action,
            shell=isinstance(self.action, str),
            stdin=subprocess.DEVNULL,
            check=False,
        ).returncode
        if code:
            raise RuntimeError(f"exit code {code}")


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

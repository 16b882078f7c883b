"""What the workers of Dask tell of jobs that have ended: when they ran, how large the results are.

A report goes the way of Dask's own messages and overtakes none: it is here before the client learns
that the result is there. So results stay as they are, and Dask may forget those that are used up.
"""

import functools
import time
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple


class Report(NamedTuple):
    """Of one job, or of one attempt."""

    worker: str
    """Its address."""
    start: float
    finish: float
    """Both in seconds of ``time.monotonic`` of the worker."""
    result_bytes: float | None
    """Size of what it returned; None = not known, or it returned nothing."""
    failed: bool = False
    """It has raised an error, and may be begun again."""


Hears = Callable[[int, Report], None]
"""Is called with the number of a job and its report, in the thread of the client's event loop."""

_hears: "weakref.WeakKeyDictionary[Any, dict[int, Hears]]" = weakref.WeakKeyDictionary()
"""Client → run → who hears its reports: Dask calls one function per client and topic."""


class Reports:
    """The reports of one run.

    Args:
        client: of Dask.
        hears: gets them.
    """

    def __init__(self, client: Any, hears: Hears) -> None:
        self._of_client = _hears.setdefault(client, {})
        self.run = time.monotonic_ns()
        self._of_client[self.run] = hears
        self._topic = f"dagsched-{client.id}"
        client.subscribe_topic(self._topic, functools.partial(_heard, self._of_client))

    def reporting(self, action: Callable[..., Any], task: int, count: int) -> Callable[..., Any]:
        """The action, with a report.

        Args:
            action: a function.
            task: number of the job.
            count: of its inputs; what it is given beyond these only had to come before.
        """
        return functools.partial(_reporting, action, self._topic, self.run, task, count)

    def close(self) -> None:
        """What is told from now on is heard by nobody."""
        self._of_client.pop(self.run, None)


def _heard(of_client: dict[int, Hears], event: tuple[float, Any]) -> None:
    _, (run, task, *report) = event
    if (hears := of_client.get(run)) is not None:
        hears(task, Report(*report))


def _reporting(
    action: Callable[..., Any], topic: str, run: int, task: int, count: int, *inputs: Any
) -> Any:
    """On the worker."""
    from distributed import get_worker

    worker, start = get_worker(), time.monotonic()

    def tell(size: float | None, failed: bool) -> None:
        event = [run, task, worker.address, start, time.monotonic(), size, failed]
        worker.log_event(topic, event)

    try:
        value = action(*inputs[:count])
    except Exception:
        tell(None, True)
        raise
    tell(_size(value), False)
    return value


def _size(value: Any) -> float | None:
    from dask.sizeof import sizeof

    if value is None:
        return None
    try:
        return float(sizeof(value))
    except Exception:  # of a class of someone else: the job has not failed because of that
        return None

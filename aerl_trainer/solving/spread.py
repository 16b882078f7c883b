"""One function of many things, on all cores of a Ray cluster."""

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any, TypeVar

from aerl_trainer.runtime.cluster.fleet import Fleet
from aerl_trainer.runtime.cluster.ray_nodes import RayMembers, connected, load_ray

Item = TypeVar("Item")
Result = TypeVar("Result")

STALL_S = 30.0
"""A worker that has been silent for so long has left."""
LOOK_S = 0.5


class TaskWorker:
    """One core of a cluster."""

    def __init__(self) -> None:
        self._functions: dict[str, Callable[[Any], Any]] = {}
        self._core = threading.Lock()

    def ready(self) -> int:
        """Its process."""
        return os.getpid()

    def ping(self) -> int:
        """It lives."""
        return os.getpid()

    def run(self, function: list[Any], item: Any) -> Any:
        """The value of a function, which is fetched once; one at a time.

        Args:
            function: a reference of Ray.
            item: its argument.
        """
        (reference,) = function
        key = reference.hex()
        with self._core:
            if key not in self._functions:
                self._functions[key] = load_ray().get(reference)
            return self._functions[key](item)


class Spread:
    """Calls functions on the workers of a fleet.

    Args:
        fleet: of ``TaskWorker``.
    """

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    def __call__(
        self, function: Callable[[Item], Result], items: Sequence[Item]
    ) -> Iterator[tuple[int, Result]]:
        """The index and the value of each item, as they come; each exactly once.

        Args:
            function: picklable by value; an error in it is raised here.
            items: its arguments.
        """
        reference = [load_ray().put(function)]
        left: dict[Future[Result], int] = {
            self._fleet.submit("run", reference, item): i for i, item in enumerate(items)
        }
        try:
            while left:
                done, _ = wait(left, LOOK_S, FIRST_COMPLETED)
                if self._fleet.error is not None:
                    raise self._fleet.error
                for future in done:
                    yield left.pop(future), future.result()
        finally:
            for future in left:
                future.cancel()


@contextlib.contextmanager
def cluster_of(address: str) -> Iterator[Spread]:
    """Within, a worker on each core of a Ray cluster.

    Args:
        address: HOST:PORT, ``auto``, or ``local:N`` for N nodes on this machine.

    Raises:
        DAGSchedError: the cluster cannot be reached, or Ray is not installed.
    """
    with connected(address):
        members = RayMembers(TaskWorker, lambda cores: ((), {}), lambda cores: 1, per_core=True)
        # One waits beside the one that it works on, so that it need not wait for the driver.
        fleet = Fleet(members, {"run": lambda cores: 2}, stall_s=STALL_S)
        with contextlib.closing(fleet):
            yield Spread(fleet)

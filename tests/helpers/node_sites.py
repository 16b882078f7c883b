"""Node workers in threads of the test's own process, as members of a fleet."""

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from aerl_trainer.config import Config
from aerl_trainer.runtime.cluster.node_worker import NodeWorker


class LostError(Exception):
    """The worker is gone."""


class ThreadHandle:
    """Calls a node worker in threads; arrays arrive read-only, as those of Ray."""

    def __init__(self, worker: NodeWorker) -> None:
        self.worker, self.lost = worker, False
        self._threads = ThreadPoolExecutor(8)
        self._lock = threading.Lock()
        self._open: set[Future[Any]] = set()

    def call(self, method: str, *arguments: Any) -> "Future[Any]":
        answer: Future[Any] = Future()
        with self._lock:
            if self.lost:
                answer.set_exception(LostError())
                return answer
            self._open.add(answer)

        def work() -> None:
            try:
                result = _frozen(getattr(self.worker, method)(*map(_frozen, arguments)))
            except BaseException as error:  # handed on
                self._settle(answer, None, error)
            else:
                self._settle(answer, result, None)

        self._threads.submit(work)
        return answer

    def lose(self) -> None:
        """All that it has been asked is never answered."""
        with self._lock:
            self.lost = True
            lost, self._open = self._open, set()
        for answer in lost:
            answer.set_exception(LostError())

    def kill(self) -> None:
        self.lose()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _settle(self, answer: "Future[Any]", result: Any, error: BaseException | None) -> None:
        with self._lock:
            if answer not in self._open:
                return
            self._open.discard(answer)
        if error is None:
            answer.set_result(result)
        else:
            answer.set_exception(error)


class ThreadSite:
    """Members with one node worker each, all in this process.

    Args:
        config: of the node workers.
        max_tasks: as of ``NodeWorker``.
        names: of the members that are there.
    """

    def __init__(self, config: Config, max_tasks: int | None, *names: str) -> None:
        self._config, self._max_tasks = config, max_tasks
        self.names = set(names)
        self.handles: list[ThreadHandle] = []

    def present(self) -> dict[str, int]:
        return dict.fromkeys(sorted(self.names), 1)

    def start(self, member: str) -> ThreadHandle:
        handle = ThreadHandle(NodeWorker(self._config, self._max_tasks))
        self.handles.append(handle)
        return handle

    def is_loss(self, error: BaseException) -> bool:
        return isinstance(error, LostError)

    def close(self) -> None:
        for handle in self.handles:
            handle.kill()
            handle.worker.close()


def _frozen(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        value = value.copy()
        value.flags.writeable = False
    if isinstance(value, dict):
        return {key: _frozen(item) for key, item in value.items()}
    return value

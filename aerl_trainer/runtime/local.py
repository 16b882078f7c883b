"""Actors and the inference worker as processes of this machine; the only file that starts any.

A dead process is replaced. What a dead actor had in flight is undone from its journal; a tree whose
writer died in mid-write is searched again from the start; a dead inference worker finds the
requests that wait for it in the arena.
"""

import contextlib
import multiprocessing
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from aerl_trainer.config import Config
from aerl_trainer.inference.arena import BATCHES, LEAVES, Arena
from aerl_trainer.inference.weights import WeightBuffer
from aerl_trainer.nn.evaluator import weight_count
from aerl_trainer.records import Task
from aerl_trainer.runtime.actor import Assignment, Released
from aerl_trainer.runtime.pool import Finished, PoolStats
from aerl_trainer.runtime.processes import Backend, ChildSpec, run_actor, run_server
from aerl_trainer.search.alone import report_of
from aerl_trainer.search.kernels import forget
from aerl_trainer.search.tree import BROKEN, OUTCOME, WRITER, SharedTree, TreeSize
from aerl_trainer.shared_memory import sweep_stale
from dagsched_env.schedule import Schedule

__all__ = ["ProcessPool", "SearchPoolError"]

MAX_RESTARTS = 20
JOIN_S = 2.0
"""How long a child may take to leave when asked; nothing is lost when it is killed."""
THREAD_LIMITS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")


class SearchPoolError(RuntimeError):
    """The processes keep dying; the message says where their logs are."""


@dataclass
class _Child:
    process: BaseProcess
    connection: "Connection[Any, Any]"


@dataclass
class _Slot:
    """A tree slot and the task in it."""

    tree: SharedTree
    task: Task | None = None
    tail_weight: float = 1.0
    incumbent: Schedule | None = None
    generation: int = 0
    started: float = 0.0
    members: set[int] = field(default_factory=set)
    """Actors that work on the tree and have not released it."""


class ProcessPool:
    """Implements ``SearchPool`` with ``config.run.actors`` spawned processes.

    Args:
        config: sizes of everything.
        max_tasks: largest problem that will be submitted.
        backend: who evaluates leaves.
        explore: root noise, as in training.
        guests: workers of the caller's own process that will join the searches; their journal
            rows follow those of the actors.
        log_dir: where the children write their output; None leaves it on the terminal.
    """

    def __init__(
        self,
        config: Config,
        max_tasks: int,
        *,
        backend: Backend,
        explore: bool,
        guests: int = 0,
        log_dir: Path | None = None,
    ) -> None:
        sweep_stale()
        self._config, self._backend, self._explore = config, backend, explore
        self._log_dir = log_dir
        self._context = multiprocessing.get_context("spawn")
        search, actors = config.search, config.run.actors
        size = TreeSize.for_search(search, actors + guests, max_tasks)
        self._slots = [_Slot(SharedTree.create(size)) for _ in range(config.run.trees_in_flight)]
        self._arena = Arena.create(self._context, actors, search.batch_size, search.max_children)
        self._weights = WeightBuffer.create(weight_count(config.network))
        self._restarts = 0
        self._actors = [self._start_actor(index) for index in range(actors)]
        self._server = self._start_server() if backend == "server" else None

    # -- tasks -----------------------------------------------------------------------------------

    @property
    def free(self) -> int:
        return sum(slot.task is None for slot in self._slots)

    def submit(self, task: Task, tail_weight: float, incumbent: Schedule | None = None) -> None:
        """Start a search; ``incumbent`` is a schedule that the result must not be worse than."""
        index = next(i for i, slot in enumerate(self._slots) if slot.task is None)
        slot = self._slots[index]
        slot.task, slot.tail_weight, slot.incumbent = task, tail_weight, incumbent
        self._begin(index)

    def wait(self, timeout: float) -> Finished | None:
        deadline = time.monotonic() + timeout
        while True:
            left = deadline - time.monotonic()
            finished = self._next_finished()
            if finished is not None or left < 0:
                return finished
            self._handle(wait(self._sources(), left))

    def tend(self) -> None:
        """Replace what has died and start broken trees again, without waiting for anything."""
        self._handle(wait(self._sources(), 0))
        self._next_finished()

    def tree(self, slot: int) -> SharedTree:
        """A tree that a guest may search, between ``submit`` and the end of its task."""
        return self._slots[slot].tree

    def release(self, finished: Finished) -> None:
        self._slots[finished.slot].task = None

    def publish(self, weights: npt.NDArray[np.float32]) -> None:
        self._weights.publish(weights)

    def stats(self) -> PoolStats:
        totals = self._arena.totals
        return PoolStats(int(totals[BATCHES]), int(totals[LEAVES]), self._restarts)

    def actor_pids(self) -> list[int]:
        """For supervision and fault injection."""
        return [int(child.process.pid or 0) for child in self._actors]

    def server_pid(self) -> int | None:
        return None if self._server is None else self._server.process.pid

    def close(self) -> None:
        _dismiss(self._actors)  # before the server: they may wait for an answer of it
        _dismiss([self._server] if self._server else [])
        for slot in self._slots:
            slot.tree.close()
        self._arena.close()
        self._weights.close()

    # -- slots -----------------------------------------------------------------------------------

    def _begin(self, index: int) -> None:
        """Empty the tree of a slot and tell everybody about its task."""
        slot = self._slots[index]
        assert slot.task is not None
        slot.generation += 1
        slot.started = time.perf_counter()
        slot.tree.reset()
        if slot.incumbent is not None:
            slot.tree.offer(slot.incumbent)
        self._tell_server(index)
        slot.members.clear()
        for actor in range(len(self._actors)):
            self._assign(index, actor)

    def _assign(self, index: int, actor: int) -> None:
        slot = self._slots[index]
        assert slot.task is not None
        assignment = Assignment(
            index,
            slot.generation,
            slot.task,
            slot.tail_weight,
            self._config.search,
            self._explore,
            self._backend != "prior",
        )
        with contextlib.suppress(OSError):  # a dead one is replaced in `_handle`
            self._actors[actor].connection.send(assignment)
            slot.members.add(actor)

    def _tell_server(self, index: int) -> None:
        task = self._slots[index].task
        if self._server is not None and task is not None:
            with contextlib.suppress(OSError):
                self._server.connection.send((index, task.instance))

    def _next_finished(self) -> Finished | None:
        for index, slot in enumerate(self._slots):
            if slot.task is None or slot.members or not slot.tree.finished:
                continue
            if slot.tree.counter(OUTCOME) == BROKEN:
                self._begin(index)
                continue
            elapsed = time.perf_counter() - slot.started
            return Finished(index, slot.task, slot.tree, report_of(slot.task, slot.tree, elapsed))
        return None

    # -- processes -------------------------------------------------------------------------------

    def _sources(self) -> list[Any]:
        """Everything that can wake the parent: messages and deaths."""
        children = [*self._actors, *([self._server] if self._server else [])]
        connections = [child.connection for child in self._actors]
        return connections + [child.process.sentinel for child in children]

    def _handle(self, woken: list[Any]) -> None:
        for index, child in enumerate(self._actors):
            if child.connection in woken:
                self._read(index, child)
            if child.process.sentinel in woken:
                self._replace_actor(index)
        if self._server is not None and self._server.process.sentinel in woken:
            self._count_restart("the inference worker")
            self._server.connection.close()
            self._server = self._start_server()
            for index in range(len(self._slots)):
                self._tell_server(index)

    def _read(self, actor: int, child: _Child) -> None:
        with contextlib.suppress(EOFError, OSError):
            while child.connection.poll():
                message: Released = child.connection.recv()
                slot = self._slots[message.slot]
                if message.generation == slot.generation:
                    slot.members.discard(actor)

    def _replace_actor(self, index: int) -> None:
        """Undo what the dead actor had in flight, and start another in its place."""
        self._count_restart(f"actor {index}")
        self._arena.clear(index)
        for slot in self._slots:
            with slot.tree.lock:
                if slot.tree.counter(WRITER) == index + 1:
                    slot.tree.arrays.counters[OUTCOME] = BROKEN
                else:
                    forget(slot.tree.arrays, index)
            slot.members.discard(index)
        self._actors[index].connection.close()
        self._actors[index] = self._start_actor(index)
        for number, slot in enumerate(self._slots):
            if slot.task is not None and not slot.tree.finished:
                self._assign(number, index)

    def _count_restart(self, who: str) -> None:
        self._restarts += 1
        if self._restarts > MAX_RESTARTS:
            where = f"; see {self._log_dir}" if self._log_dir else ""
            raise SearchPoolError(f"{who} died, the {self._restarts}th death of this run{where}")

    def _start_actor(self, index: int) -> _Child:
        return self._start(run_actor, f"actor-{index}", index)

    def _start_server(self) -> _Child:
        return self._start(run_server, "inference")

    def _start(self, target: Any, name: str, *arguments: Any) -> _Child:
        here, there = self._context.Pipe()
        spec = ChildSpec(
            parent_pid=os.getpid(),
            log_path=self._log_dir / f"{name}.log" if self._log_dir else None,
            backend=self._backend,
            network=self._config.network,
            inference=self._config.inference,
            trees=[slot.tree.handle for slot in self._slots],
            arena=self._arena.handle,
            weights=self._weights.handle,
        )
        process = self._context.Process(
            target=target, args=(spec, *arguments, there), name=name, daemon=True
        )
        with _single_threaded():
            process.start()
        there.close()
        return _Child(process, here)


@contextlib.contextmanager
def _single_threaded() -> Iterator[None]:
    """Children inherit one thread per numeric library: they are the parallelism themselves."""
    before = {name: os.environ.get(name) for name in THREAD_LIMITS}
    os.environ.update(dict.fromkeys(THREAD_LIMITS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _dismiss(children: Sequence[_Child]) -> None:
    """Ask children to leave, all at once; kill those that are still there ``JOIN_S`` later."""
    for child in children:
        with contextlib.suppress(OSError):
            child.connection.send(None)
    deadline = time.monotonic() + JOIN_S
    for child in children:
        child.process.join(max(0.0, deadline - time.monotonic()))
        if child.process.is_alive():
            child.process.kill()
            child.process.join()
        child.connection.close()

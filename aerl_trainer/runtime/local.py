"""Actors and the inference workers as processes of this machine.

A dead process is replaced. What a dead actor had in flight is undone from its journal; a tree whose
writer died in mid-write is searched again from the start, with the best schedule it still holds;
the successor of a dead inference worker finds the requests that wait for it in the arena.
"""

import contextlib
import multiprocessing
import os
import time
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from aerl_trainer.config import Config
from aerl_trainer.inference.arena import Arena
from aerl_trainer.inference.choice import choose_backend
from aerl_trainer.inference.devices import resolve_devices
from aerl_trainer.inference.weights import WeightBuffer
from aerl_trainer.nn.evaluator import weight_count
from aerl_trainer.records import Task
from aerl_trainer.runtime.actor import Assignment, Released
from aerl_trainer.runtime.children import Child, cause_of_death, dismiss, kill, start_child
from aerl_trainer.runtime.pool import Finished, PoolStats
from aerl_trainer.runtime.processes import Backend, ChildSpec, run_actor, run_server
from aerl_trainer.search.alone import report_of
from aerl_trainer.search.kernels import forget
from aerl_trainer.search.tree import BROKEN, OUTCOME, SIMS_DONE, WRITER, SharedTree, TreeSize
from aerl_trainer.shared_memory import sweep_stale
from dagsched_env.errors import InvalidScheduleError
from dagsched_env.schedule import Schedule

__all__ = ["ProcessPool", "SearchPoolError"]

FRUITLESS_DEATHS = 5
"""Deaths per child that end the run, if no search gets any further between them."""


class SearchPoolError(RuntimeError):
    """The processes keep dying; the message says where their logs are."""


@dataclass
class _Slot:
    """A tree slot and the task in it."""

    tree: SharedTree
    task: Task | None = None
    tail_weight: float = 1.0
    incumbent: Schedule | None = None
    generation: int = 0
    started: float = 0.0
    furthest: int = 0
    """Most simulations that a tree of the task has held at a death."""
    members: set[int] = field(default_factory=set)
    """Actors that work on the tree and have not released it."""


class ProcessPool:
    """Implements ``SearchPool`` with ``config.run.actors`` spawned processes.

    Args:
        config: sizes of everything.
        max_tasks: largest problem that will be submitted.
        backend: who evaluates leaves; ``"auto"`` measures which is faster here and now.
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
        backend: Backend | Literal["auto"],
        explore: bool,
        guests: int = 0,
        log_dir: Path | None = None,
    ) -> None:
        sweep_stale()
        self._config, self._explore, self._log_dir = config, explore, log_dir
        self._max_tasks = max_tasks
        self._backend, self._why = (
            choose_backend(config, max_tasks)
            if backend == "auto"
            else (backend, f"{backend}, as set")
        )
        self._context = multiprocessing.get_context("spawn")
        search, actors = config.search, config.run.actors
        self._devices: list[str] = []
        if self._backend == "server":
            self._devices = resolve_devices(config.inference.devices)[:actors]
        size = TreeSize.for_search(search, actors + guests, max_tasks)
        self._restarts = self._fruitless = 0
        self._slots: list[_Slot] = []
        self._actors: list[Child] = []
        self._servers: list[Child] = []
        with contextlib.ExitStack() as made:  # goes again if the rest cannot be had
            for _ in range(config.run.trees_in_flight):
                self._slots.append(_Slot(SharedTree.create(size)))
                made.callback(self._slots[-1].tree.close)
            self._arena = Arena.create(
                self._context,
                actors,
                search.batch_size,
                search.max_children,
                workers=len(self._devices) or actors,
            )
            made.callback(self._arena.close)
            self._weights = WeightBuffer.create(weight_count(config.network))
            made.callback(self._weights.close)
            made.callback(self._dismiss_children)
            for index in range(actors):
                self._actors.append(self._start_actor(index))
            for worker in range(len(self._devices)):
                self._servers.append(self._start_server(worker))
            self._resources = made.pop_all()

    # -- tasks -----------------------------------------------------------------------------------

    @property
    def free(self) -> int:
        return sum(slot.task is None for slot in self._slots)

    def submit(self, task: Task, tail_weight: float, incumbent: Schedule | None = None) -> None:
        """Start a search; ``incumbent`` is a schedule that the result must not be worse than.

        Raises:
            ValueError: the problem is larger than ``max_tasks``.
        """
        n = task.instance.n_tasks
        if n > self._max_tasks:
            raise ValueError(f"{n} tasks: this pool was made for at most {self._max_tasks}")
        index = next(i for i, slot in enumerate(self._slots) if slot.task is None)
        slot = self._slots[index]
        slot.task, slot.tail_weight, slot.incumbent = task, tail_weight, incumbent
        slot.furthest = 0
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
        self._fruitless = 0

    def publish(self, weights: npt.NDArray[np.float32]) -> None:
        self._weights.publish(weights)

    def stats(self) -> PoolStats:
        return PoolStats(self._restarts, self._why, self._arena.totals())

    def actor_pids(self) -> list[int]:
        """For supervision and fault injection."""
        return [int(child.process.pid or 0) for child in self._actors]

    def server_pids(self) -> list[int]:
        """Of the inference workers; none unless the backend is ``"server"``."""
        return [int(child.process.pid or 0) for child in self._servers]

    def halt(self) -> None:
        """Kill the actors now, none of them in the middle of a change to a tree.

        What the trees hold can still be read; nothing else may follow but ``close``.
        """
        with contextlib.ExitStack() as held:
            for slot in self._slots:
                held.enter_context(slot.tree.lock)
            kill(self._actors)

    def close(self) -> None:
        """End the children, by force where one hangs, and free the memory; may be called again."""
        self._resources.close()

    # -- slots -----------------------------------------------------------------------------------

    def _begin(self, index: int) -> None:
        """Empty the tree of a slot and tell everybody about its task."""
        slot = self._slots[index]
        assert slot.task is not None
        slot.generation += 1
        slot.started = time.perf_counter()
        slot.tree.reset()
        if slot.incumbent is not None:
            slot.tree.offer(slot.task.instance, slot.incumbent)
        for worker in range(len(self._servers)):
            self._send_instance(index, worker)
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
        slot.members.add(actor)  # first: one that knows of the tree and is none would write on
        with contextlib.suppress(OSError):  # a dead one is replaced, and left out, in `_handle`
            self._actors[actor].connection.send(assignment)

    def _send_instance(self, index: int, worker: int) -> None:
        task = self._slots[index].task
        if task is not None:
            with contextlib.suppress(OSError):  # a dead one is replaced in `_handle`
                self._servers[worker].connection.send((index, task.instance))

    def _next_finished(self) -> Finished | None:
        for index, slot in enumerate(self._slots):
            if slot.task is None or slot.members or not slot.tree.finished:
                continue
            if slot.tree.counter(OUTCOME) == BROKEN:
                slot.incumbent = _salvage(slot.tree, slot.task, slot.incumbent)
                self._begin(index)
                continue
            elapsed = time.perf_counter() - slot.started
            return Finished(index, slot.task, slot.tree, report_of(slot.task, slot.tree, elapsed))
        return None

    # -- processes -------------------------------------------------------------------------------

    def _sources(self) -> list[Any]:
        """Everything that can wake the parent: messages and deaths."""
        children = [*self._actors, *self._servers]
        connections = [child.connection for child in self._actors]
        return connections + [child.process.sentinel for child in children]

    def _handle(self, woken: list[Any]) -> None:
        for index, child in enumerate(self._actors):
            if child.connection in woken:
                self._read(index, child)
            if child.process.sentinel in woken:
                self._replace_actor(index)
        for worker, child in enumerate(self._servers):
            if child.process.sentinel in woken:
                self._replace_server(worker)

    def _read(self, actor: int, child: Child) -> None:
        with contextlib.suppress(EOFError, OSError):
            while child.connection.poll():
                message: Released = child.connection.recv()
                slot = self._slots[message.slot]
                if message.generation == slot.generation:
                    slot.members.discard(actor)

    def _replace_actor(self, index: int) -> None:
        """Undo what the dead actor had in flight, and start another in its place."""
        self._count_death(self._actors[index])
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

    def _replace_server(self, worker: int) -> None:
        """Start another in place of a dead inference worker, and tell it of all open tasks."""
        self._count_death(self._servers[worker])
        self._servers[worker].connection.close()
        self._servers[worker] = self._start_server(worker)
        for index in range(len(self._slots)):
            self._send_instance(index, worker)

    def _dismiss_children(self) -> None:
        dismiss(self._actors)  # before the server: they may wait for an answer of it
        dismiss(self._servers)

    def _count_death(self, child: Child) -> None:
        """End the run once children do nothing but die."""
        self._restarts += 1
        self._fruitless += 1
        for slot in self._slots:
            done = slot.tree.counter(SIMS_DONE)
            if slot.task is not None and done > slot.furthest:
                slot.furthest, self._fruitless = done, 0
        if self._fruitless > FRUITLESS_DEATHS * (len(self._actors) + len(self._servers)):
            raise SearchPoolError(
                f"{child.process.name} {cause_of_death(child)}, "
                f"death number {self._fruitless} without progress in between"
                + (f"; see {self._log_dir}" if self._log_dir else "")
            )

    def _start_actor(self, index: int) -> Child:
        return self._start(run_actor, f"actor-{index}", index)

    def _start_server(self, worker: int) -> Child:
        return self._start(run_server, f"inference-{worker}", worker, self._devices[worker])

    def _start(self, target: Any, name: str, *arguments: Any) -> Child:
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
        return start_child(self._context, target, name, spec, *arguments)


def _salvage(tree: SharedTree, task: Task, known: Schedule | None) -> Schedule | None:
    """The better of a broken tree's schedule, unless it is half written, and the one known."""
    if tree.best_makespan == np.inf:
        return known
    found = tree.incumbent(task.instance.n_tasks, algorithm="tree")
    try:
        found.validate(task.instance)
    except InvalidScheduleError:
        return known
    return found if known is None or found.makespan < known.makespan else known

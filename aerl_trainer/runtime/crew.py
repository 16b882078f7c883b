"""Actors and inference workers as processes, with the shared memory that they use."""

import contextlib
import multiprocessing
import os
from collections.abc import Callable, Sequence
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from aerl_trainer.config import Config
from aerl_trainer.memory.shared_memory import BlockHandle
from aerl_trainer.network.evaluator import weight_count
from aerl_trainer.network.inference.request_slots import RequestSlots
from aerl_trainer.network.inference.weights import WeightBuffer
from aerl_trainer.runtime.actor import Assignment, Released
from aerl_trainer.runtime.children import Child, cause_of_death, dismiss, kill, start_child
from aerl_trainer.runtime.processes import Backend, ChildSpec, run_actor, run_worker
from aerl_trainer.runtime.watch import Watch
from dagsched_env.problem.instance import Instance


class News(NamedTuple):
    """What has happened to a crew."""

    released: list[tuple[int, Released]]
    """Actors, each with its message."""
    dead_actors: list[int]
    dead_workers: list[int]


class Crew:
    """``config.run.actors`` actors, and inference workers if the backend needs any.

    Args:
        config: sizes of everything.
        backend: who evaluates states.
        devices: of the inference workers, one each; none unless the backend is ``"server"``.
        trees: to which the actors attach.
        max_tasks: of a problem that they search.
        log_dir: where the children write their output; None leaves it on the terminal.
    """

    def __init__(
        self,
        config: Config,
        *,
        backend: Backend,
        devices: Sequence[str],
        trees: Sequence[BlockHandle],
        max_tasks: int,
        log_dir: Path | None,
    ) -> None:
        self._config, self._trees, self.log_dir = config, list(trees), log_dir
        self.backend, self._devices = backend, list(devices)
        self._context = multiprocessing.get_context("spawn")
        search, actors = config.search, config.run.actors
        self._actors: list[Child] = []
        self._workers: list[Child] = []
        with contextlib.ExitStack() as made:  # freed again if the rest cannot be had
            self.requests = RequestSlots.create(
                actors,
                search.batch_size,
                search.max_children,
                max_tasks,
                workers=len(self._devices) or actors,
            )
            made.callback(self.requests.close)
            self._weights = WeightBuffer.create(weight_count(config.network))
            made.callback(self._weights.close)
            made.callback(self._dismiss)
            for index in range(actors):
                self._actors.append(self._start_actor(index))
            for worker in range(len(self._devices)):
                self._workers.append(self._start_worker(worker))
            made.callback(Watch(lambda: [*self._actors, *self._workers]).close)
            self._resources = made.pop_all()

    def __len__(self) -> int:
        """Actors and inference workers."""
        return len(self._actors) + len(self._workers)

    @property
    def actors(self) -> range:
        """Numbers of the actors."""
        return range(len(self._actors))

    @property
    def workers(self) -> range:
        """Numbers of the inference workers; none unless the backend is ``"server"``."""
        return range(len(self._workers))

    def publish(self, weights: npt.NDArray[np.float32]) -> None:
        """Use these weights from the next batch on."""
        self._weights.publish(weights)

    def assign(self, actor: int, assignment: Assignment) -> None:
        """Tell an actor of a tree; nothing is sent to a dead one, which ``news`` will report."""
        with contextlib.suppress(OSError):
            self._actors[actor].connection.send(assignment)

    def introduce(self, worker: int, slot: int, instance: Instance) -> None:
        """Tell an inference worker whose tree is in a slot; as ``assign``.

        Args:
            worker: its number.
            slot: of the tree.
        """
        with contextlib.suppress(OSError):
            self._workers[worker].connection.send((slot, instance))

    def news(self, timeout: float) -> News:
        """Messages and deaths; waits for the first of them at most ``timeout`` seconds."""
        children = [*self._actors, *self._workers]
        sources: list[Any] = [child.connection for child in self._actors]
        woken = wait(sources + [child.process.sentinel for child in children], timeout)
        return News(
            [
                (index, message)
                for index, child in enumerate(self._actors)
                if child.connection in woken
                for message in _received(child)
            ],
            [i for i, child in enumerate(self._actors) if child.process.sentinel in woken],
            [i for i, child in enumerate(self._workers) if child.process.sentinel in woken],
        )

    def replace_actor(self, index: int) -> str:
        """Start another in place of a dead actor; returns who died, and how."""
        self.requests.clear(index)
        return self._replace(self._actors, index, self._start_actor)

    def replace_worker(self, worker: int) -> str:
        """Start another in place of a dead inference worker; returns who died, and how."""
        return self._replace(self._workers, worker, self._start_worker)

    def kill_actors(self) -> None:
        """End all actors at once, whatever they are doing."""
        kill(self._actors)

    def close(self) -> None:
        """End the children, by force where one hangs, and free the memory; may be called again."""
        self._resources.close()

    def _replace(self, children: list[Child], index: int, start: Callable[[int], Child]) -> str:
        dead = children[index]
        obituary = f"{dead.process.name} {cause_of_death(dead)}"
        dead.connection.close()
        children[index] = start(index)
        return obituary

    def _dismiss(self) -> None:
        dismiss(self._actors)  # before the servers: they may wait for an answer
        dismiss(self._workers)

    def _start_actor(self, index: int) -> Child:
        return self._start(run_actor, f"actor-{index}", index)

    def _start_worker(self, worker: int) -> Child:
        return self._start(run_worker, f"inference-{worker}", worker, self._devices[worker])

    def _start(self, target: Callable[..., None], name: str, *arguments: Any) -> Child:
        spec = ChildSpec(
            parent_pid=os.getpid(),
            log_path=self.log_dir / f"{name}.log" if self.log_dir else None,
            backend=self.backend,
            network=self._config.network,
            inference=self._config.inference,
            trees=self._trees,
            requests=self.requests.handle,
            weights=self._weights.handle,
        )
        return start_child(self._context, target, name, spec, *arguments)


def _received(child: Child) -> list[Released]:
    """All messages that have come in; what a dead actor had not finished sending is lost."""
    messages = []
    with contextlib.suppress(EOFError, OSError):
        while child.connection.poll():
            messages.append(child.connection.recv())
    return messages

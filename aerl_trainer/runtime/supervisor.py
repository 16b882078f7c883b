"""Keeps a crew and its jobs in step: assigns jobs, receives releases, replaces the dead.

What a dead actor had in flight is undone from its journal; a tree whose writer died in mid-write is
searched again from the start, with the best schedule that it still holds; the successor of a dead
inference worker finds the requests that wait for it in their slots.
"""

import contextlib
from pathlib import Path
from typing import Literal

from aerl_trainer.config import Config
from aerl_trainer.runtime.actor import Assignment
from aerl_trainer.runtime.backend_choice import choose_backend
from aerl_trainer.runtime.crew import Crew
from aerl_trainer.runtime.devices import resolve_devices
from aerl_trainer.runtime.errors import SearchPoolError
from aerl_trainer.runtime.job_slots import JobSlots
from aerl_trainer.runtime.pool import Finished
from aerl_trainer.runtime.processes import Backend
from aerl_trainer.tree.records import SearchJob
from aerl_trainer.tree.tree import TreeSize
from dagsched_env.problem.schedule import Schedule

FRUITLESS_DEATHS = 5
"""The run ends after this many deaths per child without progress of any search."""


class Supervisor:
    """A crew of processes and the slots of their jobs.

    Args:
        config: sizes of everything.
        max_tasks: largest problem that will be submitted.
        backend: who evaluates leaves; ``"auto"`` measures which is faster here and now.
        explore: as in training: root noise, or principal variations if the run learns from them.
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
        self._config, self._explore = config, explore
        self.restarts = self._fruitless = 0
        search, actors = config.search, config.run.actors
        chosen, self.reason = (
            choose_backend(config, max_tasks)
            if backend == "auto"
            else (backend, f"{backend}, as set")
        )
        devices = resolve_devices(config.inference.devices)[:actors] if chosen == "server" else []
        size = TreeSize.for_search(search, actors + guests, max_tasks)
        with contextlib.ExitStack() as made:  # freed again if the rest cannot be had
            self.slots = JobSlots(config.run.trees_in_flight, size)
            made.callback(self.slots.close)
            trees = [self.slots[index].tree.handle for index in range(len(self.slots))]
            self.crew = Crew(
                config,
                backend=chosen,
                devices=devices,
                trees=trees,
                max_tasks=max_tasks,
                log_dir=log_dir,
            )
            made.callback(self.crew.close)
            self._resources = made.pop_all()

    def start(
        self, job: SearchJob, rollout_weight: float, incumbent: Schedule | None = None
    ) -> int:
        """Have all actors search a job; returns its slot. See ``JobSlots.put``.

        Args:
            job: to be searched.
            rollout_weight: λ, in [0, 1].
            incumbent: a schedule that the result must not be worse than.

        Raises:
            DAGSchedError: the problem is larger than ``max_tasks``.
        """
        index = self.slots.put(job, rollout_weight, incumbent)
        self._begin(index)
        return index

    def tend(self, timeout: float = 0.0) -> None:
        """Receive releases, replace what has died, and start broken trees again.

        Args:
            timeout: seconds to wait for the first news.

        Raises:
            SearchPoolError: children keep dying without progress.
        """
        news = self.crew.news(timeout)
        for actor, message in news.released:
            self.slots.release(actor, message)
        for actor in news.dead_actors:
            self._replace_actor(actor)
        for worker in news.dead_workers:
            self._replace_worker(worker)
        for index in self.slots.ended():
            if self.slots[index].tree.broken:
                self._begin(index)

    def next_finished(self) -> Finished | None:
        """A job whose search is over, if there is any."""
        ended = [index for index in self.slots.ended() if not self.slots[index].tree.broken]
        return self.slots.harvest(ended[0]) if ended else None

    def release(self, finished: Finished) -> None:
        """The tree of a finished job is not needed any more."""
        self.slots.vacate(finished.slot)
        self._fruitless = 0

    def close(self) -> None:
        """End all processes and free all shared memory; may be called again."""
        self._resources.close()

    def _begin(self, index: int) -> None:
        self.slots.begin(index)
        for worker in self.crew.workers:
            self._introduce(index, worker)
        for actor in self.crew.actors:
            self._assign(index, actor)

    def _assign(self, index: int, actor: int) -> None:
        slot = self.slots[index]
        assert slot.job is not None
        # Before the message: one that is not a member could write after the tree is handed over.
        slot.members.add(actor)
        self.crew.assign(
            actor,
            Assignment(
                index,
                slot.generation,
                slot.job,
                slot.rollout_weight,
                self._config.search,
                self._explore,
                self.crew.backend != "prior",
                self._explore and self._config.variations,
            ),
        )

    def _introduce(self, index: int, worker: int) -> None:
        job = self.slots[index].job
        assert job is not None
        self.crew.introduce(worker, index, job.instance)

    def _replace_actor(self, actor: int) -> None:
        """Start another in place of a dead actor, and give it all searches that are not over."""
        self.slots.bury(actor)
        progressed = self.slots.progressed()  # before its successor takes its time to start
        self._count_death(self.crew.replace_actor(actor), progressed)
        for index in self.slots.occupied():
            if not self.slots[index].tree.finished:
                self._assign(index, actor)

    def _replace_worker(self, worker: int) -> None:
        """Start another in place of a dead inference worker, and tell it of all open jobs."""
        progressed = self.slots.progressed()
        self._count_death(self.crew.replace_worker(worker), progressed)
        for index in self.slots.occupied():
            self._introduce(index, worker)

    def _count_death(self, obituary: str, progressed: bool) -> None:
        """End the run once children keep dying without progress."""
        self.restarts += 1
        self._fruitless = 0 if progressed else self._fruitless + 1
        if self._fruitless > FRUITLESS_DEATHS * len(self.crew):
            logs = self.crew.log_dir
            raise SearchPoolError(
                f"{obituary}, death number {self._fruitless} without progress in between"
                + (f"; see {logs}" if logs else "")
            )

"""The trees of a pool, the jobs in them, and which actors work on them."""

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from aerl_trainer.runtime.actor import Released
from aerl_trainer.runtime.pool import Finished
from aerl_trainer.tree.records import SearchJob
from aerl_trainer.tree.shared_tree import SharedTree
from aerl_trainer.tree.summary import report_of
from aerl_trainer.tree.tree import TreeSize
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.schedule import Schedule


@dataclass
class JobSlot:
    """A tree and the job in it."""

    tree: SharedTree
    job: SearchJob | None = None
    rollout_weight: float = 1.0
    incumbent: Schedule | None = None
    """A schedule that the result must not be worse than."""
    generation: int = 0
    """How often a search has begun here: messages of earlier ones are ignored."""
    started: float = 0.0
    furthest: int = 0
    """Most simulations that a tree of the job has held at a death."""
    members: set[int] = field(default_factory=set)
    """Actors that work on the tree and have not released it."""


class JobSlots:
    """A fixed number of slots in shared memory.

    Args:
        count: how many slots.
        size: of each tree; ``size.tasks`` bounds the problems.
    """

    def __init__(self, count: int, size: TreeSize) -> None:
        self._max_tasks = size.tasks
        self._slots: list[JobSlot] = []
        with contextlib.ExitStack() as made:  # freed again if the rest cannot be had
            for _ in range(count):
                self._slots.append(JobSlot(SharedTree.create(size)))
                made.callback(self._slots[-1].tree.close)
            self._resources = made.pop_all()

    def __getitem__(self, index: int) -> JobSlot:
        return self._slots[index]

    def __len__(self) -> int:
        return len(self._slots)

    @property
    def free(self) -> int:
        """How many slots hold no job."""
        return sum(slot.job is None for slot in self._slots)

    def occupied(self) -> list[int]:
        """Slots that hold a job."""
        return [index for index, slot in enumerate(self._slots) if slot.job is not None]

    def put(self, job: SearchJob, rollout_weight: float, incumbent: Schedule | None) -> int:
        """Give a job a free slot, whose search is still to ``begin``.

        Args:
            job: to be searched.
            rollout_weight: λ, in [0, 1].
            incumbent: a schedule that the result must not be worse than.

        Returns:
            The slot.

        Raises:
            DAGSchedError: the problem is larger than the trees were made for.
        """
        n = job.instance.n_tasks
        if n > self._max_tasks:
            raise DAGSchedError(
                f"{job.instance.name}: {n} tasks, but the searches have room for "
                f"{self._max_tasks}: a function that draws problems states the largest number in "
                "its attribute max_tasks"
            )
        index = next(i for i, slot in enumerate(self._slots) if slot.job is None)
        slot = self._slots[index]
        slot.job, slot.rollout_weight, slot.incumbent = job, rollout_weight, incumbent
        slot.furthest = 0
        return index

    def begin(self, index: int) -> None:
        """Start the search of a slot's job from an empty tree, on which nobody works yet.

        A broken tree is started again this way; its best schedule stays the incumbent.
        """
        slot = self._slots[index]
        assert slot.job is not None
        if slot.tree.broken and slot.tree.best_makespan < _makespan(slot.incumbent):
            slot.incumbent = slot.tree.salvage(slot.job.instance) or slot.incumbent
        slot.generation += 1
        slot.started = time.perf_counter()
        slot.tree.reset()
        if slot.incumbent is not None:
            slot.tree.offer(slot.job.instance, slot.incumbent)
        slot.members.clear()

    def release(self, actor: int, message: Released) -> None:
        """An actor has let go of a tree."""
        slot = self._slots[message.slot]
        if message.generation == slot.generation:
            slot.members.discard(actor)

    def bury(self, actor: int) -> None:
        """Undo what a dead actor had in flight in all trees, or mark them as broken."""
        for slot in self._slots:
            slot.tree.bury(actor)
            slot.members.discard(actor)

    def progressed(self) -> bool:
        """Whether any search has got further than it was at an earlier call."""
        further = False
        for index in self.occupied():
            slot = self._slots[index]
            if slot.tree.simulations > slot.furthest:
                slot.furthest, further = slot.tree.simulations, True
        return further

    def ended(self) -> list[int]:
        """Slots whose tree is finished or broken, and on which nobody works."""
        return [
            index
            for index in self.occupied()
            if not self._slots[index].members and self._slots[index].tree.finished
        ]

    def harvest(self, index: int) -> Finished:
        """The result of a slot's search; the slot stays occupied until ``vacate``."""
        slot = self._slots[index]
        assert slot.job is not None
        elapsed = time.perf_counter() - slot.started
        return Finished(index, slot.job, slot.tree, report_of(slot.job, slot.tree, elapsed))

    def vacate(self, index: int) -> None:
        """Make a slot free for another job."""
        self._slots[index].job = None

    @contextlib.contextmanager
    def nobody_writing(self) -> Iterator[None]:
        """Hold the locks of all trees."""
        with contextlib.ExitStack() as held:
            for slot in self._slots:
                held.enter_context(slot.tree.lock)
            yield

    def close(self) -> None:
        """Free the memory; may be called again."""
        self._resources.close()


def _makespan(schedule: Schedule | None) -> float:
    return float("inf") if schedule is None else schedule.makespan

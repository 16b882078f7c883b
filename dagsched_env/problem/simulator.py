"""The rules of the problem as a mutable partial schedule, for searches and the environment."""

import numpy as np
import numpy.typing as npt

from dagsched_env.kernels.arrays import (
    LOWER_BOUND,
    MAKESPAN,
    N_PLACED,
    N_READY,
    UNSCHEDULED,
    Ints,
    StateArrays,
    allocate_state,
)
from dagsched_env.kernels.state import masks, transitions
from dagsched_env.problem.errors import IllegalActionError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule

__all__ = ["State", "replay"]


class State:
    """A partial schedule of ``instance``; starts empty.

    Args:
        instance: the problem.
        insertion: place a task in the earliest idle gap that holds it; False appends only.
    """

    def __init__(self, instance: Instance, *, insertion: bool = True) -> None:
        self.instance = instance
        self.insertion = insertion
        self.arrays: StateArrays = allocate_state(*instance.shape)
        transitions.reset(instance.arrays, self.arrays)

    @property
    def n_scheduled(self) -> int:
        return int(self.arrays.counts[N_PLACED])

    @property
    def terminal(self) -> bool:
        """All tasks are scheduled."""
        return self.n_scheduled == self.instance.n_tasks

    @property
    def makespan(self) -> float:
        """Latest finish so far (time)."""
        return float(self.arrays.totals[MAKESPAN])

    @property
    def lower_bound(self) -> float:
        """No completion is shorter (time): CP_MIN when empty, the makespan when complete.

        It never falls from a state to its successor.
        """
        return float(self.arrays.totals[LOWER_BOUND])

    def ready(self) -> Ints:
        """Indices of the tasks whose predecessors are all scheduled, ascending."""
        return np.sort(self.arrays.ready[: self.arrays.counts[N_READY]])

    def is_ready(self, task: int) -> bool:
        """Whether the task exists, is not scheduled, and has all its predecessors scheduled."""
        arrays = self.arrays
        return (
            0 <= task < self.instance.n_tasks
            and bool(arrays.missing[task] == 0)
            and bool(arrays.processor[task] == UNSCHEDULED)
        )

    def legal(self) -> npt.NDArray[np.bool_]:
        """``[n, p]`` True where a ready task may run on a processor."""
        mask = np.empty(self.instance.comp.shape, dtype=np.bool_)
        masks.legal_pairs(self.instance.arrays, self.arrays, mask)
        return mask

    def apply(self, task: int, processor: int) -> None:
        """Place ``task`` on ``processor`` at its earliest start.

        Raises:
            IllegalActionError: there is no such index, or the task is not ready or not eligible
                there. The state is unchanged.
        """
        self.require_legal(task, processor)
        transitions.place(self.instance.arrays, self.arrays, task, processor, self.insertion, True)

    def require_legal(self, task: int, processor: int) -> None:
        """Raise an IllegalActionError as ``apply`` does, but place nothing."""
        reason = self._why_illegal(task, processor)
        if reason:
            raise IllegalActionError(reason)

    def undo(self) -> None:
        """Take back the last ``apply``.

        Raises:
            IllegalActionError: nothing has been applied.
        """
        if self.n_scheduled == 0:
            raise IllegalActionError("nothing to undo: the schedule is empty")
        transitions.remove_last(self.instance.arrays, self.arrays)

    def clone(self) -> "State":
        """An independent state with the same partial schedule."""
        twin = State(self.instance, insertion=self.insertion)
        transitions.copy_state(self.arrays, twin.arrays)
        return twin

    def schedule(self, *, algorithm: str | None = None) -> Schedule:
        """The finished schedule.

        Raises:
            IllegalActionError: some task is not scheduled yet.
        """
        if not self.terminal:
            left = self.instance.n_tasks - self.n_scheduled
            raise IllegalActionError(f"{left} tasks are not scheduled yet")
        a = self.arrays
        return Schedule(a.processor, a.start, a.finish, algorithm=algorithm)

    def _why_illegal(self, task: int, processor: int) -> str | None:
        n, p = self.instance.comp.shape
        if not (0 <= task < n and 0 <= processor < p):
            return f"no pair ({task}, {processor}): there are {n} tasks and {p} processors"
        if self.arrays.processor[task] >= 0:
            return f"task {task} is scheduled already"
        if self.arrays.missing[task] > 0:
            return f"task {task} is not ready: {self.arrays.missing[task]} predecessors are missing"
        if self.instance.comp[task, processor] == np.inf:
            return f"task {task} may not run on processor {processor}"
        return None


def replay(
    instance: Instance,
    actions: npt.ArrayLike,
    *,
    insertion: bool = True,
    algorithm: str | None = None,
) -> Schedule:
    """The schedule made by a complete sequence of placements.

    Args:
        instance: the problem.
        actions: ``[n, 2]`` pairs (task, processor) in the order of their placement.
        insertion: as for ``State``.
        algorithm: label of the schedule.

    Raises:
        IllegalActionError: a step is not legal, or tasks are not scheduled at the end.
    """
    current = State(instance, insertion=insertion)
    for task, processor in np.asarray(actions, dtype=np.int64).reshape(-1, 2).tolist():
        current.apply(task, processor)
    return current.schedule(algorithm=algorithm)

"""What a dispatcher sees: what is ready, what runs, what is free."""

from typing import Any

import numpy as np
import numpy.typing as npt

from dagsched_env.kernels.arrays import Floats, Ints
from dagsched_env.kernels.online import situation as kernels
from dagsched_env.kernels.online.situation import (
    FINISHED,
    LEAD,
    N_FINISHED,
    N_READY,
    N_RUNNING,
    NOW,
    READY,
    RUNNING,
    SituationArrays,
    allocate_situation,
)
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance

__all__ = ["Situation"]


class Situation:
    """The state of a run. A simulator or an engine changes it, dispatchers read it.

    Args:
        instance: the problem, with the expected durations.
        graph: ``[n]`` of which graph each task is; None: all are of one.
        fetches: a task may start before its inputs are on the machine, and fetches them; False: it
            waits until they are there.
    """

    def __init__(
        self, instance: Instance, graph: Ints | None = None, *, fetches: bool = False
    ) -> None:
        self.instance = instance
        self.graph: Ints = np.zeros(instance.n_tasks, dtype=np.int64) if graph is None else graph
        self.arrays: SituationArrays = allocate_situation(*instance.shape)
        self.arrays.clock[LEAD] = np.inf if fetches else 0.0
        kernels.begin(instance.arrays, self.arrays)

    @property
    def now(self) -> float:
        """Time since the run began."""
        return float(self.arrays.clock[NOW])

    @now.setter
    def now(self, time: float) -> None:
        self.arrays.clock[NOW] = time

    @property
    def n_finished(self) -> int:
        return int(self.arrays.counts[N_FINISHED])

    @property
    def done(self) -> bool:
        """All tasks have finished."""
        return self.n_finished == self.instance.n_tasks

    @property
    def ready(self) -> Ints:
        """Tasks whose predecessors have finished and which have not started, in the order in which
        they became ready; of one time the lowest index is first."""
        ready = self.arrays.listed[0, : self.arrays.counts[N_READY]]
        return ready[np.lexsort((ready, self.arrays.since[ready]))]

    @property
    def running(self) -> Ints:
        """Tasks that run, in no order."""
        return self.arrays.listed[1, : self.arrays.counts[N_RUNNING]].copy()

    @property
    def finished(self) -> npt.NDArray[np.bool_]:
        """``[n]`` whether a task has finished."""
        found: npt.NDArray[np.bool_] = self.arrays.status == FINISHED
        return found

    def is_ready(self, task: int) -> bool:
        return bool(self.arrays.status[task] == READY)

    def is_running(self, task: int) -> bool:
        return bool(self.arrays.status[task] == RUNNING)

    def fits(self, task: int, machine: int) -> bool:
        """Whether a task may run on a machine, and the machine works and has room for it now.

        Raises:
            DAGSchedError: there is no such task or machine.
        """
        self._require(task, machine)
        return bool(kernels.fits(self.instance.arrays, self.arrays, task, machine))

    def can_start(self, task: int, machine: int) -> bool:
        """Whether a task is ready, fits on a machine now, and its inputs are there.

        Raises:
            DAGSchedError: there is no such task or machine.
        """
        self._require(task, machine)
        return self.is_ready(task) and bool(
            kernels.can_start(self.instance.arrays, self.arrays, task, machine)
        )

    def _require(self, task: int, machine: int) -> None:
        n, p = self.instance.comp.shape
        if not (0 <= task < n and 0 <= machine < p):
            raise DAGSchedError(
                f"task {task} on machine {machine}: there are tasks 0 to {n - 1} and machines 0 to "
                f"{p - 1}"
            )

    def free(self, machine: int) -> Ints:
        """``[k]`` what is left on a machine, in the units of ``need``; nothing if it has failed."""
        row: Ints = self.arrays.free[machine]
        return row if self.arrays.up[machine] else np.zeros_like(row)

    def need(self, task: int) -> Ints:
        """``[k]`` what a task uses; without resources a task uses the whole machine."""
        if not self.instance.n_resources:
            return np.ones(1, dtype=np.int64)
        row: Ints = self.instance.arrays.demand[task]
        return row

    def seconds(self, task: int, machine: int) -> float:
        """The expected duration."""
        return float(self.instance.comp[task, machine])

    def expected_finish(self, task: int) -> float:
        """When a running task is expected to end; where that has passed, after a while from now."""
        return float(kernels.expected_finish(self.arrays, task))

    def arrival(self, task: int) -> Floats:
        """``[p]`` when the inputs of a ready task are on each machine (time)."""
        row: Floats = self.arrays.arrival[task]
        return row

    def hold(self, task: int, until: float) -> None:
        """A ready task waits at least until a time."""
        np.maximum(self.arrays.arrival[task], until, out=self.arrays.arrival[task])

    def arrive(self, first: int, last: int) -> None:
        """The tasks ``first:last`` are known from now on; they are whole graphs."""
        kernels.arrive(self.instance.arrays, self.arrays, first, last)

    def start(self, task: int, machine: int) -> None:
        """A ready task starts now."""
        kernels.start(self.instance.arrays, self.arrays, task, machine)

    def stop(self, task: int) -> None:
        """A running task has left its machine without success; it is ready again."""
        kernels.stop(self.instance.arrays, self.arrays, task)

    def finish(self, task: int) -> None:
        """A task has finished now; tasks that waited for it alone become ready."""
        kernels.finish(self.instance.arrays, self.arrays, task)

    def clone(self) -> "Situation":
        """An independent copy."""
        twin = object.__new__(Situation)
        twin.instance, twin.graph = self.instance, self.graph
        copies: list[Any] = [array.copy() for array in self.arrays]
        twin.arrays = SituationArrays(*copies)
        return twin

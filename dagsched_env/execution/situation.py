"""What a dispatcher sees: what is ready, what runs, what is free."""

from typing import NamedTuple

import numpy as np

from dagsched_env.kernels.arrays import Ints
from dagsched_env.problem.instance import Instance


class Stay(NamedTuple):
    """A task on its machine."""

    machine: int
    start: float
    """Seconds since the run began."""
    finish: float
    """The same; of a task that runs, when it is expected, at the earliest now."""


class Situation:
    """The state of a run; the engine changes it, dispatchers read it.

    Args:
        instance: the problem, with the expected durations.
    """

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.now = 0.0
        """Seconds since the run began."""
        self.ready: dict[int, float] = {}
        """Tasks whose predecessors are finished and which have not started, in the order in which
        they became ready; since when."""
        self.running: dict[int, Stay] = {}
        self.finished: dict[int, Stay] = {}
        k = max(1, instance.n_resources)
        self._free: Ints = np.ones((instance.n_processors, k), dtype=np.int64)
        self._need: Ints = np.ones((instance.n_tasks, k), dtype=np.int64)
        if instance.n_resources:
            self._free = instance.arrays.capacity.astype(np.int64)
            self._need = instance.arrays.demand.astype(np.int64)
        self._missing = np.diff(instance.arrays.pred_ptr)
        self.ready = dict.fromkeys(np.flatnonzero(self._missing == 0).tolist(), 0.0)

    def free(self, machine: int) -> Ints:
        """``[k]`` what is left on a machine, in the units of ``need``."""
        row: Ints = self._free[machine]
        return row

    def need(self, task: int) -> Ints:
        """``[k]`` what a task uses; without resources a task uses the whole machine."""
        row: Ints = self._need[task]
        return row

    def fits(self, task: int, machine: int) -> bool:
        """Whether a task may run on a machine, and may start there now."""
        eligible = np.isfinite(self.instance.comp[task, machine])
        return bool(eligible and (self._need[task] <= self._free[machine]).all())

    def seconds(self, task: int, machine: int) -> float:
        """The expected duration."""
        return float(self.instance.comp[task, machine])

    def expected_finish(self, task: int) -> float:
        """When a running task is expected to end, at the earliest now."""
        return max(self.now, self.running[task].finish)

    def start(self, task: int, machine: int) -> None:
        """A task starts now."""
        del self.ready[task]
        self._free[machine] -= self._need[task]
        self.running[task] = Stay(machine, self.now, self.now + self.seconds(task, machine))

    def stop(self, task: int) -> None:
        """A task has left its machine without success; it is ready again."""
        stay = self.running.pop(task)
        self._free[stay.machine] += self._need[task]
        self.ready[task] = self.now

    def finish(self, task: int) -> None:
        """A task has finished now; tasks that waited for it alone become ready."""
        stay = self.running.pop(task)
        self._free[stay.machine] += self._need[task]
        self.finished[task] = stay._replace(finish=self.now)
        g = self.instance.arrays
        for t in g.succ_task[g.succ_ptr[task] : g.succ_ptr[task + 1]].tolist():
            self._missing[t] -= 1
            if self._missing[t] == 0:
                self.ready[t] = self.now

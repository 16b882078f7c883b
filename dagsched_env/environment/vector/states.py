"""The partial schedules of all environments, with their observations: a ``State`` B times."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dagsched_env.environment.actions import Bools
from dagsched_env.environment.observation import LIMIT, FlatObservation, GraphObservation
from dagsched_env.environment.vector.packed import Blocks, PackedInstances
from dagsched_env.kernels.arrays import LOWER_BOUND, MAKESPAN, N_PLACED, Floats, Ints, slots
from dagsched_env.kernels.state.batch import Batch, Frames, advance
from dagsched_env.kernels.state.features import NO_ACTION
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.sources import Padding


class StateBatch:
    """B partial schedules, stepped together by one kernel call.

    Args:
        size: B ≥ 1.
        listed: instances that are known beforehand; each is packed once, when it is first needed.
        padding: sizes that every instance fits into.
        observe: makes the first observation of an episode.
        insertion: as of ``State``.
    """

    def __init__(
        self,
        size: int,
        listed: Sequence[Instance],
        padding: Padding,
        observe: GraphObservation | FlatObservation,
        insertion: bool,
    ) -> None:
        self._insertion = insertion
        self._blocks = Blocks(observe.space, padding)
        # One row for each listed instance, then one for each state with another instance.
        self._listed = tuple(listed)
        self._row_of = {id(instance): row for row, instance in enumerate(self._listed)}
        self._packed = PackedInstances(
            len(listed) + size, padding, self._blocks, observe, insertion
        )
        n, p, k = padding.tasks, padding.processors, padding.resources
        self._sharing = k > 0
        self._batch = Batch(
            rows=np.zeros(size, dtype=np.int64),
            counts=np.zeros((size, 2), dtype=np.int64),
            totals=np.zeros((size, 2), dtype=np.float64),
            slot_count=np.zeros((size, p), dtype=np.int64),
            slot_load=np.zeros((size, p, slots(n, k), k), dtype=np.int64),
            slot_times=np.zeros((size, 2, p, slots(n, k)), dtype=np.float64),
            ints=np.zeros((size, 5, n), dtype=np.int64),
            floats=np.zeros((size, 3, n), dtype=np.float64),
            touched=np.zeros(n, dtype=np.bool_),
            frames=self._blocks.allocate(size),
            legal=np.zeros((size, n, p), dtype=np.bool_),
        )
        self._placed = np.zeros(size, dtype=np.bool_)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._row_of = {id(instance): row for row, instance in enumerate(self._listed)}

    @property
    def legal(self) -> Bools:
        """``[B, N, P]`` where a ready task may run on a processor; the next step changes it."""
        return self._batch.legal

    @property
    def makespan(self) -> Floats:
        """``[B]`` latest finish so far (time); the next step changes it."""
        return self._batch.totals[:, MAKESPAN]

    @property
    def lower_bound(self) -> Floats:
        """``[B]`` no completion is shorter (time); the next step changes it."""
        return self._batch.totals[:, LOWER_BOUND]

    @property
    def terminal(self) -> Bools:
        """``[B]`` all tasks are scheduled."""
        n_scheduled = self._batch.counts[:, N_PLACED]
        return np.asarray(n_scheduled == self._packed.sizes[self._batch.rows, 0])

    @property
    def scale(self) -> Floats:
        """``[B]`` CP_MIN, or 1 where that is 0 (time)."""
        return self._packed.scale[self._batch.rows]

    @property
    def baseline_makespan(self) -> Floats:
        """``[B]`` makespan of HEFT (time)."""
        return self._packed.baseline_makespan[self._batch.rows]

    def instance(self, i: int) -> Instance:
        """The problem of state i, which has begun."""
        instance = self._packed.instances[int(self._batch.rows[i])]
        assert instance is not None
        return instance

    def schedules(self, chosen: Ints, *, algorithm: str | None = None) -> list[Schedule]:
        """The schedules of the states ``chosen``; tasks that are not placed are on processor −1.

        They share the memory of two arrays.
        """
        processor = self._batch.ints[chosen, 0]
        times = self._batch.floats[chosen, :2]
        sizes = self._packed.sizes[self._batch.rows[chosen], 0].tolist()
        return [
            Schedule.adopt(processor[k, :n], times[k, 0, :n], times[k, 1, :n], algorithm=algorithm)
            for k, n in enumerate(sizes)
        ]

    def summary(self, done: Bools, *, algorithm: str) -> dict[str, npt.NDArray[Any]]:
        """Schedules and metrics ``[B]`` of the terminal states ``done``; 0 or None for the others.

        The metrics are computed for all at once, as ``Schedule`` computes them.
        """
        rows = self._batch.rows
        makespan = np.where(done, self.makespan, 0.0)
        speedup = np.where(done, 1.0, 0.0)
        np.divide(self._packed.sequential_time[rows], makespan, out=speedup, where=makespan > 0)
        schedules = np.full(len(done), None, dtype=object)
        schedules[done] = self.schedules(np.flatnonzero(done), algorithm=algorithm)
        efficiency = speedup / self._packed.sizes[rows, 1]
        if self._sharing:  # it is another figure then
            for i in np.flatnonzero(done).tolist():
                efficiency[i] = schedules[i].efficiency(self.instance(i))
        return {
            "makespan": makespan,
            "slr": makespan / self.scale,
            "speedup": speedup,
            "efficiency": efficiency,
            "schedule": schedules,
        }

    def observations(self, action_mask: Bools, *, copy: bool) -> Any:
        """The observations of all states.

        Args:
            action_mask: ``[B, A]``.
            copy: False returns views, which the next step changes.
        """
        frames = self._batch.frames
        if copy:
            frames = Frames(frames.floats.copy(), frames.indices.copy(), frames.masks.copy())
        return self._blocks.read(frames, action_mask)

    def step(self, begin: Mapping[int, Instance], tasks: Ints, processors: Ints) -> Bools:
        """Begin an episode in some states, and place a task in others where that is legal.

        Args:
            begin: state → the instance of its new episode; nothing is placed there.
            tasks: ``[B]`` a task, or ``NO_ACTION`` where nothing is to be placed.
            processors: ``[B]`` a processor, or ``actions.BY_EFT``.

        Returns:
            ``[B]`` True where a task was placed; the next step changes it.
        """
        restart = np.zeros(len(self._placed), dtype=np.bool_)
        for i, instance in begin.items():
            row = self._row_of.get(id(instance), len(self._listed) + i)
            self._packed.put(row, instance)
            self._batch.rows[i] = row
            restart[i] = True
        advance(
            self._packed.arrays,
            self._batch,
            restart,
            tasks,
            processors,
            self._insertion,
            LIMIT,
            self._blocks.layout,
            self._placed,
        )
        return self._placed

    def begin(self, instances: Mapping[int, Instance]) -> None:
        """Begin an episode in some states and leave the others as they are."""
        idle = np.full(len(self._placed), NO_ACTION, dtype=np.int64)
        self.step(instances, idle, idle)

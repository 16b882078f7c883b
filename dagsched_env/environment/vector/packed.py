"""The problems of a vector environment, packed into arrays, each with its first observation.

An observation becomes one row in each of three blocks, one for each type of numbers. ``Blocks``
knows the place of each feature.
"""

from collections.abc import Mapping
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from dagsched_env.environment.observation import FEATURES, FlatObservation, GraphObservation, layout
from dagsched_env.kernels.arrays import Floats, InstanceArrays, Ints
from dagsched_env.kernels.state.batch import Frames, PackedArrays
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.problem.simulator import State
from dagsched_env.schedulers.heft import heft
from dagsched_env.sources import Padding

WHOLE = ""
"""The name of the only part of a flat observation."""

OF_LENGTH_1 = Schedule(np.zeros(1, dtype=np.int64), np.zeros(1), np.ones(1))
"""A schedule of makespan 1; its speedup is the sequential time."""


class Blocks:
    """Converts observations to rows of ``Frames`` and back.

    Args:
        space: of the observations, ``"graph"`` or ``"flat"``.
        padding: the sizes of their arrays.
    """

    def __init__(self, space: spaces.Space[Any], padding: Padding) -> None:
        self._is_flat = not isinstance(space, spaces.Dict)
        parts = space.spaces if isinstance(space, spaces.Dict) else {WHOLE: space}
        self._order = tuple(parts)
        # Floats in the order of the table, so that both kinds have the same blocks for the kernel.
        names = [WHOLE] if self._is_flat else [feature.name for feature in FEATURES]
        stored = {name: parts[name] for name in names if name in parts and name != "action_mask"}
        self._places = [_places(stored, dtype) for dtype in (np.float32, np.int64, np.int8)]
        self.layout = layout(padding.tasks, padding.processors, padding.resources)

    def allocate(self, rows: int) -> Frames:
        """Zeros for so many observations; memory is used only where they are written."""
        floats, indices, masks = (
            sum(at.stop - at.start for at in places.values()) for places in self._places
        )
        return Frames(
            floats=np.zeros((rows, floats), dtype=np.float32),
            indices=np.zeros((rows, indices), dtype=np.int64),
            masks=np.zeros((rows, masks), dtype=np.int8),
        )

    def write(self, observation: Any, frames: Frames, row: int) -> None:
        """Store one observation without its action mask.

        Args:
            observation: of the space.
            frames: receives it.
            row: where it is stored.
        """
        parts: Mapping[str, Any] = {WHOLE: observation} if self._is_flat else observation
        for name, block in self._split(frames).items():
            block[row] = parts[name]

    def read(self, frames: Frames, action_mask: npt.NDArray[np.bool_]) -> Any:
        """The observations of all rows, as views; the mask ``[rows, A]`` is copied."""
        parts = self._split(frames)
        if self._is_flat:
            return parts[WHOLE]
        parts["action_mask"] = action_mask.astype(np.int8)
        return {name: parts[name] for name in self._order}

    def _split(self, frames: Frames) -> dict[str, npt.NDArray[Any]]:
        blocks: tuple[npt.NDArray[Any], ...] = frames
        return {
            name: block[:, at]
            for places, block in zip(self._places, blocks, strict=True)
            for name, at in places.items()
        }


class PackedInstances:
    """R places for problems, in arrays that a kernel reads.

    Args:
        rows: R ≥ 1.
        padding: the sizes that every problem fits into.
        blocks: converts observations to rows.
        observe: makes the observations.
        insertion: as of the environment; the makespan of HEFT depends on it.
    """

    def __init__(
        self,
        rows: int,
        padding: Padding,
        blocks: Blocks,
        observe: GraphObservation | FlatObservation,
        insertion: bool,
    ) -> None:
        self._blocks = blocks
        self._observe = observe
        self._insertion = insertion
        self._packed = PackedArrays(
            problems=_allocate_problems(rows, padding),
            sizes=np.ones((rows, 3), dtype=np.int64),
            scale=np.ones(rows, dtype=np.float64),
            frames=blocks.allocate(rows),
            legal=np.zeros((rows, padding.tasks, padding.processors), dtype=np.bool_),
        )
        self.arrays = _read_only(self._packed)
        self.instances: list[Instance | None] = [None] * rows
        self.sequential_time = np.ones(rows, dtype=np.float64)
        """``[R]`` time of all tasks on the best single processor, as in ``Schedule.speedup``."""
        self.baseline_makespan = np.ones(rows, dtype=np.float64)
        """``[R]`` makespan of HEFT."""

    @property
    def scale(self) -> Floats:
        """``[R]`` CP_MIN, or 1 where that is 0."""
        return self._packed.scale

    @property
    def sizes(self) -> Ints:
        """``[R, 3]`` numbers of tasks, processors and edges."""
        return self._packed.sizes

    def __getstate__(self) -> dict[str, Any]:
        # A copied view would be an array of its own.
        return {key: value for key, value in self.__dict__.items() if key != "arrays"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.arrays = _read_only(self._packed)

    def put(self, row: int, instance: Instance) -> None:
        """Store a problem, which must fit the padding, in a row."""
        if self.instances[row] is instance:
            return
        if instance.has_release and not self._packed.problems.earliest.size:
            n, p = self._packed.problems.comp.shape[1:]
            earliest = np.zeros((len(self.instances), n, p))
            problems = self._packed.problems._replace(earliest=earliest)
            self._packed = self._packed._replace(problems=problems)
            self.arrays = _read_only(self._packed)
        self._packed.problems.earliest[row] = 0.0
        for block, array in zip(self._packed.problems, instance.arrays, strict=True):
            place: tuple[int | slice, ...] = (row, *map(slice, array.shape))
            block[place] = array
        self._packed.problems.comp[row, :, instance.n_processors :] = np.inf
        self.sizes[row] = instance.n_tasks, instance.n_processors, instance.n_edges
        self.scale[row] = instance.time_scale
        state = State(instance, insertion=self._insertion)
        self._blocks.write(self._observe(state)[0], self._packed.frames, row)
        self._packed.legal[row] = False
        self._packed.legal[row, : instance.n_tasks, : instance.n_processors] = state.legal()
        self.sequential_time[row] = OF_LENGTH_1.speedup(instance)
        self.baseline_makespan[row] = heft(instance, insertion=self._insertion).makespan
        self.instances[row] = instance


def _read_only(packed: PackedArrays) -> PackedArrays:
    """The same with problems as those of an instance: numba compiles a kernel again for arrays that
    may be written."""
    views: list[npt.NDArray[Any]] = [array.view() for array in packed.problems]
    for view in views:
        view.flags.writeable = False
    return packed._replace(problems=InstanceArrays(*views))


def _places(parts: dict[str, spaces.Space[Any]], dtype: type[np.generic]) -> dict[str, slice]:
    """Part → its place in one row that holds all parts of this type."""
    sizes = {
        name: int(np.prod(space.shape or ()))
        for name, space in parts.items()
        if space.dtype == dtype
    }
    ends = list(accumulate(sizes.values(), initial=0))
    return dict(zip(sizes, map(slice, ends[:-1], ends[1:]), strict=True))


def _allocate_problems(rows: int, padding: Padding) -> InstanceArrays:
    n, p, m, k = padding

    def ints(*shape: int) -> Ints:
        return np.zeros((rows, *shape), dtype=np.int64)

    def floats(*shape: int) -> Floats:
        return np.zeros((rows, *shape), dtype=np.float64)

    return InstanceArrays(
        comp=floats(n, p),
        succ_ptr=ints(n + 1),
        succ_task=ints(m),
        succ_data=floats(m),
        pred_ptr=ints(n + 1),
        pred_task=ints(m),
        pred_data=floats(m),
        topo=ints(n),
        topo_position=ints(n),
        latency=floats(p, p),
        inv_bandwidth=floats(p, p),
        mean_link=floats(2),
        mean_comp=floats(n),
        min_comp=floats(n),
        demand=ints(n, k) if k else np.zeros((rows, n, 0), dtype=np.bool_),
        capacity=ints(p, k),
        earliest=floats(n, 0),  # until an instance has release dates
    )

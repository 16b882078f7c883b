"""The action modes: an action is a (task, processor) pair, two indices, or a task alone.

``N`` and ``P`` are the padded numbers of tasks and processors. Each mode has a Gymnasium space, a
mask with one entry for each number that the policy chooses from, and conversions from actions to
placements and back. Masks, ``split`` and ``join`` keep leading axes: one call serves a batch.
"""

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from dagsched_env.kernels.arrays import Ints
from dagsched_env.kernels.state import completion
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.simulator import State

__all__ = [
    "ACTIONS",
    "BY_EFT",
    "ActionMode",
    "Bools",
    "FactoredActions",
    "PairActions",
    "SampleMask",
    "TaskActions",
    "decode",
]

Bools = npt.NDArray[np.bool_]
SampleMask = npt.NDArray[np.int8] | tuple[npt.NDArray[np.int8], ...]

BY_EFT = -1
"""In place of a processor: the one where the task finishes first; ties: lowest index."""


class ActionMode(Protocol):
    """One way to name a placement."""

    space: spaces.Space[Any]
    """The actions."""
    mask_size: int
    """A, the number of entries of the mask."""

    def split(self, action: Any) -> tuple[Ints, Ints]:
        """Task and processor (or ``BY_EFT``) of actions in the space, elementwise: ``[...]``."""
        ...

    def join(self, task: int | Ints, processor: int | Ints) -> Any:
        """The actions that mean these placements; raises DAGSchedError if there are none."""
        ...

    def mask(self, legal: Bools) -> Bools:
        """``[..., A]`` mask from the legal pairs ``[..., N, P]``; may share their memory."""
        ...

    def sample_mask(self, mask: Bools) -> SampleMask:
        """The mask ``[A]`` in the form that ``space.sample`` takes; may share its memory."""
        ...


class PairActions:
    """``Discrete(N·P)``: action ``t·P + q`` places task t on processor q; A = N·P."""

    def __init__(self, max_tasks: int, max_processors: int) -> None:
        self.mask_size = max_tasks * max_processors
        self.space: spaces.Space[Any] = spaces.Discrete(self.mask_size)
        self._max_processors = max_processors

    def split(self, action: npt.NDArray[Any]) -> tuple[Ints, Ints]:
        """``action // P`` and ``action % P``."""
        return divmod(action, self._max_processors)

    def join(self, task: int | Ints, processor: int | Ints) -> Any:
        """``t·P + q``."""
        return task * self._max_processors + processor

    def mask(self, legal: Bools) -> Bools:
        """The legal pairs in one row."""
        return legal.reshape(*legal.shape[:-2], self.mask_size)

    def sample_mask(self, mask: Bools) -> SampleMask:
        """int8 ``[N·P]``."""
        return mask.view(np.int8)


class FactoredActions:
    """``MultiDiscrete([N, P])``: task and processor are chosen separately; A = N + P.

    For thousands of pairs, on which one flat masked categorical distribution fails numerically. The
    mask says which tasks are ready, and which processors can run at least one of them. A processor
    that cannot run the chosen task makes the action illegal.
    """

    def __init__(self, max_tasks: int, max_processors: int) -> None:
        self.mask_size = max_tasks + max_processors
        self.space: spaces.Space[Any] = spaces.MultiDiscrete([max_tasks, max_processors])
        self._max_tasks = max_tasks

    def split(self, action: npt.NDArray[Any]) -> tuple[Ints, Ints]:
        """The two entries on the last axis."""
        return action[..., 0], action[..., 1]

    def join(self, task: int | Ints, processor: int | Ints) -> Any:
        """``[..., 2]``"""
        return np.stack([task, processor], axis=-1)

    def mask(self, legal: Bools) -> Bools:
        """Tasks, then processors."""
        return np.concatenate([legal.any(axis=-1), legal.any(axis=-2)], axis=-1)

    def sample_mask(self, mask: Bools) -> SampleMask:
        """Two int8 arrays, ``[N]`` and ``[P]``."""
        parts = mask.view(np.int8)
        return parts[: self._max_tasks], parts[self._max_tasks :]


class TaskActions:
    """``Discrete(N)``: a task, placed where it finishes first; A = N."""

    def __init__(self, max_tasks: int, max_processors: int) -> None:
        self.mask_size = max_tasks
        self.space: spaces.Space[Any] = spaces.Discrete(max_tasks)

    def split(self, action: npt.NDArray[Any]) -> tuple[Ints, Ints]:
        """The task, and ``BY_EFT``."""
        return action, np.full_like(action, BY_EFT)

    def join(self, task: int | Ints, processor: int | Ints) -> Any:
        """Raises: the environment chooses the processor."""
        raise DAGSchedError(
            'action="task" leaves the processor to the environment: make it with "pair" or '
            '"factored" to choose one'
        )

    def mask(self, legal: Bools) -> Bools:
        """The ready tasks."""
        return np.asarray(legal.any(axis=-1))

    def sample_mask(self, mask: Bools) -> SampleMask:
        """int8 ``[N]``."""
        return mask.view(np.int8)


ACTIONS: dict[str, type[PairActions] | type[FactoredActions] | type[TaskActions]] = {
    "factored": FactoredActions,
    "pair": PairActions,
    "task": TaskActions,
}


def decode(mode: ActionMode, action: Any, state: State) -> tuple[int, int]:
    """The placement that an action means in a state; it may be illegal.

    Args:
        mode: how actions name placements.
        action: an action of the space of the mode.
        state: the partial schedule.

    Returns:
        Task and processor. ``BY_EFT`` becomes the processor of the earliest finish if the task is
        ready, else 0, where the placement is illegal as on any other processor.
    """
    plain = action if isinstance(action, int) else np.asarray(action)
    task, processor = (int(index) for index in mode.split(plain))
    if processor != BY_EFT:
        return task, processor
    if not state.is_ready(task):
        return task, 0
    arrays = state.instance.arrays
    return task, completion.best_processor(arrays, state.arrays, task, state.insertion)

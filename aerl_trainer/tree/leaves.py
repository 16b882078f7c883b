"""A mini-batch of leaves, from the end of their selection to their backup."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aerl_trainer.policy.encoding.states import EncodedStates
from dagsched_env.kernels.arrays import UNSCHEDULED, Floats, Ints
from dagsched_env.kernels.jit import borrowing


class LeafBatch(NamedTuple):
    """B leaves. ``states`` is filled by the encoding and the evaluator, the rest by the search."""

    states: EncodedStates
    pruning_bound: npt.NDArray[np.float64]  # [B] sharper than `states.lower_bound` (time)
    rollout_makespan: npt.NDArray[np.float64]  # [B] of the randomised completion (time); ∞ without
    best_return: npt.NDArray[np.float64]  # [B] of the rollout's whole schedule; v if v is all
    value: npt.NDArray[np.float64]  # [B] return that is backed up


def leaves_around(states: EncodedStates) -> LeafBatch:
    """A mini-batch whose encoded states lie in the given arrays, which may be shared memory."""
    size = states.terminal.shape
    return LeafBatch(states, np.zeros(size), np.zeros(size), np.zeros(size), np.zeros(size))


@borrowing
def pruning_bound(
    floor: float, tail: Floats, least_tail: Floats, processor: Ints, finish: Floats
) -> float:
    """Lower bound on the makespan of every completion of a state (time).

    The bound of the instance, and of each task its earliest finish plus its tail.

    Args:
        floor: from ``SearchProblem``, as are ``tail`` and ``least_tail``.
        tail: ``[n, p]``
        least_tail: ``[n]``
        processor: ``[n]`` of the state.
        finish: ``[n]`` earliest finish of each task: the ``bound`` of the state.
    """
    # Single arrays: counting references to those of two structs takes longer than the loop.
    least = floor
    for t in range(processor.shape[0]):
        q = processor[t]
        rest = least_tail[t] if q == UNSCHEDULED else tail[t, q]
        least = max(least, finish[t] + rest)
    return least

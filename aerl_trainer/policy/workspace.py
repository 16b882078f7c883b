"""The work space of a rollout of the fast policy."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aerl_trainer.policy.weights import HIDDEN, N_WEIGHTS, ROW
from dagsched_env.kernels.arrays import Floats, Ints, StateArrays, allocate_state

SHORT_LIST, BEYOND = 12, 4
"""Of a state the ``max(SHORT_LIST, p + BEYOND)`` pairs of highest prior are scored."""


class PolicyWorkspace(NamedTuple):
    """Work space of one thread for one size of problem, and K pairs at most."""

    state: StateArrays
    order: Ints  # [n] the ready tasks by decreasing rank_u; equal ones by number
    first: Floats  # [1] least EFT of all ready tasks (time)
    available: Floats  # [p] when the last task on a processor ends (time)
    arrival: Floats  # [p] of the inputs of one task (time)
    start: Floats  # [n, p] EST of a ready task; inf where not eligible (time)
    finish: Floats  # [n, p] EFT of a ready task; inf where not eligible (time)
    total: Floats  # [n, p] EFT + OCT of a ready task; inf where not eligible (time)
    gap: Floats  # [n, p] idle time before a ready task (time)
    beside: Floats  # [n, p] largest share of a capacity in use when it starts; 0 without resources
    least_start: Floats  # [n] of a ready task over the processors (time)
    least_finish: Floats  # [n]
    next_finish: Floats  # [n] the second smallest, which may be equal; inf for one processor
    least_total: Floats  # [n]
    next_total: Floats  # [n]
    stale: npt.NDArray[np.bool_]  # [n] the five above may be too small: the task has been put off
    placed_data: Floats  # [n, p] input data of a task that lies on a processor
    near: Floats  # [n, p] the same of all successors of a task that the short list has looked at
    opened: Ints  # [n] how many of these wait for that task alone
    load: Floats  # [p] execution time placed
    crowd: Floats  # [p] the feature of this name, with resources
    known: Floats  # [n, p] arrival of the inputs of a task that are placed (time)
    least_known: Floats  # [n] its minimum over the eligible processors
    gain: npt.NDArray[np.float32]  # [p] largest PATH_ADVANTAGE of a listed pair; at least 0
    next_gain: npt.NDArray[np.float32]  # [p] the second largest, which may be equal
    actions: Ints  # [K] task * p + processor of the pairs that are scored
    tasks: Ints  # [K]
    processors: Ints  # [K]
    delays: Floats  # [K] their prior, with the sign changed and in units of S
    values: Floats  # [K] logits / s
    logits: Floats  # [K]
    x: npt.NDArray[np.float32]  # [K, ROW]
    hidden: npt.NDArray[np.float32]  # [K, HIDDEN]
    parts: npt.NDArray[np.float32]  # [K, HIDDEN] of the sums that are the values
    credit: Floats  # [K] of the logits in a gradient
    slopes: npt.NDArray[np.float32]  # [HIDDEN] of the logarithm of a probability by the units
    no_gradient: npt.NDArray[np.float32]  # [0, N_WEIGHTS] for a rollout that needs none


def list_length(p: int) -> int:
    """Most pairs in the short list where there are p processors."""
    return max(SHORT_LIST, p + BEYOND)


def allocate_policy(n: int, p: int, k: int, width: int = 0) -> PolicyWorkspace:
    """Work space, zeroed.

    Args:
        n: tasks.
        p: processors.
        k: resources.
        width: K is this or ``list_length(p)``, which is larger.
    """
    width = max(width, list_length(p))
    return PolicyWorkspace(
        state=allocate_state(n, p, k),
        order=np.zeros(n, dtype=np.int64),
        first=np.zeros(1),
        available=np.zeros(p),
        arrival=np.zeros(p),
        start=np.zeros((n, p)),
        finish=np.zeros((n, p)),
        total=np.zeros((n, p)),
        gap=np.zeros((n, p)),
        beside=np.zeros((n, p)),
        least_start=np.zeros(n),
        least_finish=np.zeros(n),
        next_finish=np.zeros(n),
        least_total=np.zeros(n),
        next_total=np.zeros(n),
        stale=np.zeros(n, dtype=np.bool_),
        placed_data=np.zeros((n, p)),
        near=np.zeros((n, p)),
        opened=np.zeros(n, dtype=np.int64),
        load=np.zeros(p),
        crowd=np.zeros(p),
        known=np.zeros((n, p)),
        least_known=np.zeros(n),
        gain=np.zeros(p, dtype=np.float32),
        next_gain=np.zeros(p, dtype=np.float32),
        actions=np.zeros(width, dtype=np.int64),
        tasks=np.zeros(width, dtype=np.int64),
        processors=np.zeros(width, dtype=np.int64),
        delays=np.zeros(width),
        values=np.zeros(width),
        logits=np.zeros(width),
        x=np.zeros((width, ROW), dtype=np.float32),
        hidden=np.zeros((width, HIDDEN), dtype=np.float32),
        parts=np.zeros((width, HIDDEN), dtype=np.float32),
        credit=np.zeros(width),
        slopes=np.zeros(HIDDEN, dtype=np.float32),
        no_gradient=np.zeros((0, N_WEIGHTS), dtype=np.float32),
    )

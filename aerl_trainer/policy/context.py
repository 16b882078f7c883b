"""What the features of the fast policy need of an instance, and the work space of a rollout."""

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from aerl_trainer.encoding.context import EncodingContext, encoding_context
from aerl_trainer.policy.weights import HIDDEN, N_FEATURES, N_WEIGHTS
from dagsched_env.instance import Instance
from dagsched_env.kernels.arrays import Floats, InstanceArrays, Ints, StateArrays, allocate_state
from dagsched_env.kernels.jit import kernel

__all__ = [
    "HEIRS",
    "PATH",
    "PolicyContext",
    "PolicyWorkspace",
    "allocate_policy",
    "list_length",
    "policy_context",
]

SHORT_LIST, BEYOND = 12, 4
"""Of a state the ``max(SHORT_LIST, p + BEYOND)`` pairs of highest prior are scored."""
HEIRS = 3
"""Most successors at which a pair looks ahead."""
PATH = 5.0
"""Tasks on the longest path of a graph where S is R."""


class PolicyContext(NamedTuple):
    """Constant for an instance; shared read-only."""

    c: EncodingContext
    output: Floats  # [n] mean communication of all outputs (time)
    per_input: Floats  # [n] 1 / data of all inputs, or a huge number
    per_sibling: Floats  # [n] 1 / data of the other inputs of all successors, or a huge number
    log_ccr: float
    log_spread: float
    parallelism: float
    step: float
    """Unit of the times among the features: S."""
    listed: int
    """Length of the short list."""
    relative_comp: Floats  # [n, p] execution time / mean of the task; 1 where that is 0
    slowness: Floats  # [p] its mean over the tasks that the processor can run; 0 if there is none
    heirs: Ints  # [n, HEIRS] edges to the most critical successors, best first; -1 for none
    through: Floats  # [n, p] execution time + OCT; inf where not eligible (time)
    logs: Floats  # log(1 + i) for every i up to the largest number of successors


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
    x: npt.NDArray[np.float32]  # [K, N_FEATURES]
    hidden: npt.NDArray[np.float32]  # [K, HIDDEN]
    slopes: npt.NDArray[np.float32]  # [HIDDEN] of the logarithm of a probability by the units
    probability: Floats  # [n] of the pairs that a rollout has chosen, in their order
    no_gradient: npt.NDArray[np.float32]  # [0, N_WEIGHTS] for a rollout that needs none


_contexts: WeakKeyDictionary[Instance, PolicyContext] = WeakKeyDictionary()


def policy_context(instance: Instance) -> PolicyContext:
    """The context of an instance, computed once as long as the instance lives."""
    if instance not in _contexts:
        _contexts[instance] = _make_context(instance)
    return _contexts[instance]


def _make_context(instance: Instance) -> PolicyContext:
    g, n = instance.arrays, instance.n_tasks
    c = encoding_context(instance)
    source, target = instance.edges[:, 0], instance.edges[:, 1]
    comm = g.mean_link[0] + instance.data * g.mean_link[1]
    inputs = np.bincount(target, weights=instance.data, minlength=n)
    siblings = np.bincount(source, weights=inputs[target] - instance.data, minlength=n)
    tiny = 1e-12 * (float(instance.data.sum()) or 1.0)
    mean = g.mean_comp.mean()
    finite = np.where(np.isfinite(instance.comp), instance.comp, np.nan)
    spread = np.nanstd(finite, axis=1).mean()
    ccr = comm.mean() / mean if instance.n_edges and mean > 0 else 0.0
    relative = spread / mean if mean > 0 else 0.0
    eligible = np.isfinite(instance.comp)
    means = g.mean_comp[:, None]
    relative_comp = np.where(means > 0, finite / np.where(means > 0, means, 1.0), 1.0)
    heirs = np.full((n, HEIRS), -1)
    return PolicyContext(
        c=c,
        output=np.bincount(source, weights=comm, minlength=n).astype(np.float64),
        per_input=1.0 / np.maximum(inputs, tiny),
        per_sibling=1.0 / np.maximum(siblings, tiny),
        log_ccr=float(np.log(ccr + 0.01)),
        log_spread=float(np.log(relative + 0.01)),
        parallelism=float(g.mean_comp.sum() / c.rank_scale / instance.n_processors),
        step=c.rank_scale * PATH / _find_heirs(g, c.rank_u, heirs),
        listed=list_length(instance.n_processors),
        relative_comp=relative_comp,
        slowness=np.sum(relative_comp, axis=0, where=eligible)
        / np.maximum(eligible.sum(axis=0), 1),
        heirs=heirs,
        through=np.where(eligible, g.comp + c.oct, np.inf),
        logs=np.log1p(np.arange(int(np.diff(g.succ_ptr).max()) + 1)),
    )


@kernel
def _find_heirs(g: InstanceArrays, rank_u: Floats, heirs: Ints) -> int:
    """Write the edges to the most critical successors; return the tasks of the longest path."""
    n = rank_u.size
    tasks, longest, first = np.ones(n, dtype=np.int64), np.zeros(HEIRS), 0
    for i in range(n - 1, -1, -1):
        t, kept = g.topo[i], 0
        for e in range(g.succ_ptr[t], g.succ_ptr[t + 1]):
            path = g.mean_link[0] + g.succ_data[e] * g.mean_link[1] + rank_u[g.succ_task[e]]
            if kept == HEIRS and path <= longest[kept - 1]:
                continue
            k = min(kept, HEIRS - 1)
            kept = k + 1
            while k > 0 and path > longest[k - 1]:
                longest[k], heirs[t, k] = longest[k - 1], heirs[t, k - 1]
                k -= 1
            longest[k], heirs[t, k] = path, e
        if kept > 0:
            tasks[t] += tasks[g.succ_task[heirs[t, 0]]]
        if rank_u[t] > rank_u[first]:
            first = t
    return int(tasks[first])


def list_length(p: int) -> int:
    """Most pairs in the short list where there are p processors."""
    return max(SHORT_LIST, p + BEYOND)


def allocate_policy(n: int, p: int, width: int = 0) -> PolicyWorkspace:
    """Work space, zeroed.

    Args:
        n: tasks.
        p: processors.
        width: K is this or ``list_length(p)``, which is larger.
    """
    width = max(width, list_length(p))
    return PolicyWorkspace(
        state=allocate_state(n, p),
        order=np.zeros(n, dtype=np.int64),
        first=np.zeros(1),
        available=np.zeros(p),
        arrival=np.zeros(p),
        start=np.zeros((n, p)),
        finish=np.zeros((n, p)),
        total=np.zeros((n, p)),
        gap=np.zeros((n, p)),
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
        x=np.zeros((width, N_FEATURES), dtype=np.float32),
        hidden=np.zeros((width, HIDDEN), dtype=np.float32),
        probability=np.zeros(n),
        slopes=np.zeros(HIDDEN, dtype=np.float32),
        no_gradient=np.zeros((0, N_WEIGHTS), dtype=np.float32),
    )

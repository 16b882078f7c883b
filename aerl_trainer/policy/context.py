"""What the features of the fast policy need of an instance, and the work space of a rollout."""

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from aerl_trainer.encoding.context import EncodingContext, encoding_context
from aerl_trainer.policy.weights import HIDDEN, N_FEATURES, N_WEIGHTS
from dagsched_env.instance import Instance
from dagsched_env.kernels.arrays import Floats, Ints, StateArrays, allocate_state

__all__ = ["SHORT_LIST", "PolicyContext", "PolicyWorkspace", "allocate_policy", "policy_context"]

SHORT_LIST = 12
"""Most pairs of a state that are scored: those of highest prior."""


class PolicyContext(NamedTuple):
    """Constant for an instance; shared read-only."""

    c: EncodingContext
    output: Floats  # [n] mean communication of all outputs (time)
    inputs: Floats  # [n] data of all inputs, at least a tiny number
    siblings: Floats  # [n] data of the other inputs of all successors, at least a tiny number
    log_ccr: float
    log_spread: float
    parallelism: float


class PolicyWorkspace(NamedTuple):
    """Work space of one thread for one size of problem, and K pairs at most."""

    state: StateArrays
    order: Ints  # [n] the ready tasks by decreasing rank_u; equal ones by number
    first: Floats  # [1] least EFT of all ready tasks (time)
    arrival: Floats  # [p] of the inputs of one task (time)
    start: Floats  # [n, p] EST of a ready task; inf where not eligible (time)
    total: Floats  # [n, p] EFT + OCT of a ready task; inf where not eligible (time)
    gap: Floats  # [n, p] idle time before a ready task (time)
    least_start: Floats  # [n] of a ready task over the processors (time)
    least_finish: Floats  # [n]
    least_total: Floats  # [n]
    placed_data: Floats  # [n, p] input data of a task that lies on a processor
    load: Floats  # [p] execution time placed
    actions: Ints  # [K] task * p + processor of the pairs that are scored
    delays: Floats  # [K] their prior, with the sign changed and in units of R
    logits: Floats  # [K]
    x: npt.NDArray[np.float32]  # [K, N_FEATURES]
    hidden: npt.NDArray[np.float32]  # [K, HIDDEN]
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
    return PolicyContext(
        c=c,
        output=np.bincount(source, weights=comm, minlength=n).astype(np.float64),
        inputs=np.maximum(inputs, tiny),
        siblings=np.maximum(siblings, tiny),
        log_ccr=float(np.log(ccr + 0.01)),
        log_spread=float(np.log(relative + 0.01)),
        parallelism=float(g.mean_comp.sum() / c.rank_scale / instance.n_processors),
    )


def allocate_policy(n: int, p: int, width: int = SHORT_LIST) -> PolicyWorkspace:
    """Work space for n tasks, p processors and K = ``width`` pairs, at least ``SHORT_LIST``."""
    return PolicyWorkspace(
        state=allocate_state(n, p),
        order=np.zeros(n, dtype=np.int64),
        first=np.zeros(1),
        arrival=np.zeros(p),
        start=np.zeros((n, p)),
        total=np.zeros((n, p)),
        gap=np.zeros((n, p)),
        least_start=np.zeros(n),
        least_finish=np.zeros(n),
        least_total=np.zeros(n),
        placed_data=np.zeros((n, p)),
        load=np.zeros(p),
        actions=np.zeros(width, dtype=np.int64),
        delays=np.zeros(width),
        logits=np.zeros(width),
        x=np.zeros((width, N_FEATURES), dtype=np.float32),
        hidden=np.zeros((width, HIDDEN), dtype=np.float32),
        probability=np.zeros(n),
        no_gradient=np.zeros((0, N_WEIGHTS), dtype=np.float32),
    )

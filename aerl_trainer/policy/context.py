"""What the features of the fast policy need of an instance."""

import math
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from aerl_trainer.policy.encoding.context import EncodingContext, encoding_context
from aerl_trainer.policy.workspace import list_length
from dagsched_env.kernels.arrays import Floats, InstanceArrays, Ints
from dagsched_env.kernels.jit import kernel
from dagsched_env.problem.instance import Instance

HEIRS = 3
"""Most successors at which a pair looks ahead."""
LEAST = 1e-300
"""Of a divisor: it is not 0, and its inverse is finite."""
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
    relative_comp: Floats  # [n, p] execution time / mean of the task, or inf; 1 where that is 0
    slowness: Floats  # [p] its mean over the tasks that the processor can run; 0 if there is none
    heirs: Ints  # [n, HEIRS] edges to the most critical successors, best first; -1 for none
    through: Floats  # [n, p] execution time + OCT; inf where not eligible (time)
    work: Floats  # [n, p] execution time × share of the processor that the task takes (time)
    logs: Floats  # log(1 + i) for every i up to the largest number of successors


_contexts: WeakKeyDictionary[Instance, PolicyContext] = WeakKeyDictionary()


def policy_context(instance: Instance) -> PolicyContext:
    """The context of an instance, computed once as long as the instance lives."""
    if instance not in _contexts:
        _contexts[instance] = _make_context(instance)
    return _contexts[instance]


def _make_context(instance: Instance) -> PolicyContext:
    g, (n, p) = instance.arrays, instance.comp.shape
    c = encoding_context(instance)
    output, per_input, per_sibling, slowness = np.empty(n), np.empty(n), np.empty(n), np.empty(p)
    relative_comp, through, heirs = np.empty((n, p)), np.empty((n, p)), np.full((n, HEIRS), -1)
    comm, most_successors = _measure_edges(g, output, per_input, per_sibling)
    work = _work(instance)
    comp, spread = _measure_tasks(g, c.oct, relative_comp, slowness, through)
    return PolicyContext(
        c=c,
        output=output,
        per_input=per_input,
        per_sibling=per_sibling,
        log_ccr=math.log((comm / comp if comp > 0 else 0.0) + 0.01),
        log_spread=math.log((spread / comp if comp > 0 else 0.0) + 0.01),
        parallelism=_mean_work(instance, work, comp) * n / c.rank_scale / p,
        step=c.rank_scale * PATH / _find_heirs(g, c.rank_u, heirs),
        listed=list_length(p),
        relative_comp=relative_comp,
        slowness=slowness,
        heirs=heirs,
        through=through,
        work=work,
        logs=np.log1p(np.arange(most_successors + 1)),
    )


def _work(instance: Instance) -> Floats:
    """``[n, p]`` execution times; with resources times the largest share of a capacity that the
    task takes."""
    g = instance.arrays
    if not instance.n_resources:
        return instance.comp
    share = (g.demand[:, None, :] / np.maximum(g.capacity, 1)).max(axis=2)
    work: Floats = np.where(np.isfinite(instance.comp), instance.comp, 0.0) * share
    work.flags.writeable = False
    return work


def _mean_work(instance: Instance, work: Floats, comp: float) -> float:
    """Mean over tasks, and for each over its eligible processors; ``comp`` without resources."""
    if not instance.n_resources:
        return comp
    return float((work.sum(axis=1) / np.isfinite(instance.comp).sum(axis=1)).mean())


@kernel
def _measure_edges(
    g: InstanceArrays, output: Floats, per_input: Floats, per_sibling: Floats
) -> tuple[float, int]:
    """Write three fields; return the mean communication of an edge, and the most successors."""
    n, m = output.size, g.succ_task.size
    inputs, data, comm, most = np.zeros(n), 0.0, 0.0, 0
    for t in range(n):
        output[t] = 0.0
        for e in range(g.succ_ptr[t], g.succ_ptr[t + 1]):
            output[t] += g.mean_link[0] + g.succ_data[e] * g.mean_link[1]
        for e in range(g.pred_ptr[t], g.pred_ptr[t + 1]):
            inputs[t] += g.pred_data[e]
        data += inputs[t]
        comm += output[t]
        most = max(most, g.succ_ptr[t + 1] - g.succ_ptr[t])
    tiny = max(1e-12 * data, LEAST) if data > 0.0 else 1e-12
    for t in range(n):
        siblings = 0.0
        for e in range(g.succ_ptr[t], g.succ_ptr[t + 1]):
            siblings += inputs[g.succ_task[e]] - g.succ_data[e]
        per_input[t] = 1.0 / max(inputs[t], tiny)
        per_sibling[t] = 1.0 / max(siblings, tiny)
    return comm / max(m, 1), most


@kernel
def _measure_tasks(
    g: InstanceArrays, oct_table: Floats, relative_comp: Floats, slowness: Floats, through: Floats
) -> tuple[float, float]:
    """Write three fields; return the means over the tasks of mean cost and standard deviation."""
    n, p = through.shape
    mean, deviation, runnable = 0.0, 0.0, np.zeros(p)
    slowness[:] = 0.0
    for t in range(n):
        count, squares, average = 0, 0.0, g.mean_comp[t]
        for q in range(p):
            comp = g.comp[t, q]
            through[t, q] = comp + oct_table[t, q]
            relative_comp[t, q] = comp / average if average > 0.0 else 1.0
            if comp < np.inf:
                count += 1
                squares += (comp - average) ** 2
                runnable[q] += 1.0
                slowness[q] += relative_comp[t, q]
        mean += average
        deviation += math.sqrt(squares / count)
    for q in range(p):
        slowness[q] /= max(runnable[q], 1.0)
    return mean / n, deviation / n


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

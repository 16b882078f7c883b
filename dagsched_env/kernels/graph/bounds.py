"""Lower bounds on the makespan of an instance: paths, loads, and loads between heads and tails.

The head of a task is a time before which it cannot start. Its tail is a lower bound on the time
between its finish and the end of the schedule. The tails of a graph are the heads of the reversed
graph.
"""

import numpy as np
import numpy.typing as npt

from dagsched_env.kernels.arrays import Floats, InstanceArrays, Ints
from dagsched_env.kernels.graph.communication import communication
from dagsched_env.kernels.graph.release import first_start, has_release
from dagsched_env.kernels.graph.resources import has_resources
from dagsched_env.kernels.jit import borrowing, embedded, kernel

MAX_THRESHOLDS = 64
"""Largest number of heads that ``widest_window`` tries, which keeps it linear in n."""

WEIGHT_STEPS = 60
"""Steps of the ascent in ``load_weights``."""

FEW_KEYS = 32
"""So many are sorted by insertion."""


@kernel
def critical_path_bound(g: InstanceArrays) -> float:
    """CP_MIN: longest path with every task at its minimum cost and no communication.

    With release dates, at the least finish that they allow.
    """
    n = g.topo.shape[0]
    finish = g.min_comp.copy()
    longest = 0.0
    for i in range(n):
        t = g.topo[i]
        arrival = 0.0
        for e in range(g.pred_ptr[t], g.pred_ptr[t + 1]):
            arrival = max(arrival, finish[g.pred_task[e]])
        finish[t] = least_finish(g, t, arrival)
        longest = max(longest, finish[t])
    return longest


@embedded
def least_finish(g: InstanceArrays, t: int, ready: float) -> float:
    """The least finish of a task over its processors, if its inputs are on all of them (time).

    Args:
        ready: since when they are there (time).
    """
    if not has_release(g):
        return ready + g.min_comp[t]  # type: ignore[no-any-return]
    least = np.inf
    for q in range(g.comp.shape[1]):
        least = min(least, max(ready, first_start(g, t, q)) + g.comp[t, q])
    return least


@kernel
def load_bound(g: InstanceArrays) -> float:
    """Total minimum work spread evenly over the processors.

    With resources, the work is demand × time and is spread over the capacities; of all resources
    the largest bound counts.
    """
    if has_resources(g):
        return _energy_bound(g)
    total = 0.0
    for t in range(g.min_comp.shape[0]):
        total += g.min_comp[t]
    return total / int(g.comp.shape[1])


@kernel
def _energy_bound(g: InstanceArrays) -> float:
    largest = 0.0
    for r in range(g.demand.shape[1]):
        energy, capacity = 0.0, 0
        for t in range(g.demand.shape[0]):
            energy += g.min_comp[t] * g.demand[t, r]
        for q in range(g.capacity.shape[0]):
            capacity += g.capacity[q, r]
        if energy > 0.0:
            largest = max(largest, energy / capacity)
    return largest


@kernel
def heads(g: InstanceArrays) -> Floats:
    """``[n, p]`` lower bound on the start of task t on processor q; inf where it is not eligible.

    Each predecessor runs either on q itself, where predecessors run one after the other (with
    resources, all at the same time), or on another processor: the one from which its data arrives
    first, transfer included. Task t waits for the best combination of these choices over all its
    predecessors (the idea of Jung, Kirousis, Spirakis 1993, "Lower bounds and efficient algorithms
    for multiprocessor scheduling of directed acyclic graphs with communication delays", without
    duplicates of tasks).
    """
    n, p = g.comp.shape
    alike = links_alike(g)
    head = np.full((n, p), np.inf)
    earliest, second = np.full(n, np.inf), np.full(n, np.inf)  # finish, over the processors
    fastest = np.zeros(n, dtype=np.int64)
    for t in g.topo:
        first, last = g.pred_ptr[t], g.pred_ptr[t + 1]
        release = np.empty(last - first)
        cost = np.empty(last - first)
        remote = np.empty(last - first)
        for q in range(p):
            if g.comp[t, q] == np.inf:
                continue
            for e in range(first, last):
                u = g.pred_task[e]
                release[e - first], cost[e - first] = head[u, q], g.comp[u, q]
                if alike:
                    arrival = second[u] if fastest[u] == q else earliest[u]
                    arrival += communication(g, g.pred_data[e], 0, p - 1)
                else:
                    arrival = np.inf
                    for a in range(p):
                        if a != q and g.comp[u, a] < np.inf:
                            comm = communication(g, g.pred_data[e], a, q)
                            arrival = min(arrival, head[u, a] + g.comp[u, a] + comm)
                remote[e - first] = arrival
            join = _earliest_join(release, cost, remote, has_resources(g))
            head[t, q] = max(join, first_start(g, t, q))
            finish = head[t, q] + g.comp[t, q]
            if finish < earliest[t]:
                earliest[t], second[t], fastest[t] = finish, earliest[t], q
            elif finish < second[t]:
                second[t] = finish
    return head


@kernel
def links_alike(g: InstanceArrays) -> bool:
    """Whether a transfer takes the same time between any two processors."""
    p = g.comp.shape[1]
    for a in range(p):
        for q in range(p):
            if a != q and (
                g.latency[a, q] != g.latency[0, p - 1]
                or g.inv_bandwidth[a, q] != g.inv_bandwidth[0, p - 1]
            ):
                return False
    return True


@kernel
def _earliest_join(release: Floats, cost: Floats, remote: Floats, overlap: bool) -> float:
    """Earliest time at which all inputs are on one processor, produced there or sent by ``remote``.

    Inputs that are produced there start after their ``release``, one at a time unless they may
    ``overlap``. In the best choice
    they are the k inputs of the largest ``remote``. With a larger k their work ends later and the
    last transfer arrives earlier, so k is found by bisection.
    """
    count = release.shape[0]
    if count == 0:
        return 0.0
    last = np.argmax(remote)
    alone = release[last] + cost[last]
    if count == 1 or alone >= remote[last]:  # no choice, or nothing is gained by work there
        return float(min(alone, remote[last]))
    by_remote, by_release = ascending(-remote), ascending(release)
    place = np.empty(count, dtype=np.int64)
    for k in range(count):
        place[by_remote[k]] = k
    low, high = 0, count  # the smallest k whose local work ends last
    while low < high:
        k = (low + high) // 2
        if _local_end(release, cost, by_release, place, k, overlap) >= remote[by_remote[k]]:
            high = k
        else:
            low = k + 1
    join = _local_end(release, cost, by_release, place, low, overlap)
    if low > 0:
        join = min(join, remote[by_remote[low - 1]])
    return join


@kernel
def ascending(key: Floats) -> Ints:
    """As ``np.argsort``, which takes three times as long for few keys."""
    if key.shape[0] > FEW_KEYS:
        return np.argsort(key)
    order = np.arange(key.shape[0])
    for i in range(1, key.shape[0]):
        k = i
        while k > 0 and key[order[k - 1]] > key[i]:
            order[k] = order[k - 1]
            k -= 1
        order[k] = i
    return order


@borrowing
def _local_end(
    release: Floats, cost: Floats, by_release: Ints, place: Ints, k: int, overlap: bool
) -> float:
    """When one processor has run the inputs of ``place`` < k in the order of their release."""
    end = 0.0
    for i in by_release:
        if place[i] < k:
            end = max(end, release[i] + cost[i]) if overlap else max(end, release[i]) + cost[i]
    return end


@kernel
def weighted_work(comp: Floats, weights: Floats) -> Floats:
    """``[n]`` the least weighted cost of each task: min over q of ``weights[q] * comp[t, q]``.

    With weights ≥ 0 of sum 1, its sum over any tasks is a lower bound on the makespan of a schedule
    of these tasks, because the makespan is at least the weighted mean of the processors' loads.
    Every choice of weights is a feasible dual solution of the linear relaxation of R||Cmax.
    """
    n, p = comp.shape
    work = np.full(n, np.inf)
    for t in range(n):
        for q in range(p):
            if comp[t, q] < np.inf:
                work[t] = min(work[t], weights[q] * comp[t, q])
    return work


@kernel
def load_weights(comp: Floats, member: npt.NDArray[np.bool_]) -> Floats:
    """``[p]`` weights under which the ``weighted_work`` of the tasks of ``member[n]`` is large.

    Multiplicative ascent from equal weights: every task is assigned to the processor of its least
    weighted cost, and the weights of overloaded processors are raised. Returns the best weights.
    """
    n, p = comp.shape
    weights = np.full(p, 1.0 / p)
    best, best_total = weights.copy(), -1.0
    load = np.empty(p)
    for step in range(WEIGHT_STEPS):
        load[:] = 0.0
        total = 0.0
        for t in range(n):
            if not member[t]:
                continue
            cheapest = -1
            for q in range(p):
                if comp[t, q] < np.inf and (
                    cheapest < 0 or weights[q] * comp[t, q] < weights[cheapest] * comp[t, cheapest]
                ):
                    cheapest = q
            load[cheapest] += comp[t, cheapest]
            total += weights[cheapest] * comp[t, cheapest]
        if total > best_total:
            best, best_total = weights.copy(), total
        if load.max() == 0.0:
            break
        weights *= np.exp(load / load.max() / np.sqrt(step + 1.0))
        weights /= weights.sum()
    return best


@kernel
def widest_window(work: Floats, head: Floats, tail: Floats) -> tuple[float, float, float]:
    """The largest lower bound r + (work of the tasks with head ≥ r and tail ≥ d) + d.

    Up to ``MAX_THRESHOLDS`` of the heads, evenly chosen, are tried as r, and every tail as d.

    Args:
        work: ``[n]`` of ``weighted_work`` (time).
        head: ``[n]`` least head of each task over the processors (time).
        tail: ``[n]`` least tail of each task over the processors (time).

    Returns:
        The bound, r and d.
    """
    n = work.shape[0]
    by_head = np.sort(head)
    by_tail = np.argsort(-tail)
    thresholds = min(n, MAX_THRESHOLDS)
    widest, window_head, window_tail = -1.0, 0.0, 0.0
    for i in range(thresholds):
        r = by_head[i * n // thresholds]
        total = 0.0
        for t in by_tail:
            if head[t] >= r:
                total += work[t]
                if r + total + tail[t] > widest:
                    widest, window_head, window_tail = r + total + tail[t], r, tail[t]
    return widest, window_head, window_tail

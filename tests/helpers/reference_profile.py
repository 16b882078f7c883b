"""Tasks that share processors, in plain Python: a slow reference for profiles and validity.

Demands are added up as decimal numbers at every moment at which a task starts.
"""

import math
from collections.abc import Sequence
from decimal import Decimal
from itertools import permutations, product

from dagsched_env.problem.instance import Instance

Placed = dict[int, tuple[int, float, float]]
"""Task → processor, start, finish."""


def overloaded(instance: Instance, placed: Placed) -> bool:
    """Whether some processor has too little of some resource at some moment."""
    return any(not _fits_at(instance, placed, q, start) for q, start, _ in placed.values())


def _fits_at(instance: Instance, placed: Placed, q: int, time: float) -> bool:
    running = [t for t, (w, start, finish) in placed.items() if w == q and start <= time < finish]
    return all(
        sum((_decimal(instance.demands[t, r]) for t in running), Decimal(0))
        <= _decimal(instance.capacities[q, r])
        for r in range(instance.n_resources)
    )


def _decimal(value: float) -> Decimal:
    return Decimal(repr(float(value)))


def earliest_start(
    instance: Instance, placed: Placed, task: int, q: int, ready: float, *, insertion: bool
) -> float:
    """The first moment from ``ready`` on at which the task fits for all its duration."""
    if not insertion:
        ready = max([ready, *(start for w, start, _ in placed.values() if w == q)])
    duration = float(instance.comp[task, q])
    ends = sorted(finish for w, _, finish in placed.values() if w == q and finish > ready)
    for start in [ready, *ends]:
        if not overloaded(instance, {**placed, task: (q, start, start + duration)}):
            return start
    raise AssertionError("a task fits behind all others")


def arrival(instance: Instance, placed: Placed, task: int, q: int) -> float:
    """When a task is released and the data of all predecessors is on a processor."""
    latest = float(instance.earliest[task, q])
    for (u, v), amount in zip(instance.edges.tolist(), instance.data.tolist(), strict=True):
        if v == task:
            a, _, finish = placed[u]
            link = instance.latency[a, q] + amount * instance.inv_bandwidth[a, q]
            latest = max(latest, finish + link)
    return latest


def decode(
    instance: Instance, order: Sequence[int], processor: Sequence[int], *, insertion: bool
) -> Placed:
    """Each task in this order at its earliest start on its processor."""
    placed: Placed = {}
    for t in order:
        q = processor[t]
        ready = arrival(instance, placed, t, q)
        start = earliest_start(instance, placed, t, q, ready, insertion=insertion)
        placed[t] = (q, start, start + float(instance.comp[t, q]))
    return placed


def optimum(instance: Instance) -> float:
    """Makespan of the best of all orders and assignments: one of them is an optimal schedule."""
    n, p = instance.comp.shape
    edges = set(map(tuple, instance.edges.tolist()))
    orders = [
        order
        for order in permutations(range(n))
        if all(order.index(u) < order.index(v) for u, v in edges)
    ]
    best = math.inf
    for processor in product(range(p), repeat=n):
        if all(math.isfinite(instance.comp[t, processor[t]]) for t in range(n)):
            for order in orders:
                placed = decode(instance, order, processor, insertion=True)
                best = min(best, max(finish for _, _, finish in placed.values()))
    return best

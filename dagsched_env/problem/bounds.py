"""Lower bounds on the makespan of all schedules of an instance."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dagsched_env.kernels.arrays import Floats
from dagsched_env.kernels.graph import bounds
from dagsched_env.problem.instance import Instance

__all__ = ["LowerBounds", "bounds_from", "heads", "lower_bounds", "tails"]

THRESHOLDS = 16
"""Most heads, and most tails, by which the tasks are chosen for the bound ``crowd``."""
WINDOW_ROUNDS = 3
"""Number of times that the weights of the processors are fitted to the widest window."""


class LowerBounds(NamedTuple):
    """Lower bounds on the makespan (time).

    Always ``critical_path <= path`` and ``load <= window``, up to rounding.
    """

    critical_path: float
    """CP_MIN: the longest path, each task at its minimum cost, communication free."""
    load: float
    """The work, distributed over the processors as evenly as unrelated costs allow: a dual bound
    of the linear relaxation of R||Cmax. It is at least the mean load. With resources the work of a
    task is its demand × time / capacity; that for which the bound is largest counts."""
    path: float
    """The longest path on which every task pays for communication or shares a processor with the
    tasks before it."""
    window: float
    """The largest sum of a head, a tail, and the load of the tasks between them."""
    crowd: float
    """By the pigeonhole principle: of k·p + 1 tasks some processor runs k + 1. The k + 1 least of
    their minimum costs, with the least head and tail. With resources the p places are so many of
    some tasks as fit at once: tasks of which at most p overlap are p rows of tasks, each one after
    the other."""

    @property
    def best(self) -> float:
        """The largest of them."""
        return max(self)


def lower_bounds(instance: Instance) -> LowerBounds:
    """All bounds of an instance, in O(edges · p² + tasks · p) time.

    A bound may exceed the optimum by rounding errors of about 1e-15 of it.
    """
    return bounds_from(instance, heads(instance), tails(instance))


def bounds_from(instance: Instance, head: Floats, tail: Floats) -> LowerBounds:
    """As ``lower_bounds``, for callers that need the heads and tails themselves too.

    Args:
        instance: the problem.
        head: ``[n, p]`` of ``heads``.
        tail: ``[n, p]`` of ``tails``.
    """
    # All three are inf for ineligible pairs.
    path = float((head + instance.comp + tail).min(axis=1).max())
    least_head, least_tail = head.min(axis=1), tail.min(axis=1)
    load = window = crowd = 0.0
    for work in _works(instance):
        weights = _weights(work)
        load = max(load, *(float(bounds.weighted_work(work, w).sum()) for w in weights))
        window = max(window, _window(work, least_head, least_tail, weights))
    cost = instance.comp.min(axis=1)
    for tasks, places in _places(instance):
        crowd = max(crowd, _crowd(cost[tasks], least_head[tasks], least_tail[tasks], places))
    return LowerBounds(instance.cp_min, load, path, max(load, window), crowd)


def heads(instance: Instance) -> Floats:
    """``[n, p]`` time before which task t cannot start on processor q; inf where ineligible."""
    return bounds.heads(instance.arrays)


def tails(instance: Instance) -> Floats:
    """``[n, p]`` lower bound on the time from the finish of task t on processor q to the end of the
    schedule; inf where ineligible. Release dates do not count."""
    return bounds.heads(instance.backwards)


def _works(instance: Instance) -> list[Floats]:
    """``[n, p]`` how long each task keeps a processor busy: its time; with resources, for each of
    them, the time in which the whole capacity would do its work."""
    g = instance.arrays
    if not instance.n_resources:
        return [instance.comp]
    works = []
    for r in range(instance.n_resources):
        share = g.demand[:, r, None] / np.maximum(g.capacity[:, r], 1)
        works.append(np.where(share > 0, instance.comp * np.where(share > 0, share, 1.0), 0.0))
        works[-1][np.isinf(instance.comp)] = np.inf
    return works


def _places(instance: Instance) -> Iterator[tuple[npt.NDArray[np.intp], int]]:
    """Some tasks, and how many of them at most run at the same time, on all processors together."""
    g = instance.arrays
    if not instance.n_resources:
        yield np.arange(instance.n_tasks), instance.n_processors
    for r in range(instance.n_resources):
        demands = np.unique(g.demand[g.demand[:, r] > 0, r])
        chosen = np.linspace(0, demands.size - 1, min(demands.size, THRESHOLDS)).astype(int)
        for least in demands[chosen].tolist():
            tasks = np.flatnonzero(g.demand[:, r] >= least)
            yield tasks, int((g.capacity[:, r] // least).sum())


def _weights(comp: Floats) -> list[Floats]:
    """Weights of the processors to be tried: each processor alone on which some tasks have to run;
    all equal, which gives the mean load; and weights fitted to all tasks."""
    n, p = comp.shape
    bound_to_one = comp[np.count_nonzero(np.isfinite(comp), axis=1) == 1]
    fitted = bounds.load_weights(comp, np.ones(n, dtype=np.bool_))
    alone = np.eye(p)[np.unique(bound_to_one.argmin(axis=1))]
    return [*alone, np.full(p, 1.0 / p), fitted]


def _window(comp: Floats, head: Floats, tail: Floats, weights: list[Floats]) -> float:
    """The best ``widest_window`` over these weights, and over some fitted to the window's tasks."""
    widest = 0.0
    for candidate in weights:
        bound, r, d = _widest(comp, head, tail, candidate)
        widest = max(widest, bound)
    for _ in range(WINDOW_ROUNDS):
        fitted = bounds.load_weights(comp, (head >= r) & (tail >= d))
        if np.array_equal(fitted, candidate):
            break
        candidate = fitted
        bound, r, d = _widest(comp, head, tail, candidate)
        widest = max(widest, bound)
    return widest


def _widest(
    comp: Floats, head: Floats, tail: Floats, weights: Floats
) -> tuple[float, float, float]:
    """``widest_window`` of the tasks that have work under these weights."""
    work = bounds.weighted_work(comp, weights)
    busy = work > 0
    return bounds.widest_window(work[busy], head[busy], tail[busy])


def _crowd(cost: Floats, head: Floats, tail: Floats, p: int) -> float:
    """The bound over the costliest tasks, of all and of those with some least head or tail."""
    best, by_cost = 0.0, np.argsort(-cost, kind="stable")
    for times in (head, tail):
        for least in np.quantile(times, np.linspace(0.0, 1.0, THRESHOLDS), method="lower"):
            chosen = by_cost[times[by_cost] >= least]
            k = np.arange(1, (chosen.size - 1) // p + 1)
            if k.size:
                total = np.concatenate([[0.0], np.cumsum(cost[chosen])])
                before = np.minimum.accumulate(head[chosen])[k * p]
                after = np.minimum.accumulate(tail[chosen])[k * p]
                shared = total[k * p + 1] - total[k * p - k]
                best = max(best, float((before + shared + after).max()))
    return best

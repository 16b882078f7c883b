"""Slow plain-Python versions of the rank-based schedulers, written from the papers.

Each takes an instance and returns a finished ``references.Partial``; they share no code with the
package.
"""

import itertools
import math
from collections.abc import Callable
from functools import cache

from dagsched_env.problem.instance import Instance
from helpers.references import (
    Partial,
    earliest_start,
    mean_communication,
    mean_cost,
    oct_table,
    predecessors,
    rank_d,
    rank_u,
    successors,
)

Row = list[float]


def levels(values: list[float]) -> list[int]:
    """0 for the highest, 1 for the next, …; runs within 1e-9 of their neighbour share a level."""
    order = sorted(range(len(values)), key=lambda t: -values[t])
    result = [0] * len(values)
    for before, task in itertools.pairwise(order):
        near = math.isclose(values[before], values[task], rel_tol=1e-9, abs_tol=0)
        result[task] = result[before] + (not near)
    return result


def topological_positions(instance: Instance) -> list[int]:
    return instance.arrays.topo_position.tolist()


def eligible(instance: Instance, task: int) -> list[int]:
    return [q for q in range(instance.n_processors) if instance.comp[task, q] < math.inf]


def cost(instance: Instance, task: int, q: int) -> float:
    return float(instance.comp[task, q])


def lowest(values: dict[int, float]) -> int:
    """Least value; within 1e-9 the lowest index."""
    least = min(values.values())
    return min(q for q in values if values[q] <= least + 1e-9 * abs(least))


def empty_ready_list(
    instance: Instance, insertion: bool, key: Callable, table: list[Row] | None = None
) -> Partial:
    """The ready task of the least ``key`` first, where finish + ``table[task][q]`` is least."""
    partial = Partial(instance, insertion=insertion)
    while ready := partial.ready_tasks():
        task = min(ready, key=key)
        place(partial, task, table[task] if table else None)
    return partial


def place(partial: Partial, task: int, extra: Row | None = None) -> None:
    instance = partial.instance
    scores = {
        q: partial.start(task, q) + cost(instance, task, q) + (extra[q] if extra else 0.0)
        for q in eligible(instance, task)
    }
    partial.place(task, lowest(scores))


def by_rank(instance: Instance, rank: list[float]) -> Callable[[int], tuple[int, int]]:
    level, position = levels(rank), topological_positions(instance)
    return lambda task: (level[task], position[task])


def row_means(instance: Instance, table: list[Row]) -> list[float]:
    return [
        sum(table[t][q] for q in eligible(instance, t)) / len(eligible(instance, t))
        for t in range(instance.n_tasks)
    ]


# -- HEFT and its kin --------------------------------------------------------------------------


def heft(instance: Instance, *, insertion: bool, rank: str) -> Partial:
    """Zhao 2003: the statistic of the costs in the upward rank."""
    comm = mean_communication(instance)

    def weight(i: int) -> float:
        costs = sorted(cost(instance, i, q) for q in eligible(instance, i))
        half = len(costs) // 2
        median = costs[half] if len(costs) % 2 else (costs[half - 1] + costs[half]) / 2
        statistics = {"best": costs[0], "worst": costs[-1], "median": median}
        return mean_cost(instance, i) if rank == "mean" else statistics[rank]

    @cache
    def upward(i: int) -> float:
        return weight(i) + max((comm[i, j] + upward(j) for j in successors(instance, i)), default=0)

    ranks = [upward(i) for i in range(instance.n_tasks)]
    return empty_ready_list(instance, insertion, by_rank(instance, ranks))


def hlfet(instance: Instance, *, insertion: bool = False) -> Partial:
    """Adam 1974: static levels."""

    @cache
    def level(i: int) -> float:
        return mean_cost(instance, i) + max((level(j) for j in successors(instance, i)), default=0)

    ranks = [level(i) for i in range(instance.n_tasks)]
    return empty_ready_list(instance, insertion, by_rank(instance, ranks))


def mcp(instance: Instance, *, insertion: bool = True) -> Partial:
    """Wu 1990, Kwok 1996: lists of latest start times; those grow as rank_u falls."""
    latest, position = levels(rank_u(instance)), topological_positions(instance)

    def key(i: int) -> tuple[list[int], int]:
        children = sorted((latest[j] for j in successors(instance, i)), reverse=True)
        return [latest[i], *children], position[i]

    return empty_ready_list(instance, insertion, key)


def cpop(instance: Instance, *, insertion: bool = True) -> Partial:
    """Topcuoglu 2002, fig. 5."""
    priority = [u + d for u, d in zip(rank_u(instance), rank_d(instance), strict=True)]
    level, position = levels(priority), topological_positions(instance)
    path: list[int] = []
    following = [t for t in range(instance.n_tasks) if not predecessors(instance, t)]
    while critical := [t for t in following if level[t] == 0]:
        path.append(min(critical, key=position.__getitem__))
        following = successors(instance, path[-1])
    runs = {
        q: [t for t in path if cost(instance, t, q) < math.inf]
        for q in range(instance.n_processors)
    }
    most = max(len(tasks) for tasks in runs.values())
    chosen = lowest(
        {
            q: sum(cost(instance, t, q) for t in tasks)
            for q, tasks in runs.items()
            if len(tasks) == most
        }
    )
    partial = Partial(instance, insertion=insertion)
    while ready := partial.ready_tasks():
        task = min(ready, key=lambda t: (level[t], t not in path, position[t]))
        if task in runs[chosen]:
            partial.place(task, chosen)
        else:
            place(partial, task)
    return partial


# -- listing by critical paths and levels ------------------------------------------------------


def critical_tasks(instance: Instance) -> set[int]:
    """Hagras 2003: equal average earliest and latest start times; several exits end together."""
    comm, earliest = mean_communication(instance), rank_d(instance)
    length = max(rank_u(instance))

    @cache
    def latest(i: int) -> float:
        after = [latest(j) - comm[i, j] for j in successors(instance, i)]
        return min(after, default=length) - mean_cost(instance, i)

    return {i for i in range(instance.n_tasks) if abs(latest(i) - earliest[i]) <= 1e-9 * length}


def hcpt(instance: Instance, *, insertion: bool = True) -> Partial:
    """Hagras 2003: each critical task behind the trees of its unlisted parents."""
    by_latest_start, critical = by_rank(instance, rank_u(instance)), critical_tasks(instance)
    listed: list[int] = []

    def visit(task: int) -> None:
        for parent in sorted(predecessors(instance, task), key=by_latest_start):
            visit(parent)
        if task not in listed:
            listed.append(task)

    tasks = sorted(range(instance.n_tasks), key=by_latest_start)
    for task in tasks:
        if task in critical:
            visit(task)
    for task in tasks:
        if not successors(instance, task):
            visit(task)
    partial = Partial(instance, insertion=insertion)
    for task in listed:
        place(partial, task)
    return partial


def pets(instance: Instance, *, insertion: bool = True, rounded: bool = True) -> Partial:
    """Ilavarasan 2007: levels, then ACC + DTC + RPT."""
    comm, position = mean_communication(instance), topological_positions(instance)

    @cache
    def depth(i: int) -> int:
        return max((depth(j) + 1 for j in predecessors(instance, i)), default=0)

    @cache
    def rank(i: int) -> float:
        inherited = max((rank(j) for j in predecessors(instance, i)), default=0.0)
        sent = sum(comm[i, j] for j in successors(instance, i))
        exact = mean_cost(instance, i) + sent + inherited
        return float(math.floor(exact * (1 + 1e-9) + 0.5)) if rounded else exact

    tasks = range(instance.n_tasks)
    level = levels([rank(i) for i in tasks])
    cheap = levels([-mean_cost(instance, i) for i in tasks])
    partial = Partial(instance, insertion=insertion)
    for task in sorted(tasks, key=lambda t: (depth(t), level[t], cheap[t], position[t])):
        place(partial, task)
    return partial


# -- cost tables -------------------------------------------------------------------------------


def peft(instance: Instance, *, insertion: bool = True) -> Partial:
    """Arabnejad 2014, algorithm 1."""
    table = oct_table(instance)
    rank = row_means(instance, table)
    return empty_ready_list(instance, insertion, by_rank(instance, rank), table)


def ipeft(instance: Instance, *, insertion: bool = True) -> Partial:
    """Zhou 2017."""
    comm, critical = mean_communication(instance), critical_tasks(instance)
    tasks, processors = range(instance.n_tasks), range(instance.n_processors)

    @cache
    def pessimistic(i: int, k: int) -> float:
        return max(
            (
                pessimistic(j, w) + cost(instance, j, w) + (comm[i, j] if w != k else 0.0)
                for j in successors(instance, i)
                for w in eligible(instance, j)
            ),
            default=0.0,
        )

    @cache
    def critical_cost(i: int, k: int) -> float:
        children = successors(instance, i)
        children = [j for j in children if j in critical] or children
        per_child = [
            min(
                critical_cost(j, w) + cost(instance, j, w) + (comm[i, j] if w != k else 0.0)
                for w in eligible(instance, j)
            )
            for j in children
        ]
        return max(per_child, default=0.0)

    means = row_means(instance, [[pessimistic(i, k) for k in processors] for i in tasks])
    rank = [mean + mean_cost(instance, i) for i, mean in enumerate(means)]
    table = [[critical_cost(i, k) for k in processors] for i in tasks]
    for i in tasks:
        if i not in critical and critical & set(successors(instance, i)):
            table[i] = [0.0] * instance.n_processors
    return empty_ready_list(instance, insertion, by_rank(instance, rank), table)


def ppts(instance: Instance, *, insertion: bool = True) -> Partial:
    """Djigal 2019."""
    comm = mean_communication(instance)
    tasks, processors = range(instance.n_tasks), range(instance.n_processors)

    def own(i: int, q: int) -> float:
        return cost(instance, i, q) if q in eligible(instance, i) else mean_cost(instance, i)

    @cache
    def pcm(i: int, k: int) -> float:
        per_child = [
            min(
                pcm(j, w) + cost(instance, j, w) + own(i, w) + (comm[i, j] if w != k else 0.0)
                for w in eligible(instance, j)
            )
            for j in successors(instance, i)
        ]
        return max(per_child, default=own(i, k))

    table = [[pcm(i, k) for k in processors] for i in tasks]
    rank = row_means(instance, table)
    return empty_ready_list(instance, insertion, by_rank(instance, rank), table)


# -- lookahead ---------------------------------------------------------------------------------


def lookahead_heft(instance: Instance, *, insertion: bool = True) -> Partial:
    """Bittencourt 2010: each task where the last of its children, placed by EFT, ends first."""
    tasks = range(instance.n_tasks)
    level, position = levels(rank_u(instance)), topological_positions(instance)
    cheap = levels([-mean_cost(instance, i) for i in tasks])
    partial = Partial(instance, insertion=insertion)
    order: list[int] = []
    while ready := [
        t for t in tasks if t not in order and set(predecessors(instance, t)) <= set(order)
    ]:
        order.append(min(ready, key=lambda t: (level[t], cheap[t], position[t])))
    for task in order:
        children = sorted(successors(instance, task), key=order.index)
        if not children:
            place(partial, task)
            continue
        latest = {q: _latest_child(partial, task, q, children) for q in eligible(instance, task)}
        partial.place(task, lowest(latest))
    return partial


def _latest_child(partial: Partial, task: int, q: int, children: list[int]) -> float:
    instance = partial.instance
    trial = Partial(instance, insertion=partial.insertion)
    trial.placed = dict(partial.placed)
    trial.place(task, q)
    latest = 0.0
    for child in children:
        finish = {}
        for w in eligible(instance, child):
            duration = cost(instance, child, w)
            ready = _arrival_from_placed(trial, child, w)
            start = earliest_start(trial.busy(w), ready, duration, trial.insertion)
            finish[w] = start + duration
        w = lowest(finish)
        trial.placed[child] = (w, finish[w] - cost(instance, child, w), finish[w])
        latest = max(latest, finish[w])
    return latest


def _arrival_from_placed(partial: Partial, task: int, q: int) -> float:
    instance = partial.instance
    ready = float(instance.earliest[task, q])
    for (u, v), data in zip(instance.edges.tolist(), instance.data.tolist(), strict=True):
        if v == task and u in partial.placed:
            a, _, finish = partial.placed[u]
            link = instance.latency[a, q] + data * instance.inv_bandwidth[a, q]
            ready = max(ready, float(finish + (link if a != q else 0.0)))
    return ready

"""Slow plain-Python versions of the selecting, mapping and clustering schedulers.

Each takes an instance and returns a finished ``references.Partial``; written from the papers, they
share no code with the package.
"""

import math
from collections.abc import Callable
from functools import cache

from dagsched_env.problem.instance import Instance
from helpers.references import (
    Partial,
    mean_communication,
    mean_cost,
    order_by_rank,
    predecessors,
    rank_u,
    successors,
)
from helpers.references_rank import cost, eligible, levels, lowest, place, topological_positions

NEAR = 1e-9

Urgency = Callable[[int, dict[int, float]], float]


def starts(partial: Partial, task: int) -> dict[int, float]:
    return {q: partial.start(task, q) for q in eligible(partial.instance, task)}


def finishes(partial: Partial, task: int) -> dict[int, float]:
    return {q: at + cost(partial.instance, task, q) for q, at in starts(partial, task).items()}


def static_levels(instance: Instance, weight: Callable[[int], float]) -> list[float]:
    """Longest path to an exit without communication."""

    @cache
    def level(i: int) -> float:
        return weight(i) + max((level(j) for j in successors(instance, i)), default=0.0)

    return [level(i) for i in range(instance.n_tasks)]


# -- selection of a pair -----------------------------------------------------------------------


def select(instance: Instance, insertion: bool, urgency: Urgency) -> Partial:
    """The most urgent ready task where it finishes first; the lowest index among near equals."""
    partial = Partial(instance, insertion=insertion)
    while ready := partial.ready_tasks():
        finish = {t: finishes(partial, t) for t in ready}
        value = {t: urgency(t, finish[t]) for t in ready}
        top = max(ready, key=value.__getitem__)
        least = min(finish[top].values())
        if math.isinf(value[top]):
            near = [t for t in ready if math.isinf(value[t])]
        else:
            slack = NEAR * (least + abs(value[top] + least))
            near = [t for t in ready if value[t] >= value[top] - slack]
        partial.place(min(near), lowest(finish[min(near)]))
    return partial


def min_min(instance: Instance, *, insertion: bool = False) -> Partial:
    """Braun 2001 over the ready tasks."""
    return select(instance, insertion, lambda _, finish: -min(finish.values()))


def max_min(instance: Instance, *, insertion: bool = False) -> Partial:
    """Braun 2001 over the ready tasks."""
    return select(instance, insertion, lambda _, finish: min(finish.values()))


def duplex(instance: Instance, *, insertion: bool = False) -> Partial:
    """Braun 2001."""
    both = [method(instance, insertion=insertion) for method in (min_min, max_min)]
    return min(both, key=Partial.makespan)


def sufferage(instance: Instance, *, insertion: bool = False) -> Partial:
    """Maheswaran 1999, Casanova 2000."""

    def urgency(_: int, finish: dict[int, float]) -> float:
        first, second, *_ = [*sorted(finish.values()), math.inf]
        return second - first

    return select(instance, insertion, urgency)


def dls(instance: Instance, *, insertion: bool = False, average: str = "mean") -> Partial:
    """Sih 1993: static level − start + (average − cost), over all ready pairs."""

    def weight(i: int) -> float:
        costs = sorted(cost(instance, i, q) for q in eligible(instance, i))
        half = len(costs) // 2
        median = costs[half] if len(costs) % 2 else (costs[half - 1] + costs[half]) / 2
        return median if average == "median" else mean_cost(instance, i)

    static = static_levels(instance, weight)
    partial = Partial(instance, insertion=insertion)
    while ready := partial.ready_tasks():
        level, scale = {}, {}
        for t in ready:
            for q, at in starts(partial, t).items():
                level[t, q] = static[t] - at + weight(t) - cost(instance, t, q)
                scale[t, q] = static[t] + weight(t) + at + cost(instance, t, q)
        top = max(level, key=level.__getitem__)
        near = [pair for pair in level if level[pair] >= level[top] - NEAR * scale[top]]
        partial.place(*min(near))
    return partial


def etf(instance: Instance, *, insertion: bool = False) -> Partial:
    """Hwang 1989, with the fastest of the processors on which a task can start first."""
    level = levels(static_levels(instance, lambda i: mean_cost(instance, i)))
    partial = Partial(instance, insertion=insertion)
    while ready := partial.ready_tasks():
        start = {t: starts(partial, t) for t in ready}
        earliest = min(min(row.values()) for row in start.values())
        now = [t for t in ready if min(start[t].values()) <= earliest * (1 + NEAR)]
        task = min(now, key=lambda t: (level[t], t))
        soon = [q for q, at in start[task].items() if at <= min(start[task].values()) * (1 + NEAR)]
        partial.place(task, min(soon, key=lambda q: (cost(instance, task, q), q)))
    return partial


def bil(instance: Instance, *, insertion: bool = False) -> Partial:
    """Oh 1996."""
    comm = mean_communication(instance)

    @cache
    def level(i: int, k: int) -> float:
        rest = [
            min(level(j, w) + (comm[i, j] if w != k else 0.0) for w in eligible(instance, j))
            for j in successors(instance, i)
        ]
        return cost(instance, i, k) + max(rest, default=0.0)

    partial = Partial(instance, insertion=insertion)
    while ready := partial.ready_tasks():
        imaginary = {
            t: {q: at + level(t, q) for q, at in starts(partial, t).items()} for t in ready
        }
        priority = {}
        for t, row in imaginary.items():
            values = sorted(row.values())
            priority[t] = values[min(len(ready), len(values)) - 1]
        highest = max(priority.values())
        task = min(t for t in ready if priority[t] >= highest * (1 - NEAR))
        crowding = max(len(ready) / instance.n_processors - 1, 0.0)
        revised = {q: m + crowding * cost(instance, task, q) for q, m in imaginary[task].items()}
        partial.place(task, lowest(revised))
    return partial


# -- mapping in topological order --------------------------------------------------------------


def mct(instance: Instance, *, insertion: bool = False) -> Partial:
    """Armstrong 1998."""
    partial = Partial(instance, insertion=insertion)
    for task in instance.topological_order.tolist():
        place(partial, task)
    return partial


def met(instance: Instance, *, insertion: bool = False) -> Partial:
    """Armstrong 1998."""
    partial = Partial(instance, insertion=insertion)
    for task in instance.topological_order.tolist():
        partial.place(task, lowest({q: cost(instance, task, q) for q in eligible(instance, task)}))
    return partial


def olb(instance: Instance, *, insertion: bool = False) -> Partial:
    """Armstrong 1998."""
    partial = Partial(instance, insertion=insertion)
    for task in instance.topological_order.tolist():
        done = {
            q: max([instance.earliest[task, q], *(finish for _, finish in partial.busy(q))])
            for q in eligible(instance, task)
        }
        partial.place(task, lowest(done))
    return partial


def fastest_node(instance: Instance, *, insertion: bool = False) -> Partial:
    """One processor, or as few as the greedy rule finds."""
    chosen: dict[int, int] = {}
    while rest := [t for t in range(instance.n_tasks) if t not in chosen]:
        chosen |= greedy_share(instance, rest, [0.0] * instance.n_processors)
    partial = Partial(instance, insertion=insertion)
    for task in instance.topological_order.tolist():
        partial.place(task, chosen[task])
    return partial


def greedy_share(instance: Instance, tasks: list[int], load: list[float]) -> dict[int, int]:
    """The tasks that the next processor takes; adds them to its load."""
    able = {
        q: [t for t in tasks if q in eligible(instance, t)] for q in range(instance.n_processors)
    }
    most = max(len(share) for share in able.values())
    total = {
        q: load[q] + sum(cost(instance, t, q) for t in share)
        for q, share in able.items()
        if len(share) == most
    }
    q = lowest(total)
    load[q] = total[q]
    return dict.fromkeys(able[q], q)


# -- dominant sequence clustering --------------------------------------------------------------


class Clusters:
    """DSC, Yang 1994: the schedule of examined tasks on unlimited processors, as lists of tasks."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.comm = mean_communication(instance)
        self.blevel = rank_u(instance)
        self.position = topological_positions(instance)
        self.start: dict[int, float] = {}
        self.members: list[list[int]] = []
        while len(self.start) < instance.n_tasks:
            self.examine(*self.heads())

    def finish(self, task: int) -> float:
        return self.start[task] + mean_cost(self.instance, task)

    def home(self, task: int) -> list[int]:
        return next(members for members in self.members if task in members)

    def end(self, members: list[int]) -> float:
        return self.finish(members[-1])

    def known(self, task: int) -> list[int]:
        """Examined predecessors, the one whose data comes last first."""
        parents = [u for u in predecessors(self.instance, task) if u in self.start]
        late = levels([self.arrival(u, task) for u in parents])
        keys = {u: (late[i], self.position[u]) for i, u in enumerate(parents)}
        return sorted(parents, key=keys.__getitem__)

    def arrival(self, u: int, task: int) -> float:
        return self.finish(u) + self.comm[u, task]

    def tlevel(self, task: int) -> float:
        return max((self.arrival(u, task) for u in self.known(task)), default=0.0)

    def heads(self) -> tuple[int, int | None]:
        waiting = [t for t in range(self.instance.n_tasks) if t not in self.start]
        free = [t for t in waiting if len(self.known(t)) == len(predecessors(self.instance, t))]
        partial = [t for t in waiting if t not in free and self.known(t)]
        task, priority = self.first(free)
        if partial:
            rival, higher = self.first(partial)
            if higher > priority * (1 + NEAR):
                return task, rival
        return task, None

    def first(self, tasks: list[int]) -> tuple[int, float]:
        priority = {t: self.tlevel(t) + self.blevel[t] for t in tasks}
        highest = max(priority.values())
        near = [t for t in tasks if priority[t] >= highest * (1 - NEAR)]
        return min(near, key=self.position.__getitem__), highest

    def examine(self, task: int, rival: int | None) -> None:
        parents = self.known(task)
        options = [
            (start, k)
            for k in range(1, len(parents) + 1)
            if (start := self.start_with(task, parents[:k], parents[k:])) is not None
            and (rival is None or self.harmless(rival, parents[0], start, task))
        ]
        apart = self.tlevel(task)
        better = [option for option in options if option[0] < apart * (1 - NEAR)]
        if not better:
            self.start[task] = apart
            self.members.append([task])
            return
        least = min(better)[0]
        start, k = next(option for option in better if option[0] <= least * (1 + NEAR))
        home = self.home(parents[0])
        for u in parents[:k]:
            if u not in home:
                self.members.remove([u])
                home.append(u)
        home.append(task)
        self.start[task] = start

    def start_with(self, task: int, local: list[int], others: list[int]) -> float | None:
        """Start behind the ``local`` parents in one cluster; None where they may not move there."""
        home = self.home(local[0])
        moved = [u for u in local if u not in home]
        for u in moved:
            if len(self.home(u)) > 1 or len(successors(self.instance, u)) > 1:
                return None
        at = levels([-self.start[u] for u in moved])
        keys = {u: (at[i], self.position[u]) for i, u in enumerate(moved)}
        end = self.end(home)
        for u in sorted(moved, key=keys.__getitem__):
            end = max(end, self.start[u]) + mean_cost(self.instance, u)
        return max([end, *(self.arrival(u, task) for u in others if u not in home)])

    def harmless(self, rival: int, into: int, start: float, task: int) -> bool:
        """DSRW: a start of the rival that could be reduced in this cluster still can be."""
        parents, home = self.known(rival), self.home(into)
        if parents[0] not in home:
            return True
        elsewhere = max((self.arrival(u, rival) for u in parents if u not in home), default=0.0)
        limit = self.tlevel(rival) * (1 - NEAR)
        reducible = max(self.end(home), elsewhere) < limit
        return not reducible or max(start + mean_cost(self.instance, task), elsewhere) < limit


def dsc(instance: Instance, *, insertion: bool = False) -> Partial:
    """Yang 1994, mapped as in Wang 2018."""
    clusters = Clusters(instance)
    load = [0.0] * instance.n_processors
    chosen: dict[int, int] = {}
    for task in order_by_rank(instance, rank_u(instance)):
        if task not in chosen:
            members = clusters.home(task)
            while rest := [t for t in members if t not in chosen]:
                chosen |= greedy_share(instance, rest, load)
    latency, inv_bandwidth = instance.latency, instance.inv_bandwidth
    data = dict(zip(map(tuple, instance.edges.tolist()), instance.data.tolist(), strict=True))

    @cache
    def level(i: int) -> float:
        a, longest = chosen[i], 0.0
        for j in successors(instance, i):
            b = chosen[j]
            link = latency[a, b] + data[i, j] * inv_bandwidth[a, b] if a != b else 0.0
            longest = max(longest, float(link) + level(j))
        return cost(instance, i, a) + longest

    partial = Partial(instance, insertion=insertion)
    for task in order_by_rank(instance, [level(i) for i in range(instance.n_tasks)]):
        partial.place(task, chosen[task])
    return partial

"""Slow plain-Python versions of the kernels, written from the papers; they share no code with them.

``Partial`` is a partial schedule; the other functions work on an ``Instance``.
"""

import math
from functools import cache

import numpy as np
import pytest

from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule


def mean_communication(instance: Instance) -> dict[tuple[int, int], float]:
    """c̄ of each edge: mean over the ordered pairs of different processors."""
    p = instance.n_processors
    pairs = [(a, b) for a in range(p) for b in range(p) if a != b]
    means = {}
    for (u, v), data in zip(instance.edges.tolist(), instance.data.tolist(), strict=True):
        times = [instance.latency[a, b] + data * instance.inv_bandwidth[a, b] for a, b in pairs]
        means[u, v] = sum(times) / len(times) if times else 0.0
    return means


def mean_cost(instance: Instance, task: int) -> float:
    """w̄: mean over the eligible processors."""
    eligible = [cost for cost in instance.comp[task].tolist() if cost < math.inf]
    return sum(eligible) / len(eligible)


def successors(instance: Instance, task: int) -> list[int]:
    return [v for u, v in instance.edges.tolist() if u == task]


def predecessors(instance: Instance, task: int) -> list[int]:
    return [u for u, v in instance.edges.tolist() if v == task]


def rank_u(instance: Instance) -> list[float]:
    """Topcuoglu 2002, eq. 8."""
    comm = mean_communication(instance)

    @cache
    def rank(i: int) -> float:
        tails = [comm[i, j] + rank(j) for j in successors(instance, i)]
        return mean_cost(instance, i) + max(tails, default=0.0)

    return [rank(i) for i in range(instance.n_tasks)]


def rank_d(instance: Instance) -> list[float]:
    """Topcuoglu 2002, eq. 11."""
    comm = mean_communication(instance)

    @cache
    def rank(i: int) -> float:
        heads = [rank(j) + mean_cost(instance, j) + comm[j, i] for j in predecessors(instance, i)]
        return max(heads, default=0.0)

    return [rank(i) for i in range(instance.n_tasks)]


def oct_table(instance: Instance) -> list[list[float]]:
    """Arabnejad 2014, eq. 5."""
    comm = mean_communication(instance)
    processors = range(instance.n_processors)

    @cache
    def oct_value(i: int, k: int) -> float:
        per_successor = [
            min(
                oct_value(j, w) + instance.comp[j, w] + (comm[i, j] if w != k else 0.0)
                for w in processors
                if instance.comp[j, w] < math.inf
            )
            for j in successors(instance, i)
        ]
        return float(max(per_successor, default=0.0))

    return [[oct_value(i, k) for k in processors] for i in range(instance.n_tasks)]


def critical_path(instance: Instance) -> float:
    """CP_MIN by recursion from the exits."""

    @cache
    def finish(i: int) -> float:
        start = max((finish(j) for j in predecessors(instance, i)), default=0.0)
        return float((np.maximum(start, instance.earliest[i]) + instance.comp[i]).min())

    return max(finish(i) for i in range(instance.n_tasks))


def order_by_rank(instance: Instance, rank: list[float]) -> list[int]:
    """Decreasing rank; runs of ranks within 1e-9 of their neighbour in topological order."""
    position = {task: i for i, task in enumerate(instance.topological_order.tolist())}
    groups: list[list[int]] = []
    for task in sorted(range(instance.n_tasks), key=lambda t: -rank[t]):
        if groups and math.isclose(rank[groups[-1][-1]], rank[task], rel_tol=1e-9, abs_tol=0):
            groups[-1].append(task)
        else:
            groups.append([task])
    return [task for group in groups for task in sorted(group, key=position.__getitem__)]


def earliest_start(
    busy: list[tuple[float, float]], ready: float, duration: float, insertion: bool
) -> float:
    """First moment from ``ready`` on at which ``duration`` fits between the busy intervals."""
    if not insertion:
        return max([ready, *(finish for _, finish in busy)])
    moments = [ready, *(finish for _, finish in busy if finish > ready)]
    return min(
        moment
        for moment in moments
        if all(moment + duration <= start or moment >= finish for start, finish in busy)
    )


class Partial:
    """A partial schedule kept in dictionaries."""

    def __init__(self, instance: Instance, *, insertion: bool) -> None:
        self.instance = instance
        self.insertion = insertion
        self.placed: dict[int, tuple[int, float, float]] = {}

    def busy(self, q: int) -> list[tuple[float, float]]:
        return sorted((start, finish) for w, start, finish in self.placed.values() if w == q)

    def ready_tasks(self) -> list[int]:
        return [
            t
            for t in range(self.instance.n_tasks)
            if t not in self.placed
            and all(u in self.placed for u in predecessors(self.instance, t))
        ]

    def arrival(self, task: int, q: int) -> float:
        times = [float(self.instance.earliest[task, q])]
        for (u, v), data in zip(
            self.instance.edges.tolist(), self.instance.data.tolist(), strict=True
        ):
            if v == task:
                a, _, finish = self.placed[u]
                link = self.instance.latency[a, q] + data * self.instance.inv_bandwidth[a, q]
                times.append(finish + (link if a != q else 0.0))
        return max(times)

    def start(self, task: int, q: int) -> float:
        cost = float(self.instance.comp[task, q])
        return earliest_start(self.busy(q), self.arrival(task, q), cost, self.insertion)

    def place(self, task: int, q: int) -> None:
        start = self.start(task, q)
        self.placed[task] = (q, start, start + float(self.instance.comp[task, q]))

    def place_earliest(self, task: int) -> None:
        """On the processor of the earliest finish time; within 1e-9 the lowest index."""
        finish = {
            q: self.start(task, q) + float(self.instance.comp[task, q])
            for q in range(self.instance.n_processors)
            if self.instance.comp[task, q] < math.inf
        }
        best = min(finish.values())
        self.place(task, min(q for q in finish if finish[q] <= best + 1e-9 * abs(best)))

    def consistent(self, schedule: "Partial") -> set[tuple[int, int]]:
        """The ready pairs that put a task where the complete schedule has it, at the same start."""
        wanted = {task: schedule.placed[task][:2] for task in self.ready_tasks()}
        return {(t, q) for t, (q, start) in wanted.items() if self.start(t, q) == start}

    def makespan(self) -> float:
        return max(finish for _, _, finish in self.placed.values())


def heft(instance: Instance, *, insertion: bool = True) -> Partial:
    """Topcuoglu 2002, fig. 3."""
    partial = Partial(instance, insertion=insertion)
    for task in order_by_rank(instance, rank_u(instance)):
        partial.place_earliest(task)
    return partial


def complete(
    partial: Partial, priority: np.ndarray, cost_to_go: np.ndarray, sigma: float, noise: np.ndarray
) -> float:
    """Makespan of the randomised completion that ``completion.complete`` describes."""
    instance = partial.instance
    n, p = instance.comp.shape
    position = {task: i for i, task in enumerate(instance.topological_order.tolist())}
    while ready := partial.ready_tasks():
        task = max(ready, key=lambda t: (priority[t] * (1.0 + sigma * noise[t]), -position[t]))
        score = {
            q: (partial.start(task, q) + instance.comp[task, q] + cost_to_go[task, q])
            * (1.0 + sigma / 3.0 * noise[n + task * p + q])
            for q in range(p)
            if instance.comp[task, q] < math.inf
        }
        partial.place(task, min(score, key=score.__getitem__))
    return partial.makespan()


def violation(instance: Instance, schedule: Schedule) -> float:
    """By how much the worst constraint is violated (time); 0 for a valid schedule."""
    n = instance.n_tasks
    worst = [0.0]
    for t in range(n):
        cost = instance.comp[t, schedule.processor[t]]
        worst.append(instance.earliest[t, schedule.processor[t]] - schedule.start[t])
        worst.append(abs(schedule.finish[t] - schedule.start[t] - cost))
        worst.extend(
            min(
                schedule.finish[t] - schedule.start[other],
                schedule.finish[other] - schedule.start[t],
            )
            for other in range(n)
            if other != t and schedule.processor[other] == schedule.processor[t]
        )
    for (u, v), data in zip(instance.edges.tolist(), instance.data.tolist(), strict=True):
        a, b = schedule.processor[u], schedule.processor[v]
        link = instance.latency[a, b] + data * instance.inv_bandwidth[a, b] if a != b else 0.0
        worst.append(schedule.finish[u] + link - schedule.start[v])
    return float(max(worst))


def assert_same(schedule: Schedule, partial: Partial) -> None:
    """A schedule is valid, and that of a reference but for rounding."""
    schedule.validate(partial.instance)
    for task, (q, start, finish) in partial.placed.items():
        assert schedule.processor[task] == q
        assert schedule.start[task] == pytest.approx(start, rel=1e-12)
        assert schedule.finish[task] == pytest.approx(finish, rel=1e-12)

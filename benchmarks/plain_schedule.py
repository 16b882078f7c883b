"""Partial schedules in plain Python lists; no benchmark itself."""

from bisect import bisect_right
from math import inf

from aerl_trainer.tree.problem import search_problem
from dagsched_env import Instance

__all__ = ["Partial", "Problem"]


class Problem:
    """An instance in lists, with what the search knows of it beforehand."""

    def __init__(self, instance: Instance) -> None:
        problem = search_problem(instance)
        context = problem.encoding
        self.n, self.p = instance.comp.shape
        self.comp, self.latency = instance.comp.tolist(), instance.latency.tolist()
        self.inv_bandwidth = instance.inv_bandwidth.tolist()
        self.rank_u, self.oct = context.rank_u.tolist(), context.oct.tolist()
        self.cp_min, self.sigma = context.cp_min, problem.rollout_sigma
        self.rank_scale = context.rank_scale
        self.eligible = [[q for q, cost in enumerate(row) if cost < inf] for row in self.comp]
        self.inputs: list[list[tuple[int, float]]] = [[] for _ in range(self.n)]
        self.successors: list[list[int]] = [[] for _ in range(self.n)]
        for (u, v), data in zip(instance.edges.tolist(), instance.data.tolist(), strict=True):
            self.inputs[v].append((u, data))
            self.successors[u].append(v)


class Partial:
    """The schedule that a path of actions ``task * p + processor`` makes, by insertion."""

    def __init__(self, problem: Problem, path: tuple[int, ...]) -> None:
        self.problem = problem
        self.processor = [-1] * problem.n
        self.start, self.finish = [0.0] * problem.n, [0.0] * problem.n
        self.busy: list[tuple[list[float], list[float]]] = [([], []) for _ in range(problem.p)]
        self.missing = [len(inputs) for inputs in problem.inputs]
        self.ready = [task for task in range(problem.n) if not self.missing[task]]
        for action in path:
            self.place(*divmod(action, problem.p))

    def earliest(self, task: int, q: int) -> tuple[int, float]:
        """Position among the intervals of processor q, and start."""
        problem, start = self.problem, 0.0
        for u, data in problem.inputs[task]:
            source = self.processor[u]
            transfer = problem.latency[source][q] + data * problem.inv_bandwidth[source][q]
            start = max(start, self.finish[u] + transfer)
        starts, finishes = self.busy[q]
        first = bisect_right(finishes, start)
        for i in range(first, len(starts)):
            if start + problem.comp[task][q] <= starts[i]:
                return i, start
            start = max(start, finishes[i])
        return len(starts), start

    def place(self, task: int, q: int) -> None:
        index, start = self.earliest(task, q)
        finish = start + self.problem.comp[task][q]
        self.processor[task], self.start[task], self.finish[task] = q, start, finish
        self.busy[q][0].insert(index, start)
        self.busy[q][1].insert(index, finish)
        self.ready.remove(task)
        for successor in self.problem.successors[task]:
            self.missing[successor] -= 1
            if not self.missing[successor]:
                self.ready.append(successor)

    def total(self, task: int, q: int) -> float:
        """Optimistic end of the schedule with the task there: EFT + OCT."""
        return self.earliest(task, q)[1] + self.problem.comp[task][q] + self.problem.oct[task][q]

    def complete(self, noise: list[float]) -> float:
        """Finish by randomised list scheduling, with n + n·p standard normals; the makespan."""
        problem, sigma = self.problem, self.problem.sigma
        while self.ready:
            task = max(self.ready, key=lambda t: problem.rank_u[t] * (1 + sigma * noise[t]))
            first = problem.n + task * problem.p
            totals = {
                q: self.total(task, q) * (1 + sigma / 3 * noise[first + q])
                for q in problem.eligible[task]
            }
            self.place(task, min(totals, key=totals.__getitem__))
        return max(self.finish)

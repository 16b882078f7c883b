"""The optimal makespan of a tiny instance by trying everything; shares no code with the package."""

import math

from dagsched_env.problem.instance import Instance

__all__ = ["optimum"]


def optimum(instance: Instance) -> float:
    """Shortest makespan over all processors for all tasks in all topological orders.

    Every task is appended behind the tasks of its processor: some order of this kind leads to each
    semi-active schedule, and one of those is optimal.
    """
    n, p = instance.comp.shape
    comp = instance.comp.tolist()
    inputs: list[list[tuple[int, float]]] = [[] for _ in range(n)]
    for (u, v), data in zip(instance.edges.tolist(), instance.data.tolist(), strict=True):
        inputs[v].append((u, data))
    latency, inv_bandwidth = instance.latency.tolist(), instance.inv_bandwidth.tolist()
    where: dict[int, int] = {}
    finish: dict[int, float] = {}
    best = math.inf

    def arrival(u: int, data: float, q: int) -> float:
        a = where[u]
        return finish[u] + (0.0 if a == q else latency[a][q] + data * inv_bandwidth[a][q])

    def extend(free: list[float], makespan: float) -> None:
        nonlocal best
        if makespan >= best:
            return
        if len(where) == n:
            best = makespan
            return
        for t in range(n):
            if t in where or any(u not in where for u, _ in inputs[t]):
                continue
            for q in range(p):
                if comp[t][q] == math.inf:
                    continue
                begin = max(free[q], instance.earliest[t, q])
                start = max([begin, *(arrival(u, data, q) for u, data in inputs[t])])
                where[t], finish[t] = q, start + comp[t][q]
                extend([*free[:q], finish[t], *free[q + 1 :]], max(makespan, finish[t]))
                del where[t], finish[t]

    extend([0.0] * p, 0.0)
    return best

"""Instances on which one scheduler does badly and another well, found by simulated annealing.

The idea is that of PISA: J. Coleman, B. Krishnamachari 2025, "PISA: An adversarial approach to
comparing task graph scheduling algorithms", IPDPS, arXiv:2403.07120. Benchmarks of random graphs
hide where an algorithm fails. A search over instances shows it, on a graph that is small enough to
understand.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dagsched_env.kernels.arrays import Floats
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.platforms.altered import altered
from dagsched_env.problem.schedule import Schedule

__all__ = ["MOVES", "AdversarialResult", "find_adversarial"]

LEAST_COST = 0.01
"""Lower limit of execution times / their upper limit, so that no makespan becomes zero."""

STEP = 0.25
"""Largest change of a number in one move / its upper limit."""


@dataclass(frozen=True)
class AdversarialResult:
    """What ``find_adversarial`` found.

    Args:
        instance: the worst instance seen.
        ratio: makespan of the scheduler / makespan of its rival on it.
        trace: ``[evaluations]`` largest ratio so far; the first is that of the start.
    """

    instance: Instance
    ratio: float
    trace: Floats


class Limits(NamedTuple):
    """Limits of the numbers of all instances of a search."""

    cost: float  # largest execution time; the least is LEAST_COST times this
    data: float  # largest amount; the least is 0


def find_adversarial(
    scheduler: Callable[[Instance], Schedule],
    rival: Callable[[Instance], Schedule],
    start: Instance,
    *,
    max_evaluations: int = 2000,
    seed: int | np.random.Generator = 0,
    moves: Sequence[str] = ("cost", "data", "add_edge", "remove_edge"),
    start_temperature: float = 0.1,
    end_temperature: float = 0.001,
) -> AdversarialResult:
    """Change an instance step by step so that makespan(scheduler) / makespan(rival) grows.

    Each step makes one move, chosen uniformly among those that are possible. A move that lowers the
    ratio from r to r' is kept with probability (r' / r)^(1 / T), where the temperature T falls
    geometrically. Tasks, processors, links, demands and eligibility stay as they are. Times stay
    between 1 % and 100 % of the largest one of ``start``, data below its largest amount (or below
    the largest execution time where ``start`` sends no data).

    Args:
        scheduler: the scheduler whose weakness is sought; should be deterministic.
        rival: the scheduler with which it is compared.
        start: the instance with which the search begins.
        max_evaluations: instances on which both are run, ≥ 1, the start among them.
        seed: of the moves: the same seed gives the same result.
        moves: names from ``MOVES``.
        start_temperature: T at the start, > 0.
        end_temperature: T at the end, > 0.

    Raises:
        DAGSchedError: an argument is out of its range, or all costs of ``start`` are zero.
    """
    _check(max_evaluations, moves, start_temperature, end_temperature)
    cost = float(start.comp[np.isfinite(start.comp)].max())
    if cost == 0:
        raise DAGSchedError("all costs of the start are 0: give it execution times")
    limits = Limits(cost, float(start.data.max(initial=0.0)) or cost)
    rng = np.random.default_rng(seed)
    name = f"adversarial-{start.name}" if start.name else "adversarial"
    current = altered(start, comp=_limited(start.comp, limits), name=name)
    ratio = _ratio(scheduler, rival, current)
    best, best_ratio, trace = current, ratio, [ratio]
    while len(trace) < max_evaluations:
        neighbour = _neighbour(current, limits, moves, rng)
        if neighbour is None:
            break
        share = len(trace) / max_evaluations
        temperature = start_temperature * (end_temperature / start_temperature) ** share
        found = _ratio(scheduler, rival, neighbour)
        if rng.random() < math.exp(min(0.0, math.log(found / ratio) / temperature)):
            current, ratio = neighbour, found
        if found > best_ratio:
            best, best_ratio = neighbour, found
        trace.append(best_ratio)
    return AdversarialResult(best, best_ratio, np.array(trace))


def _ratio(
    scheduler: Callable[[Instance], Schedule],
    rival: Callable[[Instance], Schedule],
    instance: Instance,
) -> float:
    return scheduler(instance).makespan / rival(instance).makespan


# -- moves ---------------------------------------------------------------------------------------


def _neighbour(
    instance: Instance, limits: Limits, moves: Sequence[str], rng: np.random.Generator
) -> Instance | None:
    """The instance after one move; None if none is possible."""
    for i in rng.permutation(len(moves)):
        changed = MOVES[moves[i]](instance, limits, rng)
        if changed is not None:
            return changed
    return None


def _change_cost(instance: Instance, limits: Limits, rng: np.random.Generator) -> Instance:
    """Change the time of one task on one eligible processor."""
    eligible = np.argwhere(np.isfinite(instance.comp))
    t, q = eligible[int(rng.integers(len(eligible)))]
    comp = instance.comp.copy()
    comp[t, q] += limits.cost * STEP * rng.uniform(-1.0, 1.0)
    return altered(instance, comp=_limited(comp, limits))


def _change_data(instance: Instance, limits: Limits, rng: np.random.Generator) -> Instance | None:
    """Change the amount on one edge."""
    if instance.n_edges == 0:
        return None
    e = int(rng.integers(instance.n_edges))
    data = instance.data.copy()
    data[e] = np.clip(data[e] + limits.data * STEP * rng.uniform(-1.0, 1.0), 0.0, limits.data)
    return altered(instance, data=data)


def _add_edge(instance: Instance, limits: Limits, rng: np.random.Generator) -> Instance | None:
    """Add an edge between two tasks without one, along the topological order."""
    order = instance.topological_order
    linked = np.zeros((instance.n_tasks, instance.n_tasks), dtype=bool)
    linked[instance.edges[:, 0], instance.edges[:, 1]] = True
    earlier, later = np.triu_indices(instance.n_tasks, 1)
    free = np.flatnonzero(~linked[order[earlier], order[later]])
    if free.size == 0:
        return None
    pair = free[int(rng.integers(free.size))]
    edge = [order[earlier[pair]], order[later[pair]]]
    return altered(
        instance,
        edges=np.vstack([instance.edges, edge]),
        data=np.append(instance.data, limits.data * rng.random()),
    )


def _remove_edge(instance: Instance, limits: Limits, rng: np.random.Generator) -> Instance | None:
    if instance.n_edges == 0:
        return None
    e = int(rng.integers(instance.n_edges))
    return altered(
        instance, edges=np.delete(instance.edges, e, axis=0), data=np.delete(instance.data, e)
    )


MOVES: dict[str, Callable[[Instance, Limits, np.random.Generator], Instance | None]] = {
    "add_edge": _add_edge,
    "cost": _change_cost,
    "data": _change_data,
    "remove_edge": _remove_edge,
}
"""Name → move: one changed copy of an instance, or None where the move is impossible."""


# -- arguments -----------------------------------------------------------------------------------


def _limited(comp: Floats, limits: Limits) -> Floats:
    """``[n, p]`` the finite times, moved within their limits."""
    within = np.clip(comp, LEAST_COST * limits.cost, limits.cost)
    return np.where(np.isfinite(comp), within, np.inf)


def _check(
    max_evaluations: int, moves: Sequence[str], start_temperature: float, end_temperature: float
) -> None:
    if max_evaluations < 1:
        raise DAGSchedError(f"max_evaluations is {max_evaluations}: give at least 1")
    if not moves:
        raise DAGSchedError(f"moves is empty: give some of {', '.join(MOVES)}")
    for move in moves:
        if move not in MOVES:
            raise DAGSchedError(f"no move {move!r}: there are {', '.join(MOVES)}")
    for name, value in (
        ("start_temperature", start_temperature),
        ("end_temperature", end_temperature),
    ):
        if not (math.isfinite(value) and value > 0):
            raise DAGSchedError(f"{name} is {value!r}: give a finite number > 0")

"""What a run is judged by, and what each moment of it costs."""

from collections.abc import Callable, Mapping

import numpy as np

from dagsched_env.kernels.arrays import Floats
from dagsched_env.online.world import World
from dagsched_env.problem.errors import DAGSchedError

__all__ = ["OBJECTIVES", "Objective", "measures"]


def makespan(world: World, completion: Floats) -> float:
    """When the last graph is finished (time)."""
    return float(completion.max())


def mean_completion(world: World, completion: Floats) -> float:
    """Mean time from the arrival of a graph to its completion."""
    return float((completion - world.arrival).mean())


def p95_completion(world: World, completion: Floats) -> float:
    """95 % quantile of the times from arrival to completion (linear interpolation)."""
    return float(np.quantile(completion - world.arrival, 0.95))


def slowdown(world: World, completion: Floats) -> float:
    """Mean of the time from arrival to completion / the lower bound of the graph alone."""
    alone = np.where(world.alone > 0, world.alone, 1.0)
    return float(((completion - world.arrival) / alone).mean())


def tardiness(world: World, completion: Floats) -> float:
    """Sum over the graphs of weight × time between deadline and completion, where it is late."""
    late = np.maximum(completion - world.deadline, 0.0)
    return float((world.weight * late).sum())


Objective = Callable[[World, Floats], float]
"""``(world, completion [u]) -> number``; less is better."""

OBJECTIVES: Mapping[str, Objective] = {
    "makespan": makespan,
    "mean_completion": mean_completion,
    "p95_completion": p95_completion,
    "slowdown": slowdown,
    "tardiness": tardiness,
}
"""Name → what a run is judged by."""


def measures(world: World, completion: Floats) -> dict[str, float]:
    """All of them.

    Args:
        world: the run.
        completion: ``[u]`` when the last task of each graph finished.
    """
    if len(completion) == 1:  # for speed: of one graph they are numbers
        return _of_one(world, float(completion[0]))
    return {name: objective(world, completion) for name, objective in OBJECTIVES.items()}


def _of_one(world: World, completion: float) -> dict[str, float]:
    took = completion - float(world.arrival[0])
    late = max(completion - float(world.deadline[0]), 0.0)
    return {
        "makespan": completion,
        "mean_completion": took,
        "p95_completion": took,
        "slowdown": took / (float(world.alone[0]) or 1.0),
        "tardiness": float(world.weight[0]) * late,
    }


def rates(name: str, world: World) -> tuple[Floats, Floats] | None:
    """What each graph costs per unit of time, and from when on, until it is finished.

    Returns:
        Two rows ``[u]``, whose integral over the run is the objective; None for
        ``p95_completion``, which is known at the end alone, and ``makespan``, of which each unit of
        time costs one.

    Raises:
        DAGSchedError: no such objective.
    """
    u = world.n_graphs
    if name not in OBJECTIVES:
        raise DAGSchedError(f"objective={name!r} is unknown: give one of {', '.join(OBJECTIVES)}")
    if name == "mean_completion":
        return np.full(u, 1.0 / u), world.arrival
    if name == "slowdown":
        return 1.0 / np.where(world.alone > 0, world.alone, 1.0) / u, world.arrival
    if name == "tardiness":
        return world.weight, world.deadline
    return None

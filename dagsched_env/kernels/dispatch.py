"""Whole schedules: list scheduling by earliest finish time, and tails of partial schedules."""

import numpy as np

from dagsched_env.kernels.arrays import Floats, InstanceArrays, Ints, StateArrays
from dagsched_env.kernels.jit import kernel
from dagsched_env.kernels.ranks import RANK_TOLERANCE
from dagsched_env.kernels.state import place
from dagsched_env.kernels.timeline import data_ready_time, earliest_slot

__all__ = ["best_processor", "complete", "decode", "list_schedule"]


@kernel
def best_processor(g: InstanceArrays, s: StateArrays, task: int, insertion: bool) -> int:
    """Eligible processor with the earliest finish time of a ready task; ties: lowest index."""
    best, best_finish = -1, np.inf
    for q in range(g.comp.shape[1]):
        if g.comp[task, q] == np.inf:
            continue
        ready = data_ready_time(g, s, task, q)
        _, start = earliest_slot(s, q, ready, g.comp[task, q], insertion)
        finish = start + g.comp[task, q]
        if finish < best_finish - RANK_TOLERANCE * abs(finish):
            best, best_finish = q, finish
    return best


@kernel
def list_schedule(g: InstanceArrays, s: StateArrays, order: Ints, insertion: bool) -> None:
    """Place the tasks in a topological ``order``, each where it finishes first."""
    for t in order:
        place(g, s, t, best_processor(g, s, t, insertion), insertion, False)


@kernel
def decode(
    g: InstanceArrays, s: StateArrays, order: Ints, assignment: Ints, insertion: bool
) -> None:
    """Place the tasks in a topological ``order``, task t on ``assignment[t]``."""
    for t in order:
        place(g, s, t, assignment[t], insertion, False)


@kernel
def complete(
    g: InstanceArrays,
    s: StateArrays,
    priority: Floats,
    cost_to_go: Floats,
    sigma: float,
    noise: Floats,
    insertion: bool,
) -> float:
    """Finish a partial schedule by randomised list scheduling; returns the makespan.

    The ready task of highest ``priority[t]·(1 + σ z_t)`` goes to the processor of least
    ``(EFT + cost_to_go[t, q])·(1 + σ/3 z_tq)``. ``noise`` holds the ``n + n·p`` standard normals z;
    σ = 0 makes it deterministic. With rank_u and the OCT this is PEFT's processor choice in
    HEFT's order.
    """
    n, p = g.comp.shape
    while s.counts[1] > 0:
        task, highest = -1, -np.inf
        for i in range(s.counts[1]):
            t = s.ready[i]
            value = priority[t] * (1.0 + sigma * noise[t])
            earlier = task >= 0 and g.topo_position[t] < g.topo_position[task]
            if value > highest or (value == highest and earlier):
                task, highest = t, value
        chosen, least = -1, np.inf
        for q in range(p):
            if g.comp[task, q] == np.inf:
                continue
            ready = data_ready_time(g, s, task, q)
            _, start = earliest_slot(s, q, ready, g.comp[task, q], insertion)
            value = start + g.comp[task, q] + cost_to_go[task, q]
            value *= 1.0 + sigma / 3.0 * noise[n + task * p + q]
            if chosen < 0 or value < least:
                chosen, least = q, value
        place(g, s, task, chosen, insertion, False)
    return s.totals[0]  # type: ignore[no-any-return]

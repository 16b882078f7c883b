"""Completion of a partial schedule by list scheduling, with or without randomness."""

import numpy as np

from dagsched_env.kernels.arrays import MAKESPAN, N_READY, Floats, InstanceArrays, StateArrays
from dagsched_env.kernels.graph.ranks import RANK_TOLERANCE
from dagsched_env.kernels.jit import borrowing
from dagsched_env.kernels.state.timeline import data_ready_time, earliest_slot
from dagsched_env.kernels.state.transitions import place


@borrowing
def best_processor(g: InstanceArrays, s: StateArrays, task: int, insertion: bool) -> int:
    """The eligible processor on which a task finishes first; ties: lowest index.

    Args:
        task: a ready task.
        insertion: use idle gaps; False appends only.
    """
    best, best_finish = -1, np.inf
    for q in range(g.comp.shape[1]):
        if g.comp[task, q] == np.inf:
            continue
        ready = data_ready_time(g, s, task, q)
        _, start = earliest_slot(g, s, task, q, ready, g.comp[task, q], insertion)
        finish = start + g.comp[task, q]
        if finish < best_finish - RANK_TOLERANCE * abs(finish):
            best, best_finish = q, finish
    return best


@borrowing
def complete(
    g: InstanceArrays,
    s: StateArrays,
    priority: Floats,
    cost_to_go: Floats,
    sigma: float,
    noise: Floats,
    insertion: bool,
) -> float:
    """Complete a partial schedule by randomised list scheduling.

    The ready task with the highest ``priority[t]·(1 + σ z_t)`` is next. It goes to the processor
    with the least ``(EFT + cost_to_go[t, q])·(1 + σ/3 z_tq)``. With rank_u and the OCT this is the
    processor choice of PEFT in the order of HEFT.

    Args:
        s: a partial schedule; complete afterwards.
        priority: ``[n]``.
        cost_to_go: ``[n, p]`` (time).
        sigma: σ ≥ 0; 0 is deterministic.
        noise: ``[n + n·p]`` the standard normals z: those of the tasks, then those of the pairs.
        insertion: use idle gaps; False appends only.

    Returns:
        The makespan.
    """
    n, p = g.comp.shape
    while s.counts[N_READY] > 0:
        task, highest = -1, -np.inf
        for i in range(s.counts[N_READY]):
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
            _, start = earliest_slot(g, s, task, q, ready, g.comp[task, q], insertion)
            value = start + g.comp[task, q] + cost_to_go[task, q]
            value *= 1.0 + sigma / 3.0 * noise[n + task * p + q]
            if chosen < 0 or value < least:
                chosen, least = q, value
        place(g, s, task, chosen, insertion, False)
    return s.totals[MAKESPAN]  # type: ignore[no-any-return]

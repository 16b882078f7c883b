"""Kernels: what a pass over the ready tasks sees when it begins, and of each pair."""

import math

import numpy as np

from aerl_trainer.online.context import (
    DONE_NOW,
    LEAST_WORK,
    MOST_WORK,
    PRESSURE_NOW,
    SURPRISE_NOW,
    TASKS,
    DispatchContext,
    DispatchWork,
)
from aerl_trainer.online.features import (
    AGE,
    COST,
    COST_TO_GO,
    DEGREE,
    DONE,
    DURATION,
    FINISH,
    FINISH_SCALED,
    GAP,
    INPUTS,
    LENGTH,
    LIMIT,
    NOW_THERE,
    OVERDUE,
    PLACE,
    PRESSURE,
    QUEUE,
    RANK,
    REGRET,
    ROOM,
    SLOWNESS,
    SURPRISE,
    TAKEN,
    WAITED,
    WORK,
    WORK_ABOVE,
)
from dagsched_env.kernels.arrays import InstanceArrays
from dagsched_env.kernels.graph.resources import has_resources
from dagsched_env.kernels.jit import borrowing, embedded
from dagsched_env.kernels.online.situation import (
    ABSENT,
    FINISHED,
    N_READY,
    N_RUNNING,
    NOW,
    SituationArrays,
    can_start,
    expected_finish,
)


@borrowing
def look(g: InstanceArrays, s: SituationArrays, c: DispatchContext, w: DispatchWork) -> None:
    """Fill in what holds for the whole pass: machines, graphs, the moment."""
    now, p = s.clock[NOW], g.comp.shape[1]
    for q in range(p):
        w.free_at[q], w.queue[q], w.overdue[q], w.age[q] = now, 0, 0.0, 0.0
        w.taken[q] = _in_use(g, s, q)
    for i in range(s.counts[N_RUNNING]):
        t = s.listed[1, i]
        q = s.machine[t]
        w.holds[i], w.until[t] = t, expected_finish(s, t)
        w.free_at[q] = max(w.free_at[q], w.until[t])
        planned = max(s.finish[t] - s.start[t], 1e-6 * c.scale[0])
        w.overdue[q] = max(w.overdue[q], min((now - s.finish[t]) / planned, LIMIT))
        w.age[q] = max(w.age[q], min((now - s.start[t]) / planned, LIMIT))
    for i in range(s.counts[N_READY]):
        w.seen[s.listed[0, i]] = False
    _look_at_graphs(g, s, c, w)
    idle = 0
    for q in range(p):
        idle += 1 if s.up[q] and w.taken[q] < 1.0 else 0
    w.moment[PRESSURE_NOW] = math.log1p(s.counts[N_READY] / max(idle, 1)) / 3.0


@embedded
def _in_use(g: InstanceArrays, s: SituationArrays, q: int) -> float:
    """Share of a machine that is in use, by the resource of which it has least left."""
    if not has_resources(g):
        return 1.0 - s.free[q, 0]  # type: ignore[no-any-return]
    share = 0.0
    for r in range(s.free.shape[1]):
        if g.capacity[q, r] > 0:
            share = max(share, 1.0 - s.free[q, r] / g.capacity[q, r])
    return share


@borrowing
def _look_at_graphs(
    g: InstanceArrays, s: SituationArrays, c: DispatchContext, w: DispatchWork
) -> None:
    """Work left in each graph, and how durations have differed from what was expected."""
    for u in range(w.left.shape[0]):
        w.left[u] = 0.0
    known, done, difference, counted = 0, 0, 0.0, 0
    for t in range(g.comp.shape[0]):
        if s.status[t] == ABSENT:
            continue
        known += 1
        if s.status[t] == FINISHED:
            done += 1
            planned = g.comp[t, s.machine[t]]
            if planned > 0.0:
                counted += 1
                took = s.finish[t] - s.start[t]
                difference += min(abs(took - planned) / planned, LIMIT)
        else:
            w.left[c.graph[t]] += g.mean_comp[t]
    most, least = 0.0, np.inf
    for u in range(w.left.shape[0]):
        if w.left[u] > 0.0:
            most, least = max(most, w.left[u]), min(least, w.left[u])
    w.moment[MOST_WORK], w.moment[LEAST_WORK] = most, least
    w.moment[DONE_NOW] = done / max(known, 1)
    w.moment[SURPRISE_NOW] = difference / max(counted, 1)


@embedded
def starts_now(g: InstanceArrays, s: SituationArrays, w: DispatchWork, row: int, q: int) -> bool:
    """Whether a task of the short list would start at once, after all that is assigned already."""
    return w.room[row, q] <= s.clock[NOW] and can_start(g, s, w.tasks[row], q)


@borrowing
def describe(
    g: InstanceArrays,
    s: SituationArrays,
    c: DispatchContext,
    w: DispatchWork,
    row: int,
    least: float,
    second: float,
    least_cost: float,
    first: int,
    last: int,
) -> None:
    """Write the features of the pairs of one task.

    Args:
        row: of the task.
        least: its least expected finish (time).
        second: its second least one, or inf.
        least_cost: its least sum of expected finish and optimistic cost (time).
        first: its pairs are ``first:last``.
        last: see ``first``.
    """
    now, t = s.clock[NOW], w.tasks[row]
    unit, scale = c.unit[t], c.scale[0]
    left, most = w.left[c.graph[t]], w.moment[MOST_WORK]
    top = c.rank[w.tasks[0]]
    for k in range(first, last):
        q, x = w.pair_machine[k], w.x[k]
        room, arrival, finish = w.room[row, q], s.arrival[t, q], w.finish[row, q]
        x[PLACE] = row / TASKS
        x[RANK] = 1.0 - c.rank[t] / top if top > 0.0 else 0.0
        x[FINISH] = min((finish - least) / unit, LIMIT) / 2.0
        x[FINISH_SCALED] = min((finish - now) / scale, 2.0 * LIMIT) / LIMIT
        x[ROOM] = min((room - now) / unit, LIMIT) / 2.0
        x[INPUTS] = min(max(arrival - now, 0.0) / unit, LIMIT) / 2.0
        x[DURATION] = min(g.comp[t, q] / unit, LIMIT) - 1.0
        x[SLOWNESS] = min(g.comp[t, q] / max(g.min_comp[t], 1e-6 * scale) - 1.0, LIMIT) / 2.0
        x[COST_TO_GO] = min(c.to_go[t, q] / unit, LIMIT) / 2.0
        x[COST] = min((finish + c.to_go[t, q] - least_cost) / unit, LIMIT) / 2.0
        x[NOW_THERE] = 1.0 if starts_now(g, s, w, row, q) else 0.0
        x[GAP] = min(max(arrival - room, 0.0) / unit, LIMIT) / 2.0
        x[OVERDUE] = w.overdue[q] / 2.0
        x[AGE] = w.age[q] / 2.0
        x[QUEUE] = min(float(w.queue[q]), LIMIT) / 2.0
        x[TAKEN] = w.taken[q]
        x[REGRET] = min((second - least) / unit, LIMIT) / 2.0
        x[LENGTH] = c.length[t]
        x[DEGREE] = c.degree[t]
        x[WAITED] = min((now - s.since[t]) / unit, LIMIT) / 2.0
        x[PRESSURE] = w.moment[PRESSURE_NOW]
        x[DONE] = w.moment[DONE_NOW]
        x[WORK] = left / most if most > 0.0 else 0.0
        x[WORK_ABOVE] = 1.0 - w.moment[LEAST_WORK] / left if left > 0.0 else 0.0
        x[SURPRISE] = w.moment[SURPRISE_NOW]

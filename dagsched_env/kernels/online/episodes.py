"""One step of many runs, each with what an agent sees of it."""

from typing import Any

import numpy as np
import numpy.typing as npt

from dagsched_env.kernels.arrays import Floats, InstanceArrays, Ints
from dagsched_env.kernels.jit import borrowing, kernel
from dagsched_env.kernels.online.features import (
    EpisodeArrays,
    Float32s,
    Layout,
    clear,
    describe,
    show_graphs,
    show_machines,
)
from dagsched_env.kernels.online.situation import (
    FINISHED,
    N_FINISHED,
    NOW,
    Bools,
    SituationArrays,
    begin,
    start,
)
from dagsched_env.kernels.online.world import WorldArrays, advance, open_world, settle, start_in

NOTHING, MAKESPAN, RATES = range(3)
"""What a step costs: 0, the time that passes, or what graphs cost per unit of time."""

BEGIN = -1
"""In place of an action: a new episode begins."""


@kernel
def step(
    episodes: Any,
    actions: Ints,
    limit: float,
    layout: Layout,
    floats: Float32s,
    indices: Ints,
    masks: npt.NDArray[np.int8],
    legal: Bools,
    costs: Floats,
    done: Bools,
) -> None:
    """One step of each episode: start a task or wait, then go on until something can start.

    Args:
        episodes: list of B tuples ``InstanceArrays``, ``SituationArrays``, ``WorldArrays``,
            ``EpisodeArrays``; changed.
        actions: ``[B]`` ``t * P + q`` or ``N * P`` to wait, legal; or ``BEGIN``; or less, to do
            nothing.
        limit: scaled times are cut off at it.
        layout: of the observations.
        floats: ``[B, W]`` features of type float.
        indices: ``[B, 2 M]`` sources, then targets of the edges.
        masks: ``[B, N + P + M]`` of tasks, processors and edges.
        legal: ``[B, N * P + 1]``.
        costs: ``[B]`` receives what the time that has passed costs.
        done: ``[B]`` receives whether all tasks have finished.
    """
    for i in range(len(episodes)):
        if actions[i] < BEGIN:
            costs[i] = 0.0
            continue
        g, s, w, e = episodes[i]
        costs[i] = _step(g, s, w, e, actions[i], layout)
        if actions[i] == BEGIN:
            clear(g, layout, floats[i], indices[i], masks[i], legal[i])
            e.shown[0] = 0
            show_machines(e, g, layout, floats[i])
        show_graphs(w, e, layout, floats[i], indices[i], masks[i])
        describe(g, s, w, e, limit, layout, floats[i], legal[i])
        done[i] = s.counts[N_FINISHED] == g.comp.shape[0]


@borrowing
def _step(
    g: InstanceArrays,
    s: SituationArrays,
    w: WorldArrays,
    e: EpisodeArrays,
    action: int,
    layout: Layout,
) -> float:
    if action == BEGIN:
        begin(g, s)
        open_world(g, s, w)
        settle(g, s, w)  # a later arrival moves the clock: the first step is charged for it
        e.charged[0] = 0.0 if e.charge[0] == MAKESPAN else -np.inf  # deadlines may be past
        return 0.0
    before = e.charged[0]
    if action < layout.max_tasks * layout.max_processors:
        task = action // layout.max_processors
        start(g, s, task, action % layout.max_processors)
        start_in(g, s, w, task)
    else:
        advance(g, s, w)
    settle(g, s, w)
    e.charged[0] = s.clock[NOW]
    if e.charge[0] == MAKESPAN:
        return s.clock[NOW] - before  # type: ignore[no-any-return]
    return _charged(s, w, e, before) if e.charge[0] == RATES else 0.0


@borrowing
def _charged(s: SituationArrays, w: WorldArrays, e: EpisodeArrays, before: float) -> float:
    """What the graphs cost from a time on until now."""
    total = 0.0
    for u in range(w.arrival.shape[0]):
        since = max(before, e.since[u])
        if since >= s.clock[NOW]:
            continue
        end = 0.0
        for t in range(w.first[u], w.first[u + 1]):
            if s.status[t] != FINISHED:
                end = s.clock[NOW]
                break
            end = max(end, s.finish[t])
        total += e.rate[u] * max(0.0, end - since)
    return total

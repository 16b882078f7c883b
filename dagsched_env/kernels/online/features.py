"""What an agent sees of a run."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dagsched_env.kernels.arrays import Floats, InstanceArrays, Ints
from dagsched_env.kernels.graph.resources import has_resources
from dagsched_env.kernels.jit import borrowing, embedded
from dagsched_env.kernels.online.dispatch import room_from
from dagsched_env.kernels.online.situation import (
    FINISHED,
    N_READY,
    N_RUNNING,
    NOW,
    READY,
    RUNNING,
    WAITING,
    Bools,
    SituationArrays,
    can_start,
    expected_finish,
)
from dagsched_env.kernels.online.world import (
    GRAPHS,
    WorldArrays,
    next_event,
)

Float32s = npt.NDArray[np.float32]

# Rows of the features that change, in the order of ``dagsched_env.environment.online.features``.
STATUS, WAITED, LEFT, LATE, GRAPH_LEFT, GRAPH_AGE, URGENCY = 0, 4, 5, 6, 7, 8, 9  # of a task
WORKING, BUSY = range(2)  # of a processor
PLACED, INPUTS, EFT, STARTABLE = range(4)  # of a pair
OF_TASK, OF_PROCESSOR, OF_PAIR = 10, 2, 4
"""How many there are."""

# Groups of the features that do not change, in ``EpisodeArrays.static``.
TASK, PAIR, DEMAND, EDGE, PROCESSOR, CAPACITY = range(6)


class Layout(NamedTuple):
    """Where features are in one row of floats, and the padded sizes."""

    tasks: int  # first entry of the block [OF_TASK, N]
    processors: int  # [OF_PROCESSOR, P]
    pairs: int  # [OF_PAIR, N, P]
    free: int  # [P, K]
    max_tasks: int  # N
    max_processors: int  # P
    max_edges: int  # M
    resources: int  # K


class EpisodeArrays(NamedTuple):
    """What else belongs to an episode."""

    full: Float32s  # [W] the features that do not change, of all graphs
    ends: Ints  # [2, m] sources and targets of the edges
    static: Ints  # [f, 2] first entry and group of each feature that does not change
    edges_of: Ints  # [u + 1] graph i has the edges edges_of[i]:edges_of[i + 1]
    charge: Ints  # [1] NOTHING, MAKESPAN or RATES
    rate: Floats  # [u]
    since: Floats  # [u] from when on a graph costs its rate
    scale: Floats  # [1] unit of all times, > 0
    shown: Ints  # [1] graphs that are in the observation
    charged: Floats  # [1] until when the time has been charged
    until: Floats  # [n] work space


@borrowing
def clear(
    g: InstanceArrays,
    layout: Layout,
    floats: Float32s,
    indices: Ints,
    masks: npt.NDArray[np.int8],
    legal: Bools,
) -> None:
    """Nothing has arrived; the processors are there."""
    for k in range(floats.shape[0]):
        floats[k] = 0.0
    for k in range(legal.shape[0]):
        legal[k] = False
    for k in range(indices.shape[0]):
        indices[k] = 0
    for k in range(masks.shape[0]):
        masks[k] = 0
    for q in range(g.comp.shape[1]):
        masks[layout.max_tasks + q] = 1


@borrowing
def show_machines(e: EpisodeArrays, g: InstanceArrays, layout: Layout, floats: Float32s) -> None:
    """Features of processors that do not change."""
    for f in range(e.static.shape[0]):
        at, group = e.static[f, 0], e.static[f, 1]
        if group == PROCESSOR:
            size = g.comp.shape[1]
        elif group == CAPACITY:
            size = g.comp.shape[1] * layout.resources
        else:
            continue
        for k in range(at, at + size):
            floats[k] = e.full[k]


@borrowing
def show_graphs(
    w: WorldArrays,
    e: EpisodeArrays,
    layout: Layout,
    floats: Float32s,
    indices: Ints,
    masks: npt.NDArray[np.int8],
) -> None:
    """Features of tasks and edges that do not change, of graphs that have arrived since."""
    if e.shown[0] == w.passed[GRAPHS]:
        return
    first, last = w.first[e.shown[0]], w.first[w.passed[GRAPHS]]
    from_edge, to_edge = e.edges_of[e.shown[0]], e.edges_of[w.passed[GRAPHS]]
    e.shown[0] = w.passed[GRAPHS]
    for f in range(e.static.shape[0]):
        at, group = e.static[f, 0], e.static[f, 1]
        low, high, width = first, last, 1
        if group == PAIR:
            width = layout.max_processors
        elif group == DEMAND:
            width = layout.resources
        elif group == EDGE:
            low, high = from_edge, to_edge
        elif group != TASK:
            continue
        for k in range(at + low * width, at + high * width):
            floats[k] = e.full[k]
    for t in range(first, last):
        masks[t] = 1
    for k in range(from_edge, to_edge):
        indices[k], indices[layout.max_edges + k] = e.ends[0, k], e.ends[1, k]
        masks[layout.max_tasks + layout.max_processors + k] = 1


@borrowing
def describe(
    g: InstanceArrays,
    s: SituationArrays,
    w: WorldArrays,
    e: EpisodeArrays,
    limit: float,
    layout: Layout,
    floats: Float32s,
    legal: Bools,
) -> None:
    """Features that change, and what is legal.

    The last call, or ``clear``, wrote the row: of tasks whose status it shows, and that neither are
    ready nor run, only what the whole graph shares has changed since.
    """
    p = g.comp.shape[1]
    size, width = layout.max_tasks, layout.max_processors
    tasks = floats[layout.tasks : layout.tasks + OF_TASK * size].reshape(OF_TASK, size)
    machines = floats[layout.processors : layout.processors + OF_PROCESSOR * width].reshape(
        OF_PROCESSOR, width
    )
    pairs = floats[layout.pairs : layout.pairs + OF_PAIR * size * width].reshape(
        OF_PAIR, size, width
    )
    now, scale = s.clock[NOW], e.scale[0]
    for u in range(w.passed[GRAPHS]):
        left = 0.0
        for t in range(w.first[u], w.first[u + 1]):
            status = s.status[t]
            left += g.mean_comp[t] if status != FINISHED else 0.0
            if status in (READY, RUNNING) or tasks[STATUS + status - WAITING, t] == 0.0:
                _describe_task(s, scale, limit, t, p, tasks, pairs, legal)
        urgency = 0.0
        if w.deadline[u] < np.inf:
            urgency = left / p / max(w.deadline[u] - now, 1e-9 * scale)
        shared = min(left / p / scale, limit)
        age = min((now - w.arrival[u]) / scale, limit)
        urgency = min(urgency, 10.0)
        for t in range(w.first[u], w.first[u + 1]):
            tasks[GRAPH_LEFT, t] = shared
            tasks[GRAPH_AGE, t] = age
            tasks[URGENCY, t] = urgency
    _describe_machines(g, s, e, limit, layout, machines, floats)
    found = False
    for i in range(s.counts[N_READY]):
        t = s.listed[0, i]
        for q in range(p):
            if g.comp[t, q] == np.inf:
                continue
            pairs[INPUTS, t, q] = min(max(s.arrival[t, q] - now, 0.0) / scale, limit)
            room = room_from(g, s, t, q, s.listed[1], s.counts[N_RUNNING], e.until)
            ends = max(room, s.arrival[t, q]) + g.comp[t, q]
            pairs[EFT, t, q] = min((ends - now) / scale, limit)
            if can_start(g, s, t, q):
                pairs[STARTABLE, t, q] = 1.0
                legal[t * width + q] = found = True
    legal[size * width] = found and next_event(g, s, w) < np.inf


@embedded
def _describe_task(
    s: SituationArrays,
    scale: float,
    limit: float,
    t: int,
    p: int,
    tasks: Float32s,
    pairs: Float32s,
    legal: Bools,
) -> None:
    """What one task has for itself; pairs as of a task that is not ready."""
    now, status = s.clock[NOW], s.status[t]
    for k in range(STATUS, WAITED):
        tasks[k, t] = 0.0
    tasks[STATUS + status - WAITING, t] = 1.0
    tasks[WAITED, t] = tasks[LEFT, t] = tasks[LATE, t] = 0.0
    if status == READY:
        tasks[WAITED, t] = min((now - s.since[t]) / scale, limit)
    elif status == RUNNING:
        tasks[LEFT, t] = min(max(s.finish[t] - now, 0.0) / scale, limit)
        tasks[LATE, t] = min(max(now - s.finish[t], 0.0) / scale, limit)
    for q in range(p):
        pairs[PLACED, t, q] = 0.0
        pairs[INPUTS, t, q] = pairs[EFT, t, q] = pairs[STARTABLE, t, q] = 0.0
        legal[t * pairs.shape[2] + q] = False
    if s.machine[t] >= 0:
        pairs[PLACED, t, s.machine[t]] = 1.0


@embedded
def _describe_machines(
    g: InstanceArrays,
    s: SituationArrays,
    e: EpisodeArrays,
    limit: float,
    layout: Layout,
    machines: Float32s,
    floats: Float32s,
) -> None:
    now, scale = s.clock[NOW], e.scale[0]
    for q in range(g.comp.shape[1]):
        machines[WORKING, q] = 1.0 if s.up[q] else 0.0
        machines[BUSY, q] = 0.0
        if has_resources(g):
            for r in range(layout.resources):
                whole = max(g.capacity[q, r], 1)
                floats[layout.free + q * layout.resources + r] = s.free[q, r] / whole
    for i in range(s.counts[N_RUNNING]):
        t = s.listed[1, i]
        e.until[t] = expected_finish(s, t)
        rest = min((e.until[t] - now) / scale, limit)
        machines[BUSY, s.machine[t]] = max(machines[BUSY, s.machine[t]], rest)

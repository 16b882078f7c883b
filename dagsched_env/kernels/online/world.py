"""What only the simulator of a run knows, and the step from one event to the next."""

from typing import NamedTuple

import numpy as np

from dagsched_env.kernels.arrays import Floats, InstanceArrays, Ints
from dagsched_env.kernels.jit import borrowing, embedded
from dagsched_env.kernels.online.situation import (
    N_FINISHED,
    N_READY,
    N_RUNNING,
    NOW,
    Bools,
    SituationArrays,
    arrive,
    can_start,
    finish,
    fits,
    lose,
    restore,
)

# WorldArrays.passed
GRAPHS, CHANGES = range(2)


class WorldArrays(NamedTuple):
    """What will happen; u graphs, c changes of machines. All but ``end`` and ``passed`` stay."""

    actual: Floats  # [n, p] what tasks really take
    arrival: Floats  # [u] of the graphs, ascending
    first: Ints  # [u + 1] graph i has the tasks first[i]:first[i + 1]
    deadline: Floats  # [u] of the graphs, inf = none
    change: Floats  # [c] times at which machines fail or come back, ascending
    changed: Ints  # [c] which one
    works: Bools  # [c] whether it comes back
    forgets: Bools  # [1] whether outputs are lost with a machine
    end: Floats  # [n] of running tasks: when they will end
    passed: Ints  # [2] graphs and changes that lie in the past


@borrowing
def start_in(g: InstanceArrays, s: SituationArrays, w: WorldArrays, t: int) -> None:
    """A task has just started: from its machine follows when it ends."""
    w.end[t] = s.clock[NOW] + w.actual[t, s.machine[t]]


@borrowing
def open_world(g: InstanceArrays, s: SituationArrays, w: WorldArrays) -> None:
    """What happens at time 0."""
    w.passed[GRAPHS] = w.passed[CHANGES] = 0
    _happen(g, s, w)


@borrowing
def advance(g: InstanceArrays, s: SituationArrays, w: WorldArrays) -> bool:
    """Go to the next event: a task ends, inputs arrive where there is room, a graph arrives, a
    machine fails or comes back. Of one time tasks end first, then machines change.

    Returns:
        False where nothing will ever happen again.
    """
    time = next_event(g, s, w)
    if time == np.inf:
        return False
    s.clock[NOW] = time
    _happen(g, s, w)
    return True


@borrowing
def next_event(g: InstanceArrays, s: SituationArrays, w: WorldArrays) -> float:
    """When something happens next; ∞ if nothing will."""
    now, time = s.clock[NOW], np.inf
    for i in range(s.counts[N_RUNNING]):
        time = min(time, w.end[s.listed[1, i]])
    if w.passed[GRAPHS] < w.arrival.shape[0]:
        time = min(time, w.arrival[w.passed[GRAPHS]])
    if w.passed[CHANGES] < w.change.shape[0]:
        time = min(time, w.change[w.passed[CHANGES]])
    for i in range(s.counts[N_READY]):
        t = s.listed[0, i]
        for q in range(g.comp.shape[1]):
            if now < s.arrival[t, q] < time and fits(g, s, t, q):
                time = s.arrival[t, q]
    return time


@borrowing
def settle(g: InstanceArrays, s: SituationArrays, w: WorldArrays) -> bool:
    """Go on until something can start; False where the run is over."""
    while not _some_can_start(g, s):
        # Machines may still be lost, and come back, once all tasks are done: no time goes by then.
        if s.counts[N_FINISHED] == g.comp.shape[0] or not advance(g, s, w):
            return False
    return True


@embedded
def _some_can_start(g: InstanceArrays, s: SituationArrays) -> bool:
    for i in range(s.counts[N_READY]):
        for q in range(g.comp.shape[1]):
            if can_start(g, s, s.listed[0, i], q):
                return True
    return False


@embedded
def _happen(g: InstanceArrays, s: SituationArrays, w: WorldArrays) -> None:
    """All that is due now."""
    now = s.clock[NOW]
    i = 0
    while i < s.counts[N_RUNNING]:
        t = s.listed[1, i]
        if w.end[t] <= now:
            finish(g, s, t)
        else:
            i += 1
    while w.passed[CHANGES] < w.change.shape[0] and w.change[w.passed[CHANGES]] <= now:
        c = w.passed[CHANGES]
        if w.works[c]:
            restore(s, w.changed[c])
        else:
            lose(g, s, w.changed[c], w.forgets[0])
        w.passed[CHANGES] += 1
    while w.passed[GRAPHS] < w.arrival.shape[0] and w.arrival[w.passed[GRAPHS]] <= now:
        u = w.passed[GRAPHS]
        arrive(g, s, w.first[u], w.first[u + 1])
        w.passed[GRAPHS] += 1

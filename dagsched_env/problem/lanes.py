"""Where tasks that overlap on a processor stand beside each other, and what they use together.

Pictures draw a processor with resources as a row of lanes, and traces as several rows.
"""

from bisect import bisect_right
from decimal import Decimal
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from dagsched_env.kernels.arrays import Floats, Ints
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import TOLERANCE, Schedule

__all__ = ["Lanes", "Pieces", "Use", "pack", "place_in_lanes", "resource_use"]

MAX_LANES = 1024
"""A processor with more units of its first resource has a lane for each task that runs."""
ENDLESS = 2**62


class Pieces(NamedTuple):
    """Tasks in lanes: all pieces of a task have its time, each is some lanes beside each other."""

    task: Ints
    """``[pieces]`` index of the task; those of one task follow each other, the largest first."""
    first: Ints
    """``[pieces]`` lane, from 0."""
    width: Ints
    """``[pieces]`` number of lanes, at least 1."""


class Lanes(NamedTuple):
    """The pieces of all placed tasks; lanes are numbered on each processor."""

    pieces: Pieces
    height: Ints
    """``[p]`` number of lanes of each processor, at least 1."""
    inside: Ints
    """``[p]`` number of those before the lanes of tasks that need nothing of the first resource."""
    unit: str | None
    """The resource of which a task takes as many lanes as it needs; None: each takes one lane."""


class Use(NamedTuple):
    """What the tasks of one processor use: from ``time[i]`` until ``time[i + 1]`` the row i."""

    time: Floats
    """``[steps]`` increasing, from 0; after the last one nothing runs."""
    amount: Floats
    """``[steps, k]`` in the unit of the demands."""


def pack(start: Floats, finish: Floats, width: Ints, lanes: int) -> Pieces:
    """Lanes for tasks so that no two share a lane at the same time; intervals are half-open.

    In the order of their starts, wide ones first, each task takes a gap that it fills, or else the
    end of a larger one: at the first or last lane, or beside the task that finishes nearest to its
    own finish, so that both leave one gap. Where no gap holds it, but all of them together do, it
    is split. Where even they do not, it stands beyond ``lanes``: demands within the capacity never
    need that. A task of duration 0 occupies nothing: it stands in the first free lane, or else in
    lane 0, and takes one.

    Args:
        start: ``[n]`` times.
        finish: ``[n]`` times; at or before the start = duration 0.
        width: ``[n]`` number of lanes that a task takes, ≥ 1.
        lanes: that there are, ≥ 1.

    Returns:
        At least one piece of each task, in the order of their starts.
    """
    room = _Room(lanes)
    found: list[tuple[int, int, int]] = []
    for t in np.lexsort((-width, finish > start, start)).tolist():
        room.leave_until(float(start[t]))
        if finish[t] > start[t]:
            found += [(t, *piece) for piece in room.take(int(width[t]), float(finish[t]))]
        else:
            found.append((t, room.first_free(), 1))
    return Pieces(*np.array(found, dtype=np.int64).reshape(-1, 3).T)


def place_in_lanes(
    schedule: Schedule, instance: Instance | None = None, *, by_demand: bool = True
) -> Lanes | None:
    """The lanes of a schedule whose tasks may overlap, else None.

    A task takes as many lanes as it needs of the first resource, where all processors have a
    limit of it, of at most ``MAX_LANES`` units; the unit is the largest of which all demands are
    multiples. A processor has its capacity as lanes, as far as all tasks together could use them;
    tasks that need nothing of the first resource have a lane each below these. In all other cases
    each task that runs has one lane.

    Args:
        schedule: complete, or partial: tasks on a negative processor are not placed yet.
        instance: its problem; without it, tasks have lanes where they overlap.
        by_demand: False = one lane for each task in any case.
    """
    if instance is None:
        return _separated(schedule) if _overlaps(schedule) else None
    if not instance.n_resources:
        return None
    need, have = instance.arrays.demand[:, 0], instance.arrays.capacity[:, 0]
    countable = np.isfinite(instance.capacities[:, 0]).all() and 0 < have.max() <= MAX_LANES
    if not (by_demand and countable):
        return _separated(schedule, instance.n_processors)
    return _by_demand(schedule, need, have, instance.resource_names[0])


def resource_use(schedule: Schedule, instance: Instance) -> list[Use]:
    """What runs on each processor at each time, for all p processors.

    Times that differ by less than 1e-9 of the makespan are one. Tasks of duration 0 use nothing.

    Args:
        schedule: complete, or partial: tasks on a negative processor are not placed yet.
        instance: its problem, with resources.
    """
    slack = TOLERANCE * schedule.makespan
    demand, units = instance.arrays.demand, _units(instance)
    return [
        _use(schedule, _lasting(schedule, q, slack), demand, units, slack)
        for q in range(instance.n_processors)
    ]


class _Room:
    """The lanes of one processor at one time; a gap is (first lane, lane after the last)."""

    def __init__(self, lanes: int) -> None:
        self._lanes = lanes
        self._gaps = [(0, lanes), (lanes, ENDLESS)]  # sorted; the second part is beyond the lanes
        self._running: list[tuple[float, int, int]] = []  # heap of finish, first lane, count
        self._finish_in: dict[int, float] = {}  # of the last piece that ends or begins in a lane

    def leave_until(self, time: float) -> None:
        """Free the lanes of all tasks that finish by then."""
        while self._running and self._running[0][0] <= time:
            _, first, count = heappop(self._running)
            self._free(first, first + count)

    def first_free(self) -> int:
        """The first free lane, or 0 where all are in use."""
        first = self._gaps[0][0]
        return first if first < self._lanes else 0

    def take(self, width: int, finish: float) -> list[tuple[int, int]]:
        """Lanes for a task until it finishes, as pieces (first, count), the largest first."""
        inside = [gap for gap in self._gaps if gap[0] < self._lanes]
        if any(end - first >= width for first, end in inside):
            pieces = [(self._place(inside, width, finish), width)]
        elif sum(end - first for first, end in inside) >= width:
            pieces = []
            for first, end in sorted(inside, key=lambda gap: gap[0] - gap[1]):
                count = min(width, end - first)
                width -= count
                pieces += [(first, count)] if count else []
        else:
            beyond = (gap for gap in self._gaps if gap[0] >= self._lanes)
            pieces = [(next(a for a, b in beyond if b - a >= width), width)]
        for first, count in pieces:
            self._occupy(first, count, finish)
        return pieces

    def _place(self, gaps: list[tuple[int, int]], width: int, finish: float) -> int:
        """First lane in a gap that the task fills, else beside the task that finishes nearest."""
        holding = [gap for gap in gaps if gap[1] - gap[0] >= width]
        for first, end in holding:
            if end - first == width:
                return first

        def apart(lane: int) -> float:
            return abs(self._finish_in.get(lane, finish) - finish)

        sides = [(apart(first - 1), first) for first, _ in holding]
        sides += [(apart(end), end - width) for _, end in holding]
        return min(sides)[1]

    def _occupy(self, first: int, count: int, finish: float) -> None:
        at = bisect_right(self._gaps, (first, ENDLESS)) - 1
        begin, end = self._gaps[at]
        rest = [(begin, first), (first + count, end)]
        self._gaps[at : at + 1] = [gap for gap in rest if gap[0] < gap[1]]
        self._finish_in[first] = self._finish_in[first + count - 1] = finish
        heappush(self._running, (finish, first, count))

    def _free(self, first: int, end: int) -> None:
        """Gaps that touch become one, but for those on both sides of the last lane."""
        at = bisect_right(self._gaps, (first, end))
        if at < len(self._gaps) and self._gaps[at][0] == end != self._lanes:
            end = self._gaps.pop(at)[1]
        if at > 0 and self._gaps[at - 1][1] == first != self._lanes:
            at -= 1
            first = self._gaps.pop(at)[0]
        self._gaps.insert(at, (first, end))


def _overlaps(schedule: Schedule) -> bool:
    """Whether tasks on a processor overlap by more than the tolerance."""
    slack = TOLERANCE * schedule.makespan
    for q in range(int(schedule.processor.max(initial=-1)) + 1):
        tasks = _lasting(schedule, q, slack)
        tasks = tasks[np.argsort(schedule.start[tasks], kind="stable")]
        free = np.maximum.accumulate(schedule.finish[tasks]) - slack
        if (schedule.start[tasks[1:]] < free[:-1]).any():
            return True
    return False


def _lasting(schedule: Schedule, q: int, slack: float) -> Ints:
    """Tasks on a processor that take longer than ``slack``."""
    return np.flatnonzero(
        (schedule.processor == q) & (schedule.finish - schedule.start > slack)
    ).astype(np.int64, copy=False)


def _separated(schedule: Schedule, p: int = 0) -> Lanes:
    """One lane for each task, on at least p processors."""
    p = max(p, int(schedule.processor.max(initial=-1)) + 1)
    found = []
    height = np.ones(p, dtype=np.int64)
    for q in range(p):
        tasks = np.flatnonzero(schedule.processor == q)
        found.append(_packed(schedule, tasks, np.ones_like(tasks), 1))
        height[q] = _end(found[-1], 1)
    return Lanes(_together(found), height, height, None)


def _by_demand(schedule: Schedule, need: Ints, have: Ints, name: str) -> Lanes:
    """As many lanes as a task needs; ``need`` is ``[n]``, ``have`` is ``[p]``."""
    slack = TOLERANCE * schedule.makespan
    idle = (need == 0) & (schedule.finish - schedule.start > slack)
    found = []
    height, inside = have.copy(), have.copy()
    for q in range(have.shape[0]):
        here = schedule.processor == q
        tasks, others = np.flatnonzero(here & ~idle), np.flatnonzero(here & idle)
        users = _packed(schedule, tasks, np.maximum(need[tasks], 1), max(int(have[q]), 1))
        inside[q] = _end(users, max(int(have[q]), 0 if others.size else 1))
        below = _packed(schedule, others, np.ones_like(others), 1)
        below = below._replace(first=below.first + inside[q])
        height[q] = _end(below, int(inside[q]))
        found += [users, below]
    return Lanes(_together(found), height, inside, name)


def _packed(schedule: Schedule, tasks: Ints, width: Ints, lanes: int) -> Pieces:
    """The pieces of some tasks of one processor."""
    slack = TOLERANCE * schedule.makespan
    pieces = pack(schedule.start[tasks], schedule.finish[tasks] - slack, width, lanes)
    return pieces._replace(task=tasks[pieces.task])


def _end(pieces: Pieces, least: int) -> int:
    """Number of lanes up to the last one in use."""
    return max(least, int((pieces.first + pieces.width).max(initial=0)))


def _together(found: list[Pieces]) -> Pieces:
    return Pieces(*(np.concatenate(columns) for columns in zip(*found, strict=True)))


def _units(instance: Instance) -> list[Decimal]:
    """How much of each resource a unit of ``arrays.demand`` is."""
    units = []
    for r, steps in enumerate(instance.arrays.demand.T):
        t = int(np.argmax(steps))
        units.append(Decimal(repr(float(instance.demands[t, r]))) / (int(steps[t]) or 1))
    return units


def _use(schedule: Schedule, tasks: Ints, demand: Ints, units: list[Decimal], slack: float) -> Use:
    """What these tasks use together; ``demand`` is ``[n, k]``."""
    times = np.concatenate([[0.0], schedule.start[tasks], schedule.finish[tasks]])
    changes = np.concatenate([np.zeros_like(demand[:1]), demand[tasks], -demand[tasks]])
    order = np.argsort(times, kind="stable")
    times, use = times[order], np.cumsum(changes[order], axis=0)
    last = np.append(np.diff(times) > slack, True)  # of those that are one time
    first = np.insert(last[:-1], 0, True)
    amount = np.zeros(use[last].shape)
    for r, unit in enumerate(units):
        amount[:, r] = [float(steps * unit) for steps in use[last, r].tolist()]
    return Use(times[first], amount)

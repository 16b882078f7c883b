"""The rows of processors whose tasks overlap: their lanes, and below them the use of resources.

All heights are in the unit of the picture, downwards from the first row.
"""

from typing import NamedTuple

import numpy as np

from dagsched_env.kernels.arrays import Floats
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.lanes import Lanes, Pieces, place_in_lanes, resource_use
from dagsched_env.problem.schedule import Schedule

LANES_OF_ONE = 6
"""Room for so many tasks on a processor where lanes are not units of a resource."""
STRIP_SHARE = 0.5
"""Strips are at most so high, all together, in units of the room for lanes."""


class Sizes(NamedTuple):
    """How high the parts of a picture are, in its unit; less where there are many."""

    lane: float
    row: float
    """Of one processor with few lanes."""
    room: float
    """For all lanes."""
    strip: float
    """For the use of one resource on one processor."""
    gap: float
    """Between processors; half of it is above a strip."""


class Strip(NamedTuple):
    """The use of one resource on one processor over time."""

    label: str
    top: float
    time: Floats
    """``[steps]`` increasing."""
    share: Floats
    """``[steps]`` of the limit in [0, 1], from this time to the next; where there is none, of the
    largest use."""
    limited: bool


class Stack(NamedTuple):
    """All rows."""

    pieces: Pieces
    piece_top: Floats
    """``[pieces]``."""
    lane: float
    """Height of a lane."""
    top: Floats
    """``[p]`` of the lanes of each processor."""
    height: Floats
    """``[p]`` of all its lanes together."""
    inside: Floats
    """``[p]`` of those that stand for its capacity; what is below needs nothing of it."""
    strips: tuple[Strip, ...]
    strip: float
    """Height of a strip."""
    total: float
    unit: str | None
    """The resource that the height of a task shows, if it does."""


def stack_rows(schedule: Schedule, instance: Instance | None, sizes: Sizes) -> Stack | None:
    """The rows of a schedule whose tasks may overlap, else None.

    With an instance the total height depends on it alone, not on the schedule.

    Args:
        schedule: complete, or partial: tasks on a negative processor are not placed yet.
        instance: its problem; without it, tasks have lanes where they overlap.
        sizes: of the parts.
    """
    lanes = place_in_lanes(schedule, instance)
    if lanes is None:
        return None
    strips = _strips(schedule, instance, lanes)
    room = _room(instance, lanes, sizes)
    lane = room / int(lanes.height.sum())
    strip = min(sizes.strip, STRIP_SHARE * sizes.room / max(1, sum(map(len, strips))))
    below = len(strips[0]) * (strip + sizes.gap / 2)
    height = (lane * lanes.height).astype(np.float64)
    top = np.cumsum(height + below + sizes.gap) - height - below - sizes.gap
    return Stack(
        pieces=lanes.pieces,
        piece_top=top[schedule.processor[lanes.pieces.task]] + lane * lanes.pieces.first,
        lane=lane,
        top=top,
        height=height,
        inside=(lane * lanes.inside).astype(np.float64),
        strips=tuple(
            each._replace(top=float(top[q] + height[q] + i * strip + (i + 1) * sizes.gap / 2))
            for q, row in enumerate(strips)
            for i, each in enumerate(row)
        ),
        strip=strip,
        total=float(top[-1] + height[-1] + below),
        unit=lanes.unit,
    )


def _room(instance: Instance | None, lanes: Lanes, sizes: Sizes) -> float:
    """Height of all lanes together."""
    expected = np.full(lanes.height.shape, LANES_OF_ONE)
    if instance is not None and lanes.unit is not None:
        expected = np.maximum(instance.arrays.capacity[:, 0], 1)
    lane = max(sizes.lane, sizes.row / int(expected.max()))
    return min(lane * int(expected.sum()), sizes.room)


def _strips(schedule: Schedule, instance: Instance | None, lanes: Lanes) -> list[list[Strip]]:
    """Of each processor, those of all resources that its lanes do not show and that some task uses;
    all tops are 0."""
    if instance is None:
        return [[] for _ in lanes.height]
    used = np.flatnonzero(instance.demands.any(axis=0)).tolist()
    shown = [r for r in used if r > 0 or lanes.unit is None]
    rows: list[list[Strip]] = []
    for q, (time, amount) in enumerate(resource_use(schedule, instance)):
        rows.append([])
        for r in shown:
            capacity, name = float(instance.capacities[q, r]), instance.resource_names[r]
            limited = capacity < np.inf
            full = capacity if limited else float(amount[:, r].max())
            share = np.minimum(amount[:, r] / (full or 1.0), 1.0)
            label = f"{name} ≤ {full:.6g}" if limited else f"{name}, peak {full:.6g}"
            rows[-1].append(Strip(label, 0.0, time, share, limited))
    return rows

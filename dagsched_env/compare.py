"""Schedulers side by side on the same instances."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dagsched_env.errors import DAGSchedError, InvalidScheduleError
from dagsched_env.instance import Instance
from dagsched_env.schedule import Schedule

__all__ = ["Progress", "Row", "compare", "format_table", "summarise"]

TIE_TOLERANCE = 1e-9
"""Makespans closer than this (relative) count as equal."""

Progress = Callable[[int, int], None]
"""Called after each schedule with how many are done and how many there will be."""


@dataclass(frozen=True)
class Row:
    """One scheduler over all instances."""

    name: str
    mean_slr: float
    """Mean of makespan / CP_MIN."""
    ratio_to_reference: float
    """Mean of makespan / the reference's makespan; below 1 is better than the reference."""
    wins: int
    """Instances with a shorter schedule than the reference's."""
    ties: int
    losses: int


def compare(
    instances: Sequence[Instance],
    schedulers: Mapping[str, Callable[[Instance], Schedule]],
    progress: Progress | None = None,
) -> dict[str, list[float]]:
    """Run every scheduler on every instance and check every schedule.

    Args:
        instances: the problems.
        schedulers: name → function.
        progress: observer, see ``Progress``.

    Returns:
        Name → makespans in the order of the instances (time).

    Raises:
        InvalidScheduleError: names the scheduler and the instance.
    """
    makespans: dict[str, list[float]] = {name: [] for name in schedulers}
    total = len(schedulers) * len(instances)
    for i, instance in enumerate(instances):
        for j, (name, scheduler) in enumerate(schedulers.items()):
            schedule = scheduler(instance)
            try:
                schedule.validate(instance)
            except InvalidScheduleError as error:
                label = instance.name or f"instance {i}"
                raise InvalidScheduleError(f"{name} on {label}: {error}") from None
            makespans[name].append(schedule.makespan)
            if progress is not None:
                progress(i * len(schedulers) + j + 1, total)
    return makespans


def summarise(
    makespans: Mapping[str, Sequence[float]],
    instances: Sequence[Instance],
    reference: str = "heft",
) -> list[Row]:
    """One row a scheduler, in the order of ``makespans``.

    Args:
        makespans: what ``compare`` returned, or more rows of the same kind; one finite makespan
            >= 0 per instance.
        instances: the problems, in the same order.
        reference: the scheduler that the others are measured against.

    Raises:
        DAGSchedError: no instances, no such reference, or a wrong number or value of makespans.
    """
    if not instances:
        raise DAGSchedError("no instances to summarise")
    if reference not in makespans:
        raise DAGSchedError(f"no makespans of the reference {reference!r}: add it to the table")
    for name, values in makespans.items():
        if len(values) != len(instances):
            raise DAGSchedError(
                f"{name} has {len(values)} makespans for {len(instances)} instances"
            )
        if not all(math.isfinite(value) and value >= 0 for value in values):
            raise DAGSchedError(f"{name} has a makespan that is not finite and >= 0")
    return [
        _row(name, values, makespans[reference], instances) for name, values in makespans.items()
    ]


def format_table(rows: Sequence[Row], reference: str = "heft") -> str:
    """Plain text, one line a row under a header, columns aligned, no trailing line break."""
    cells = [("scheduler", "mean SLR", f"vs {reference}", "wins", "ties", "losses")]
    cells += [
        (
            row.name,
            f"{row.mean_slr:.3f}",
            f"{row.ratio_to_reference:.4f}",
            str(row.wins),
            str(row.ties),
            str(row.losses),
        )
        for row in rows
    ]
    widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
    lines = [
        "  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])])
        for line in cells
    ]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def _row(
    name: str,
    values: Sequence[float],
    reference: Sequence[float],
    instances: Sequence[Instance],
) -> Row:
    slr = [value / instance.time_scale for value, instance in zip(values, instances, strict=True)]
    pairs = list(zip(values, reference, strict=True))
    ties = sum(math.isclose(value, base, rel_tol=TIE_TOLERANCE) for value, base in pairs)
    wins = sum(
        value < base and not math.isclose(value, base, rel_tol=TIE_TOLERANCE)
        for value, base in pairs
    )
    return Row(
        name=name,
        mean_slr=float(np.mean(slr)),
        ratio_to_reference=float(np.mean([_ratio(value, base) for value, base in pairs])),
        wins=wins,
        ties=ties,
        losses=len(pairs) - wins - ties,
    )


def _ratio(value: float, base: float) -> float:
    if base > 0:
        return value / base
    return 1.0 if value == 0 else math.inf

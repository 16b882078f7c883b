"""Schedulers side by side on the same instances."""

import csv
import io
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from dagsched_env.io.spreadsheets import quoted
from dagsched_env.pictures.labels import one_line, printable
from dagsched_env.problem.errors import DAGSchedError, InvalidScheduleError, expect
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule

__all__ = [
    "Comparison",
    "Progress",
    "Row",
    "Scheduler",
    "align",
    "compare",
    "count_wins",
    "format_pairwise",
    "format_table",
    "mean_error",
    "mean_ratio",
    "merged",
    "ratio",
    "ratios",
    "relative",
    "summarise",
    "to_csv",
    "wilcoxon_p",
]

TIE_TOLERANCE = 1e-9
"""Makespans with a smaller relative difference count as equal."""
OFTEN_ZERO = ("tardiness",)
"""Measures whose ratios say nothing: their means are compared."""

Scheduler = Callable[[Instance], Schedule]

Progress = Callable[[int, int], None]
"""Called after each schedule with the numbers of schedules done and of all schedules."""


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
    p_value: float | None = None
    """Of the two-sided Wilcoxon signed-rank test on the ratios to the reference; None for the
    reference itself, where all pairs tie, and without scipy."""
    mean_seconds: float | None = None
    """Mean wall time of a call; None if it was not measured."""


@dataclass(frozen=True)
class Comparison:
    """Makespans, times and schedules of every scheduler, in the order of the instances."""

    makespans: dict[str, list[float]]
    """Scheduler → makespans (time)."""
    seconds: dict[str, list[float]]
    """Scheduler → wall time of each call."""
    schedules: dict[str, list[Schedule]] = field(default_factory=dict)
    """Scheduler → the schedules that were measured; schedulers may be missing."""
    measure: str = "makespan"
    """What stands in place of makespans, where it is something else that is to be small."""


def compare(
    instances: Sequence[Instance],
    schedulers: Mapping[str, Scheduler],
    progress: Progress | None = None,
) -> Comparison:
    """Run every scheduler on every instance and check every schedule.

    Args:
        instances: the problems.
        schedulers: name → function.
        progress: observer, see ``Progress``.

    Raises:
        DAGSchedError: the arguments are swapped, or of another kind.
        InvalidScheduleError: names the scheduler and the instance.
    """
    call = 'compare([instance, ...], {"heft": heft, ...})'
    expect("instances", instances, Sequence, call)
    expect("schedulers", schedulers, Mapping, call)
    for i, instance in enumerate(instances):
        expect(f"instances[{i}]", instance, Instance, call)
    result = Comparison(
        makespans={name: [] for name in schedulers},
        seconds={name: [] for name in schedulers},
        schedules={name: [] for name in schedulers},
    )
    total = len(schedulers) * len(instances)
    for i, instance in enumerate(instances):
        for j, (name, scheduler) in enumerate(schedulers.items()):
            started = time.perf_counter()
            schedule = scheduler(instance)
            result.seconds[name].append(time.perf_counter() - started)
            try:
                schedule.validate(instance)
            except InvalidScheduleError as error:
                label = one_line(instance.name or f"instance {i}")
                raise InvalidScheduleError(f"{name} on {label}: {error}") from None
            result.makespans[name].append(schedule.makespan)
            result.schedules[name].append(schedule)
            if progress is not None:
                progress(i * len(schedulers) + j + 1, total)
    return result


def merged(parts: Sequence[Comparison]) -> Comparison:
    """One comparison on the instances of all parts, at least one, with the same schedulers."""
    names = parts[0].makespans
    return Comparison(
        makespans={name: [x for part in parts for x in part.makespans[name]] for name in names},
        seconds={name: [x for part in parts for x in part.seconds[name]] for name in names},
        schedules={name: [x for part in parts for x in part.schedules[name]] for name in names},
        measure=parts[0].measure,
    )


def summarise(
    makespans: Mapping[str, Sequence[float]],
    instances: Sequence[Instance],
    reference: str = "heft",
    seconds: Mapping[str, Sequence[float]] | None = None,
    measure: str = "makespan",
) -> list[Row]:
    """One row per scheduler, in the order of ``makespans``.

    Args:
        makespans: of a ``Comparison``, or more rows of the same kind; one finite makespan >= 0
            per instance.
        instances: the problems, in the same order.
        reference: the scheduler with which the others are compared.
        seconds: wall times of a ``Comparison``; schedulers may be missing.
        measure: of a ``Comparison``.

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
    base = makespans[reference]
    rows = []
    for name, values in makespans.items():
        wins, ties, losses = count_wins(values, base)
        rows.append(
            Row(
                name=name,
                mean_slr=_mean(v / x.time_scale for v, x in zip(values, instances, strict=True)),
                ratio_to_reference=relative(values, base, measure)[0],
                wins=wins,
                ties=ties,
                losses=losses,
                p_value=wilcoxon_p(values, base),
                mean_seconds=_mean(seconds[name]) if seconds and name in seconds else None,
            )
        )
    return rows


def count_wins(values: Sequence[float], others: Sequence[float]) -> tuple[int, int, int]:
    """How often the first makespan is shorter than, equal to and longer than the second."""
    wins = ties = 0
    for value, other in zip(values, others, strict=True):
        tie = math.isclose(value, other, rel_tol=TIE_TOLERANCE)
        ties += tie
        wins += not tie and value < other
    return wins, ties, len(values) - wins - ties


def ratio(value: float, base: float) -> float:
    """``value / base``; 1 if both are 0, inf if only ``base`` is."""
    if base > 0:
        return value / base
    return 1.0 if value == 0 else math.inf


def ratios(values: Iterable[float], bases: Iterable[float]) -> list[float]:
    """The ``ratio`` of each pair."""
    return [ratio(value, base) for value, base in zip(values, bases, strict=True)]


def mean_ratio(values: Iterable[float], bases: Iterable[float]) -> float:
    """Mean of the ``ratios``."""
    return _mean(ratios(values, bases))


def mean_error(values: Iterable[float], bases: Iterable[float]) -> float:
    """Standard error of ``mean_ratio``; 0 for a single pair."""
    found = ratios(values, bases)
    return float(np.std(found, ddof=1)) / math.sqrt(len(found)) if len(found) > 1 else 0.0


def relative(
    values: Sequence[float], bases: Sequence[float], measure: str = "makespan"
) -> tuple[float, float]:
    """What a scheduler's results are / those of another one, with the standard error.

    It is the mean of the ``ratios``; of ``OFTEN_ZERO`` measures the ratio of the means, with the
    error of its linearisation (Cochran 1977, "Sampling techniques", section 6.4).

    Args:
        values: of the scheduler, at least one.
        bases: of the other one, on the same problems.
        measure: what they are.

    Returns:
        Ratio and error; the error is NaN for a single pair and where the ratio is infinite.
    """
    pairs = len(values)
    if measure in OFTEN_ZERO:
        found = ratio(sum(values), sum(bases))
        spread = np.subtract(values, np.multiply(found if found < math.inf else 1.0, bases))
        unit = sum(bases) / pairs or math.nan
    else:
        found, spread, unit = mean_ratio(values, bases), np.array(ratios(values, bases)), 1.0
    if pairs < 2 or not found < math.inf:
        return found, math.nan
    return found, float(np.std(spread, ddof=1)) / math.sqrt(pairs) / unit


def wilcoxon_p(values: Sequence[float], bases: Sequence[float]) -> float | None:
    """p-value of Wilcoxon's signed-rank test of log ratio = 0, zeros by Pratt (1959).

    Where a value is 0 it is that of difference = 0.

    Returns:
        None where scipy is not installed, or all pairs tie.
    """
    try:
        from scipy.stats import wilcoxon  # type: ignore[import-untyped]
    except ImportError:
        return None
    positive = min(*values, *bases) > 0
    differences = []
    for value, base in zip(values, bases, strict=True):
        tie = math.isclose(value, base, rel_tol=TIE_TOLERANCE)
        differences.append(0.0 if tie else math.log(value / base) if positive else value - base)
    if not any(differences):
        return None
    return float(wilcoxon(differences, zero_method="pratt").pvalue)


def format_table(rows: Sequence[Row], reference: str = "heft") -> str:
    """Plain text: a header, one line per row, aligned columns, no trailing line break.

    The columns of p-values and seconds are left out where there are none.
    """
    columns: list[tuple[str, Callable[[Row], str]]] = [
        ("scheduler", lambda row: row.name),
        ("mean SLR", lambda row: f"{row.mean_slr:.3f}"),
        (f"vs {reference}", lambda row: f"{row.ratio_to_reference:.4f}"),
        ("wins", lambda row: str(row.wins)),
        ("ties", lambda row: str(row.ties)),
        ("losses", lambda row: str(row.losses)),
    ]
    if any(row.p_value is not None for row in rows):
        columns.append(("p", lambda row: "-" if row.p_value is None else f"{row.p_value:.1g}"))
    if any(row.mean_seconds is not None for row in rows):
        columns.append(
            ("ms", lambda row: f"{1000 * s:.3g}" if (s := row.mean_seconds) is not None else "-")
        )
    cells = [[title for title, _ in columns]]
    cells += [[text(row) for _, text in columns] for row in rows]
    return align(cells)


def format_pairwise(makespans: Mapping[str, Sequence[float]]) -> str:
    """Wins/ties/losses of each scheduler (row) against each other one (column), plain text."""
    names = list(makespans)
    cells = [["wins/ties/losses", *names]]
    for name in names:
        counts = ["/".join(map(str, count_wins(makespans[name], makespans[x]))) for x in names]
        counts[names.index(name)] = "-"
        cells.append([name, *counts])
    return align(cells)


def to_csv(comparison: Comparison, instances: Sequence[Instance], *, safe: bool = False) -> str:
    """One line per instance and scheduler: sizes, makespan, SLR, seconds (RFC 4180, header).

    The last column has what was assumed of the instance. Only makespans have an SLR.

    Args:
        comparison: of ``compare``.
        instances: the problems, in the same order. Their names are put on one line.
        safe: put an apostrophe before names that a spreadsheet would take for formulas.
    """
    text = quoted if safe else str
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    sizes_of = ("tasks", "processors", "edges")
    measure = comparison.measure
    writer.writerow(["instance", *sizes_of, "scheduler", measure, "slr", "seconds", "assumed"])
    for i, instance in enumerate(instances):
        sizes = [instance.n_tasks, instance.n_processors, instance.n_edges]
        for name, makespans in comparison.makespans.items():
            seconds = comparison.seconds[name][i] if name in comparison.seconds else ""
            slr = makespans[i] / instance.time_scale if measure == "makespan" else ""
            label = text(printable(instance.name or str(i)))
            cells = [label, *sizes, text(printable(name)), makespans[i], slr, seconds]
            writer.writerow([*cells, text(printable("; ".join(instance.assumptions)))])
    return stream.getvalue()


def align(cells: Sequence[Sequence[str]]) -> str:
    """The first column left-aligned, the others right-aligned, a rule under the first line."""
    widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
    lines = [
        "  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])])
        for line in cells
    ]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))

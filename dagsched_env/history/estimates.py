"""What a task will probably take and send, from measurements of it and of its kind.

The last runs count most: a measurement loses half of its weight in ``HALF_LIFE`` runs. Medians are
taken, so that one run on a busy machine changes little. Where measurements of a kind differ in the
size of their input, seconds = a · bytes^b is fitted to them, b by Theil and Sen's estimator.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from dagsched_env.kernels.arrays import Floats

__all__ = ["Estimate", "Estimates"]

HALF_LIFE = 3.0
"""Runs after which a measurement counts half."""
SIZES = 4
"""Measurements with a size that a fit takes at least; the largest size is twice the smallest."""
MOST_FITTED = 200
"""The latest so many measurements are fitted: the number of slopes is the square of theirs."""
STEEPEST = 3.0
"""Largest exponent of a fit: cubic."""
LIKE_NORMAL = 1.4826
"""Standard deviation / median absolute deviation of a normal distribution."""


class Measurement(NamedTuple):
    """One task of one run."""

    kind: str
    task: str
    seconds: float
    input_bytes: float | None
    age: int
    """Runs since then: 0 for the last one."""
    result_bytes: float | None = None
    """Size of what it sends to a task behind it; None = not known."""


class Estimate(NamedTuple):
    """The probable duration of a task."""

    seconds: float
    spread: float
    """Standard deviation of log(seconds), 0.1 means some ±10 %. NaN from one measurement."""
    measurements: int
    """Number of those that it is from."""
    basis: Literal["task", "kind", "tool"]
    """Measured were this task, others of its kind, or only other kinds of its tool."""


class Estimates:
    """Estimates for the tasks of one tool.

    Args:
        measurements: all that are known.
    """

    def __init__(self, measurements: Sequence[Measurement]) -> None:
        self._all = list(measurements)
        self._kinds: dict[str, list[Measurement]] = defaultdict(list)
        self._tasks: dict[tuple[str, str], list[Measurement]] = defaultdict(list)
        for measurement in self._all:
            self._kinds[measurement.kind].append(measurement)
            self._tasks[measurement.kind, measurement.task].append(measurement)
        self._of_kind: dict[str, tuple[Fit, int]] = {}
        self._of_tool: tuple[Fit, int] | None = None
        self._size_of_kind: dict[str, float | None] = {}

    @property
    def kinds(self) -> list[str]:
        """Kinds that were measured, sorted."""
        return sorted(self._kinds)

    def estimate(
        self, kind: str, task: str | None = None, input_bytes: float | None = None
    ) -> Estimate | None:
        """The probable duration; None where nothing at all was measured.

        A task that was measured itself is estimated from that, unless its input has changed by more
        than a factor of two and its kind has a fit; else from its kind; else from its tool.

        Args:
            kind: of the task.
            task: its name.
            input_bytes: size of what it reads; None = not known.
        """
        own = self._tasks.get((kind, task)) if task is not None else None
        if own and not (self._has_grown(own, input_bytes) and self._fit(kind).exponent):
            fit = fitted(own, sizes=False)
            return Estimate(fit.seconds(None), fit.spread, len(own), "task")
        if kind in self._kinds:
            fit = self._fit(kind)
            return Estimate(fit.seconds(input_bytes), fit.spread, len(self._kinds[kind]), "kind")
        if not self._all:
            return None
        if self._of_tool is None:
            self._of_tool = fitted(self._all, sizes=False), len(self._all)
        fit, count = self._of_tool
        return Estimate(fit.seconds(None), fit.spread, count, "tool")

    def result_bytes(self, kind: str, task: str | None = None) -> float | None:
        """The probable size of what a task sends to each one behind it (bytes); None = unknown.

        From what the task itself has sent, else from its kind.

        Args:
            kind: of the task.
            task: its name.
        """
        of_task = self._tasks.get((kind, task), []) if task is not None else []
        if (size := middle_size(of_task)) is not None:
            return size
        if kind not in self._size_of_kind:
            self._size_of_kind[kind] = middle_size(self._kinds.get(kind, []))
        return self._size_of_kind[kind]

    def _fit(self, kind: str) -> "Fit":
        count = len(self._kinds[kind])
        if kind not in self._of_kind:
            self._of_kind[kind] = fitted(self._kinds[kind], sizes=True), count
        return self._of_kind[kind][0]

    @staticmethod
    def _has_grown(own: list[Measurement], input_bytes: float | None) -> bool:
        before = own[-1].input_bytes
        if not before or not input_bytes:
            return False
        return not 0.5 <= input_bytes / before <= 2.0


class Fit(NamedTuple):
    """seconds = ``scale`` · (bytes / ``size``)^``exponent``."""

    scale: float
    exponent: float
    size: float
    spread: float

    def seconds(self, input_bytes: float | None) -> float:
        """For an input of this size; for one of the middle size where None."""
        if not input_bytes or not self.exponent:
            return self.scale
        return float(self.scale * (input_bytes / self.size) ** self.exponent)


def fitted(measurements: Sequence[Measurement], *, sizes: bool) -> Fit:
    """A fit to at least one measurement.

    Args:
        measurements: of one task, kind or tool.
        sizes: whether their sizes may explain their durations.
    """
    seconds = np.array([m.seconds for m in measurements])
    weights = 0.5 ** (np.array([m.age for m in measurements]) / HALF_LIFE)
    if sizes and (fit := _fit_by_size(measurements)) is not None:
        return fit
    middle = weighted_median(seconds, weights)
    return Fit(middle, 0.0, 1.0, _spread(seconds, np.full(len(seconds), middle), weights))


def middle_size(measurements: Sequence[Measurement]) -> float | None:
    """The median size of results, the last runs count most; None where none is known."""
    known = [(m.result_bytes, m.age) for m in measurements if m.result_bytes is not None]
    if not known:
        return None
    sizes, ages = np.array(known, dtype=np.float64).T
    return weighted_median(sizes, 0.5 ** (ages / HALF_LIFE))


def weighted_median(values: Floats, weights: Floats) -> float:
    """The least value with at least half of the weight at it or below.

    Where exactly half is below, the mean with the next value, as of an ordinary median.

    Args:
        values: ``[m]``, m ≥ 1.
        weights: ``[m]`` > 0.
    """
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order])
    half = below[-1] / 2
    first = int(np.searchsorted(below, half * (1 - 1e-12)))
    if first + 1 < len(values) and np.isclose(below[first], half):
        return float(values[order[first]] + values[order[first + 1]]) / 2
    return float(values[order[first]])


def _fit_by_size(measurements: Sequence[Measurement]) -> Fit | None:
    """None where sizes are not known, hardly differ, or explain nothing."""
    sized = sorted(
        (m for m in measurements if m.input_bytes and m.seconds > 0), key=lambda m: m.age
    )[:MOST_FITTED]
    if len(sized) < max(SIZES, min(len(measurements) / 2, MOST_FITTED)):
        return None
    size = np.log(np.array([m.input_bytes for m in sized], dtype=np.float64))
    seconds = np.log([m.seconds for m in sized])
    weights = 0.5 ** (np.array([m.age for m in sized]) / HALF_LIFE)
    if size.max() - size.min() < np.log(2.0):
        return None
    i, j = np.triu_indices(len(sized), 1)
    apart = np.abs(size[i] - size[j]) > 1e-9
    slopes = (seconds[j] - seconds[i])[apart] / (size[j] - size[i])[apart]
    exponent = float(np.clip(np.median(slopes), 0.0, STEEPEST))
    middle = weighted_median(size, weights)
    scale = weighted_median(seconds - exponent * (size - middle), weights)
    predicted = np.exp(scale + exponent * (size - middle))
    return Fit(
        float(np.exp(scale)),
        exponent,
        float(np.exp(middle)),
        _spread(np.exp(seconds), predicted, weights),
    )


def _spread(seconds: Floats, predicted: Floats, weights: Floats) -> float:
    """Robust standard deviation of log(seconds / predicted); NaN from one measurement."""
    if len(seconds) < 2:
        return float("nan")
    known = (seconds > 0) & (predicted > 0)
    if not known.any():
        return 0.0
    off = np.abs(np.log(seconds[known] / predicted[known]))
    return LIKE_NORMAL * weighted_median(off, weights[known])

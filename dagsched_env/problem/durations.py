"""Schedules under uncertainty: tasks that take longer or shorter than planned.

A schedule is executed with the same processors and the same order on each of them. Only the times
change: a task starts when it is released, its inputs have arrived and the task before it on its
processor has finished (right shift; the semi-active schedule of those decisions). With resources,
tasks start in the planned order on each processor, each as soon as it fits. Communication takes the
times of the instance, and release dates stay. The samples depend on the seed and the task alone
(common random numbers), so that schedules are compared under the same noise.
"""

import heapq
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from dagsched_env.kernels.arrays import Floats, Ints
from dagsched_env.kernels.schedules import decoding, execution
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule

__all__ = [
    "Durations",
    "Gamma",
    "Lognormal",
    "RobustMakespan",
    "Uniform",
    "execute",
    "robust_makespan",
]


class Durations(Protocol):
    """Samples of execution times that differ from the plan."""

    def factors(self, n_tasks: int) -> Floats:
        """``[k, n]`` samples ≥ 0 of execution time / planned time, one row per execution.

        Column t is the same for every ``n_tasks`` > t, and at every call.
        """
        ...


@dataclass(frozen=True)
class Lognormal:
    """Factors of mean 1 whose logarithm is normal: σ² = log(1 + cv²).

    Args:
        cv: coefficient of variation (standard deviation / mean) of an execution time, ≥ 0.
        samples: number k of executions, ≥ 1.
        seed: of all samples, ≥ 0.

    Raises:
        DAGSchedError: an argument is out of its range.
    """

    cv: float
    samples: int = 200
    seed: int = 0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.cv) and self.cv >= 0):
            raise DAGSchedError(f"cv={self.cv} is not a number >= 0")
        _check_sampling(self.samples, self.seed)

    def factors(self, n_tasks: int) -> Floats:
        """``[samples, n_tasks]``."""
        return self.drawn(np.random.default_rng(self.seed), (n_tasks, self.samples)).T

    def drawn(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
        """Independent factors of a shape; ``samples`` and ``seed`` count nothing here.

        exp(σz − σ²/2) of standard normals z.
        """
        variance = np.log1p(self.cv**2)
        return np.exp(np.sqrt(variance) * rng.standard_normal(shape) - variance / 2)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Gamma(Lognormal):
    """Gamma-distributed factors of mean 1: shape 1 / cv², scale cv².

    Arguments and errors are those of ``Lognormal``; a cv of 1 is the exponential distribution.
    """

    def drawn(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
        """As of ``Lognormal``."""
        if self.cv == 0:
            return np.ones(shape)
        return rng.gamma(1.0 / self.cv**2, self.cv**2, shape)


@dataclass(frozen=True)
class Uniform:
    """Factors drawn uniformly from [1 − width, 1 + width].

    Args:
        width: in [0, 1].
        samples: number k of executions, ≥ 1.
        seed: of all samples, ≥ 0.

    Raises:
        DAGSchedError: an argument is out of its range.
    """

    width: float
    samples: int = 200
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.width <= 1:
            raise DAGSchedError(f"width={self.width} is not in 0..1")
        _check_sampling(self.samples, self.seed)

    def factors(self, n_tasks: int) -> Floats:
        """``[samples, n_tasks]``."""
        return self.drawn(np.random.default_rng(self.seed), (n_tasks, self.samples)).T

    def drawn(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
        """Independent factors of a shape; ``samples`` and ``seed`` count nothing here."""
        return 1.0 + self.width * (2.0 * rng.random(shape) - 1.0)


class RobustMakespan(NamedTuple):
    """The makespan over the executions of one schedule (time)."""

    mean: float
    std: float
    """Standard deviation, divided by k."""
    q95: float
    """95 % quantile (linear interpolation)."""


def execute(schedule: Schedule, instance: Instance, factors: npt.ArrayLike) -> Floats:
    """Makespans of executions of a complete schedule.

    Factors of 1 give the makespan of the schedule itself if no task of it could start earlier
    without a change of order, and a smaller one otherwise.

    Args:
        schedule: of every task of the instance, valid.
        instance: the problem.
        factors: ``[k, n]`` finite, ≥ 0: in execution i task t takes ``factors[i, t]`` times its
            cost.

    Returns:
        ``[k]`` times.

    Raises:
        InvalidScheduleError: the schedule is not valid for the instance.
        DAGSchedError: factors of another shape, negative or not finite.
    """
    schedule.validate(instance)
    rows = np.ascontiguousarray(factors, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != instance.n_tasks:
        raise DAGSchedError(
            f"factors needs shape [executions, {instance.n_tasks}], got {list(rows.shape)}"
        )
    bad = np.argwhere(~(np.isfinite(rows) & (rows >= 0)))
    if bad.size:
        i, t = bad[0].tolist()
        raise DAGSchedError(f"factors[{i}, {t}] is {rows[i, t]}: factors are finite and >= 0")
    sequence = _sequence(schedule, instance)
    if instance.n_resources:
        return _execute_sharing(instance, sequence, schedule.processor, rows)
    return execution.execute(instance.arrays, sequence, schedule.processor, rows)


def robust_makespan(
    schedule: Schedule, instance: Instance, factors: npt.ArrayLike
) -> RobustMakespan:
    """Mean, standard deviation and 95 % quantile of the makespan over executions of a schedule.

    Args:
        schedule: of every task of the instance, valid.
        instance: the problem.
        factors: ``[k, n]`` finite, ≥ 0, as for ``execute``; k ≥ 1.

    Raises:
        InvalidScheduleError: the schedule is not valid for the instance.
        DAGSchedError: factors of another shape, negative or not finite, or without rows.
    """
    makespans = execute(schedule, instance, factors)
    if not makespans.size:
        raise DAGSchedError("factors has no rows: give at least one execution")
    return RobustMakespan(
        float(makespans.mean()), float(makespans.std()), float(np.quantile(makespans, 0.95))
    )


def _check_sampling(samples: int, seed: int) -> None:
    if samples < 1:
        raise DAGSchedError(f"samples={samples} is not at least 1")
    if seed < 0:
        raise DAGSchedError(f"seed={seed} is not at least 0")


def _execute_sharing(
    instance: Instance, sequence: Ints, processor: Ints, factors: Floats
) -> Floats:
    """As ``execution.execute``, with resources."""
    makespans = np.zeros(len(factors))
    for i, factor in enumerate(factors):
        comp = np.where(np.isfinite(instance.comp), instance.comp, 0.0) * factor[:, None]
        comp.flags.writeable = False
        run = instance.arrays._replace(comp=comp)
        makespans[i] = decoding.decode(run, sequence, processor, False)[2].max()
    return makespans


def _sequence(schedule: Schedule, instance: Instance) -> Ints:
    """``[n]`` a topological order in which the tasks of each processor are in order of time.

    Of the tasks whose predecessors are already in the order, the one with the earliest midpoint,
    with resources the earliest start, is next. Those of its ancestors are not later, so this is the
    order of time. Only where rounding errors of the schedule contradict an edge, the edge decides.
    """
    arrays = instance.arrays
    key = schedule.sequence_key(instance).tolist()
    position = arrays.topo_position.tolist()
    missing = np.diff(arrays.pred_ptr).tolist()
    heap = [(key[t], position[t], t) for t in range(instance.n_tasks) if missing[t] == 0]
    heapq.heapify(heap)
    sequence = []
    while heap:
        t = heapq.heappop(heap)[-1]
        sequence.append(t)
        for s in arrays.succ_task[arrays.succ_ptr[t] : arrays.succ_ptr[t + 1]].tolist():
            missing[s] -= 1
            if missing[s] == 0:
                heapq.heappush(heap, (key[s], position[s], s))
    return np.array(sequence, dtype=np.int64)

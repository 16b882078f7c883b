"""Common parts of the searches: the budget, the best schedule so far, and the trace of progress.

A search can be stopped at any time and returns the best schedule that it has seen. It starts from
list schedules, so it is never worse than HEFT.
"""

import math
import time
from dataclasses import dataclass

import numpy as np

from dagsched_env.kernels.arrays import Ints
from dagsched_env.kernels.lists.placements import allocate_placements
from dagsched_env.kernels.schedules import decoding
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers.heft import heft
from dagsched_env.schedulers.peft import peft

DECODINGS = 20_000
"""Default limit of a search that decodes every candidate."""

MOVES = 200_000
"""Default limit of a search that judges moves without decoding; it takes about as long."""

MOVES_PER_DECODING = MOVES // DECODINGS
"""They take about as long."""

STEPS = 100
"""Least number of looks at the progress during a limit of evaluations."""


@dataclass(frozen=True)
class Improvement:
    """A search has found a better schedule."""

    elapsed_s: float
    """Wall time since the start of the search, read after the kernel call that found it."""
    evaluations: int
    """Candidates evaluated by then, without the list schedules at the start."""
    makespan: float


class Budget:
    """A budget of wall time, of evaluations, or of both; the clock starts at once.

    Args:
        budget_s: seconds, > 0.
        max_evaluations: candidate schedules, ≥ 1.
        default: the number of candidates if both are None.

    Raises:
        DAGSchedError: a limit is out of its range; the message names it.
    """

    seconds: float
    """Of wall time; ∞ where only evaluations count."""

    def __init__(self, budget_s: float | None, max_evaluations: int | None, default: int) -> None:
        self._started = time.perf_counter()
        if budget_s is None and max_evaluations is None:
            max_evaluations = default
        if max_evaluations is not None:
            check_count("max_evaluations", max_evaluations)
        if budget_s is not None:
            check_positive("budget_s", budget_s)
        self.seconds = math.inf if budget_s is None else float(budget_s)
        self._limit = max_evaluations
        self.evaluations = 0

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._started

    @property
    def progress(self) -> float:
        """Share of the budget that is used up; 1 = stop."""
        by_count = self.evaluations / self._limit if self._limit is not None else 0.0
        by_clock = self.elapsed_s / self.seconds if self.seconds < math.inf else 0.0
        return min(max(by_count, by_clock), 1.0)

    def grant(self, most: int) -> int:
        """Evaluations, at most ``most`` ≥ 1, to make before the next look at ``progress``."""
        if self._limit is None:
            return most
        step = math.ceil(self._limit / STEPS)
        return min(most, step, self._limit - self.evaluations)


class Incumbent:
    """The best schedule that a search has seen.

    Args:
        budget: its clock and its counter are recorded with the improvements.
        algorithm: label of the schedules.
        insertion: how orders are decoded, as for ``State``.
        trace: receives an ``Improvement`` for the first schedule and for every better one.
        start: a known schedule; the search begins with it if it is shorter than those of HEFT and
            PEFT.
        lists: whether HEFT and PEFT are tried, and ``start`` is checked; False begins with a
            ``start`` that is known to be valid.

    Raises:
        DAGSchedError: ``trace`` is not a list, or ``start`` is not a schedule of the instance.
    """

    def __init__(
        self,
        instance: Instance,
        budget: Budget,
        *,
        algorithm: str,
        insertion: bool,
        trace: list[Improvement] | None,
        start: Schedule | None = None,
        lists: bool = True,
    ) -> None:
        if trace is not None and not isinstance(trace, list):
            raise DAGSchedError(f"trace is {type(trace).__name__}: give a list to be filled")
        self.instance = instance
        self.budget = budget
        self.insertion = insertion
        self._algorithm = algorithm
        self._trace = trace
        known = [heft(instance), peft(instance)] if lists else []
        if start is not None:
            if lists:
                start.validate(instance)
            known.append(start)
        self.schedule = min(known, key=lambda made: made.makespan)
        self.makespan = math.inf
        self.offer(execution_order(instance, self.schedule), self.schedule.processor)

    @property
    def running(self) -> bool:
        """There is budget left, and the schedule does not reach the lower bound."""
        optimal = self.makespan <= self.instance.lower_bound
        return not optimal and self.budget.progress < 1.0

    def offer(self, order: Ints, processor: Ints) -> bool:
        """Decode a topological ``order[n]`` on ``processor[n]``; True if it is the best so far.

        The decoding is repeated in the order of execution as long as it shortens the schedule,
        because filled gaps may make room for more tasks. With resources, and without release dates,
        it is justified to both sides first.
        """
        if self.instance.n_resources and self.insertion and not self.instance.has_release:
            order = self._justified(order, processor)
        improved = False
        while True:
            arrays = decoding.decode(self.instance.arrays, order, processor, self.insertion)
            schedule = Schedule.adopt(*arrays, algorithm=self._algorithm)
            if not schedule.makespan < self.makespan:
                return improved
            improved = True
            self.schedule, self.makespan = schedule, schedule.makespan
            if self._trace is not None:
                found = (self.budget.elapsed_s, self.budget.evaluations, self.makespan)
                self._trace.append(Improvement(*found))
            order = execution_order(self.instance, schedule)

    def _justified(self, order: Ints, processor: Ints) -> Ints:
        """The order after double justification, as long as it shortens the schedule."""
        g, s = self.instance.arrays, allocate_placements(*self.instance.shape)
        back, order = self.instance.backwards, order.copy()
        makespan = decoding.decode_into(g, s, order, processor, True)
        while (shorter := decoding.justify(g, back, s, order, processor)) < makespan:
            makespan = shorter
        return order


def execution_order(instance: Instance, schedule: Schedule) -> Ints:
    """``[n]`` tasks by start, of equal ones those of duration 0 first; a topological order."""
    return np.lexsort((instance.arrays.topo_position, schedule.finish, schedule.start))


def check_count(name: str, value: int) -> None:
    """Raise a DAGSchedError that names the argument, unless ``value`` is a whole number ≥ 1."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < 1:
        raise DAGSchedError(f"{name} is {value!r}: give a whole number >= 1")


def check_positive(name: str, value: float) -> None:
    """Raise a DAGSchedError that names the argument, unless ``value`` is finite and > 0."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not (math.isfinite(value) and value > 0):
        raise DAGSchedError(f"{name} is {value!r}: give a number > 0, finite")


def generator(seed: int | np.random.Generator) -> np.random.Generator:
    """The generator itself, or a new one from a seed; raises a DAGSchedError if it is neither."""
    if isinstance(seed, np.random.Generator):
        return seed
    if not isinstance(seed, int | np.integer) or isinstance(seed, bool) or seed < 0:
        raise DAGSchedError(f"seed is {seed!r}: give a whole number >= 0 or a numpy Generator")
    return np.random.default_rng(seed)

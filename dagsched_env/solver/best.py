"""The best schedule so far, and whether the solve is over; shared by its threads."""

import dataclasses
import math
import threading
import time
from typing import Any

from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers.anytime import check_positive
from dagsched_env.solver.result import OPTIMALITY_TOLERANCE, Callback, Finding

REPORT_EVERY_S = 0.1


class Best:
    """The best schedule of a solve. The clock starts at once.

    Args:
        instance: the problem.
        budget_s: seconds, > 0; None = no limit.
        target: a makespan that is short enough (time), > 0; None = there is none.
        patience_s: end after so many seconds without an improvement, > 0; None = never.
        callback: see ``Callback``; called by the thread that calls ``report``.

    Raises:
        DAGSchedError: a limit is out of its range; the message names it.
    """

    def __init__(
        self,
        instance: Instance,
        *,
        budget_s: float | None = None,
        target: float | None = None,
        patience_s: float | None = None,
        callback: Callback | None = None,
    ) -> None:
        for name, value in (("budget_s", budget_s), ("target", target), ("patience_s", patience_s)):
            if value is not None:
                check_positive(name, value)
        if callback is not None and not callable(callback):
            raise DAGSchedError(
                f"callback is {callback!r}: give a function of a Finding and a bound"
            )
        self.instance = instance
        self.trace: list[Finding] = []
        self.list_s = 0.0
        """About the time that a list schedule takes (s); 0 = not measured."""
        self._lower_bound = instance.lower_bound
        self._schedule: Schedule | None = None
        self._budget_s = math.inf if budget_s is None else float(budget_s)
        self._target = 0.0 if target is None else target
        self._patience_s = math.inf if patience_s is None else patience_s
        self._callback = callback
        self._stopped: str | None = None
        self._lock = threading.Lock()
        self._started = time.perf_counter()
        self._reported = (0, 0.0)

    @property
    def schedule(self) -> Schedule:
        """The shortest schedule offered so far.

        Raises:
            DAGSchedError: none has been offered.
        """
        if self._schedule is None:
            raise DAGSchedError("no schedule has been found yet")
        return self._schedule

    @property
    def lower_bound(self) -> float:
        """No schedule is shorter (time)."""
        return min(self._lower_bound, self.schedule.makespan)

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._started

    @property
    def left_s(self) -> float:
        """Seconds to the end of the budget, at least 0; ∞ without a budget."""
        return max(self._budget_s - self.elapsed_s, 0.0)

    @property
    def patience_left_s(self) -> float:
        """Seconds to the end without a further improvement, at least 0; ∞ without a patience."""
        return max(self._patience_s - (self.elapsed_s - self.trace[-1].elapsed_s), 0.0)

    @property
    def over(self) -> str | None:
        """Why the solve has to end, or None: see ``SolveResult.stopped_by``."""
        if self._stopped is None and self._schedule is not None:
            makespan = self._schedule.makespan
            if self._lower_bound >= makespan * (1.0 - OPTIMALITY_TOLERANCE):
                self._stopped = "optimal"
            elif makespan <= self._target:
                self._stopped = "target"
            elif self.left_s == 0.0:
                self._stopped = "budget"
            elif self.patience_left_s == 0.0:
                self._stopped = "patience"
        return self._stopped

    def stop(self, reason: str) -> None:
        """End the solve, unless it is over already."""
        self._stopped = self._stopped or reason

    def interrupt(self) -> None:
        """End the solve with the best schedule so far, as Ctrl-C asks for.

        Raises:
            KeyboardInterrupt: there is none yet.
        """
        if self._schedule is None:
            raise KeyboardInterrupt
        self.stop("interrupt")

    def summary(self) -> dict[str, Any]:
        """The fields of a ``SolveResult``."""
        return {
            "schedule": dataclasses.replace(self.schedule, algorithm="solve"),
            "lower_bound": self.lower_bound,
            "trace": tuple(self.trace),
            "elapsed_s": self.elapsed_s,
            "stopped_by": self.over or "budget",
        }

    def offer(self, schedule: Schedule, found_by: str) -> None:
        """Keep a valid schedule if it is the shortest so far."""
        with self._lock:
            if self._schedule is None or schedule.makespan < self._schedule.makespan:
                self._schedule = schedule
                self.trace.append(Finding(self.elapsed_s, schedule.makespan, found_by))

    def prove(self, bound: float) -> None:
        """No schedule is shorter than ``bound`` (time)."""
        with self._lock:
            self._lower_bound = max(self._lower_bound, bound)

    def report(self) -> None:
        """Call the callback if there is something new, or enough time has passed."""
        if self._callback is None or not self.trace:
            return
        findings, when = len(self.trace), self.elapsed_s
        if findings > self._reported[0] or when - self._reported[1] >= REPORT_EVERY_S:
            self._reported = findings, when
            self._callback(self.trace[-1], self.lower_bound)

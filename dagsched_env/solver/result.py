"""What a solve reports while it runs, and in the end."""

from collections.abc import Callable
from dataclasses import dataclass

from dagsched_env.pictures.labels import one_line
from dagsched_env.pictures.notebook import facts, schedule_html
from dagsched_env.problem.schedule import Schedule

OPTIMALITY_TOLERANCE = 1e-7
"""A schedule is optimal if no other is shorter by more than this share of its makespan."""


@dataclass(frozen=True)
class Finding:
    """A schedule was found that is shorter than all before it."""

    elapsed_s: float
    """Seconds since the start."""
    makespan: float
    found_by: str
    """Name of a list scheduler, ``annealing``, ``cp_sat``, …"""


@dataclass(frozen=True)
class SolveResult:
    """The best schedule found, and what it took."""

    schedule: Schedule
    lower_bound: float
    """No schedule is shorter than this (time)."""
    trace: tuple[Finding, ...]
    """Every improvement, the first schedule included; the last one is ``schedule``."""
    elapsed_s: float
    stopped_by: str
    """``optimal``, ``target``, ``patience``, ``budget`` or ``interrupt``."""

    @property
    def makespan(self) -> float:
        """Of the schedule (time)."""
        return self.schedule.makespan

    @property
    def found_by(self) -> str:
        """Who found the schedule."""
        return self.trace[-1].found_by

    @property
    def gap(self) -> float:
        """Share of the makespan that lies above the lower bound, in [0, 1]."""
        return (self.makespan - self.lower_bound) / self.makespan if self.makespan > 0 else 0.0

    @property
    def optimal(self) -> bool:
        """No schedule is shorter, by more than 1e-7 of the makespan: proved."""
        return self.lower_bound >= self.makespan * (1.0 - OPTIMALITY_TOLERANCE)

    def uninterrupted(self) -> "SolveResult":
        """Itself; raises KeyboardInterrupt where Ctrl-C ended it: for one solve among others."""
        if self.stopped_by == "interrupt":
            raise KeyboardInterrupt
        return self

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        entries = {
            "makespan": f"{self.makespan:.6g}",
            "lower bound": f"{self.lower_bound:.6g}",
            "gap": f"{self.gap:.1%}",
            "proof": "optimal" if self.optimal else "none: a shorter schedule may exist",
            "found by": one_line(self.found_by),
            "ended": f"{self.stopped_by}, after {self.elapsed_s:.3g} s",
        }
        return facts("Solution", entries) + schedule_html(self.schedule)


Callback = Callable[[Finding, float], None]
"""Called with the latest ``Finding`` and the lower bound after each improvement, and about ten
times a second."""

"""Machines that fail, and come back."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance

__all__ = ["OUTAGES", "OneLost", "Outage", "Outages", "RandomOutages"]


class Outage(NamedTuple):
    """A machine does not work from ``start`` up to ``end``."""

    machine: int
    start: float
    end: float
    """∞ = it does not come back."""


class Outages(Protocol):
    """Draws outages; one call for each run."""

    def draw(self, instance: Instance, rng: np.random.Generator) -> Sequence[Outage]:
        """Those of one machine do not overlap."""
        ...


@dataclass(frozen=True)
class OneLost:
    """One machine is lost at a random time and does not come back.

    Only a machine without which each task can still run is taken; where there is none, nothing
    happens.

    Args:
        within: the time is between 0 and so many lower bounds of the makespan, > 0.
    """

    within: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.within < np.inf:
            raise DAGSchedError(f"within={self.within} is not a number > 0")

    def draw(self, instance: Instance, rng: np.random.Generator) -> Sequence[Outage]:
        """One outage, or none."""
        eligible = np.isfinite(instance.comp)
        spare = [
            q
            for q in range(instance.n_processors)
            if np.delete(eligible, q, axis=1).any(axis=1).all()
        ]
        at = rng.uniform(0.0, self.within * instance.lower_bound)
        if not spare:
            return ()
        return (Outage(spare[int(rng.integers(len(spare)))], at, np.inf),)


@dataclass(frozen=True)
class RandomOutages:
    """Each machine works and fails in turn, for exponential times.

    Args:
        working: mean time between the end of an outage and the next one, in lower bounds of the
            makespan, > 0.
        failed: mean length of an outage, in the same unit, > 0.
        until: no outage begins later, in the same unit, > 0.
    """

    working: float = 3.0
    failed: float = 0.3
    until: float = 10.0

    def __post_init__(self) -> None:
        for name in ("working", "failed", "until"):
            if not 0 < getattr(self, name) < np.inf:
                raise DAGSchedError(f"{name}={getattr(self, name)} is not a number > 0")

    def draw(self, instance: Instance, rng: np.random.Generator) -> Sequence[Outage]:
        """Outages of all machines; each comes back."""
        unit = instance.lower_bound or 1.0
        found = []
        for q in range(instance.n_processors):
            start = rng.exponential(self.working * unit)
            while start < self.until * unit:
                end = start + rng.exponential(self.failed * unit)
                found.append(Outage(q, start, end))
                start = end + rng.exponential(self.working * unit)
        return tuple(found)


OUTAGES: Mapping[str, Callable[..., Outages]] = {"one_lost": OneLost, "random": RandomOutages}
"""Name in a SPEC → what makes the outages."""

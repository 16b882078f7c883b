"""An entry of the archive: a schedule of an instance, what it is worth, and where it comes from."""

from dataclasses import dataclass, replace

from dagsched_env.problem.bounds import lower_bounds
from dagsched_env.problem.errors import DAGSchedError, InvalidScheduleError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.records.coding import decode, order_of

__all__ = ["Entry", "better_of", "is_shorter", "make_entry", "wrong_with"]

TOLERANCE = 1e-9
"""Makespans are alike if they differ by no more than this share: sums are rounded."""
PROVED = 1e-6
"""A makespan is optimal if it is above its bound by at most this share: CP-SAT rounds times."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """The best known schedule of an instance."""

    name: str
    """Of the instance, in its set."""
    fingerprint: str
    """``Instance.fingerprint``: of the very numbers."""
    makespan: float
    """Of the schedule (time)."""
    lower_bound: float
    """No schedule is shorter (time): what a solver claims."""
    solver: str
    """What found the schedule."""
    seconds: float | None
    """Wall time that it had (s); None: unknown."""
    date: str
    """Day on which it was found, as in ``2026-11-28``."""
    commit: str | None
    """Last change of the code of this repository that found it; None: other code, or unknown."""
    order: tuple[int, ...]
    """``[n]`` tasks, from which ``decode`` makes the schedule."""
    processor: tuple[int, ...]
    """``[n]`` processor of each task."""
    machines: int | None = None
    """Number of processors, of speed 1 and bandwidth 1, if the file of the instance names none."""
    published: float | None = None
    """The best makespan that the source of the set states (time); it may be shorter. None: none."""

    @property
    def gap(self) -> float:
        """Share of the makespan that lies above the bound, in [0, 1]."""
        return (self.makespan - self.lower_bound) / self.makespan if self.makespan > 0 else 0.0

    @property
    def optimal(self) -> bool:
        """The bound says that no schedule is shorter, within 1e-6 of the makespan."""
        return self.gap <= PROVED


def make_entry(
    name: str,
    instance: Instance,
    schedule: Schedule,
    *,
    date: str,
    solver: str | None = None,
    lower_bound: float = 0.0,
    seconds: float | None = None,
    commit: str | None = None,
    machines: int | None = None,
    published: float | None = None,
) -> Entry:
    """The entry of a schedule.

    Args:
        name: of the instance, in its set.
        instance: the problem.
        schedule: a valid schedule of it; what is kept ends no later.
        date: on which it was found, as ``Entry`` has it.
        solver: what found it; its label when None.
        lower_bound: that somebody has proved (time); what is quickly computed counts, too.
        seconds: wall time that the solver had (s).
        commit: of the code that found it, as ``Entry`` has it.
        machines: as ``Entry`` has it.
        published: as ``Entry`` has it (time).

    Raises:
        InvalidScheduleError: the schedule breaks a rule, or is below the lower bound.
        DAGSchedError: nobody is named who found it.
    """
    schedule.validate(instance)
    finder = solver or schedule.algorithm
    if not finder:
        raise DAGSchedError("the schedule does not say what found it: name the solver")
    order, processor = order_of(instance, schedule), tuple(schedule.processor.tolist())
    kept = decode(instance, order, processor)
    kept.validate(instance)
    if is_shorter(schedule.makespan, kept.makespan):
        raise InvalidScheduleError(
            f"in the order of its starts the schedule ends at {kept.makespan}, not at "
            f"{schedule.makespan}: its times are too close to each other to tell the order"
        )
    bound = max(lower_bound, lower_bounds(instance).best)
    if is_shorter(kept.makespan, bound):
        raise InvalidScheduleError(
            f"the schedule is valid and ends at {kept.makespan}, but the lower bound says that "
            f"none ends before {bound}: one who proved the bound was wrong"
        )
    return Entry(
        name=name,
        fingerprint=instance.fingerprint,
        makespan=kept.makespan,
        lower_bound=min(bound, kept.makespan),
        solver=finder,
        seconds=None if seconds is None else round(seconds, 3),
        date=date,
        commit=commit,
        order=order,
        processor=processor,
        machines=machines,
        published=published,
    )


def is_shorter(makespan: float, other: float) -> bool:
    """Whether a makespan is below another one by more than rounding."""
    return makespan < other * (1.0 - TOLERANCE)


def better_of(known: Entry, new: Entry) -> Entry:
    """The entry of the shorter schedule, the older one of two alike, with the higher bound.

    What is published is what the new one says, if it says anything.

    Raises:
        InvalidScheduleError: the bound of one is above the makespan of the other.
    """
    best = new if is_shorter(new.makespan, known.makespan) else known
    bound = max(known.lower_bound, new.lower_bound)
    if is_shorter(best.makespan, bound):
        raise InvalidScheduleError(
            f"{best.name}: a schedule ends at {best.makespan}, but a lower bound says that none "
            f"ends before {bound}: one who proved the bound was wrong"
        )
    published = known.published if new.published is None else new.published
    return replace(best, lower_bound=min(bound, best.makespan), published=published)


def wrong_with(entry: Entry, instance: Instance) -> str | None:
    """What is wrong with an entry of an instance; None: its schedule is what it says."""
    if entry.fingerprint != instance.fingerprint:
        return "the instance has another fingerprint"
    if entry.machines not in (None, instance.n_processors):
        return f"the instance has {instance.n_processors} machines, the entry says {entry.machines}"
    try:
        schedule = decode(instance, entry.order, entry.processor)
        schedule.validate(instance)
    except InvalidScheduleError as error:
        return str(error)
    if abs(schedule.makespan - entry.makespan) > TOLERANCE * schedule.makespan:
        return f"the schedule ends at {schedule.makespan}, the entry says {entry.makespan}"
    if is_shorter(entry.makespan, entry.lower_bound):
        return f"the lower bound {entry.lower_bound} is above the makespan {entry.makespan}"
    return None

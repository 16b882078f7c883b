"""A complete schedule: metrics, and a validity check that shares no code with the simulator."""

import itertools
import json
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np
import numpy.typing as npt

from dagsched_env.problem import drawing
from dagsched_env.problem.errors import FormatError, InvalidScheduleError, expect
from dagsched_env.problem.instance import Instance

__all__ = ["Schedule"]

JSON_FORMAT = "dagsched-schedule"
JSON_VERSION = 1
SHOWN = 4
"""Most tasks that a message names."""
TOLERANCE = 1e-9
"""Relative slack of the validity check, in units of the makespan."""


@dataclass(frozen=True, eq=False)
class Schedule:
    """Where and when each task runs.

    Args:
        processor: ``[n]`` processor index of each task.
        start: ``[n]`` start times.
        finish: ``[n]`` finish times.
        algorithm: label of the scheduler, for tables and pictures.
    """

    processor: npt.NDArray[np.int64]
    start: npt.NDArray[np.float64]
    finish: npt.NDArray[np.float64]
    algorithm: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.algorithm, str | None):
            raise InvalidScheduleError(f"algorithm is {type(self.algorithm).__name__}, not text")
        for name, dtype in (("processor", np.int64), ("start", np.float64), ("finish", np.float64)):
            try:
                given = np.asarray(getattr(self, name))
                with np.errstate(invalid="ignore"):  # told below
                    array = np.array(given, dtype=dtype)
            except (TypeError, ValueError, OverflowError):
                raise InvalidScheduleError(f"{name} is not a list of numbers") from None
            if given.dtype.kind == "f" and dtype is np.int64 and (array != given).any():
                raise InvalidScheduleError(f"{name} has a number that is not whole")
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        shapes = {self.processor.shape, self.start.shape, self.finish.shape}
        if len(shapes) != 1 or self.processor.ndim != 1:
            raise InvalidScheduleError(
                "processor, start and finish need one entry per task each, got shapes "
                f"{self.processor.shape}, {self.start.shape}, {self.finish.shape}"
            )

    @classmethod
    def adopt(
        cls,
        processor: npt.NDArray[np.int64],
        start: npt.NDArray[np.float64],
        finish: npt.NDArray[np.float64],
        *,
        algorithm: str | None = None,
    ) -> "Schedule":
        """Use arrays that the caller has just made, without copying or checking them.

        Args:
            processor: ``[n]`` int64; becomes read-only, as the others.
            start: ``[n]`` float64 (time).
            finish: ``[n]`` float64 (time).
            algorithm: label of the schedule.
        """
        for array in (processor, start, finish):
            array.flags.writeable = False
        schedule = object.__new__(cls)
        schedule.__dict__.update(
            processor=processor, start=start, finish=finish, algorithm=algorithm
        )
        return schedule

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Schedule)
            and np.array_equal(self.processor, other.processor)
            and np.array_equal(self.start, other.start)
            and np.array_equal(self.finish, other.finish)
        )

    # -- metrics ---------------------------------------------------------------------------------

    @property
    def makespan(self) -> float:
        """Finish time of the last task."""
        return float(self.finish.max(initial=0.0))

    def slr(self, instance: Instance) -> float:
        """Schedule length ratio, makespan / CP_MIN; ≥ 1. Where CP_MIN is 0, makespan / 1."""
        expect("instance", instance, Instance, "schedule.slr(instance)")
        return self.makespan / instance.time_scale

    def speedup(self, instance: Instance) -> float:
        """Time of all tasks one after the other on the best single processor / makespan.

        Where no processor can run all tasks, every task counts with its minimum cost. With
        resources tasks on a processor overlap, and it may exceed the number of processors.
        """
        expect("instance", instance, Instance, "schedule.speedup(instance)")
        sequential = float(instance.comp.sum(axis=0).min())
        if not np.isfinite(sequential):
            sequential = float(instance.comp.min(axis=1).sum())
        return sequential / self.makespan if self.makespan > 0 else 1.0

    def efficiency(self, instance: Instance) -> float:
        """Speedup / number of processors; with resources, the share of them that is in use.

        This is the mean over time, from 0 to the makespan, of what the tasks use of a resource
        on all processors together / its capacity on all of them; of several resources, that of
        which the largest share is used. It is at most 1, and 0 for a resource without limit.
        """
        expect("instance", instance, Instance, "schedule.efficiency(instance)")
        if instance.n_resources:
            return self._share_in_use(instance)
        return self.speedup(instance) / instance.n_processors

    def _share_in_use(self, instance: Instance) -> float:
        """The largest share of a resource that is in use, in [0, 1]; 1 at a makespan of 0."""
        if self.makespan <= 0:
            return 1.0
        with np.errstate(over="ignore"):  # a sum beyond float64 is no limit
            capacity = instance.capacities.sum(axis=0)
        needs = np.zeros_like(instance.demands)
        np.divide(instance.demands, capacity, out=needs, where=capacity > 0)
        return float((((self.finish - self.start) / self.makespan) @ needs).max())

    # -- validity --------------------------------------------------------------------------------

    def validate(self, instance: Instance) -> None:
        """Check every constraint in plain numpy, within 1e-9 of the makespan.

        Raises:
            InvalidScheduleError: names the first violation: a size, an index, a time that is not
                finite or negative, an ineligible processor, a wrong duration, a start before the
                release of the task or before the processor is available, two tasks at once on a
                processor or tasks that need more of a resource than it has, or a task that starts
                before its data arrives.
            DAGSchedError: ``instance`` is something else.
        """
        expect("instance", instance, Instance, "schedule.validate(instance)")
        n = instance.n_tasks
        if self.processor.shape[0] != n:
            raise InvalidScheduleError(f"{self.processor.shape[0]} tasks, but the instance has {n}")
        slack = TOLERANCE * self.makespan if np.isfinite(self.makespan) else 0.0
        self._check_placements(instance, slack)
        self._check_release(instance, slack)
        if instance.n_resources:
            self._check_loads(instance, slack)
        else:
            self._check_overlaps(instance, slack)
        self._check_precedence(instance, slack)

    def _check_placements(self, instance: Instance, slack: float) -> None:
        p = instance.n_processors
        for t, (q, start, finish) in enumerate(
            zip(self.processor.tolist(), self.start.tolist(), self.finish.tolist(), strict=True)
        ):
            if not 0 <= q < p:
                raise InvalidScheduleError(
                    f"task {_task(t, instance)} is on processor {q}, not in 0..{p - 1}"
                )
            if not (np.isfinite(start) and np.isfinite(finish)) or start < -slack:
                raise InvalidScheduleError(
                    f"task {_task(t, instance)} runs from {start} to {finish}"
                )
            cost = float(instance.comp[t, q])
            if not np.isfinite(cost):
                raise InvalidScheduleError(
                    f"task {_task(t, instance)} may not run on processor {_processor(q, instance)}"
                )
            if abs(finish - start - cost) > slack:
                raise InvalidScheduleError(
                    f"task {_task(t, instance)} takes {finish - start} on processor "
                    f"{_processor(q, instance)}, its cost there is {cost}"
                )

    def _check_release(self, instance: Instance, slack: float) -> None:
        earliest = instance.earliest[np.arange(instance.n_tasks), self.processor]
        early = np.flatnonzero(self.start < earliest - slack)
        if early.size:
            t = int(early[0])
            raise InvalidScheduleError(
                f"task {_task(t, instance)} starts at {self.start[t]} on processor "
                f"{_processor(int(self.processor[t]), instance)}, it may not start there before "
                f"{earliest[t]}"
            )

    def _check_overlaps(self, instance: Instance, slack: float) -> None:
        for q in range(instance.n_processors):
            tasks = np.flatnonzero(self.processor == q)
            tasks = tasks[np.argsort(self.sequence_key(instance)[tasks], kind="stable")]
            for a, b in itertools.pairwise(tasks.tolist()):
                if self.start[b] < self.finish[a] - slack:
                    raise InvalidScheduleError(
                        f"tasks {_task(a, instance)} and {_task(b, instance)} overlap on processor "
                        f"{_processor(q, instance)}: {a} finishes at {self.finish[a]}, {b} starts "
                        f"at {self.start[b]}"
                    )

    def _check_loads(self, instance: Instance, slack: float) -> None:
        """Add up demands in the order of time; a task leaves ``slack`` before its finish."""
        demand, capacity = instance.arrays.demand, instance.arrays.capacity
        for q in range(instance.n_processors):
            tasks = np.flatnonzero((self.processor == q) & (self.finish - self.start > slack))
            times = np.concatenate([self.finish[tasks] - slack, self.start[tasks]])
            changes = np.concatenate([-demand[tasks], demand[tasks]])
            order = np.argsort(times, kind="stable")  # of equal times, tasks leave first
            over = np.cumsum(changes[order], axis=0) > capacity[q]
            if over.any():
                at, r = np.argwhere(over)[0].tolist()
                time = times[order[at]]
                running = tasks[(self.start[tasks] <= time) & (self.finish[tasks] - slack > time)]
                self._refuse_load(instance, q, r, float(time), running.tolist())

    def _refuse_load(
        self, instance: Instance, q: int, r: int, time: float, running: list[int]
    ) -> None:
        users = [t for t in running if instance.demands[t, r] > 0]
        named = ", ".join(_task(t, instance) for t in users[:SHOWN])
        more = f" and {len(users) - SHOWN} more" if len(users) > SHOWN else ""
        raise InvalidScheduleError(
            f"tasks {named}{more} run on processor {_processor(q, instance)} at {time} and need "
            f"{instance.demands[users, r].sum():.15g} of {instance.resource_names[r]!r}, it has "
            f"{instance.capacities[q, r]:.15g}"
        )

    def _check_precedence(self, instance: Instance, slack: float) -> None:
        source, target = instance.edges[:, 0], instance.edges[:, 1]
        a, b = self.processor[source], self.processor[target]
        transfer = instance.latency[a, b] + instance.data * instance.inv_bandwidth[a, b]
        arrival = self.finish[source] + np.where(a == b, 0.0, transfer)
        late = np.flatnonzero(self.start[target] < arrival - slack)
        if late.size:
            e = late[0]
            raise InvalidScheduleError(
                f"task {_task(target[e], instance)} starts at {self.start[target[e]]}, before the "
                f"data of task {_task(source[e], instance)} arrives at {arrival[e]} (edge {e})"
            )

    def sequence_key(self, instance: Instance) -> npt.NDArray[np.float64]:
        """``[n]`` times by which the tasks of each processor are in order.

        Midpoints, because a task of duration 0 may start a rounding error after its successor; with
        resources, starts, because tasks overlap.
        """
        return self.start if instance.n_resources else 0.5 * self.start + 0.5 * self.finish

    # -- conversions -----------------------------------------------------------------------------

    def to_json(self, instance: Instance | None = None) -> str:
        """Own JSON format.

        Args:
            instance: the problem: its names of tasks and processors, and what was assumed of it,
                are added for readers of the file; ``from_json`` does not need them.
        """
        names = {}
        if instance is not None:
            names = {
                "tasks": list(instance.task_names),
                "processors": list(instance.processor_names),
            }
            if instance.assumptions:
                names["assumptions"] = list(instance.assumptions)
        return json.dumps(
            {
                "format": JSON_FORMAT,
                "version": JSON_VERSION,
                "algorithm": self.algorithm,
                "makespan": self.makespan,
                **names,
                "processor": self.processor.tolist(),
                "start": self.start.tolist(),
                "finish": self.finish.tolist(),
            },
            allow_nan=False,
        )

    @classmethod
    def from_json(cls, text: str, instance: Instance | None = None) -> "Schedule":
        """Read ``to_json``.

        Args:
            text: the file.
            instance: the problem; where the text has the names of its tasks or processors in
                another order, the names count.

        Raises:
            FormatError: not JSON, not this format, a value of a wrong type, or the names of other
                tasks; the message names the key.
            InvalidScheduleError: the lists are not of one length, or the algorithm is no text.
        """
        try:
            record = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise FormatError(f"not JSON: {error}") from None
        if not isinstance(record, dict) or record.get("format") != JSON_FORMAT:
            raise FormatError(f'no schedule: the top level needs "format": "{JSON_FORMAT}"')
        version, makespan = record.get("version"), record.get("makespan", 0.0)
        if type(version) is not int or version != JSON_VERSION:
            raise FormatError(f"version {version!r} is not {JSON_VERSION}")
        if type(makespan) not in (int, float):
            raise FormatError(f"key 'makespan' is {KINDS[type(makespan)]}, not a number")
        schedule = cls(
            _entries(record, "processor", (int,), "a whole number"),
            _entries(record, "start", (int, float), "a number"),
            _entries(record, "finish", (int, float), "a number"),
            algorithm=record.get("algorithm"),
        )
        return schedule if instance is None else schedule._by_names(record, instance)

    def _by_names(self, record: dict[str, Any], instance: Instance) -> "Schedule":
        """In the order of the instance's tasks and processors, where the record names its own."""
        order = _positions(record.get("tasks"), instance.task_names)
        if order is None and "tasks" in record:
            raise FormatError(f"key 'tasks' has other names than the tasks of {instance}")
        schedule, inside = self, (self.processor >= 0) & (self.processor < instance.n_processors)
        there = _positions(record.get("processors"), instance.processor_names)
        if there is not None and inside.all():
            schedule = replace(schedule, processor=np.argsort(there)[self.processor])
        if order is not None and len(order) == len(self.processor):
            schedule = replace(
                schedule,
                processor=schedule.processor[order],
                start=self.start[order],
                finish=self.finish[order],
            )
        return schedule

    def plot(self, path: str | Path, instance: Instance | None = None) -> Path:
        """Write a Gantt chart as PNG, SVG, PDF or HTML, by the suffix of ``path``.

        Args:
            path: the file to write.
            instance: the problem: gives names, and rows of idle processors; HTML needs it.

        Raises:
            DAGSchedError: the arguments are swapped, or as of ``dagsched_env.pictures.save``.
            MissingExtraError: matplotlib is not installed.
        """
        call = 'schedule.plot("gantt.png", instance)'
        expect("path", path, (str, PathLike), call)
        expect("instance", instance, (Instance, NoneType), call)
        return drawing.load_renderer().save(self, path, instance)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return drawing.load_renderer().schedule_html(self)


KINDS = {
    type(None): "null",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "an object",
}
"""Types of JSON values, as messages name them."""


def _task(t: int, instance: Instance) -> str:
    """A task in a message: its index, and its name if it has one."""
    return _numbered(t, instance.task_names[t], default=str(t))


def _processor(q: int, instance: Instance) -> str:
    """A processor in a message: its index, and its name if it has one."""
    return _numbered(q, instance.processor_names[q], default=f"P{q}")


def _numbered(index: int, name: str, default: str) -> str:
    return str(index) if name == default else f"{index} ({name!r})"


def _positions(names: Any, known: tuple[str, ...]) -> npt.NDArray[np.int64] | None:
    """Where each known name stands in a list; None: the list is not one of these names."""
    if not isinstance(names, list) or sorted(map(repr, names)) != sorted(map(repr, known)):
        return None
    index = {name: i for i, name in enumerate(names)}
    return np.array([index[name] for name in known], dtype=np.int64)


def _entries(record: dict[str, Any], key: str, kinds: tuple[type, ...], expected: str) -> Any:
    """The list of numbers, one per task, at a key; raises FormatError."""
    values = record.get(key)
    if not isinstance(values, list):
        raise FormatError(f"key {key!r} is missing or no list")
    for i, value in enumerate(values):
        if type(value) not in kinds:
            raise FormatError(f"{key}[{i}] is {KINDS[type(value)]}, not {expected}")
    return values

"""Jobs that can be run, and the graph of what waits for what."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import networkx as nx
import numpy as np

from dagsched_env.history import History
from dagsched_env.io import Equips
from dagsched_env.kernels.arrays import Floats
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.workflow import CORES, MEMORY, Workflow

TOOL = "dagsched"
"""Under this name the history keeps what ``execute`` has measured."""
UNKNOWN_S = 1.0
"""A job of which nothing is known takes so many seconds."""


@dataclass(frozen=True)
class Job:
    """One job.

    Args:
        name: distinct.
        action: a command for the shell, a command as a list of words, or a function; it is called
            with the results of the jobs in ``after``, in their order. To run in another process it
            has to be at the top level of a module, or a ``functools.partial`` of such a one.
        after: names of the jobs that have to be finished before.
        kind: jobs of one kind run the same code; the history takes them together.
        seconds: how long it will probably take, where the history does not know; None = unknown.
        cores: that it uses.
        memory: that it uses (bytes); None = not known.
        resources: what it uses of others, by name.
        data: bytes that a job receives from each one in ``after``, by name; others send what the
            history knows of the size of their results, or nothing.
        input_bytes: size of all that it reads; None = not known.
        timeout_s: it is ended after so many seconds, which is a failure; None = never. A function
            on Dask cannot be ended: it is no longer waited for.

    Raises:
        DAGSchedError: a number is out of its range, ``after`` is a single text, or the action is
            neither a command nor a function.
    """

    name: str
    action: str | Sequence[str] | Callable[..., Any]
    after: Sequence[str] = ()
    kind: str | None = None
    seconds: float | None = None
    cores: float = 1.0
    memory: float | None = None
    resources: Mapping[str, float] = field(default_factory=dict)
    data: Mapping[str, float] = field(default_factory=dict)
    input_bytes: float | None = None
    timeout_s: float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.after, str):
            raise DAGSchedError(f"job {self.name!r}: write after=[{self.after!r}]")
        words = isinstance(self.action, Sequence) and len(self.action) > 0
        if not (words or callable(self.action) or self.action == ""):
            raise DAGSchedError(
                f"job {self.name!r}: action is {self.action!r}: give a command or a function"
            )
        fields = ("seconds", "cores", "memory", "input_bytes", "timeout_s")
        amounts = {name: getattr(self, name) for name in fields}
        for name, amount in {**amounts, **self.resources}.items():
            if amount is not None and not (
                isinstance(amount, int | float | np.number) and 0 <= amount < np.inf
            ):
                raise DAGSchedError(f"job {self.name!r}: {name} is {amount!r}: give a number >= 0")


class JobGraph:
    """Jobs, and what waits for what.

    Args:
        jobs: at least one.
        name: a label.

    Raises:
        DAGSchedError: no job, a name twice, an unknown name in ``after`` or ``data``, or a cycle.
    """

    def __init__(self, jobs: Sequence[Job], name: str | None = None) -> None:
        self.jobs = tuple(jobs)
        self.name = name
        self.index = {job.name: i for i, job in enumerate(self.jobs)}
        if not self.jobs:
            raise DAGSchedError("there is no job")
        if len(self.index) < len(self.jobs):
            names = [job.name for job in self.jobs]
            raise DAGSchedError(f"two jobs are called {max(names, key=names.count)!r}")
        for job in self.jobs:
            if unknown := [name for name in job.after if name not in self.index]:
                raise DAGSchedError(f"job {job.name!r} is after {unknown[0]!r}, which is no job")
            if unknown := [name for name in job.data if name not in job.after]:
                raise DAGSchedError(
                    f"job {job.name!r} has data of {unknown[0]!r}: name it in after"
                )
        self.edges = [
            (self.index[name], i)
            for i, job in enumerate(self.jobs)
            for name in dict.fromkeys(job.after)
        ]
        graph = nx.DiGraph(self.edges)
        if not nx.is_directed_acyclic_graph(graph):
            ring = [self.jobs[u].name for u, _ in nx.find_cycle(graph)]
            raise DAGSchedError(f"jobs wait for each other: {' → '.join([*ring, ring[0]])}")

    def workflow(self, history: History | None = None) -> Workflow:
        """The tasks, with what they will probably take and send.

        What the history knows of a job or its kind counts first, then ``seconds``, then what other
        kinds took, then one second. Of data, what the job says counts first, then the history.

        Args:
            history: of earlier runs.
        """
        seconds, assumed = self._seconds(history)
        said = f"{assumed} of {len(self.jobs)} jobs: duration unknown, taken as {UNKNOWN_S:g} s"
        names = tuple(dict.fromkeys([CORES, MEMORY, *(r for j in self.jobs for r in j.resources)]))
        return Workflow(
            tuple(self.index),
            np.array(seconds),
            tuple(self.edges),
            self.data(self._result_bytes(history)),
            name=self.name,
            kinds=tuple(job.kind or job.name for job in self.jobs),
            says_units=True,
            assumptions=(said,) if assumed else (),
            demands=np.array([[_use(job, name) for name in names] for job in self.jobs]),
            resource_names=names,
        )

    def instance(self, machines: Equips, history: History | None = None) -> Instance:
        """The problem of planning these jobs.

        Args:
            machines: where they will run.
            history: as of ``workflow``.
        """
        return machines.equip(self.workflow(history))

    def data(self, result_bytes: Sequence[float | None]) -> Floats:
        """``[m]`` bytes on each edge: what its job says, else the whole result that is sent.

        Args:
            result_bytes: ``[n]`` size of what each job returns; None = not known, taken as 0.
        """
        said = [self.jobs[v].data.get(self.jobs[u].name, result_bytes[u]) for u, v in self.edges]
        return np.array([amount or 0.0 for amount in said], dtype=np.float64)

    def _result_bytes(self, history: History | None) -> list[float | None]:
        if history is None:
            return [None] * len(self.jobs)
        known = history.of(TOOL)
        return [known.result_bytes(job.kind or job.name, job.name) for job in self.jobs]

    def _seconds(self, history: History | None) -> tuple[list[float], int]:
        found, assumed = list[float](), 0
        known = history.of(TOOL) if history is not None else None
        for job in self.jobs:
            estimate = None
            if known is not None:
                estimate = known.estimate(job.kind or job.name, job.name, job.input_bytes)
            if estimate is not None and (estimate.basis != "tool" or job.seconds is None):
                found.append(estimate.seconds)
            elif job.seconds is not None:
                found.append(job.seconds)
            else:
                assumed += 1
                found.append(UNKNOWN_S)
        return found, assumed


def _use(job: Job, resource: str) -> float:
    if resource == CORES:
        return float(job.cores)
    if resource == MEMORY:
        return np.nan if job.memory is None else float(job.memory)
    return float(job.resources.get(resource, 0.0))

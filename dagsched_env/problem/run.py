"""A measured run: which tasks of a workflow ran when and where, as some tool recorded it."""

import dataclasses
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dagsched_env.kernels.arrays import Floats, Ints
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.kinds import task_kinds
from dagsched_env.problem.platforms import Platform
from dagsched_env.problem.schedule import Schedule
from dagsched_env.problem.workflow import CORES, Workflow

__all__ = ["Run"]

BANDWIDTH = 125e6
"""Bytes per second between machines of which nothing is recorded: 1 Gbit/s."""


@dataclass(frozen=True, eq=False)
class Run:
    """One run of a workflow. ``Run.instance`` makes a problem of it.

    Args:
        tool: what recorded it, such as ``snakemake``.
        workflow: n tasks, with their measured times, what they used, and their kinds: tasks of one
            kind run the same code. A task that this run did not need to run may have the time
            of an earlier one, or NaN.
        start: ``[n]`` seconds since the run began, ≥ 0; NaN = not in this run.
        finish: ``[n]`` the same, ≥ start.
        machine: ``[n]`` index of the machine; -1 = not in this run.
        machines: all machines that the tool used.
        input_bytes: ``[n]`` size of all that a task reads; NaN = not recorded. None = of no task.
        remarks: sentences on what is unusual about the run: restarts, cached results, gaps.

    Raises:
        DAGSchedError: a list of another length, or a time without a machine.
    """

    tool: str
    workflow: Workflow
    start: Floats
    finish: Floats
    machine: Ints
    machines: Platform
    input_bytes: Floats | None = None
    remarks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        n = len(self.workflow.tasks)
        for name in ("start", "finish", "machine"):
            if len(getattr(self, name)) != n:
                raise DAGSchedError(f"{name} has {len(getattr(self, name))} entries of {n} tasks")
        if self.input_bytes is not None and len(self.input_bytes) != n:
            raise DAGSchedError(f"input_bytes has {len(self.input_bytes)} entries of {n} tasks")
        for t in np.flatnonzero(self.ran):
            if not (0 <= self.start[t] <= self.finish[t] < np.inf):
                raise DAGSchedError(
                    f"task {self.workflow.tasks[t]!r} ran from {self.start[t]:g} to "
                    f"{self.finish[t]:g}: times are finite, and 0 is the beginning of the run"
                )
            if not self.machine[t] < self.machines.n_processors:
                raise DAGSchedError(f"task {self.workflow.tasks[t]!r} ran on no known machine")

    @property
    def ran(self) -> npt.NDArray[np.bool_]:
        """``[n]`` whether a task ran in this run."""
        return self.machine >= 0

    @property
    def kinds(self) -> tuple[str, ...]:
        """n kinds of tasks: those of the workflow, or else of their names."""
        return self.workflow.kinds or task_kinds(self.workflow.tasks) or self.workflow.tasks

    @property
    def makespan(self) -> float:
        """From the beginning of the run to the end of its last task (seconds)."""
        return float(self.finish[self.ran].max(initial=0.0))

    def executed(self) -> "Run":
        """The run with nothing but the tasks that ran in it.

        Raises:
            DAGSchedError: none did.
        """
        kept = np.flatnonzero(self.ran)
        if kept.size == 0:
            raise DAGSchedError("no task ran in this run: all results were there already")
        if kept.size == self.ran.size:
            return self
        return Run(
            self.tool,
            _part(self.workflow, kept),
            self.start[kept],
            self.finish[kept],
            self.machine[kept],
            self.machines,
            None if self.input_bytes is None else self.input_bytes[kept],
            self.remarks,
        )

    @property
    def problem(self) -> Workflow:
        """The workflow; its assumptions say what is unusual about the run.

        Where nothing is known of data, transfers take no time.
        """
        workflow = self.workflow
        return dataclasses.replace(
            workflow,
            data=workflow.data if workflow.says_data else np.zeros_like(workflow.data),
            assumptions=(*workflow.assumptions, *self.remarks),
        )

    def instance(self) -> Instance:
        """The problem: these tasks, with their measured times, on these machines.

        Raises:
            DAGSchedError: a task has no time, or used more than any machine has.
        """
        missing = np.flatnonzero(np.isnan(self.workflow.runtimes))
        if missing.size:
            raise DAGSchedError(
                f"{missing.size} tasks were never measured, such as "
                f"{self.workflow.tasks[missing[0]]!r}: run them once"
            )
        return self.machines.equip(self.problem)

    def schedule(self) -> Schedule:
        """What ran, as a schedule of ``executed().instance()``.

        It need not be valid: tools start tasks a little late, and share cores.
        """
        kept = self.ran
        return Schedule(
            self.machine[kept], self.start[kept], self.finish[kept], algorithm=self.tool
        )


def peak_use(run_start: Floats, run_finish: Floats, use: Floats) -> float:
    """The most that tasks used together at any moment.

    Args:
        run_start: ``[n]`` seconds.
        run_finish: ``[n]`` seconds; a task uses nothing from then on.
        use: ``[n]`` of some resource.
    """
    times = np.concatenate([run_finish, run_start])
    change = np.concatenate([-use, use])
    order = np.argsort(times, kind="stable")
    return float(np.cumsum(change[order]).max(initial=0.0))


def observed_node(name: str, start: Floats, finish: Floats, cores: Floats) -> Platform:
    """One machine with as many cores as tasks were seen to use at once.

    Args:
        name: of the machine.
        start: ``[n]`` seconds; NaN = did not run.
        finish: ``[n]`` seconds.
        cores: ``[n]`` that each task uses; NaN = not recorded, taken as 1.
    """
    ran = ~np.isnan(start)
    use = np.where(np.isnan(cores), 1.0, cores)
    most = max(peak_use(start[ran], finish[ran], use[ran]), use.max(initial=1.0))
    return Platform([1.0], BANDWIDTH, processor_names=[name], capacities={CORES: [most]})


def _part(workflow: Workflow, kept: Ints) -> Workflow:
    """The workflow of some of the tasks; edges to others are gone."""
    index = {t: i for i, t in enumerate(kept.tolist())}
    edges = [e for e, (u, v) in enumerate(workflow.edges) if u in index and v in index]
    return Workflow(
        tuple(workflow.tasks[t] for t in index),
        workflow.runtimes[kept],
        tuple((index[u], index[v]) for u, v in (workflow.edges[e] for e in edges)),
        workflow.data[edges],
        name=workflow.name,
        kinds=None if workflow.kinds is None else tuple(workflow.kinds[t] for t in index),
        says_data=workflow.says_data,
        says_units=workflow.says_units,
        assumptions=workflow.assumptions,
        demands=None if workflow.demands is None else workflow.demands[kept],
        resource_names=workflow.resource_names,
        resource_notes=workflow.resource_notes,
    )

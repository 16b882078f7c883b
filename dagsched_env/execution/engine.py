"""``execute``: jobs start as a dispatcher says, and what they took is measured."""

import contextlib
import dataclasses
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dagsched_env.execution.jobs import TOOL, JobGraph
from dagsched_env.execution.processes import Backend, Done, Processes, StartAll
from dagsched_env.online.dispatchers import Dispatcher, PlanOrder
from dagsched_env.online.situation import Situation
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.platforms import Platform
from dagsched_env.problem.run import Run
from dagsched_env.problem.schedule import Schedule
from dagsched_env.problem.workflow import MEMORY
from dagsched_env.schedulers.anytime import execution_order

__all__ = ["Execution", "ExecutionError", "ExecutionInterrupted", "execute"]

Progress = Callable[[int, int], None]
ENDING = (signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, eq=False)
class Execution:
    """What has been done."""

    run: Run
    """Measured: tasks, times, machines, and the sizes of results as data on the edges."""
    results: dict[str, Any]
    """What the jobs have returned that no other waits for, by name; None of a command."""


class ExecutionError(DAGSchedError):
    """A job failed; ``execution`` holds what was done before, measured and with its results."""

    def __init__(self, message: str, execution: Execution) -> None:
        super().__init__(message)
        self.execution = execution


class ExecutionInterrupted(KeyboardInterrupt):
    """Ctrl-C; ``execution`` holds what was done before, measured and with its results."""

    def __init__(self, execution: Execution) -> None:
        super().__init__()
        self.execution = execution


def execute(
    graph: JobGraph,
    instance: Instance,
    by: Schedule | Dispatcher,
    *,
    on: Literal["processes", "dask", "ray"] = "processes",
    client: Any = None,
    retries: int = 0,
    progress: Progress | None = None,
) -> Execution:
    """Run all jobs.

    Where one fails, no more are started; those that run are waited for, and ``ExecutionError`` has
    what was done. Ctrl-C, SIGTERM, SIGHUP, and any error of the dispatcher, end all that runs, but
    for functions on Dask, which cannot be ended. A plan of functions that use one core each is
    handed over to Dask as a whole; where one of them fails, the others are cancelled. What Dask
    does where a worker is killed is said in ``dask``; the run then names the worker that a job was
    meant for.

    Args:
        graph: the jobs.
        instance: of ``graph.instance``: its machines say what may run at once.
        by: a plan, of which the places and the order count, or a dispatcher.
        on: ``processes``: of this machine, whatever machines the instance has; ``dask``: the
            workers of ``client`` are the machines (``execution.dask.machines``); ``ray``: the nodes
            of the cluster that ``ray.init`` has connected (``execution.ray.machines``).
        client: of Dask.
        retries: how often a job that failed is begun anew, ≥ 0.
        progress: called with the numbers of jobs that are done and of all.

    Raises:
        ExecutionError: a job failed, more often than ``retries``.
        ExecutionInterrupted: Ctrl-C.
        InvalidScheduleError: the plan is not one of the instance.
        DAGSchedError: the dispatcher starts what is not ready or has no room, or waits for ever;
            or ``retries`` is not a whole number ≥ 0.
    """
    if not isinstance(retries, int | np.integer) or retries < 0:
        raise DAGSchedError(f"retries is {retries!r}: give a whole number >= 0")
    if instance.task_names != tuple(graph.index):
        raise DAGSchedError("the instance is not one of these jobs: take graph.instance(machines)")
    dispatcher = PlanOrder(instance, by) if isinstance(by, Schedule) else by
    with _leaving_in_order(), contextlib.closing(_backend(on, client, instance)) as backend:
        engine = _Engine(graph, instance, dispatcher, backend, retries, progress)
        start_all = backend.whole_plans(graph, instance)
        try:
            if start_all is not None and isinstance(by, Schedule):
                return engine.run_at_once(by, start_all)
            return engine.run()
        except KeyboardInterrupt:
            raise ExecutionInterrupted(engine.so_far()) from None


@contextlib.contextmanager
def _leaving_in_order() -> Iterator[None]:
    """SIGTERM and SIGHUP raise SystemExit where they would end the program at once."""
    main = threading.current_thread() is threading.main_thread()
    numbers = [n for n in ENDING if main and signal.getsignal(n) == signal.SIG_DFL]
    for number in numbers:
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


def _backend(on: str, client: Any, instance: Instance) -> Backend:
    if on == "processes":
        return Processes()
    if on == "dask":
        from dagsched_env.execution.dask import Workers

        workers: Backend = Workers(client, instance)
        return workers
    if on == "ray":
        from dagsched_env.execution.ray import Nodes

        nodes: Backend = Nodes(instance)
        return nodes
    raise DAGSchedError(f"on is {on!r}: write 'processes', 'dask' or 'ray'")


class _Engine:
    """One run."""

    def __init__(
        self,
        graph: JobGraph,
        instance: Instance,
        dispatcher: Dispatcher,
        backend: Backend,
        retries: int,
        progress: Progress | None,
    ) -> None:
        self._graph, self._instance = graph, instance
        self._dispatcher, self._backend = dispatcher, backend
        self._retries, self._progress = retries, progress
        self._situation = Situation(instance, fetches=True)
        self._situation.arrive(0, instance.n_tasks)
        self._began = time.monotonic()
        self._deadline: dict[int, float] = {}
        self._times_failed = np.zeros(len(graph.jobs), dtype=np.int64)
        self._done: dict[int, Done] = {}
        self._machine: dict[int, int] = {}
        self._failure: str | None = None

    def run(self) -> Execution:
        situation = self._situation
        while not situation.done:
            situation.now = time.monotonic() - self._began
            if self._failure is None:
                self._start()
            if not situation.running.size:
                break
            for done in self._backend.wait(self._patience()):
                self._end(done)
            self._end_late_ones()
        if self._failure is None and not situation.done:
            waiting = self._graph.jobs[int(situation.ready[0])].name
            raise DAGSchedError(f"nothing runs, and the dispatcher does not start {waiting!r}")
        return self._execution()

    def run_at_once(self, plan: Schedule, start_all: StartAll) -> Execution:
        """A plan of which the backend keeps the order by itself."""
        order = execution_order(self._instance, plan).tolist()
        self._machine = dict(enumerate(plan.processor.tolist()))
        start_all(self._graph, plan, order, self._retries)
        while len(self._done) < len(order):
            for done in self._backend.wait(None):
                if done.error is None:
                    self._done[done.task] = done
                elif self._failure is None:  # those behind it fail with it, and are told later
                    self._failure = f"job {self._graph.jobs[done.task].name!r}: {done.error}"
                if self._progress is not None:
                    self._progress(len(self._done), len(order))
            if self._failure is not None:
                break
        return self._execution()

    def _execution(self) -> Execution:
        """What has been done; raises ExecutionError with it where a job failed."""
        execution = self.so_far()
        if self._failure is not None:
            raise ExecutionError(self._failure, execution)
        return execution

    def so_far(self) -> Execution:
        return Execution(self._run(), self._results())

    def _start(self) -> None:
        situation = self._situation
        for task, machine in self._dispatcher.starts(situation):
            job = self._graph.jobs[task]
            if not situation.can_start(task, machine):
                where = self._instance.processor_names[machine]
                raise DAGSchedError(
                    f"the dispatcher starts {job.name!r} on {where!r}, which is not ready or has "
                    "no room there"
                )
            inputs = [self._done[self._graph.index[name]].result for name in job.after]
            situation.start(task, machine)
            self._machine[task] = machine
            if job.timeout_s is not None:
                self._deadline[task] = time.monotonic() + job.timeout_s
            self._backend.start(task, job, inputs, machine)

    def _end(self, done: Done) -> None:
        self._situation.now = time.monotonic() - self._began
        self._deadline.pop(done.task, None)
        if done.error is None:
            self._done[done.task] = done
            self._situation.finish(done.task)
            if self._progress is not None:
                self._progress(self._situation.n_finished, len(self._graph.jobs))
            return
        self._times_failed[done.task] += 1
        self._situation.stop(done.task)
        if self._times_failed[done.task] > self._retries and self._failure is None:
            self._failure = f"job {self._graph.jobs[done.task].name!r}: {done.error}"

    def _end_late_ones(self) -> None:
        now = time.monotonic()
        for task in [t for t, end in self._deadline.items() if end <= now]:
            self._backend.cancel(task)
            limit = self._graph.jobs[task].timeout_s
            self._end(Done(task, now, now, None, f"it took longer than {limit:g} s"))

    def _patience(self) -> float | None:
        if not self._deadline:
            return None
        return max(0.0, min(self._deadline.values()) - time.monotonic())

    def _results(self) -> dict[str, Any]:
        """Those that no other job uses; one that cannot be read is a failure of its job."""
        used, results = {u for u, _ in self._graph.edges}, {}
        for t, done in self._done.items():
            name = self._graph.jobs[t].name
            try:
                if t not in used:
                    results[name] = self._backend.value(done.result)
            except Exception as error:  # whatever the class of somebody else does
                said = f"its result cannot be read: {type(error).__name__}: {error}"
                self._failure = self._failure or f"job {name!r}: {said}"
        return results

    def _run(self) -> Run:
        """What was measured; jobs that did not run have no times."""
        instance, n = self._instance, len(self._graph.jobs)
        start, finish = np.full(n, np.nan), np.full(n, np.nan)
        machine = np.full(n, -1, dtype=np.int64)
        workflow = self._graph.workflow()
        runtimes, demands = np.full(n, np.nan), np.array(workflow.demands)
        result_bytes: list[float | None] = [None] * n
        in_vain = np.zeros(n, dtype=np.int64)
        for done in self._backend.measured(list(self._done.values())):
            t = done.task
            start[t], finish[t] = done.start - self._began, done.finish - self._began
            machine[t], runtimes[t] = self._machine[t], done.finish - done.start
            if callable(self._graph.jobs[t].action):  # what a command makes is in files
                result_bytes[t] = done.result_bytes
            in_vain[t] = done.in_vain
            if done.memory is not None:
                demands[t, workflow.resource_names.index(MEMORY)] = done.memory
        begun = self._times_failed + np.isin(np.arange(n), list(self._done)) + in_vain
        again = int((begun > 1).sum())
        sizes = [job.input_bytes for job in self._graph.jobs]
        return Run(
            TOOL,
            dataclasses.replace(
                workflow,
                runtimes=runtimes,
                data=self._graph.data(result_bytes),
                demands=demands,
                assumptions=(),
            ),
            start,
            finish,
            machine,
            _machines(instance),
            np.array([np.nan if size is None else size for size in sizes]),
            (f"{again} jobs were begun more than once",) if again else (),
        )


def _machines(instance: Instance) -> Platform:
    """The machines of an instance, of speed 1: what was measured on each was measured there."""
    p = instance.n_processors
    inv = instance.inv_bandwidth
    with np.errstate(divide="ignore"):
        bandwidths = np.where(inv > 0, 1.0 / inv, np.inf)
    return Platform(
        np.ones(p),
        bandwidths,
        latency=instance.latency,
        processor_names=instance.processor_names,
        capacities={
            name: instance.capacities[:, r] for r, name in enumerate(instance.resource_names)
        }
        or None,
    )

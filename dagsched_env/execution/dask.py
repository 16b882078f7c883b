"""Jobs on the workers of a Dask cluster; results stay there and go from worker to worker.

Where the process of a worker is killed, Dask runs again what ran there, three times at most, and
functions whose results were there, because those are lost with it. That happens on the worker that
replaces it, or on any other. A command that has ended is never run again. One that outlives its
worker runs on beside its repetition.

Of a plan that Dask has as a whole it forgets each result as soon as nothing needs it any more.
"""

import functools
import math
import queue
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dagsched_env.execution.dask_reports import Report, Reports
from dagsched_env.execution.jobs import Job, JobGraph
from dagsched_env.execution.processes import Done, StartAll
from dagsched_env.execution.remote import as_function, clock_ahead, end_command
from dagsched_env.execution.threads import jobs_before
from dagsched_env.io.dask_recorder import bandwidth_of, transfers
from dagsched_env.problem.errors import DAGSchedError, MissingExtraError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.platforms import Platform
from dagsched_env.problem.schedule import Schedule
from dagsched_env.problem.workflow import CORES, MEMORY

LEAST_BYTES = 1e6
"""Smaller transfers say little about the bandwidth; Dask leaves them out, too."""


def machines(client: Any, bandwidth: float | None = None) -> Platform:
    """The workers of a cluster: cores and memory, by address.

    Args:
        client: of Dask.
        bandwidth: between any two of them (bytes per second). None = what the workers have measured
            in transfers of a megabyte or more; 1 Gbit/s where there were none.

    Raises:
        DAGSchedError: there is no worker.
    """
    workers = _workers(client)
    if bandwidth is None:
        bandwidth = bandwidth_of(transfers(client, LEAST_BYTES))
    return Platform(
        [1.0] * len(workers),
        bandwidth,
        processor_names=list(workers),
        capacities={
            CORES: [info["nthreads"] for info in workers.values()],
            MEMORY: [info["memory_limit"] or float("inf") for info in workers.values()],
        },
    )


def jobs_of(collection: Any) -> JobGraph:
    """The tasks of a Dask collection that computes one thing, optimised as Dask does it.

    The result of the last job is what ``collection.compute()`` returns. The kind of a job is the
    first part of its key, so that the history knows it in later runs.

    Args:
        collection: such as an array, a dataframe or a delayed value, of one chunk.

    Raises:
        DAGSchedError: it is none, has more than one chunk, or parts of it are on a cluster.
        MissingExtraError: Dask is not installed.
    """
    try:
        from dask._task_spec import convert_legacy_graph
        from dask.base import is_dask_collection, optimize
        from dask.core import flatten
        from dask.utils import key_split
    except ModuleNotFoundError:
        raise MissingExtraError("dask", "tools") from None
    if not is_dask_collection(collection):
        raise DAGSchedError(f"{type(collection).__name__} is no Dask collection")
    # ``dask.optimize`` fails for most dataframes; see findings/dask_optimize_dataframes.sh.
    optimised = (
        collection.optimize() if hasattr(type(collection), "optimize") else optimize(collection)[0]  # type: ignore[no-untyped-call]
    )
    graph = convert_legacy_graph(dict(optimised.__dask_graph__()))
    keys = list(flatten(optimised.__dask_keys__()))  # type: ignore[no-untyped-call]
    if len(keys) > 1:
        raise DAGSchedError(f"the collection has {len(keys)} chunks: add a step that joins them")
    jobs = []
    for key, task in graph.items():
        before = sorted(task.dependencies, key=str)
        if there := [k for k in before if k not in graph]:
            raise DAGSchedError(
                f"{key} needs {there[0]}, which is on the cluster already: take the collection "
                "before persist, and without futures in it"
            )
        action = functools.partial(_computed, task, before)
        jobs.append(Job(str(key), action, [str(k) for k in before], kind=key_split(key)))
    return JobGraph(jobs)


def _computed(task: Any, before: list[Any], *values: Any) -> Any:
    return task(dict(zip(before, values, strict=True)))


LOST_AFTER_S = 1.0
"""Where nothing has ended for so long, it is looked whether workers are lost."""


class Workers:
    """The backend of a cluster: a machine of the instance is a worker.

    Args:
        client: of Dask.
        instance: its machines are the workers, in the order of their addresses.

    Raises:
        DAGSchedError: it has more machines than there are workers.
    """

    def __init__(self, client: Any, instance: Instance) -> None:
        self._client = client
        workers = _workers(client)
        self._address = list(workers)
        self._name = [info["name"] for info in workers.values()]
        self._lost: set[str] = set()
        self._threads = [info["nthreads"] for info in workers.values()]
        if instance.n_processors > len(self._address):
            raise DAGSchedError(
                f"the instance has {instance.n_processors} machines, the cluster "
                f"{len(self._address)} workers: take execution.dask.machines(client)"
            )
        self._instance = instance
        self._ended: queue.Queue[Callable[[], list[Done]]] = queue.Queue()
        self._reports = Reports(client, self._hear)
        self._report: dict[int, Report] = {}
        self._in_vain: Counter[int] = Counter()
        self._futures: dict[int, Any] = {}
        self._commands: set[int] = set()
        self._jobs: Sequence[Job] = ()
        self._whole: set[int] = set()
        """Jobs of a plan that Dask has as a whole, of which ``wait`` has not told."""
        self._worker: dict[int, str] = {}
        self._ahead = {address: _ahead(client, address) for address in self._address}

    def whole_plans(self, graph: JobGraph, instance: Instance) -> StartAll | None:
        """As of ``Backend``: of functions, if the threads of the workers are all that limits them.

        What Dask has as a whole it also runs again as it likes.
        """
        threads = np.array(self._threads[: instance.n_processors])
        cores = np.array([name == CORES for name in instance.resource_names], dtype=bool)
        others = bool((instance.demands[:, ~cores] > 0).any())
        if cores.any():
            alike = (instance.demands[:, cores] == 1).all()
            alike &= (instance.capacities[:, cores][:, 0] == threads).all()
        else:
            alike = (threads == 1).all()
        timed_out = any(job.timeout_s is not None for job in graph.jobs)
        functions = all(callable(job.action) for job in graph.jobs)
        taken = functions and alike and not others and not timed_out
        return self.start_all if taken else None

    def start(self, task: int, job: Job, inputs: Sequence[Any], machine: int) -> None:
        """As of ``Backend``; ``inputs`` are futures, of commands None."""
        self._worker[task] = self._address[machine]
        if not callable(job.action):
            self._commands.add(task)
        key = f"{self._key(job)}-{time.monotonic_ns()}"
        self._futures[task] = future = self._client.submit(
            self._reports.reporting(as_function(job, key), task, len(inputs)),
            *inputs,
            key=key,
            workers=[self._worker[task]],
            allow_other_workers=self._worker[task] in self._lost,
            pure=False,
        )
        self._tell(future, functools.partial(self._done, task, future))

    def start_all(self, graph: JobGraph, plan: Schedule, order: list[int], retries: int) -> None:
        """Hand over all jobs at once: Dask starts each when it is ready, by its place in the order.

        A worker runs as many at once as it has threads, and waits for no message between two.

        Args:
            graph: the jobs.
            plan: where they run.
            order: all of them by their planned start, each behind those that it waits for.
            retries: how often a job that failed is begun anew.
        """
        from dask.highlevelgraph import HighLevelGraph, MaterializedLayer

        before = jobs_before(self._instance, plan, order, self._threads)
        keys = [self._key(job) for job in graph.jobs]
        tasks: dict[str, Any] = {}
        for t, job in enumerate(graph.jobs):
            self._worker[t] = self._address[plan.processor[t]]
            inputs = [keys[graph.index[name]] for name in job.after]
            call = self._reports.reporting(as_function(job), t, len(inputs))
            tasks[keys[t]] = (call, *inputs, *(keys[u] for u in before[t]))
        place = {keys[t]: -k for k, t in enumerate(order)}
        workers = {key: [self._worker[t]] for t, key in enumerate(keys)}
        said = {
            "workers": workers.get,
            "priority": place.get,
            "retries": dict.fromkeys(keys, retries).get,
        }
        last = sorted(set(range(len(keys))).difference(u for u, _ in graph.edges))
        self._jobs, self._whole = graph.jobs, set(range(len(keys)))
        futures = self._client.get(
            HighLevelGraph({"plan": MaterializedLayer(tasks, annotations=said)}, {"plan": set()}),
            [keys[t] for t in last],
            sync=False,
        )
        self._futures = dict(zip(last, futures, strict=True))
        unfinished = set(last)
        for t, future in self._futures.items():
            self._tell(future, functools.partial(self._settled, t, future, unfinished))

    def wait(self, timeout_s: float | None) -> list[Done]:
        """As of ``Backend``."""
        deadline = math.inf if timeout_s is None else time.monotonic() + timeout_s
        while True:
            left = deadline - time.monotonic()
            try:
                ended = [self._ended.get(timeout=max(0.0, min(left, LOST_AFTER_S)))]
                break
            except queue.Empty:
                if left <= LOST_AFTER_S:
                    return []
                self._look_for_lost()
        while not self._ended.empty():
            ended.append(self._ended.get_nowait())
        return [done for look in ended for done in look()]

    def value(self, result: Any) -> Any:
        """As of ``Backend``."""
        return None if result is None else result.result()

    def measured(self, done: list[Done]) -> list[Done]:
        """As of ``Backend``: the workers have told it."""
        return [self._as_reported(each) for each in done]

    def cancel(self, task: int) -> None:
        """As of ``Backend``. Dask cannot end a function that runs: it is no longer waited for."""
        future = self._futures.pop(task)
        future.cancel(force=True)
        if task in self._commands:
            self._client.run(end_command, future.key, on_error="ignore")

    def close(self) -> None:
        """As of ``Backend``."""
        for task in list(self._futures):
            self.cancel(task)
        self._reports.close()

    def _hear(self, task: int, report: Report) -> None:
        if report.failed:
            self._in_vain[task] += bool(self._whole)  # else the engine counts them
            return
        self._report[task] = report
        if self._whole:
            self._ended.put(functools.partial(self._told, task))

    def _tell(self, future: Any, look: Callable[[], list[Done]]) -> None:
        future.add_done_callback(lambda _: self._ended.put(look))

    def _key(self, job: Job) -> str:
        return f"{job.name}-{self._reports.run}"

    def _look_for_lost(self) -> None:
        """Let other workers do what is planned on one that is there no more.

        One that replaces it, of the same name, takes its place in the plan. While there is none at
        all, what is planned waits.
        """
        there = _there(self._client)
        if not there:
            return
        lost = {a for a in [*self._address, *self._worker.values()] if a not in there}
        if not lost:
            return
        self._lost = lost
        by_name = {info["name"]: address for address, info in there.items()}
        for q, name in enumerate(self._name):
            address = by_name.get(name, self._address[q])
            if address != self._address[q]:
                self._address[q] = address
                self._ahead[address] = _ahead(self._client, address)
        self._client.run_on_scheduler(_let_go, sorted(lost))

    def _done(self, task: int, future: Any) -> list[Done]:
        """The end of a job that was submitted alone."""
        if self._futures.get(task) != future:  # cancelled meanwhile, perhaps begun again
            return []
        del self._futures[task]
        now = time.monotonic()
        if future.status != "finished":
            return [Done(task, now, now, None, _why(future))]
        # Dask would run a command again, if its worker were lost with what it has returned.
        return [Done(task, now, now, None if task in self._commands else future, None)]

    def _told(self, task: int) -> list[Done]:
        """A job of a whole plan has returned, by its report."""
        if task not in self._whole:  # it has run again, because its result was lost
            return []
        self._whole.remove(task)
        now = time.monotonic()
        return [Done(task, now, now, self._futures.pop(task, None), None)]

    def _settled(self, task: int, future: Any, unfinished: set[int]) -> list[Done]:
        """One of the last jobs of a whole plan is there, or never will be."""
        if future.status == "finished":
            unfinished.discard(task)
            # Where no report is lost, all have been told before.
            return [] if unfinished else [d for t in sorted(self._whole) for d in self._told(t)]
        blamed = self._client.run_on_scheduler(_blamed, future.key)
        by_key = {self._key(job): t for t, job in enumerate(self._jobs)}
        now = time.monotonic()
        return [Done(by_key.get(blamed, task), now, now, None, _why(future))]

    def _as_reported(self, done: Done) -> Done:
        report = self._report.get(done.task)
        if report is None:
            return done
        finish = done.finish
        if report.worker not in self._ahead and report.worker in _there(self._client):
            self._ahead[report.worker] = _ahead(self._client, report.worker)
        if report.worker in self._ahead:  # else it came and went unseen
            finish = report.finish - self._ahead[report.worker]
        start = finish - (report.finish - report.start)
        size, in_vain = report.result_bytes, self._in_vain[done.task]
        return done._replace(start=start, finish=finish, result_bytes=size, in_vain=in_vain)


def _workers(client: Any) -> dict[str, Any]:
    try:
        import distributed
    except ModuleNotFoundError:
        raise MissingExtraError("dask", "tools") from None
    if not isinstance(client, distributed.Client):
        raise DAGSchedError("client is no dask.distributed.Client: pass client=Client(...)")
    if client.status in ("closing", "closed"):
        raise DAGSchedError("client is closed: pass a new Client(...)")
    found = _there(client)
    if not found:
        raise DAGSchedError("the cluster has no worker")
    return found


def _there(client: Any) -> dict[str, Any]:
    # client.scheduler_info() may return what a renewal without workers has just put in its place.
    return dict(sorted(client.sync(client.scheduler.identity, n_workers=-1)["workers"].items()))


def _ahead(client: Any, address: str) -> float:
    """By how much the clock of a worker is ahead of ours."""
    return clock_ahead(lambda: client.run(time.monotonic, workers=[address])[address])


def _let_go(workers: list[str], dask_scheduler: Any) -> None:
    """On the scheduler: what may only run on workers that are lost may run on any."""
    gone, released = set(workers), {}
    for task in dask_scheduler.tasks.values():
        if task.worker_restrictions and task.worker_restrictions <= gone:
            task.loose_restrictions = True
            if task.state == "no-worker":
                released[task.key] = "processing"
    dask_scheduler.transitions(released, f"dagsched-lost-{time.monotonic()}")


def _blamed(key: str, dask_scheduler: Any) -> str | None:
    """On the scheduler: the task because of which this one failed."""
    task = dask_scheduler.tasks.get(key)
    return getattr(getattr(task, "exception_blame", None), "key", None)


def _why(future: Any) -> str:
    if future.status != "error":
        return "it was cancelled"
    return traceback.format_exception_only(future.exception())[-1].strip()

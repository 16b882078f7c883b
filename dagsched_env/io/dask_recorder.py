"""Computations of Dask on a distributed cluster, recorded while they run.

``recorded`` puts a plugin into the scheduler, which sees the graph that really runs, after fusion
and with all aliases gone, and of each task the worker, the times and the size of its result. A
task is a key; its kind is the prefix of the key. Each task uses one of the threads of a worker,
which are its cores. Data on edges are the sizes of results. Bandwidth is what transfers between
workers took together, 1 Gbit/s where there were none. A task that ran more than once counts with
its last time; one that another worker stole, with the worker that ran it. Times are those of the
workers, which Dask corrects to the clock of the scheduler: they are right within milliseconds.

    with Client(cluster) as client, io.recorded(client) as recorder:
        x.compute()
    io.save_run(recorder.run(), "first.run.json")
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from dagsched_env.problem.errors import DAGSchedError, MissingExtraError
from dagsched_env.problem.platforms import Platform
from dagsched_env.problem.run import BANDWIDTH, Run
from dagsched_env.problem.workflow import CORES, Workflow

if TYPE_CHECKING:
    from distributed import Client
    from distributed.diagnostics.plugin import SchedulerPlugin

__all__ = ["Recorder", "recorded"]

LEAST_BYTES = 1000
"""Shorter transfers measure the latency of the programs rather than the network."""


class Recorder:
    """What was recorded; ``recorded`` makes one."""

    def __init__(self) -> None:
        self._seen: dict[str, Any] | None = None
        self._transfers: list[tuple[float, float]] = []

    def run(self) -> Run:
        """The run, of all tasks that the scheduler was given within the ``with`` block.

        Raises:
            DAGSchedError: the block has not ended, or nothing was computed in it.
        """
        if self._seen is None:
            raise DAGSchedError("the recording has not ended: call run() after the with block")
        return _run(self._seen, self._transfers)


@contextmanager
def recorded(client: "Client") -> Iterator[Recorder]:
    """Record what a cluster of Dask computes: ``with recorded(client) as recorder: x.compute()``.

    Args:
        client: of a distributed cluster, local or not. The other machines need nothing of this
            package.

    Yields:
        What gives the run once the block has ended: ``recorder.run()``. Wait for the results within
        the block; tasks that have not ended then have no time.

    Raises:
        MissingExtraError: dask or distributed is not installed.
    """
    name = f"dagsched-recorder-{time.time_ns()}"
    client.register_plugin(_plugin(), name=name)
    recorder = Recorder()
    try:
        yield recorder
        recorder._seen = seen = client.run_on_scheduler(  # type: ignore[no-untyped-call]
            lambda dask_scheduler: dask_scheduler.plugins[name].record()
        )
        recorder._transfers = transfers(client, LEAST_BYTES, seen["began"])
    finally:
        client.unregister_scheduler_plugin(name)


def transfers(
    client: "Client", least_bytes: float, since: float = 0.0
) -> list[tuple[float, float]]:
    """Bytes and seconds of transfers between workers, as far as these remember them.

    Args:
        client: of a distributed cluster.
        least_bytes: smaller ones are left out.
        since: seconds of the scheduler's clock; those that began before are left out.
    """
    logs = client.run(
        lambda dask_worker: [
            (entry["start"], entry["total"], entry["stop"] - entry["start"])
            for entry in dask_worker.transfer_incoming_log
        ]
    )
    return [
        (total, seconds)
        for log in logs.values()
        for start, total, seconds in log
        if start >= since and total >= least_bytes and seconds > 0
    ]


def _plugin() -> "SchedulerPlugin":
    """The plugin; its class is made here, so that it is sent whole, not by its name."""
    try:
        from distributed.diagnostics.plugin import SchedulerPlugin
        from distributed.metrics import time as now
    except ModuleNotFoundError:
        raise MissingExtraError("dask[distributed]", "tools") from None

    class DAGSchedRecorder(SchedulerPlugin):
        def __init__(self) -> None:
            self.began = now()
            self.empty = True
            self.tasks: dict[str, tuple[str, list[str]]] = {}
            self.there: dict[str, int] = {}
            self.attempts: dict[str, int] = {}
            self.done: dict[str, tuple[str, float, float, int]] = {}
            self.workers: dict[str, tuple[str, int]] = {}
            self.lost: list[str] = []

        async def start(self, scheduler: Any) -> None:
            for address in scheduler.workers:
                self.add_worker(scheduler, address)

        def add_worker(self, scheduler: Any, worker: str) -> None:
            state = scheduler.workers[worker]
            self.workers[worker] = (str(state.name), int(state.nthreads))

        def remove_worker(self, scheduler: Any, worker: str, **_: Any) -> None:
            self.lost.append(worker)

        def update_graph(self, scheduler: Any, *, tasks: Any, **_: Any) -> None:
            self.began, self.empty = now() if self.empty else self.began, False
            for key in tasks:
                state = scheduler.tasks[key]
                for before in (*state.dependencies, state):
                    if before.state == "memory" and str(before.key) not in self.done:
                        self.there[str(before.key)] = int(before.nbytes)
                waits = [str(before.key) for before in state.dependencies]
                self.tasks[str(key)] = (str(state.prefix.name), waits)

        def transition(self, key: Any, start: str, finish: str, *_: Any, **found: Any) -> None:
            if finish == "processing":
                self.attempts[str(key)] = self.attempts.get(str(key), 0) + 1
            spans = [s for s in found.get("startstops") or () if s["action"] == "compute"]
            if finish == "memory" and spans:
                span = (float(spans[0]["start"]), float(spans[-1]["stop"]))
                self.done[str(key)] = (found["worker"], *span, int(found.get("nbytes") or 0))

        def record(self) -> dict[str, Any]:
            names = ("began", "tasks", "there", "attempts", "done", "workers", "lost")
            return {name: getattr(self, name) for name in names}

    return DAGSchedRecorder()


def _run(seen: dict[str, Any], transfers: Sequence[tuple[float, float]]) -> Run:
    """The run of what the plugin saw, and of (bytes, seconds) of transfers."""
    done, there = seen["done"], seen["there"]
    tasks = [key for key in seen["tasks"] if key in done or key not in there]
    if not done:
        raise DAGSchedError("nothing was computed within the block: call compute() there")
    index = {key: t for t, key in enumerate(tasks)}
    workers = _workers(seen["workers"])
    ran = np.array([key in done for key in tasks])
    began = min(seen["began"], *(start for _, start, _, _ in done.values()))
    times = np.array([done[key][1:3] if key in done else (np.nan, np.nan) for key in tasks]) - began
    size = {key: float(amount) for key, amount in there.items()}
    size |= {key: float(amount) for key, (_, _, _, amount) in done.items()}
    waits = {key: seen["tasks"][key][1] for key in tasks}
    edges = [(u, key) for key in tasks for u in waits[key] if u in index]
    workflow = Workflow(
        tuple(tasks),
        times[:, 1] - times[:, 0],
        tuple((index[u], index[v]) for u, v in edges),
        np.array([size.get(u, 0.0) for u, _ in edges]),
        name="dask",
        kinds=tuple(seen["tasks"][key][0] for key in tasks),
        says_units=True,
        demands=np.ones((len(tasks), 1)),
        resource_names=(CORES,),
    )
    place = {address: q for q, address in enumerate(workers)}
    return Run(
        "dask",
        workflow,
        times[:, 0],
        times[:, 1],
        np.array([place[done[key][0]] if key in done else -1 for key in tasks]),
        Platform(
            np.ones(len(workers)),
            bandwidth_of(transfers),
            processor_names=[name for name, _ in workers.values()],
            capacities={CORES: [threads for _, threads in workers.values()]},
        ),
        np.array([sum(size.get(u, np.nan) for u in waits[key]) for key in tasks], dtype=float),
        tuple(_remarks(seen, tasks, int(ran.sum()), bool(transfers))),
    )


def _workers(workers: dict[str, tuple[str, int]]) -> dict[str, tuple[str, int]]:
    """Names and threads of the workers by address; two of one name are told apart by it."""
    names = [name for name, _ in workers.values()]
    return {
        address: (name if names.count(name) == 1 else f"{name} at {address}", threads)
        for address, (name, threads) in workers.items()
    }


def bandwidth_of(transfers: Sequence[tuple[float, float]]) -> float:
    """Bytes per second of (bytes, seconds); 1 Gbit/s where there are none."""
    total = sum(size for size, _ in transfers)
    return total / sum(seconds for _, seconds in transfers) if transfers else BANDWIDTH


def _remarks(seen: dict[str, Any], tasks: list[str], ran: int, measured: bool) -> Iterator[str]:
    again = [key for key in tasks if seen["attempts"].get(key, 0) > 1]
    if again:
        yield f"{len(again)} tasks ran more than once, such as {again[0]}: the last time counts"
    if ran < len(tasks):
        yield f"{len(tasks) - ran} of {len(tasks)} tasks had not ended: they have no time"
    there = seen["there"].keys() - set(tasks)
    if there:
        yield f"the results of {len(there)} tasks were there before: these are left out"
    if seen["lost"]:
        yield f"{len(seen['lost'])} workers left before the end"
    if not measured and len(seen["workers"]) > 1:
        yield "no transfer was measured: 1 Gbit/s between workers is assumed"

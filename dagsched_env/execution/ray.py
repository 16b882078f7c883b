"""Jobs on the nodes of a Ray cluster; results stay in its object store."""

import time
from collections.abc import Sequence
from typing import Any

from dagsched_env.execution.jobs import Job, JobGraph
from dagsched_env.execution.processes import Done, StartAll
from dagsched_env.execution.remote import Timed, as_function, clock_ahead, timed
from dagsched_env.problem.errors import DAGSchedError, MissingExtraError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.platforms import Platform
from dagsched_env.problem.run import BANDWIDTH
from dagsched_env.problem.workflow import CORES, GPUS, MEMORY


def machines(bandwidth: float = BANDWIDTH) -> Platform:
    """The nodes of the cluster to which ``ray.init`` has connected: cores, memory and GPUs.

    Args:
        bandwidth: between any two of them (bytes per second).

    Raises:
        DAGSchedError: Ray is not connected.
    """
    nodes = _nodes()
    have = [node["Resources"] for node in nodes.values()]
    return Platform(
        [1.0] * len(nodes),
        bandwidth,
        processor_names=list(nodes),
        capacities={
            CORES: [node.get("CPU", 0.0) for node in have],
            MEMORY: [node.get("memory", 0.0) for node in have],
            GPUS: [node.get("GPU", 0.0) for node in have],
        },
    )


class Nodes:
    """The backend of a cluster: a machine of the instance is a node.

    Args:
        instance: its machines are the nodes, in the order of their identifiers.

    Raises:
        DAGSchedError: Ray is not connected, or has fewer nodes.
    """

    def __init__(self, instance: Instance) -> None:
        import ray

        self._ray = ray
        self._node = list(_nodes())
        if instance.n_processors > len(self._node):
            raise DAGSchedError(
                f"the instance has {instance.n_processors} machines, the cluster "
                f"{len(self._node)} nodes: take execution.ray.machines()"
            )
        self._call = ray.remote(timed)
        self._tasks: dict[Any, int] = {}
        self._ahead = [self._clock_ahead(q) for q in range(instance.n_processors)]
        self._machine: dict[int, int] = {}

    def whole_plans(self, graph: JobGraph, instance: Instance) -> StartAll | None:
        """As of ``Backend``: none."""
        return None

    def start(self, task: int, job: Job, inputs: Sequence[Any], machine: int) -> None:
        """As of ``Backend``; ``inputs`` are references."""
        call = self._call.options(**self._on(machine), num_gpus=job.resources.get(GPUS, 0))
        self._tasks[call.remote(as_function(job), *inputs)] = task
        self._machine[task] = machine

    def wait(self, timeout_s: float | None) -> list[Done]:
        """As of ``Backend``."""
        ended, _ = self._ray.wait(list(self._tasks), timeout=timeout_s, fetch_local=False)
        return [self._done(reference) for reference in ended]

    def value(self, result: Any) -> Any:
        """As of ``Backend``."""
        return self._ray.get(result).value

    def measured(self, done: list[Done]) -> list[Done]:
        """As of ``Backend``. Ray knows the sizes, as long as the results are there."""
        there = self._ray.experimental.get_object_locations(
            [each.result for each in done if each.error is None]
        )
        return [
            each._replace(result_bytes=(there.get(each.result) or {}).get("object_size") or None)
            for each in done
        ]

    def cancel(self, task: int) -> None:
        """As of ``Backend``."""
        reference = next(ref for ref, t in self._tasks.items() if t == task)
        del self._tasks[reference]
        self._ray.cancel(reference, force=True)

    def close(self) -> None:
        """As of ``Backend``."""
        for task in list(self._tasks.values()):
            self.cancel(task)

    def _done(self, reference: Any) -> Done:
        task = self._tasks.pop(reference)
        machine = self._machine[task]
        span = self._ray.remote(_span).options(**self._on(machine))
        try:
            start, finish = self._ray.get(span.remote(reference))
        except self._ray.exceptions.RayTaskError as error:
            now, cause = time.monotonic(), error.cause
            return Done(task, now, now, None, f"{type(cause).__name__}: {cause}")
        except self._ray.exceptions.RayError as error:
            now = time.monotonic()
            return Done(task, now, now, None, str(error).partition("\n")[0])
        ahead = self._ahead[machine]
        return Done(task, start - ahead, finish - ahead, reference, None)

    def _on(self, machine: int) -> dict[str, Any]:
        """Ray runs it there at once: the engine alone says when something starts."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        strategy = NodeAffinitySchedulingStrategy(self._node[machine], soft=False)
        return {"num_cpus": 0, "max_retries": 0, "scheduling_strategy": strategy}

    def _clock_ahead(self, machine: int) -> float:
        """By how much the clock of a node is ahead of ours."""
        clock = self._ray.remote(_clock).options(**self._on(machine))
        return clock_ahead(lambda: self._ray.get(clock.remote()))


def _nodes() -> dict[str, Any]:
    try:
        import ray
    except ModuleNotFoundError:
        raise MissingExtraError("ray", "ray") from None
    if not ray.is_initialized():
        raise DAGSchedError("Ray is not connected: call ray.init() first")
    alive = {
        node["NodeID"]: node
        for node in ray.nodes()  # type: ignore[no-untyped-call]
        if node["Alive"]
    }
    return dict(sorted(alive.items()))


def _clock() -> float:
    return time.monotonic()


def _span(done: Timed) -> tuple[float, float]:
    return done.start, done.finish

"""Ray as the transport of a fleet: one actor on each node, and small clusters on this machine.

The only module that imports Ray, and it does so when it is used. What Ray writes goes to its own
log files; everything that is started here listens on 127.0.0.1 alone.
"""

import contextlib
import logging
import os
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from aerl_trainer.config import local_nodes
from aerl_trainer.runtime.errors import SearchPoolError
from dagsched_env.problem.errors import DAGSchedError, MissingExtraError

SPARE_THREADS = 4
"""Of a node worker, for ``ready`` and ``ping`` while tasks fill the others."""
OBJECT_STORE_BYTES = 100 * 2**20
"""Of a node of a cluster on this machine: some versions of the weights."""
ANSWERS_S = 10.0
"""In which a cluster takes a connection (seconds)."""
OF_THE_NODE = (SearchPoolError, OSError, MemoryError)
"""Errors of a task for which its node is to blame: another one may do better."""
FOLDER, OWNER = "aerl-ray-", "owner"
"""Where a cluster on this machine keeps its files, and the file with the process it belongs to."""
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_DEDUP_LOGS": "0",
}
"""Before Ray is imported: nothing is reported to anybody."""
ON_LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""Else Ray replaces 127.0.0.1 by an address that other machines can reach; see
``ray._private.services.get_node_ip_address``."""
OF_THIS_PROCESS = {
    "RAY_gcs_rpc_server_reconnect_timeout_s": "5",
    "RAY_worker_niceness": "0",
}
"""After a kill of the driver what is left looks for the head no longer than this (60 s else); node
workers run at the priority of other processes (15 steps below it else)."""


def load_ray() -> Any:
    """The package; raises MissingExtraError where it is not installed."""
    try:
        import ray
    except ImportError:
        raise MissingExtraError("ray", "ray") from None
    return ray


@contextlib.contextmanager
def connected(address: str) -> Iterator[Any]:
    """Within, this process is the driver of a Ray cluster.

    Args:
        address: HOST:PORT, ``auto``, or ``local:N``, which starts one and ends it afterwards.

    Yields:
        The local cluster (``ray.cluster_utils.Cluster``), or None.

    Raises:
        MissingExtraError: Ray is not installed.
        DAGSchedError: the cluster cannot be reached.
    """
    nodes = local_nodes(address)
    loopback = nodes is not None or address.startswith(("127.", "localhost:"))
    os.environ.update({**QUIET, **(ON_LOOPBACK if loopback else {})})
    os.environ.update(OF_THIS_PROCESS if nodes else {})
    ray = load_ray()
    if nodes is None and address != "auto":
        _require_answer(address)
    with contextlib.ExitStack() as stack:
        cluster = stack.enter_context(_local_cluster(nodes)) if nodes else None
        stack.callback(ray.shutdown)
        try:
            ray.init(
                address=cluster.address if cluster else address,
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise DAGSchedError(
                f"no Ray cluster at {address!r}: {error}; start one with  ray start --head"
            ) from None
        yield cluster


def _require_answer(address: str) -> None:
    """Somebody listens there, or Ray would try for minutes, in silence."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), ANSWERS_S).close()
    except (OSError, ValueError) as error:
        raise DAGSchedError(
            f"no Ray cluster at {address!r}: {error}; start one with  ray start --head, and give "
            "its HOST:PORT"
        ) from None


class RayMembers:
    """Implements ``Members``: every live node that has a core is one.

    Args:
        worker: class of the node workers; importable on the nodes.
        arguments: cores of a node → positional and keyword arguments of its worker.
        threads: cores of a node → most tasks that it has at once.
        per_core: a worker for each core in place of one for each node.
    """

    def __init__(
        self,
        worker: type,
        arguments: Callable[[int], tuple[tuple[Any, ...], dict[str, Any]]],
        threads: Callable[[int], int],
        *,
        per_core: bool = False,
    ) -> None:
        self._ray = load_ray()
        self._actor = self._ray.remote(worker)
        self._arguments, self._threads, self._per_core = arguments, threads, per_core
        self._nodes: dict[str, Mapping[str, Any]] = {}

    def present(self) -> dict[str, int]:
        nodes = {node["NodeID"]: node["Resources"] for node in self._ray.nodes() if node["Alive"]}
        cores = {name: int(resources.get("CPU", 0)) for name, resources in nodes.items()}
        self._nodes = nodes
        if self._per_core:
            return {f"{name}/{core}": 1 for name, n in cores.items() for core in range(n)}
        return {name: n for name, n in cores.items() if n > 0}

    def start(self, member: str) -> "_RayHandle":
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        node = member.partition("/")[0]
        resources = self._nodes[node]
        cores = 1 if self._per_core else int(resources["CPU"])
        positional, named = self._arguments(cores)
        actor = self._actor.options(
            num_cpus=cores,
            num_gpus=0 if self._per_core else resources.get("GPU", 0),
            max_restarts=0,
            max_concurrency=self._threads(cores) + SPARE_THREADS,
            scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False),
        ).remote(*positional, **named)
        return _RayHandle(self._ray, actor)

    def is_loss(self, error: BaseException) -> bool:
        return isinstance(error, _MemberLostError)


class _MemberLostError(Exception):
    """A call has failed because its actor is gone."""


class _RayHandle:
    def __init__(self, ray: Any, actor: Any) -> None:
        self._ray, self._actor = ray, actor

    def call(self, method: str, *arguments: Any) -> "Future[Any]":
        answer: Future[Any] = Future()
        reference = getattr(self._actor, method).remote(*arguments)
        reference.future().add_done_callback(lambda done: self._translate(done, answer))
        return answer

    def kill(self) -> None:
        self._ray.kill(self._actor)

    def _translate(self, done: "Future[Any]", answer: "Future[Any]") -> None:
        """Ray's errors as ours: the member is lost, or the error that the task has raised."""
        error = done.exception()
        if error is None:
            answer.set_result(done.result())
            return
        errors = self._ray.exceptions
        cause = error.cause if isinstance(error, errors.RayTaskError) else error
        if isinstance(cause, (errors.RayError, *OF_THE_NODE)):
            cause = _MemberLostError(" ".join(str(cause).split()))
        answer.set_exception(cause)


@contextlib.contextmanager
def _local_cluster(nodes: int) -> Iterator[Any]:
    """A cluster of this process: the kernel ends it with us, however we end."""
    from ray.cluster_utils import Cluster

    cores = max(1, (os.cpu_count() or 1) // nodes)
    sweep(Path(tempfile.gettempdir()))
    folder = Path(tempfile.mkdtemp(prefix=FOLDER))
    (folder / OWNER).write_text(str(os.getpid()), encoding="utf-8")
    (folder / "ray").mkdir()
    before = os.environ.get("RAY_TMPDIR")
    os.environ["RAY_TMPDIR"] = str(folder)
    options: dict[str, Any] = {
        "num_cpus": cores,
        "num_gpus": 0,
        "node_ip_address": "127.0.0.1",
        "object_store_memory": OBJECT_STORE_BYTES,
        "include_dashboard": False,
        "include_log_monitor": False,
        "no_monitor": True,
    }
    logging.getLogger("ray").setLevel(logging.ERROR)
    cluster: Any = Cluster()
    try:
        for _ in range(nodes):
            cluster.add_node(**options)
        yield cluster
    finally:
        cluster.shutdown()
        os.environ.pop("RAY_TMPDIR") if before is None else os.environ.update(RAY_TMPDIR=before)
        shutil.rmtree(folder, ignore_errors=True)


def sweep(place: Path) -> None:
    """Remove the files of clusters whose process was killed."""
    for owner in place.glob(f"{FOLDER}*/{OWNER}"):
        with contextlib.suppress(OSError, ValueError):
            if owner.parent.stat(follow_symlinks=False).st_uid == os.getuid():
                try:
                    os.kill(int(owner.read_text(encoding="utf-8")), 0)
                except ProcessLookupError:
                    shutil.rmtree(owner.parent, ignore_errors=True)

"""Training runs on a Ray cluster of this machine, and who takes part in them."""

import contextlib
import os
import signal
import subprocess
import sys
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aerl_trainer.checkpoint import load
from aerl_trainer.run.reporting import read_metrics
from aerl_trainer.runtime.cluster.ray_nodes import OF_THIS_PROCESS, ON_LOOPBACK, QUIET
from helpers import ROOT
from helpers.faults import children_of
from helpers.small_runs import eventually, is_running

RUN = """
import sys
from aerl_trainer import config as settings
from aerl_trainer.run import observers
from aerl_trainer.run.launch import train
from helpers.small_runs import small_config

if __name__ == "__main__":
    address, directory, groups, minutes, steps, resume = sys.argv[1:]
    observers.ONE_IN = 1  # every tree is on record
    config = small_config(
        search={"budget": 1500, "min_trajectories": 4},
        learner={
            "groups": groups,
            "network": False,
            "checkpoint_interval": 3,
        },
        policy={"instances": 8, "schedules": 16, "decay_steps": 10000},
        # Trees that take some hundredths of a second.
        curriculum={
            "levels": [{"tasks": [60, 60], "processors": [4], "ccr": [1.0], "threshold": 0.1}]
        },
        validator={"interval": 1000},
        run={"max_steps": int(steps), "minutes": float(minutes)},
        ray={"address": address, "stall_s": 5.0, "unlearned": 4},
    )
    found = train(config=config, run_dir=directory, resume=resume == "resume")
    print(found.result.steps, found.result.jobs, flush=True)
"""
MARK = "AERL_TEST_MARK"


class Machine:
    """A Ray cluster on this machine, with a mark on all its processes.

    Args:
        nodes: beside the head, which has no cores.
        mark: the mark.
    """

    def __init__(self, nodes: int, mark: str) -> None:
        from ray.cluster_utils import Cluster

        self.mark = mark
        self.cluster: Any = Cluster()
        self.cluster.add_node(**_options(0))
        for _ in range(nodes):
            self.join()

    @property
    def address(self) -> str:
        return str(self.cluster.address)

    def join(self) -> None:
        """Another node."""
        self.cluster.add_node(**_options(1))

    def close(self) -> None:
        """End all of it."""
        self.cluster.shutdown()

    def raylets(self) -> list[int]:
        """Of the nodes with cores."""
        found = [
            info.process.pid
            for node in self.cluster.worker_nodes
            for info in node.all_processes.get("raylet", [])
        ]
        return [pid for pid in found if is_running(pid)]


@contextlib.contextmanager
def marked() -> Iterator[str]:
    """Within, every process that is started carries a mark; afterwards none of them is left."""
    mark = uuid.uuid4().hex
    before = dict(os.environ)
    shared = set(os.listdir("/dev/shm"))
    os.environ.update({MARK: mark, **QUIET, **ON_LOOPBACK, **OF_THIS_PROCESS})
    try:
        yield mark
    finally:
        os.environ.clear()
        os.environ.update(before)
        try:
            await_end(mark)
        finally:
            for pid in carriers(mark):
                os.kill(pid, signal.SIGKILL)
    left = {name for name in os.listdir("/dev/shm") if not name.startswith("sem.")} - shared
    assert not left


def carriers(mark: str) -> list[int]:
    """Live processes with a mark, but for this one."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                if f"{MARK}={mark}".encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
    return [pid for pid in found if is_running(pid)]


def await_end(mark: str, timeout_s: float = 90.0) -> None:
    """Wait until no process with a mark is left; fails with the names of those that are.

    Ray's two agents of a node try for 60 s to report that their node has died.
    """
    with contextlib.suppress(AssertionError):
        eventually(lambda: not carriers(mark), "the end of all processes", timeout_s)
    if left := {pid: _command(pid) for pid in carriers(mark)}:
        pytest.fail(f"still there after {timeout_s:g} s: {left}")


def node_workers(mark: str) -> list[int]:
    """Processes of the node workers."""
    return [pid for pid in carriers(mark) if _command(pid).startswith("ray::RayNodeWorker")]


def searchers(mark: str) -> list[int]:
    """Children of the node workers."""
    return [child for pid in node_workers(mark) for child in children_of(pid)]


def start_training(
    address: str,
    directory: Path,
    *,
    groups: str = "tree",
    minutes: float = 5.0,
    steps: int = 0,
    resume: bool = False,
) -> subprocess.Popen[str]:
    """A driver, as a process of its own.

    Args:
        address: of the cluster; empty for none.
        directory: of the run.
        groups: what the fast policy learns from.
        minutes: training time.
        steps: most steps; 0 for as many as there is time for.
        resume: go on from its checkpoint.
    """
    script = directory.parent / "run.py"
    script.write_text(RUN, encoding="utf-8")
    paths = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    arguments = [address, directory, groups, minutes, steps, "resume" if resume else "new"]
    return subprocess.Popen(
        [sys.executable, str(script), *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended_well(driver: subprocess.Popen[str], timeout_s: float = 120.0) -> tuple[int, int]:
    """Steps and jobs of a run that ends with exit code 0: now if it has no last step."""
    if driver.args[-2] == "0":  # type: ignore[index]
        driver.send_signal(signal.SIGTERM)
    out, errors = driver.communicate(timeout=timeout_s)
    assert driver.returncode == 0, errors[-3000:]
    steps, jobs = out.split()[-2:]
    return int(steps), int(jobs)


def jobs_of(directory: Path) -> list[int]:
    """Numbers of the jobs that have been learned from, in this order."""
    path = directory / "metrics.jsonl"
    if not path.exists():
        return []
    return [record["job_id"] for record in read_metrics(path) if record["kind"] == "search"]


def await_all_of(directory: Path) -> None:
    """Wait until each job before the newest one that has been learned from has been so too."""
    wanted = set(range(max(jobs_of(directory))))
    eventually(lambda: wanted <= set(jobs_of(directory)), "no job is lost")


def check_each_job_counted_once(directory: Path, most_on_their_way: int) -> None:
    """None twice, and no more left out than were on their way at the end."""
    jobs = jobs_of(directory)
    assert max(Counter(jobs).values()) == 1
    missing = set(range(max(jobs))) - set(jobs)
    assert len(missing) <= most_on_their_way
    saved = load(directory / "checkpoints" / "last")
    assert saved.state["lifecycle"]["finished"] == len(jobs)


def latest_of(directory: Path) -> dict[str, Any]:
    """The last record of the node workers."""
    found = read_metrics(directory / "metrics.jsonl")
    return [record for record in found if record["kind"] == "cluster"][-1]


def await_progress(directory: Path, jobs: int, timeout_s: float = 60.0) -> None:
    """Sleep until so many more jobs have been learned from."""
    wanted = len(jobs_of(directory)) + jobs
    eventually(lambda: len(jobs_of(directory)) >= wanted, f"{wanted} jobs", timeout_s)


def kill_one(pids: Sequence[int], rng: np.random.Generator) -> None:
    """One of them, at once."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(int(rng.choice(pids)), signal.SIGKILL)


def _options(cores: int) -> dict[str, Any]:
    return {
        "num_cpus": cores,
        "node_ip_address": "127.0.0.1",
        "object_store_memory": 80 * 2**20,
        "include_dashboard": False,
        "include_log_monitor": False,
        "no_monitor": True,
    }


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""

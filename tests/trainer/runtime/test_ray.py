"""Runs on Ray clusters of this machine, in which whoever takes part is killed at random."""

import contextlib
import csv
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from aerl_trainer.checkpoint import load
from aerl_trainer.cli import main as aerl
from aerl_trainer.runtime.cluster.ray_nodes import FOLDER, OWNER, sweep
from dagsched_env import io
from dagsched_env.cli import main as dagsched
from helpers import ROOT
from helpers.faults import children_of, nap
from helpers.ray_runs import (
    Machine,
    await_all_of,
    await_progress,
    carriers,
    check_each_job_counted_once,
    ended_well,
    jobs_of,
    kill_one,
    latest_of,
    marked,
    node_workers,
    searchers,
    start_training,
)
from helpers.small_runs import eventually, is_running, problem

pytest.importorskip("ray", reason="the extra ray is not installed")

NODES = 2
ON_THEIR_WAY = 12
"""Most jobs of three nodes: twice two trees each."""


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    """A cluster for all tests of this file; all its processes have ended afterwards."""
    with marked() as mark, contextlib.closing(Machine(NODES, mark)) as machine:
        yield machine


@contextlib.contextmanager
def driver_of(address: str, directory: Path, **options: object) -> Iterator[subprocess.Popen[str]]:
    driver = start_training(address, directory, **options)
    try:
        yield driver
    finally:
        driver.kill()
        driver.communicate()


@pytest.mark.slow
def test_rollouts_on_nodes_that_die_are_those_of_one_process_to_the_bit(
    machine: Machine, tmp_path: Path
) -> None:
    rng = np.random.default_rng(1)
    names = ("local", "cluster")
    for name in names:
        (tmp_path / name).mkdir()
    options = {"groups": "rollouts", "steps": 120}
    with (
        driver_of(machine.address, tmp_path / "cluster" / "run", **options) as there,
        driver_of("", tmp_path / "local" / "run", **options) as here,
    ):
        kill_one(eventually(lambda: node_workers(machine.mark), "node workers"), rng)
        for driver in (there, here):
            assert ended_well(driver) == (120, 0)
    weights = [
        load(tmp_path / name / "run" / "checkpoints" / "last").tensors["policy_gradient"]
        for name in names
    ]
    for key, tensor in weights[0].items():
        np.testing.assert_array_equal(tensor.numpy(), weights[1][key].numpy())
    assert latest_of(tmp_path / "cluster" / "run")["lost"] == 1


@pytest.mark.slow
def test_a_killed_driver_leaves_nothing_and_goes_on_in_a_cluster_of_its_own(
    machine: Machine, tmp_path: Path
) -> None:
    """That one listens on this machine alone."""
    rng = np.random.default_rng(5)
    directory = tmp_path / "run"
    with driver_of(machine.address, directory) as driver:
        await_progress(directory, 10)
        eventually((directory / "checkpoints" / "last").exists, "a checkpoint")
        nap(rng, 1.0)
        driver.kill()
    eventually(lambda: not node_workers(machine.mark), "the end of its node workers", 30.0)
    saved = finished_of(directory)
    with marked() as mark, driver_of("local:1", directory, resume=True) as driver:
        await_progress(directory, 10)
        everywhere = [a for pid in [driver.pid, *carriers(mark)] for a in listening(pid)]
        assert len(everywhere) >= 5
        assert {socket.inet_ntop(*address) for address in everywhere} <= LOOPBACK
        _, jobs = ended_well(driver)
    assert jobs == finished_of(directory) > saved > 0


@pytest.mark.slow
def test_files_are_solved_and_compared_as_on_one_machine(machine: Machine, tmp_path: Path) -> None:
    names = []
    for seed in range(3):
        names.append(str(tmp_path / f"p{seed}.json"))
        io.save(problem(15, 3, seed=seed), names[-1])
    solve = ["solve", *names, "--simulations", "100"]
    compare = ["compare", *names, "--schedulers", "heft", "policy", "--checkpoint", "default"]
    there = ["--ray", machine.address]
    called("aerl_trainer", *solve, "--json", str(tmp_path / "there.json"), *there)
    called("dagsched_env", *compare, "--csv", str(tmp_path / "there.csv"), *there)
    assert aerl([*solve, "--json", str(tmp_path / "here.json")]) == 0
    assert dagsched([*compare, "--csv", str(tmp_path / "here.csv")]) == 0
    solved = [json.loads((tmp_path / f"{n}.json").read_text()) for n in ("here", "there")]
    assert [r["problem"] for r in solved[1]] == names
    assert [r["makespan"] for r in solved[0]] == [r["makespan"] for r in solved[1]]
    tables = [(tmp_path / f"{name}.csv").read_text().splitlines() for name in ("here", "there")]
    compared = [
        [
            {key: value for key, value in row.items() if key != "seconds"}
            for row in csv.DictReader(table)
        ]
        for table in tables
    ]
    assert compared[0] == compared[1]
    assert len(compared[0]) == 6


@pytest.mark.slow
def test_a_run_outlives_all_but_its_driver(machine: Machine, tmp_path: Path) -> None:
    """A node stands still, as where its network stalls; it may come back, and another joins.

    Then a kill of each kind; a raylet takes its node worker along, and another joins.
    """
    directory, kills = tmp_path / "run", ["raylet", "searcher", "worker"]
    rng = np.random.default_rng(3)
    victims = {
        "searcher": lambda: searchers(machine.mark),
        "worker": lambda: node_workers(machine.mark),
        "raylet": machine.raylets,
    }
    with driver_of(machine.address, directory) as driver:
        await_progress(directory, 3)
        eventually(lambda: latest_of(directory)["nodes"] == NODES, "both nodes", 30.0)
        still = machine.raylets()[0]
        (worker,) = set(children_of(still)) & set(node_workers(machine.mark))
        frozen = [still, worker, *children_of(worker)]
        for pid in frozen:
            os.kill(pid, signal.SIGSTOP)
        eventually(lambda: latest_of(directory)["lost"] >= 1, "the loss", 40.0)
        await_progress(directory, 5)
        stood = latest_of(directory)
        assert stood["requeued"] > 0
        for pid in filter(is_running, frozen):
            os.kill(pid, signal.SIGCONT)
        machine.join()
        for kind in kills:
            kill_one(eventually(victims[kind], kind), rng)
            if kind == "raylet":
                machine.join()
            nap(rng, 0.5)
            await_progress(directory, 1)
        eventually(
            lambda: latest_of(directory)["nodes"] == len(machine.raylets()), "all successors"
        )
        await_all_of(directory)
        steps, jobs = ended_well(driver)
    assert steps > 0
    assert jobs == len(jobs_of(directory))
    check_each_job_counted_once(directory, ON_THEIR_WAY)
    # How many is left to chance: a kill may hit one that is dying, or has not joined yet.
    assert latest_of(directory)["lost"] > stood["lost"]


def called(*command: str) -> None:
    """``python -m`` of it ends with exit code 0."""
    subprocess.run(
        [sys.executable, "-m", *command],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=True,
    )


def test_without_the_package_there_is_a_remedy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert aerl(["train", "--ray", "local:1", "--run-dir", str(tmp_path / "run")]) == 2
    assert "pip install 'aerl-ds[ray]'" in capsys.readouterr().err


def test_files_of_clusters_whose_process_is_gone_are_removed(tmp_path: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    for name, owner in [("a", str(gone.pid)), ("b", str(os.getpid())), ("c", "?")]:
        (tmp_path / f"{FOLDER}{name}").mkdir()
        (tmp_path / f"{FOLDER}{name}" / OWNER).write_text(owner)
    sweep(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{FOLDER}b", f"{FOLDER}c"]


LOOPBACK = {"127.0.0.1", "::ffff:127.0.0.1", "::1"}


def finished_of(directory: Path) -> int:
    """Jobs that the checkpoint counts."""
    return int(load(directory / "checkpoints" / "last").state["lifecycle"]["finished"])


def listening(pid: int) -> list[tuple[int, bytes]]:
    """Family and address of every TCP socket on which a process listens; see proc(5)."""
    own = set()
    for descriptor in Path(f"/proc/{pid}/fd").glob("*"):
        with contextlib.suppress(OSError):
            own.add(os.readlink(descriptor))
    found = []
    for name, family in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6)):
        for line in Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in own:
                words = bytes.fromhex(fields[1].partition(":")[0])
                swapped = b"".join(words[i : i + 4][::-1] for i in range(0, len(words), 4))
                found.append((family, swapped))
    return found

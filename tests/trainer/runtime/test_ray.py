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

ON_THEIR_WAY = 12
"""Most jobs of three nodes: twice two trees each."""


@pytest.fixture
def mark() -> Iterator[str]:
    """Whatever a test starts carries it, and has ended afterwards."""
    with marked() as found:
        yield found


@contextlib.contextmanager
def machine_of(nodes: int) -> Iterator[Machine]:
    with contextlib.closing(Machine(nodes)) as machine:
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
def test_a_run_outlives_all_but_its_driver(mark: str, tmp_path: Path) -> None:
    """Six kills; a raylet that is killed takes its node worker along, and another joins."""
    nodes, kills = 3, ["raylet", "searcher", "worker"] * 2
    rng = np.random.default_rng(nodes)
    with machine_of(nodes) as machine:
        victims = {
            "searcher": lambda: searchers(mark),
            "worker": lambda: node_workers(mark),
            "raylet": machine.raylets,
        }
        with driver_of(machine.address, tmp_path / "run") as driver:
            await_progress(tmp_path / "run", 3)
            for kind in kills:
                kill_one(eventually(victims[kind], kind), rng)
                if kind == "raylet":
                    machine.join()
                nap(rng, 0.5)
                await_progress(tmp_path / "run", 1)
            eventually(lambda: latest_of(tmp_path / "run")["nodes"] == nodes, "all successors")
            await_all_of(tmp_path / "run")
            steps, jobs = ended_well(driver)
        assert steps > 0
        assert jobs == len(jobs_of(tmp_path / "run"))
        check_each_job_counted_once(tmp_path / "run", ON_THEIR_WAY)
        # How many is left to chance: a kill may hit one that is dying, or has not joined yet.
        assert latest_of(tmp_path / "run")["lost"] > 0


@pytest.mark.slow
def test_a_killed_driver_leaves_nothing_and_goes_on(mark: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    directory = tmp_path / "run"
    with machine_of(1) as machine:
        with driver_of(machine.address, directory) as driver:
            await_progress(directory, 10)
            eventually((directory / "checkpoints" / "last").exists, "a checkpoint")
            nap(rng, 1.0)
            driver.kill()
        eventually(lambda: not node_workers(mark), "the end of its node workers", 30.0)
    saved = finished_of(directory)
    with driver_of("local:1", directory, resume=True) as driver:
        await_progress(directory, 10)
        _, jobs = ended_well(driver)
    assert jobs == finished_of(directory) > saved > 0


@pytest.mark.slow
def test_rollouts_on_nodes_that_die_are_those_of_one_process_to_the_bit(
    mark: str, tmp_path: Path
) -> None:
    rng = np.random.default_rng(1)
    runs = {"local": {}, "cluster": {}}
    for name in runs:
        (tmp_path / name).mkdir()
    options = {"groups": "rollouts", "steps": 120}
    with driver_of("", tmp_path / "local" / "run", **options) as driver:
        assert ended_well(driver) == (120, 0)
    with (
        machine_of(2) as machine,
        driver_of(machine.address, tmp_path / "cluster" / "run", **options) as driver,
    ):
        kill_one(eventually(lambda: node_workers(mark), "node workers"), rng)
        assert ended_well(driver) == (120, 0)
    weights = [
        load(tmp_path / name / "run" / "checkpoints" / "last").tensors["policy_gradient"]
        for name in runs
    ]
    for key, tensor in weights[0].items():
        np.testing.assert_array_equal(tensor.numpy(), weights[1][key].numpy())
    assert latest_of(tmp_path / "cluster" / "run")["lost"] == 1


@pytest.mark.slow
def test_a_node_that_stands_still_has_left_and_one_that_joins_is_used(
    mark: str, tmp_path: Path
) -> None:
    """As where its network stalls; afterwards it may come back."""
    directory = tmp_path / "run"
    with machine_of(1) as machine:
        (still,) = machine.raylets()
        with driver_of(machine.address, directory) as driver:
            await_progress(directory, 3)
            machine.join()
            eventually(lambda: latest_of(directory)["nodes"] == 2, "the second node", 30.0)
            (worker,) = set(children_of(still)) & set(node_workers(mark))
            frozen = [still, worker, *children_of(worker)]
            for pid in frozen:
                os.kill(pid, signal.SIGSTOP)
            eventually(lambda: latest_of(directory)["lost"] >= 1, "the loss", 40.0)
            await_progress(directory, 5)
            for pid in filter(is_running, frozen):
                os.kill(pid, signal.SIGCONT)
            await_all_of(directory)
            ended_well(driver)
        check_each_job_counted_once(directory, ON_THEIR_WAY)
        assert latest_of(directory)["requeued"] > 0


def test_a_cluster_of_its_own_listens_on_this_machine_alone(mark: str, tmp_path: Path) -> None:
    with driver_of("local:1", tmp_path / "run") as driver:
        await_progress(tmp_path / "run", 1)
        everywhere = [a for pid in [driver.pid, *carriers(mark)] for a in listening(pid)]
        assert len(everywhere) >= 5
        assert {socket.inet_ntop(*address) for address in everywhere} <= LOOPBACK
        ended_well(driver)


@pytest.mark.slow
def test_files_are_solved_and_compared_as_on_one_machine(mark: str, tmp_path: Path) -> None:
    names = []
    for seed in range(3):
        names.append(str(tmp_path / f"p{seed}.json"))
        io.save(problem(15, 3, seed=seed), names[-1])
    solve = ["solve", *names, "--simulations", "100"]
    compare = ["compare", *names, "--schedulers", "heft", "policy", "--checkpoint", "default"]
    there = ["--ray", "local:1"]
    assert aerl([*solve, "--json", str(tmp_path / "here.json")]) == 0
    called("aerl_trainer", *solve, "--json", str(tmp_path / "there.json"), *there)
    assert dagsched([*compare, "--csv", str(tmp_path / "here.csv")]) == 0
    called("dagsched_env", *compare, "--csv", str(tmp_path / "there.csv"), *there)
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


def called(*command: str) -> None:
    """``python -m`` of it ends with exit code 0."""
    subprocess.run(
        [sys.executable, "-m", *command],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=True,
    )


def test_without_the_package_there_is_a_remedy(tmp_path: Path) -> None:
    hidden = "import sys; sys.modules['ray'] = None; from aerl_trainer.__main__ import main; main()"
    found = subprocess.run(
        [sys.executable, "-c", hidden, "train", "--ray", "local:1", "--run-dir", tmp_path / "run"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "pip install 'aerl-ds[ray]'" in found.stderr


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

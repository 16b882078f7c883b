"""Whole runs: reproducible, resumable, and not to be stopped by the death of an actor."""

import dataclasses
import itertools
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aerl_trainer import checkpoint
from aerl_trainer import config as settings
from aerl_trainer.config import Config
from aerl_trainer.network.network import Network
from aerl_trainer.run.interruption import Stop, stop_on_signals
from aerl_trainer.run.problems import Problems
from aerl_trainer.run.reporting import RunDirectory, read_metrics
from aerl_trainer.run.training import TrainingResult, _Run, train
from aerl_trainer.runtime.pool import LockstepPool
from aerl_trainer.runtime.process_pool import ProcessPool
from aerl_trainer.solving.loading import load_policy
from dagsched_env import io
from dagsched_env.problem.errors import DAGSchedError
from helpers.full_disk import full_disk
from helpers.small_runs import (
    SMALL,
    eventually,
    is_running,
    lockstep_config,
    problem,
    replaced,
    set_flags,
    shared_memory_of,
    small_config,
)

NO_SPACE = r"(?=.*No space left on device$).*/"
LEVELS = SMALL["curriculum"]["levels"]
CLOCKED = ("time_s", "elapsed_s", "seconds_per_instance")
"""Fields of the metrics that tell the time."""

Begun = Callable[[Path, int], RunDirectory]
"""Path and number of steps → a run that has ended there after so many."""

PROCESSES = small_config(
    run={"actors": 2, "max_steps": 12}, validator={"interval": 4}, inference={"backend": "server"}
)


def run(path: Path, config: Config, *, resume: bool = False) -> tuple[TrainingResult, RunDirectory]:
    directory = RunDirectory(path)
    return train(config, directory, resume=resume), directory


def with_steps(config: Config, steps: int) -> Config:
    return dataclasses.replace(config, run=dataclasses.replace(config.run, max_steps=steps))


def records(directory: RunDirectory) -> list[dict[str, Any]]:
    """What has happened, without the times; rates are measured by the clock alone."""
    return [
        {key: value for key, value in record.items() if key not in CLOCKED}
        for record in read_metrics(directory.metrics_file)
        if record["kind"] != "rates"
    ]


def state_of(directory: RunDirectory, name: str = "last") -> checkpoint.Checkpoint:
    return checkpoint.load(directory.checkpoints / name)


def assert_same_checkpoint(one: checkpoint.Checkpoint, other: checkpoint.Checkpoint) -> None:
    """Weights, optimiser, replay, random state and counters, to the bit."""
    for group in ("model", "optimizer", "policy", "policy_gradient", "published"):
        assert_same_arrays(one.tensors[group], other.tensors[group])
    assert_same_arrays(one.arrays, other.arrays)
    for key in (
        *("learner", "policy_gradient", "curriculum", "lifecycle", "rollout_weight", "best"),
    ):
        assert one.state[key] == other.state[key], key


def assert_same_arrays(one: Mapping[str, Any], other: Mapping[str, Any]) -> None:
    assert one.keys() == other.keys()
    for name, array in one.items():
        assert np.array_equal(array, other[name]), name


@pytest.fixture
def nothing_is_left() -> Iterator[None]:
    """No child process and no shared memory that was not there before."""
    before = shared_memory_of(os.getpid())
    yield
    assert not multiprocessing.active_children()
    assert shared_memory_of(os.getpid()) == before


# -- in lock-step --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> tuple[TrainingResult, RunDirectory]:
    """Twenty steps at once."""
    return run(tmp_path_factory.mktemp("reference") / "run", lockstep_config())


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Begun:
    """Gives a directory the first steps of that run; to the same number of steps it is run once."""
    ended: dict[int, Path] = {}

    def begin(path: Path, steps: int) -> RunDirectory:
        if steps not in ended:
            ended[steps] = tmp_path_factory.mktemp("begun") / "run"
            run(ended[steps], with_steps(lockstep_config(), steps))
        shutil.copytree(ended[steps], path)
        return RunDirectory(path)

    return begin


def test_a_run_ends_after_its_steps_and_leaves_everything(
    reference: tuple[TrainingResult, RunDirectory],
) -> None:
    result, directory = reference
    config = lockstep_config()
    assert result.steps == 20
    assert not result.interrupted
    assert result.jobs >= 20 / config.learner.steps_per_job
    assert settings.load(directory.config_file) == config
    assert json.loads(directory.system_file.read_text())["cpu_count"] >= 1
    assert any(directory.tensorboard.iterdir())
    found = records(directory)
    kinds = {record["kind"] for record in found}
    assert kinds == {"policy", "train", "search", "validation"}
    for kind in ("policy", "train"):
        assert [r["step"] for r in found if r["kind"] == kind] == list(range(1, 21))
    searches = [r for r in found if r["kind"] == "search"]
    assert [r["job_id"] for r in searches] == list(range(result.jobs))
    assert all(r["outcome"] in ("complete", "exhausted") for r in searches)
    assert [r["step"] for r in found if r["kind"] == "validation"] == [0, 5, 10, 15, 20]
    saved = state_of(directory)
    assert saved.state["learner"]["steps"] == 20
    assert saved.state["lifecycle"]["finished"] == result.jobs
    assert saved.state["lifecycle"]["simulations"] == sum(r["simulations"] for r in searches)


def test_the_learner_keeps_to_the_replay_ratio(
    reference: tuple[TrainingResult, RunDirectory],
) -> None:
    """No step before there is enough experience, and at most so many per finished job."""
    _, directory = reference
    config = lockstep_config()
    finished = 0
    for record in records(directory):
        finished += record["kind"] == "search"
        if record["kind"] == "train":
            assert record["step"] <= config.learner.steps_per_job * finished


def test_the_curriculum_advances_when_a_level_is_mastered(
    reference: tuple[TrainingResult, RunDirectory],
) -> None:
    """The first level's threshold is easy, the second's out of reach."""
    _, directory = reference
    validations = [r for r in records(directory) if r["kind"] == "validation"]
    promoted = [r["step"] for r in validations if r["promoted"]]
    assert len(promoted) == 1
    assert all(r["level"] == (r["step"] > promoted[0]) for r in validations)
    assert state_of(directory).state["curriculum"]["level"] == 1


def test_the_best_checkpoint_is_that_of_the_best_validation(
    reference: tuple[TrainingResult, RunDirectory],
) -> None:
    _, directory = reference
    validations = [r for r in records(directory) if r["kind"] == "validation" and r["step"] > 0]
    best = min(validations, key=lambda r: (-r["level"], r["slr_vs_heft"], r["step"]))
    saved = state_of(directory, "best")
    assert saved.state["learner"]["steps"] == best["step"]
    assert saved.state["best"] == {"level": best["level"], "slr_vs_heft": best["slr_vs_heft"]}
    for name in ("best", "last"):
        assert load_policy(directory.checkpoints / name).config == lockstep_config()


def test_the_same_seed_gives_the_same_run(
    reference: tuple[TrainingResult, RunDirectory], tmp_path: Path
) -> None:
    result, directory = reference
    again, other = run(tmp_path / "run", lockstep_config())
    assert again == result
    assert records(other) == records(directory)
    assert_same_checkpoint(state_of(other), state_of(directory))


def test_another_seed_gives_another_run(
    reference: tuple[TrainingResult, RunDirectory], tmp_path: Path
) -> None:
    _, directory = reference
    _, other = run(tmp_path / "run", lockstep_config(run={"seed": 4}))
    assert records(other) != records(directory)


@pytest.mark.parametrize("cut", [1, 10, 13])
def test_a_resumed_run_is_the_uninterrupted_one(
    reference: tuple[TrainingResult, RunDirectory], begun: Begun, tmp_path: Path, cut: int
) -> None:
    """To the bit, at any step: between two publications the actors hold older weights."""
    result, directory = reference
    other = begun(tmp_path / "run", cut)
    assert state_of(other).state["learner"]["steps"] == cut
    again, other = run(tmp_path / "run", lockstep_config(), resume=True)
    assert again == result
    assert records(other) == records(directory)
    assert_same_checkpoint(state_of(other), state_of(directory))


def tree_config(**overrides: dict[str, Any]) -> Config:
    """The fast policy learns from trees, in lock-step, as a run does by default."""
    learner = {"network": False, **overrides.pop("learner", {})}
    replay = {"share": 0.5, "min_size": 2}
    return lockstep_config(learner=learner, replay=replay, **overrides)


def test_a_run_on_trees_and_its_replay_outlive_a_resume(tmp_path: Path) -> None:
    once, straight = run(tmp_path / "once", tree_config())
    found = records(straight)
    steps = [r for r in found if r["kind"] == "policy"]
    assert [r["step"] for r in steps] == list(range(1, 21))
    assert all(r["trees"] == r["groups"] == 3 for r in steps)
    assert any(r["replayed"] > 0 for r in steps)
    assert once.jobs == 3 * 20
    assert sum(r["trees"] - r["replayed"] for r in steps) >= steps[-1]["stored"] > 4
    _, directory = run(tmp_path / "twice", with_steps(tree_config(), 7))
    twice, _ = run(tmp_path / "twice", tree_config(), resume=True)
    assert twice == once
    assert records(directory) == found
    ends = [state_of(d) for d in (straight, directory)]
    assert_same_arrays(*(end.arrays for end in ends))
    for name in ("policy", "policy_gradient"):
        assert_same_arrays(*(end.tensors[name] for end in ends))


def test_trees_that_wait_for_the_policy_outlive_a_resume(tmp_path: Path) -> None:
    config = tree_config(run={"max_steps": 1, "actors": 2, "trees_in_flight": 4})
    _, directory = run(tmp_path / "run", config)
    saved = state_of(directory)
    waiting = len(saved.arrays["waiting_tree_step"])
    levels, count = config.curriculum.levels, config.validator.instances
    problems = Problems(levels, seed=config.run.seed, count=count)
    resumed = _Run(config, directory, problems)
    resumed.restore(directory.checkpoints / "last")
    assert resumed.lifecycle.waiting_groups == waiting
    assert resumed.gradient.replay is not None
    assert len(resumed.gradient.replay) > 0


@pytest.mark.parametrize(
    ("groups", "actors", "pools"), [("rollouts", 1, 0), ("rollouts", 2, 0), ("tree", 1, 1)]
)
def test_what_nobody_asks_for_is_not_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, groups: str, actors: int, pools: int
) -> None:
    """No network where none learns, and no pool where nothing is searched; a resume is the same."""
    config = lockstep_config(
        learner={"groups": groups, "network": False}, run={"actors": actors, "max_steps": 6}
    )
    once, straight = run(tmp_path / "once", config)
    built: list[str] = []
    for kind in (Network, LockstepPool, ProcessPool):

        def recorded(*args: Any, kind: Any = kind, make: Any = kind.__init__, **named: Any) -> None:
            built.append(kind.__name__)
            make(*args, **named)

        monkeypatch.setattr(kind, "__init__", recorded)
    run(tmp_path / "twice", with_steps(config, 3))
    assert built == ["LockstepPool"] * pools
    twice, directory = run(tmp_path / "twice", config, resume=True)
    assert built == ["LockstepPool"] * 2 * pools
    assert (twice, records(directory)) == (once, records(straight))
    for name in ("policy", "policy_gradient"):
        assert_same_arrays(*(state_of(d).tensors[name] for d in (straight, directory)))


def test_a_resume_continues_all_counters(tmp_path: Path) -> None:
    """Also where the cut lies between two publications, and the clock goes on."""
    first, directory = run(tmp_path / "run", with_steps(lockstep_config(), 7))
    before = state_of(directory)
    second, _ = run(tmp_path / "run", with_steps(lockstep_config(), 13), resume=True)
    after = state_of(directory)
    assert (first.steps, second.steps) == (7, 13)
    assert second.jobs == after.state["lifecycle"]["finished"] > first.jobs
    assert after.state["lifecycle"]["simulations"] > before.state["lifecycle"]["simulations"]
    assert len(after.arrays["experience_reward"]) > len(before.arrays["experience_reward"])
    assert after.state["time_s"] > before.state["time_s"]
    found = read_metrics(directory.metrics_file)
    assert [r["step"] for r in found if r["kind"] == "train"] == list(range(1, 14))
    tasks = [r["job_id"] for r in found if r["kind"] == "search"]
    assert tasks == list(range(second.jobs))
    times = [r["time_s"] for r in found]
    assert times == sorted(times)


def test_nothing_is_left_to_do(begun: Begun, tmp_path: Path) -> None:
    """Resuming a run that has all its steps changes nothing but adds a checkpoint."""
    directory = begun(tmp_path / "run", 6)
    before = state_of(directory)
    result, _ = run(tmp_path / "run", with_steps(lockstep_config(), 6), resume=True)
    assert result.steps == 6
    assert_same_checkpoint(before, state_of(directory))


def test_a_directory_with_a_run_is_not_overwritten(
    reference: tuple[TrainingResult, RunDirectory],
) -> None:
    _, directory = reference
    before = directory.metrics_file.read_bytes()
    with pytest.raises(DAGSchedError, match="holds a run already"):
        train(lockstep_config(), directory)
    assert directory.metrics_file.read_bytes() == before


def test_a_run_in_use_is_neither_resumed_nor_begun(begun: Begun, tmp_path: Path) -> None:
    """As by another process: what locks is the opening of a file."""
    directory = begun(tmp_path / "run", 1)
    with RunDirectory(directory.path).hold():
        before = contents(directory.path)
        for resume in (True, False):
            with pytest.raises(DAGSchedError, match=f"is in use by process {os.getpid()} on"):
                run(directory.path, with_steps(lockstep_config(), 2), resume=resume)
        assert contents(directory.path) == before
    assert run(directory.path, with_steps(lockstep_config(), 2), resume=True)[0].steps == 2
    assert not (directory.path / "run.lock").exists()


def test_an_empty_directory_cannot_be_resumed(tmp_path: Path) -> None:
    with pytest.raises(DAGSchedError, match="no run to resume"):
        run(tmp_path / "run", lockstep_config(), resume=True)
    assert not (tmp_path / "run").exists()


@pytest.mark.usefixtures("nothing_is_left")
@pytest.mark.parametrize("backend", ["inline", "server"])
def test_a_damaged_checkpoint_is_named(begun: Begun, tmp_path: Path, backend: str) -> None:
    config = with_steps(small_config(inference={"backend": backend}), 1)
    directory = begun(tmp_path / "run", 1)
    damaged = directory.checkpoints / "last" / "model.safetensors"
    damaged.write_bytes(damaged.read_bytes()[:-1])
    with pytest.raises(checkpoint.CheckpointError, match=r"model\.safetensors: truncated"):
        train(config, directory, resume=True)


def damage(directory: RunDirectory, name: str) -> Path:
    damaged = directory.checkpoints / name / "policy.safetensors"
    damaged.write_bytes(damaged.read_bytes()[:-1])
    return damaged


def test_a_run_goes_on_from_the_previous_checkpoint_if_the_last_is_damaged(
    reference: tuple[TrainingResult, RunDirectory],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """To the bit, as from any checkpoint at a publication."""
    config = lockstep_config(learner={"checkpoint_interval": 5})
    _, directory = run(tmp_path / "run", with_steps(config, 7))
    steps = [state_of(directory, n).state["learner"]["steps"] for n in ("previous", "last")]
    assert steps == [5, 7]
    damaged = damage(directory, "last")
    with pytest.warns(RuntimeWarning, match=r"policy\.safetensors: truncated.*previous"):
        policy = load_policy(directory.path)
    weights = state_of(directory, "previous").tensors["policy"]["weights"].numpy()
    assert np.array_equal(policy.fast.weights, weights)
    capsys.readouterr()
    run(tmp_path / "run", config, resume=True)
    said = "".join(capsys.readouterr().out.split())
    assert f"{damaged}:truncated" in said
    assert f"{directory.checkpoints / 'previous'}isusedinstead" in said
    assert_same_checkpoint(state_of(directory), state_of(reference[1]))


def test_a_run_does_not_go_on_with_other_problems(tmp_path: Path) -> None:
    """Files that are edited between two runs would move problems from the test into training."""
    files = tmp_path / "problems"
    files.mkdir()
    for number in range(12):
        io.save(problem(seed=number), files / f"{number}.json")
    level = {"instances": [str(files)], "threshold": 1.0}
    config = lockstep_config(run={"max_steps": 2}, curriculum={"levels": [level]})
    _, directory = run(tmp_path / "run", config)
    before = directory.metrics_file.read_bytes()
    io.save(problem(seed=99), files / "99.json")
    with pytest.raises(DAGSchedError, match=r"problems of the run have changed.*put the files"):
        run(tmp_path / "run", with_steps(config, 4), resume=True)
    assert directory.metrics_file.read_bytes() == before
    (files / "99.json").unlink()
    assert run(tmp_path / "run", with_steps(config, 4), resume=True)[0].steps == 4


def test_a_run_goes_on_from_the_best_checkpoint_if_both_others_are_damaged(
    reference: tuple[TrainingResult, RunDirectory], begun: Begun, tmp_path: Path
) -> None:
    """Also where one is missing; and what is damaged never takes the place of what is not."""
    directory = begun(tmp_path / "run", 13)
    best = state_of(directory, "best").state["learner"]["steps"]
    assert best < 13
    damage(directory, "last")
    shutil.rmtree(directory.checkpoints / "previous")
    with pytest.warns(RuntimeWarning, match=r"truncated[^;]*; \S*/best is used instead"):
        load_policy(directory.path)
    run(tmp_path / "run", with_steps(lockstep_config(), best), resume=True)
    assert state_of(directory).state["learner"]["steps"] == best
    assert not (directory.checkpoints / "previous").exists()
    damage(directory, "last")
    run(tmp_path / "run", lockstep_config(), resume=True)
    assert_same_checkpoint(state_of(directory), state_of(reference[1]))


def test_of_several_damaged_checkpoints_all_are_named_and_nothing_changes(
    begun: Begun, tmp_path: Path
) -> None:
    directory = begun(tmp_path / "run", 7)
    damaged = [damage(directory, name) for name in ("last", "previous", "best")]
    before = contents(directory.path)
    message = "; ".join(f"{path}: truncated[^;]*" for path in damaged)
    for read in (load_policy, lambda path: run(path, lockstep_config(), resume=True)):
        with pytest.raises(checkpoint.CheckpointError, match=f"^{message}$"):
            read(directory.path)
    assert contents(directory.path) == before


def contents(path: Path) -> dict[str, tuple[bytes, int]]:
    """Of all files below a path, with the times at which they were written."""
    files = (file for file in sorted(path.rglob("*")) if file.is_file())
    return {str(file): (file.read_bytes(), file.stat().st_mtime_ns) for file in files}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"network": {"width": 12}}, "its network is of another size"),
        ({"learner": {"network": True}}, "the run has trained no network"),
        ({"replay": {"capacity": 16}}, "its replay.capacity is 32, and cannot change"),
        ({"curriculum": {"levels": [{**LEVELS[0], "threshold": 2.0}]}}, "the run is on level 1"),
        ({"run": {"actors": 2}}, "no more shared memory"),
        ({"run": {"minutes": 4.0}}, r"metrics\.jsonl: Is a directory"),
    ],
)
def test_a_failed_resume_changes_no_file(
    begun: Begun,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    changes: dict[str, Any],
    message: str,
) -> None:
    """Whether the settings are the reason or the machine; and the run can go on afterwards."""
    first = {"learner": {"network": False}} if "learner" in changes else {}
    if first:
        _, directory = run(tmp_path / "run", with_steps(lockstep_config(**first), 6))
    else:
        directory = begun(tmp_path / "run", 6)
    metrics = directory.metrics_file
    if "minutes" in changes.get("run", {}):
        metrics.rename(tmp_path / "metrics.jsonl")
        metrics.mkdir()
    before = contents(directory.path)
    if "actors" in changes.get("run", {}):

        def full(*_: object) -> None:
            raise DAGSchedError("no more shared memory")

        monkeypatch.setattr("aerl_trainer.memory.shared_memory._check_room", full)
    with pytest.raises(DAGSchedError, match=message):
        run(tmp_path / "run", with_steps(lockstep_config(**changes), 8), resume=True)
    assert contents(directory.path) == before
    if metrics.is_dir():
        metrics.rmdir()
        (tmp_path / "metrics.jsonl").rename(metrics)
    assert run(tmp_path / "run", with_steps(lockstep_config(**first), 7), resume=True)[0].steps == 7


def test_a_last_checkpoint_that_is_a_link_makes_way(begun: Begun, tmp_path: Path) -> None:
    """What it names is read, and stays as it is."""
    directory = begun(tmp_path / "run", 6)
    last = directory.checkpoints / "last"
    elsewhere = last.rename(tmp_path / "elsewhere")
    last.symlink_to(elsewhere)
    before = contents(elsewhere)
    for steps in (7, 8):
        result, _ = run(tmp_path / "run", with_steps(lockstep_config(), steps), resume=True)
        assert result.steps == state_of(directory).state["learner"]["steps"] == steps
    assert contents(elsewhere) == before
    assert not [path for path in directory.checkpoints.iterdir() if path.is_symlink()]


@pytest.mark.parametrize("weight", [1.5, -0.1, "1", None, True])
def test_a_rollout_weight_is_a_share(
    reference: tuple[TrainingResult, RunDirectory], tmp_path: Path, weight: object
) -> None:
    """Of a checkpoint that somebody has made up, with the right digests."""
    path = tmp_path / "run"
    shutil.copytree(reference[1].path, path)
    for name in ("last", "previous", "best"):
        saved = checkpoint.load(path / "checkpoints" / name)
        state = {**saved.state, "rollout_weight": weight}
        checkpoint.save(
            path / "checkpoints" / name, tensors=saved.tensors, arrays=saved.arrays, state=state
        )
    for read in (load_policy, lambda path: run(path, lockstep_config(), resume=True)):
        with pytest.raises(
            checkpoint.CheckpointError, match=r"last: .*'rollout_weight' is .*, not a"
        ):
            read(path)


def test_a_clock_that_is_set_back_does_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor that it is, over and over: times are those of a clock that only goes on."""
    clock = itertools.count(2e9, -3600)
    monkeypatch.setattr("time.time", lambda: next(clock))
    _, directory = run(tmp_path / "run", with_steps(lockstep_config(), 3))
    run(tmp_path / "run", with_steps(lockstep_config(), 6), resume=True)
    assert next(clock) < 2e9 - 10 * 3600
    found = read_metrics(directory.metrics_file)
    times = [record["time_s"] for record in found]
    assert [r["step"] for r in found if r["kind"] == "train"] == [1, 2, 3, 4, 5, 6]
    assert times[0] >= 0
    assert times == sorted(times)
    assert times[-1] < 600


def test_a_disk_that_is_full_at_any_file_costs_no_more_than_the_steps_since_the_last_save(
    reference: tuple[TrainingResult, RunDirectory],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each error names the file; the run goes on from where it was, as if nothing had been."""
    path, config = tmp_path / "run", lockstep_config()
    for name in ("system.json", "config.toml"):
        with full_disk(monkeypatch, name), pytest.raises(DAGSchedError, match=NO_SPACE + name):
            run(path, config)
        assert not RunDirectory(path).holds_run, "it may be begun again"
    _, directory = run(path, with_steps(config, 6))
    saved = sorted(file.name for file in (directory.checkpoints / "last").iterdir())
    assert len(saved) == 7
    for name in ("system.json", "config.toml", *saved):
        with full_disk(monkeypatch, name), pytest.raises(DAGSchedError, match=NO_SPACE + name):
            run(path, with_steps(config, 7), resume=True)
        assert state_of(directory).state["learner"]["steps"] == 6
    records_so_far = directory.metrics_file.rename(tmp_path / "metrics.jsonl")
    directory.metrics_file.symlink_to("/dev/full")
    with pytest.raises(DAGSchedError, match=NO_SPACE + r"metrics\.jsonl"):
        run(path, with_steps(config, 7), resume=True)
    records_so_far.rename(directory.metrics_file)
    run(path, config, resume=True)
    assert_same_checkpoint(state_of(directory), state_of(reference[1]))
    found, expected = (
        [record for record in records(d) if record["kind"] != "search"]  # some trees grew twice
        for d in (directory, reference[1])
    )
    assert found == expected
    assert not [file.name for file in path.rglob(".*")], "no temporary file is left"


def test_a_checkpoint_of_the_version_before_is_resumed(begun: Begun, tmp_path: Path) -> None:
    """It holds neither the weights of the actors nor waiting trees, and is not checked as a whole.

    At a publication that makes no difference.
    """
    _, directory = run(tmp_path / "run", with_steps(lockstep_config(), 5))
    last, saved = directory.checkpoints / "last", state_of(directory)
    checkpoint.save(
        last,
        tensors={name: group for name, group in saved.tensors.items() if name != "published"},
        arrays={k: array for k, array in saved.arrays.items() if not k.startswith("waiting_")},
        state=saved.state,
    )
    record = json.loads((last / "state.json").read_text())
    del record["digest"]
    (last / "state.json").write_text(json.dumps({**record, "version": 3}))
    run(tmp_path / "run", with_steps(lockstep_config(), 6), resume=True)
    assert_same_checkpoint(state_of(directory), state_of(begun(tmp_path / "straight", 6)))


def test_a_network_that_did_not_see_the_status_of_tasks_is_refused(tmp_path: Path) -> None:
    """That of an earlier version: in one line, whatever would read it."""
    config = lockstep_config(run={"max_steps": 1})
    _, directory = run(tmp_path / "run", config)
    for path in checkpoint.generations(directory.checkpoints):
        if checkpoint.exists(path):
            saved = checkpoint.load(path)
            model = {k: v for k, v in saved.tensors["model"].items() if ".status_" not in k}
            tensors = {**saved.tensors, "model": model}
            checkpoint.save(path, tensors=tensors, arrays=saved.arrays, state=saved.state)
    message = r"earlier version, which did not see the status of tasks: train a new one"
    with pytest.raises(DAGSchedError, match=message):
        run(tmp_path / "run", with_steps(config, 2), resume=True)
    with pytest.raises(DAGSchedError, match=message):
        load_policy(directory.path)


def test_a_kill_between_the_two_renames_of_a_checkpoint_loses_nothing(
    reference: tuple[TrainingResult, RunDirectory], begun: Begun, tmp_path: Path
) -> None:
    """What was ``last`` is still there under another name, and what was to be ``last`` is whole."""
    directory = begun(tmp_path / "run", 13)
    last = directory.checkpoints / "last"
    shutil.copytree(last, directory.checkpoints / ".last.new")
    last.rename(directory.checkpoints / ".last.old")
    assert load_policy(directory.path).config == with_steps(lockstep_config(), 13)
    run(tmp_path / "run", lockstep_config(), resume=True)
    assert_same_checkpoint(state_of(directory), state_of(reference[1]))
    assert state_of(directory, "previous").state["learner"]["steps"] == 14
    names = {path.name for path in directory.checkpoints.iterdir()}
    assert names == {"last", "previous", "best"}


def test_what_a_kill_after_the_renames_left_stands_in_for_a_damaged_last(
    reference: tuple[TrainingResult, RunDirectory],
    begun: Begun,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The one before is complete, but has not become ``previous`` yet."""
    directory = begun(tmp_path / "run", 13)
    last, aside, *_ = checkpoint.generations(directory.checkpoints)
    last.rename(aside)
    shutil.rmtree(directory.checkpoints / "previous")
    shutil.copytree(aside, last)
    (last / "state.json").unlink()
    run(tmp_path / "run", lockstep_config(), resume=True)
    assert f"{aside} is used instead" in "".join(capsys.readouterr().out.split("\n"))
    assert_same_checkpoint(state_of(directory), state_of(reference[1]))
    assert state_of(directory, "previous").state["learner"]["steps"] == 14
    names = {path.name for path in directory.checkpoints.iterdir()}
    assert names == {"last", "previous", "best"}


@pytest.mark.usefixtures("nothing_is_left")
def test_signal_handlers_and_threads_are_given_back(tmp_path: Path) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    threads = set(threading.enumerate())
    run(tmp_path / "run", with_steps(PROCESSES, 3))
    assert before == [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    assert set(threading.enumerate()) <= threads


# -- with processes ------------------------------------------------------------------------------


def meanwhile(path: Path, steps: int, do: Callable[[], None]) -> threading.Thread:
    """Do something as soon as a run has taken so many learner steps."""

    def watch() -> None:
        metrics = RunDirectory(path).metrics_file
        eventually(lambda: metrics.exists() and steps_in(metrics) >= steps, f"step {steps}")
        do()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    return thread


def steps_in(metrics: Path) -> int:
    return max((r["step"] for r in read_metrics(metrics) if r["kind"] == "train"), default=0)


@pytest.mark.usefixtures("nothing_is_left")
def test_killing_children_does_not_stop_training(tmp_path: Path) -> None:
    """One actor and the inference worker die in mid-run."""
    killed = []

    def kill() -> None:
        for child in multiprocessing.active_children():
            if child.name in ("actor-0", "inference-0"):
                killed.append(child.name)
                os.kill(child.pid or 0, signal.SIGKILL)

    thread = meanwhile(tmp_path / "run", 3, kill)
    result, directory = run(tmp_path / "run", with_steps(PROCESSES, 20))
    thread.join()
    assert sorted(killed) == ["actor-0", "inference-0"]
    assert result.steps == 20
    assert not result.interrupted
    found = records(directory)
    assert [r["step"] for r in found if r["kind"] == "train"] == list(range(1, 21))
    assert len({r["job_id"] for r in found if r["kind"] == "search"}) == result.jobs
    assert state_of(directory).state["learner"]["steps"] == 20


def start(path: Path, *flags: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "aerl_trainer", "train", "--run-dir", str(path), *flags]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=path.parent,
        start_new_session=True,  # a process group of its own
    )


def in_this_process(path: Path) -> Config:
    """The settings of a run, to go on without starting processes."""
    return replaced(settings.load(path / "config.toml"), "inference", backend="inline")


def wait_for_steps(path: Path, steps: int, process: subprocess.Popen[str]) -> None:
    metrics = RunDirectory(path).metrics_file

    def ready() -> bool:
        assert process.poll() is None, process.communicate()[0]
        return metrics.exists() and steps_in(metrics) >= steps

    eventually(ready, f"step {steps} of {path.name}", timeout_s=120)


@pytest.fixture
def with_a_terminal() -> Iterator[None]:
    """SIGHUP is heard, by children too, although the tests may run under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("with_a_terminal")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_saves_and_leaves(tmp_path: Path, number: signal.Signals) -> None:
    assert steps_of_interrupted(tmp_path / "run", number) >= 3


def test_ctrl_c_saves_and_leaves_and_the_run_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "run"
    steps = steps_of_interrupted(path, signal.SIGINT)
    result, directory = run(path, with_steps(in_this_process(path), steps + 4), resume=True)
    assert result.steps == steps + 4
    trained = [r["step"] for r in records(directory) if r["kind"] == "train"]
    assert trained == list(range(1, steps + 5))


def steps_of_interrupted(path: Path, number: signal.Signals) -> int:
    """Send the signal to all processes of a run, as a terminal or a service manager does."""
    endless = set_flags(small_config(run={"actors": 1, "max_steps": 0}))
    with start(path, *endless) as process:
        wait_for_steps(path, 3, process)
        os.killpg(process.pid, number)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 0, output
    assert "interrupted at step" in output
    assert f"aerl train --resume --run-dir {path}" in output
    assert "Traceback" not in output
    assert "resource_tracker" not in output
    assert shared_memory_of(process.pid) == []
    return int(state_of(RunDirectory(path)).state["learner"]["steps"])


@pytest.mark.usefixtures("with_a_terminal")
def test_a_run_under_nohup_outlives_its_terminal() -> None:
    with stop_on_signals() as stop:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            assert signal.getsignal(number) is stop
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stop_on_signals() as stop:
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) is stop
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_second_ctrl_c_does_not_wait() -> None:
    stop = Stop()
    stop(signal.SIGINT, None)
    stop(signal.SIGTERM, None)
    assert stop.requested
    with pytest.raises(KeyboardInterrupt):
        stop(signal.SIGINT, None)


def test_two_ctrl_c_in_a_row_end_a_training_at_once(tmp_path: Path) -> None:
    """Nothing of it is left but its directory, and the run can be resumed."""
    path = tmp_path / "run"
    endless = set_flags(small_config(run={"actors": 1, "max_steps": 0}))
    with start(path, *endless) as process:
        wait_for_steps(path, 3, process)
        children = children_of(process.pid)
        began = time.monotonic()
        for _ in range(2):
            os.killpg(process.pid, signal.SIGINT)
            time.sleep(0.02)  # two at a time would count as one
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 130, output
    assert time.monotonic() - began < 20
    assert "Traceback" not in output
    assert "resource_tracker" not in output
    assert len(children) >= 2
    eventually(lambda: not any(map(is_running, children)), "the end of the children")
    assert shared_memory_of(process.pid) == []
    assert not (path / "run.lock").exists()
    assert run(path, with_steps(in_this_process(path), 2), resume=True)[0].steps >= 2


def test_a_run_that_ended_before_its_first_checkpoint_begins_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config, directory = with_steps(lockstep_config(), 3), RunDirectory(tmp_path / "run")
    directory.make_folders()
    directory.record(settings.to_dict(config))
    directory.metrics_file.write_text('{"kind": "policy", "step": 1, "time_s": 0.5}\n')
    result, _ = run(directory.path, config, resume=True)
    assert result.steps == 3
    assert "the run begins again" in capsys.readouterr().out
    assert [r["step"] for r in records(directory) if r["kind"] == "policy"] == [1, 2, 3]


def test_a_killed_run_goes_on_from_its_last_checkpoint(tmp_path: Path) -> None:
    """SIGKILL: no time to save; what had been saved counts, and the children leave too."""
    path = tmp_path / "run"
    config = small_config(run={"actors": 1, "max_steps": 0}, learner={"checkpoint_interval": 2})
    with start(path, *set_flags(config)) as process:
        wait_for_steps(path, 5, process)
        children = children_of(process.pid)
        process.kill()
    assert len(children) >= 2
    eventually(lambda: not any(map(is_running, children)), "the end of the children")
    saved = state_of(RunDirectory(path)).state["learner"]["steps"]
    assert saved >= 4
    result, directory = run(
        path, with_steps(settings.load(path / "config.toml"), saved + 3), resume=True
    )
    assert result.steps == saved + 3
    trained = [r["step"] for r in records(directory) if r["kind"] == "train"]
    assert trained == list(range(1, saved + 4)), "abandoned steps are not counted twice"
    assert shared_memory_of(process.pid) == []


def children_of(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8")
    return [int(word) for word in found.split()]

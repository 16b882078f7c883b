"""Checkpoints that are damaged or made up: one clear error, or a run that goes on."""

import os
import random
import shutil
from collections.abc import Callable, Iterator
from itertools import chain, islice
from pathlib import Path

import pytest

from aerl_trainer import checkpoint
from aerl_trainer.checkpoint import Checkpoint, CheckpointError
from aerl_trainer.run.problems import Problems
from aerl_trainer.run.reporting import RunDirectory
from aerl_trainer.run.training import _Run, train
from aerl_trainer.solving.loading import load_policy
from dagsched_env.problem.errors import DAGSchedError
from helpers import damage
from helpers.small_runs import lockstep_config

CONFIG = lockstep_config(
    run={"max_steps": 6},
    search={"budget": 20},
    replay={"capacity": 12},
    network={"width": 4, "layers": 1},
    learner={"steps_per_job": 0.5},  # so that trees wait for the fast policy
    policy={"instances": 1},
)
FILES = (
    *("arrays.npz", "model.safetensors", "optimizer.safetensors", "policy.safetensors"),
    *("policy_gradient.safetensors", "published.safetensors", "state.json"),
)
CASES = 50
"""Of each kind; thousands were tried."""


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    directory = RunDirectory(tmp_path_factory.mktemp("damaged") / "run")
    train(CONFIG, directory)
    assert {path.name for path in (directory.checkpoints / "last").iterdir()} == set(FILES)
    return directory


@pytest.fixture(scope="module")
def run(directory: RunDirectory) -> _Run:
    levels, count = CONFIG.curriculum.levels, CONFIG.validator.instances
    return _Run(CONFIG, directory, Problems(levels, seed=CONFIG.run.seed, count=count))


@pytest.fixture(autouse=True)
def unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """These files need not outlive the machine."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def is_read(run: _Run, place: Path) -> bool:
    """Whether a run goes on from a checkpoint, with a step of each learner; or an error says why.

    Any other error fails the test, and so does a kernel that is given what it does not check.
    """
    _, error = (error_of(read, place) for read in (load_policy, run.restore))
    assert str(place) in error or not error
    if not error and run.learner is not None:
        run.gradient.step(0.5, run.lifecycle.take_groups(1))
        refused = error_of(run.learner.step)
        assert "nan" in refused or not refused
    return not error


def error_of(do: Callable[..., object], *arguments: object) -> str:
    """The message of an error of this project; empty without one."""
    try:
        do(*arguments)
    except DAGSchedError as error:
        return str(error)
    return ""


def write(place: Path, content: Checkpoint) -> None:
    checkpoint.save(place, tensors=content.tensors, arrays=content.arrays, state=content.state)


@pytest.mark.parametrize("name", FILES)
def test_any_damage_to_a_file_is_found(
    directory: RunDirectory, run: _Run, tmp_path: Path, name: str
) -> None:
    """Each time the file is named, or it is the manifest and says the same as before."""
    place, rng = tmp_path / "one", random.Random(name)
    shutil.copytree(directory.checkpoints / "last", place)
    whole = (place / name).read_bytes()
    expected = checkpoint.load(place).state
    others = [(place / other).read_bytes() for other in FILES if other != name]
    contents = [b"", b"\0", *others, *(damage.damaged(whole, rng) for _ in range(CASES))]
    for content in contents:
        (place / name).write_bytes(content)
        error = error_of(checkpoint.load, place)
        if error:
            assert error.startswith(f"{place}/{name}: ")
        else:
            assert name == "state.json" or content == whole
            assert checkpoint.load(place).state == expected
    (place / name).unlink()
    makers: tuple[Callable[[Path], object], ...] = (Path.mkdir, os.mkfifo)
    for make in makers:
        with pytest.raises(CheckpointError, match=f"^{place}/{name}: missing"):
            checkpoint.load(place)
        make(place / name)
        with pytest.raises(CheckpointError, match=f"^{place}/{name}: not a file"):
            checkpoint.load(place)
        shutil.rmtree(place / name) if (place / name).is_dir() else (place / name).unlink()


@pytest.mark.parametrize("name", FILES[:-1])
def test_made_up_files_with_right_digests(
    directory: RunDirectory, run: _Run, tmp_path: Path, name: str
) -> None:
    place, rng = tmp_path / "one", random.Random(name)
    shutil.copytree(directory.checkpoints / "last", place)
    whole = (place / name).read_bytes()
    others = [(place / other).read_bytes() for other in FILES if other != name]
    damaged = (damage.damaged(whole, rng) for _ in range(CASES))
    hostile = damage.hostile_archives() if name == "arrays.npz" else damage.hostile_tensors()
    for content in chain(others, hostile):
        damage.forge(place, name, content)
        assert not is_read(run, place)
    for content in damaged:
        damage.forge(place, name, content)
        is_read(run, place)
    damage.forge(place, name, whole)
    assert is_read(run, place)


def sample(cases: Iterator[Checkpoint], seed: int) -> list[Checkpoint]:
    listed = list(cases)
    return random.Random(seed).sample(listed, min(CASES, len(listed)))


def test_tensors_and_arrays_of_another_structure(
    directory: RunDirectory, run: _Run, tmp_path: Path
) -> None:
    whole = checkpoint.load(directory.checkpoints / "last")
    few = {name: dict(islice(group.items(), 2)) for name, group in whole.tensors.items()}
    cases = damage.checkpoints_of_another_structure(whole, few)
    found = []
    for content in sample(cases, 0):
        write(tmp_path / "one", content)
        found.append(is_read(run, tmp_path / "one"))
    assert found.count(False) > CASES / 2
    write(tmp_path / "one", whole)
    assert is_read(run, tmp_path / "one")


def test_a_state_of_another_structure(directory: RunDirectory, run: _Run, tmp_path: Path) -> None:
    whole = checkpoint.load(directory.checkpoints / "last")
    states = damage.states_of_another_structure(whole.state)
    found = []
    for content in sample((Checkpoint(whole.tensors, whole.arrays, s) for s in states), 1):
        write(tmp_path / "one", content)
        found.append(is_read(run, tmp_path / "one"))
    assert found.count(False) > CASES / 2


def test_a_damaged_network_is_named_and_the_rest_does_not_matter(
    directory: RunDirectory, tmp_path: Path
) -> None:
    """What ``solve --checkpoint`` reads: the policy, the network and the settings."""
    place = tmp_path / "one"
    shutil.copytree(directory.checkpoints / "last", place)
    for name in ("arrays", "optimizer", "policy_gradient", "published"):
        for file in place.glob(f"{name}.*"):
            file.write_bytes(b"damaged")
    assert load_policy(place).network is not None
    for name in ("policy", "model"):
        damaged = place / f"{name}.safetensors"
        whole = damaged.read_bytes()
        damaged.write_bytes(whole[:-1])
        with pytest.raises(CheckpointError, match=f"^{damaged}: truncated"):
            load_policy(place)
        damaged.write_bytes(whole)


def test_a_damaged_checkpoint_that_is_named_offers_the_others(
    directory: RunDirectory, tmp_path: Path
) -> None:
    for name in ("last", "best"):
        shutil.copytree(directory.checkpoints / "last", tmp_path / name)
    (tmp_path / "best" / "policy.safetensors").write_bytes(b"damaged")
    with pytest.raises(CheckpointError, match=f"also {tmp_path / 'last'}$"):
        load_policy(tmp_path / "best")
    assert load_policy(tmp_path / "last").network is not None

"""Checkpoints: exact round trips, clear errors, and a complete one whenever a writer is killed."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from aerl_trainer import checkpoint
from aerl_trainer.checkpoint import CheckpointError, contents, directory
from aerl_trainer.checkpoint.manifest import digest_of
from aerl_trainer.config import ReplayConfig, seeding
from aerl_trainer.learning.experience_replay import ExperienceReplay as PrioritizedReplay
from dagsched_env.problem.errors import DAGSchedError
from helpers.full_disk import full_disk

TENSORS = {
    "model": {
        "encoder.weight": torch.arange(6, dtype=torch.float32).reshape(2, 3).T,  # not contiguous
        "bias": torch.tensor([1.5, float("inf"), float("nan")], dtype=torch.float64),
        "steps": torch.tensor(7),
        "empty": torch.zeros(0, 4),
    },
    "optimizer": {},
}
ARRAYS = {
    "position": np.array(3),
    "file": np.array([[1.5, np.inf]], dtype=np.float32),
    "labels": np.array(["ä", "b"]),
}
STATE = {"step": 12, "big": 2**127 + 1, "third": 1 / 3, "nested": {"list": [1, "x", None]}}


def save(directory: Path, version: int = 0, previous: Path | None = None) -> None:
    state = {**STATE, "version": version}
    checkpoint.save(directory, tensors=TENSORS, arrays=ARRAYS, state=state, previous=previous)


def assert_same_tensors(one: dict, other: dict) -> None:
    assert one.keys() == other.keys()
    for name, tensor in one.items():
        assert tensor.dtype == other[name].dtype
        assert tensor.shape == other[name].shape
        assert torch.equal(tensor.nan_to_num(-1), other[name].nan_to_num(-1))


# -- round trips ---------------------------------------------------------------------------------


def test_round_trip(tmp_path: Path) -> None:
    save(tmp_path / "a" / "b" / "last", version=4)
    read = checkpoint.load(tmp_path / "a" / "b" / "last")
    assert read.state == {**STATE, "version": 4}
    assert read.tensors.keys() == TENSORS.keys()
    for group, tensors in TENSORS.items():
        assert_same_tensors(tensors, read.tensors[group])
    assert read.arrays.keys() == ARRAYS.keys()
    for key, array in ARRAYS.items():
        assert read.arrays[key].dtype == array.dtype
        assert read.arrays[key].shape == array.shape
        assert (read.arrays[key] == array).all()


def test_saving_again_replaces_and_leaves_nothing_behind(tmp_path: Path) -> None:
    for version in range(3):
        save(tmp_path / "last", version)
    assert checkpoint.load(tmp_path / "last").state["version"] == 2
    assert [path.name for path in tmp_path.iterdir()] == ["last"]
    names = sorted(path.name for path in (tmp_path / "last").iterdir())
    assert names == ["arrays.npz", "model.safetensors", "optimizer.safetensors", "state.json"]


def test_the_one_before_can_be_kept(tmp_path: Path) -> None:
    last, previous = tmp_path / "last", tmp_path / "previous"
    for version in range(3):
        save(last, version, previous)
    assert checkpoint.load(last).state["version"] == 2
    assert checkpoint.load(previous).state["version"] == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["last", "previous"]


def test_equal_contents_give_equal_files(tmp_path: Path) -> None:
    for name in ("a", "b"):
        save(tmp_path / name)
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def test_shared_and_trainable_tensors_can_be_saved(tmp_path: Path) -> None:
    weight = torch.nn.Parameter(torch.ones(2, 2))
    tensors = {"model": {"one": weight, "tied": weight, "view": weight[0]}}
    checkpoint.save(tmp_path / "last", tensors=tensors, arrays={}, state={})
    read = checkpoint.load(tmp_path / "last")
    assert read.tensors["model"]["tied"].tolist() == [[1, 1], [1, 1]]
    assert read.arrays == {}


def test_holds_replay_and_generators(tmp_path: Path) -> None:
    replay = PrioritizedReplay(ReplayConfig(capacity=8, min_size=1))
    rng = seeding.generator(3, "learner")
    rng.random(5)
    checkpoint.save(
        tmp_path / "last",
        tensors={},
        arrays={f"replay/{key}": array for key, array in replay.state_arrays().items()},
        state={"rng": seeding.state(rng)},
    )
    read = checkpoint.load(tmp_path / "last")
    arrays = {key.removeprefix("replay/"): array for key, array in read.arrays.items()}
    PrioritizedReplay(ReplayConfig(capacity=8, min_size=1)).load_state_arrays(arrays)
    assert seeding.restore(read.state["rng"]).random() == rng.random()


# -- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["state.json", "arrays.npz", "model.safetensors", "optimizer.safetensors"]
)
def test_damaged_files_are_named(tmp_path: Path, name: str) -> None:
    directory = tmp_path / "last"
    save(directory)
    whole = (directory / name).read_bytes()
    damages = {
        "truncated": whole[: len(whole) // 2],
        "too long": whole + b" \0",
        "altered": whole[:-1] + bytes([whole[-1] ^ 1]),
    }
    if name == "state.json":
        damages["altered"] = whole.replace(b'"step": 12', b'"step": 13')
    for damage, content in damages.items():
        (directory / name).write_bytes(content)
        with pytest.raises(CheckpointError) as caught:
            checkpoint.load(directory)
        assert re.match(f"{directory / name}: ({damage}|truncated)", str(caught.value))
        assert "\n" not in str(caught.value)
    (directory / name).unlink()
    with pytest.raises(CheckpointError) as caught:
        checkpoint.load(directory)
    assert str(caught.value) == f"{directory / name}: missing"


def test_the_first_that_is_not_damaged_is_read(tmp_path: Path) -> None:
    last, _, previous, best = places = checkpoint.generations(tmp_path)
    for version in range(2):
        save(last, version, previous)
    save(best, 7)
    said: list[str] = []

    def version_read() -> int:
        return checkpoint.read_first(places, checkpoint.load, said.append).state["version"]

    assert version_read() == 1
    assert said == []
    (last / "arrays.npz").unlink()
    assert version_read() == 0
    first = f"{last}/arrays.npz: missing"
    assert said == [f"{first}; {previous} is used instead"]
    (previous / "state.json").write_text("{")
    assert version_read() == 7
    assert said[1].startswith(f"{first}; {previous}/state.json: truncated")
    assert said[1].endswith(f"; {best} is used instead")
    (best / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match=f"^{first}; {previous}/state.*; {best}/model"):
        version_read()
    shutil.rmtree(best)
    with pytest.raises(CheckpointError, match=f"^{first}; {previous}/state.json: truncated[^;]*$"):
        version_read()
    shutil.rmtree(last)
    save(previous, 3)
    assert version_read() == 3
    assert said[2] == f"{last}: no checkpoint here; {previous} is used instead"


def test_what_is_not_asked_for_may_be_damaged(tmp_path: Path) -> None:
    save(tmp_path / "last")
    for name in ("arrays.npz", "optimizer.safetensors"):
        (tmp_path / "last" / name).unlink()
    read = checkpoint.load(tmp_path / "last", groups=("model", "other"))
    assert (read.tensors.keys(), read.arrays, read.state["step"]) == ({"model"}, {}, 12)
    (tmp_path / "last" / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"model\.safetensors: missing"):
        checkpoint.load(tmp_path / "last", groups=("model",))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("a", torch.ones(3), r"is torch.float32\[3\], expected torch.float32\[2\]"),
        ("a", torch.ones(2, dtype=torch.float64), r"is torch.float64\[2\], expected"),
        ("a", torch.tensor([1.0, float("nan")]), "holds numbers that are not finite"),
        ("a", None, "tensor 'a' of 'model' is missing"),
        ("c", torch.ones(2), "tensor 'c' of 'model' is not expected"),
    ],
)
def test_tensors_are_taken_as_they_should_be(
    name: str, value: torch.Tensor | None, message: str
) -> None:
    like = {"a": torch.zeros(2), "b": torch.zeros((), dtype=torch.int64)}
    whole = checkpoint.Checkpoint({"model": dict(like)}, {}, {})
    assert checkpoint.take(whole, "model", like) == like
    changed = {k: v for k, v in {**like, name: value}.items() if v is not None}
    with pytest.raises(CheckpointError, match=message):
        checkpoint.take(checkpoint.Checkpoint({"model": changed}, {}, {}), "model", like)
    with pytest.raises(CheckpointError, match="'a' of 'model' is missing"):
        checkpoint.take(checkpoint.Checkpoint({}, {}, {}), "model", like)


def edit_manifest(directory: Path, **changes: object) -> None:
    """With a digest that is right, but for an edit of the digest."""
    path = directory / "state.json"
    record = {**json.loads(path.read_text()), **changes}
    if "digest" not in changes:
        record["digest"] = digest_of(record)
    path.write_text(json.dumps(record))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 2}, "state.json: version 2 is not 4"),
        ({"version": [4]}, r"state.json: version \[4\] is not 4"),
        ({"digest": "0" * 64}, "state.json: altered: its digest is not that of its contents"),
        ({"digest": None}, "state.json: altered"),
        ({"format": "other"}, "state.json: no checkpoint"),
        ({"files": []}, "'files' and 'state'"),
        ({"state": None}, "'files' and 'state'"),
        ({"files": {"../secret": [1, "x"]}}, r"entry '\.\./secret'"),
        ({"files": {"arrays.npz": 3}}, r"entry 'arrays\.npz'"),
        ({"files": {"gone.safetensors": [1, "x"]}}, r"gone\.safetensors: missing"),
        ({"files": {"a\0.safetensors": [1, "x"]}}, "entry 'a.x00.safetensors'"),
        ({"files": {"state.json": [1, "x"]}}, r"entry 'state\.json'"),
    ],
)
def test_bad_manifests(tmp_path: Path, changes: dict, message: str) -> None:
    save(tmp_path / "last")
    edit_manifest(tmp_path / "last", **changes)
    with pytest.raises(CheckpointError, match=message):
        checkpoint.load(tmp_path / "last")


def test_the_version_before_is_read(tmp_path: Path) -> None:
    """It had no digest of its own."""
    save(tmp_path / "last")
    path = tmp_path / "last" / "state.json"
    record = json.loads(path.read_text())
    del record["digest"]
    path.write_text(json.dumps({**record, "version": 3}))
    assert checkpoint.load(tmp_path / "last").state == {**STATE, "version": 0}
    path.write_text(json.dumps(record))
    with pytest.raises(CheckpointError, match="altered"):
        checkpoint.load(tmp_path / "last")


def test_the_digest_is_that_of_the_contents(tmp_path: Path) -> None:
    """Keys of any type and another layout of the text make no difference."""
    state = {"by number": {2: "a", 10: "b", "x": (1, 2)}, "text": "\udc80 ä", "n": 1e308}
    checkpoint.save(tmp_path / "last", tensors={}, arrays={}, state=state)
    path = tmp_path / "last" / "state.json"
    path.write_text(json.dumps(json.loads(path.read_text()), indent=4, sort_keys=True))
    read = checkpoint.load(tmp_path / "last").state
    assert read == {**state, "by number": {"2": "a", "10": "b", "x": [1, 2]}}
    path.write_text(path.read_text().replace("1e+308", "1e+309"))
    with pytest.raises(CheckpointError, match=r"state\.json: altered"):
        checkpoint.load(tmp_path / "last")
    path.write_text(path.read_text().replace("1e+309", "NaN"))
    with pytest.raises(CheckpointError, match="NaN is no JSON value"):
        checkpoint.load(tmp_path / "last")


def test_pickles_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    objects = np.array([{"a": 1}], dtype=object)
    with pytest.raises(CheckpointError, match="array 'bad' holds Python objects"):
        checkpoint.save(tmp_path / "last", tensors={}, arrays={"bad": objects}, state={})
    assert not checkpoint.exists(tmp_path / "last")

    np.savez(tmp_path / "pickle.npz", bad=objects)
    monkeypatch.setattr(
        contents, "_encode_arrays", lambda arrays: (tmp_path / "pickle.npz").read_bytes()
    )
    save(tmp_path / "last")  # sizes and digests are right, the contents are not
    with pytest.raises(CheckpointError, match=r"arrays\.npz: not an npz file of plain arrays"):
        checkpoint.load(tmp_path / "last")


def test_what_cannot_be_saved(tmp_path: Path) -> None:
    for state in ({"x": float("nan")}, {"x": np.float32(1)}, {"x": {1, 2}}):
        with pytest.raises(CheckpointError, match=r"state\.json: .*only finite JSON values"):
            checkpoint.save(tmp_path / "last", tensors={}, arrays={}, state=state)
    with pytest.raises(CheckpointError, match="'a/b' is no name"):
        checkpoint.save(tmp_path / "last", tensors={"a/b": {}}, arrays={}, state={})
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match="file"):
        save(tmp_path / "file" / "last")
    with pytest.raises(CheckpointError, match="no checkpoint here"):
        checkpoint.load(tmp_path / "last")
    assert issubclass(CheckpointError, DAGSchedError)


def test_failed_save_keeps_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(tmp_path / "last", 1)

    for name in ("state.json", "arrays.npz", "model.safetensors", "optimizer.safetensors"):
        with full_disk(monkeypatch, name), pytest.raises(CheckpointError) as caught:
            save(tmp_path / "last", 2)
        assert str(caught.value) == f"{tmp_path}/last/{name}: No space left on device"
        assert [path.name for path in tmp_path.iterdir()] == ["last"], "nothing is left behind"
        assert checkpoint.load(tmp_path / "last").state["version"] == 1
    save(tmp_path / "last", 3)
    assert checkpoint.load(tmp_path / "last").state["version"] == 3


@pytest.mark.parametrize("names", ["checkpoint", "file", "nothing"])
@pytest.mark.parametrize("link", ["last", "previous", ".last.new", ".last.old"])
@pytest.mark.parametrize("keep", [True, False])
def test_a_link_makes_way_and_is_not_followed(
    tmp_path: Path, link: str, names: str, keep: bool
) -> None:
    """At any of the four names; what it names stays as it is, and counts for no generation."""
    folder, elsewhere = tmp_path / "checkpoints", tmp_path / "elsewhere"
    last, previous = folder / "last", folder / "previous"
    for version in range(2):
        save(last, version, previous if keep else None)
    if names == "checkpoint":
        save(elsewhere, 7)
    elif names == "file":
        elsewhere.write_text("kept")
    before = sorted((path.name, path.read_bytes()) for path in files_of(elsewhere))
    if (folder / link).exists():
        shutil.rmtree(folder / link)
    (folder / link).symlink_to(elsewhere)
    for version in range(2, 4):
        save(last, version, previous if keep else None)
        assert checkpoint.load(last).state["version"] == version
        assert sorted((path.name, path.read_bytes()) for path in files_of(elsewhere)) == before
    left = {"last", "previous"} if keep or link == "previous" else {"last"}
    assert {path.name for path in folder.iterdir()} == left
    if keep:
        assert checkpoint.load(previous).state["version"] == 2
    assert [path for path in folder.iterdir() if path.is_symlink()] == (
        [] if keep or link != "previous" else [previous]
    )


def files_of(path: Path) -> list[Path]:
    return list(path.iterdir()) if path.is_dir() else [path] if path.exists() else []


def test_what_a_cut_off_save_moved_aside_takes_the_place_of_a_broken_link(tmp_path: Path) -> None:
    last, aside, previous, _ = checkpoint.generations(tmp_path)
    save(aside, 1)
    last.symlink_to(tmp_path / "nowhere")
    assert checkpoint.load(last).state["version"] == 1
    save(last, 2, previous)
    assert [checkpoint.load(path).state["version"] for path in (last, previous)] == [2, 1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["last", "previous"]


def test_an_error_without_a_number_says_what_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Path) -> None:
        raise OSError("out of order")

    monkeypatch.setattr(directory, "_sync_directory", refuse)
    with pytest.raises(CheckpointError, match=r"last: out of order$"):
        save(tmp_path / "last")


# -- kills ---------------------------------------------------------------------------------------

# Runs in a process of its own, which has no threads and may fork. "every point": a child is killed
# at its k-th file operation, for k = 1, 2, … until it survives. "any time": children that save in a
# loop are killed from outside after random times.
KILLER = """
import os, random, signal, sys, time
from pathlib import Path
import numpy as np, torch
from aerl_trainer import checkpoint

directory = Path(sys.argv[1]) / "last"
previous = directory.with_name("previous") if sys.argv[2] == "keep" else None
OPERATIONS = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "shutil.rmtree")


def save(version):
    value = torch.full((64, 64), float(version))
    checkpoint.save(
        directory,
        tensors={"model": {"w": value}, "optimizer": {"v": value}},
        arrays={"a": np.full(5000, version)},
        state={"version": version},
        previous=previous,
    )


def load():
    read = checkpoint.load(directory)
    version = read.state["version"]
    assert checkpoint.exists(directory)
    assert (read.tensors["model"]["w"] == version).all()
    assert (read.tensors["optimizer"]["v"] == version).all()
    assert (read.arrays["a"] == version).all()
    return version


def fork(work):
    child = os.fork()
    if child == 0:
        work()
        os._exit(0)
    return child


def die_at(operation):
    count = 0

    def hook(event, _):
        nonlocal count
        if event in OPERATIONS:
            count += 1
            if count == operation:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def every_point():
    save(0)
    before, seen = 0, []
    for k in range(1, 200):
        child = fork(lambda: (die_at(k), save(before + 1)))
        survived = os.waitpid(child, 0)[1] == 0
        version = load()
        assert version in (before, before + 1), (k, before, version)
        seen.append(version - before)
        before = version
        if survived:
            kept = ["last"] if previous is None else ["last", "previous"]
            assert sorted(path.name for path in directory.parent.iterdir()) == kept
            if previous is not None:
                assert checkpoint.load(previous).state["version"] == before - 1
            return seen
    raise AssertionError("never survived")


def any_time():
    draw = random.Random(0)
    versions = []
    for _ in range(25):
        start = load()
        child = fork(lambda: [save(start + k) for k in range(1, 100000)])
        time.sleep(draw.uniform(0.001, 0.12))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        versions.append(load() - start)
    return versions


print(every_point())
print(any_time())
"""


@pytest.mark.parametrize("older", ["keep", "remove"])
def test_killed_writers_leave_a_complete_checkpoint(tmp_path: Path, older: str) -> None:
    command = [sys.executable, "-c", KILLER, str(tmp_path), older]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    every_point, any_time = (json.loads(line) for line in done.stdout.splitlines())
    assert len(every_point) > 10
    assert set(every_point) == {0, 1}  # kills before and after the new one counted
    assert min(any_time) >= 0
    assert sum(any_time) > 0

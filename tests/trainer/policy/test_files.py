"""Weights in a file: exact round trips, and a clear word about every file that is no such thing."""

from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from aerl_trainer.policy import files
from aerl_trainer.policy.encoding.features import names_of
from aerl_trainer.policy.files import FORMAT, load_weights, save_weights
from aerl_trainer.policy.weights import N_WEIGHTS
from dagsched_env.problem.errors import DAGSchedError, FormatError
from helpers.policies import some_weights

GOOD = {"format": FORMAT, "features": ",".join(names_of("policy"))}


def write(path: Path, weights: np.ndarray, header: dict[str, str], name: str = "weights") -> Path:
    safetensors.numpy.save_file({name: weights}, path, header)
    return path


def test_round_trip_and_replacement(tmp_path: Path) -> None:
    path = tmp_path / "policy.safetensors"
    for seed in range(2):
        save_weights(path, some_weights(seed), {"trained on": f"graphs, ß {seed}"})
    weights, metadata = load_weights(path)
    assert weights.dtype == np.float32
    assert np.array_equal(weights, some_weights(1))
    assert metadata == {"trained on": "graphs, ß 1"}
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "policy.safetensors"
    save_weights(path, some_weights(0), {})

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match=r"No space.*policy\.safetensors"):
        save_weights(path, some_weights(1), {})
    assert np.array_equal(load_weights(path)[0], some_weights(0))
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_not_saved(tmp_path: Path) -> None:
    path = tmp_path / "policy.safetensors"
    with pytest.raises(DAGSchedError, match="'features' is set by save_weights"):
        save_weights(path, some_weights(), {"features": "all"})
    with pytest.raises(DAGSchedError, match=f"takes {N_WEIGHTS} finite"):
        save_weights(path, np.zeros(3, dtype=np.float32), {})
    assert not path.exists()


def test_a_file_for_other_features_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "policy.safetensors"
    save_weights(path, some_weights(), {})
    ours = names_of("policy")
    for theirs, odd in (
        (("colour", *ours[1:]), f"colour, {ours[0]}"),
        (ours[:-1], ours[-1]),
        (ours[::-1], "their order"),
    ):
        monkeypatch.setattr(files, "names_of", lambda _, names=theirs: names)
        with pytest.raises(FormatError, match=rf"{path}: made for other features.* in {odd}: use"):
            load_weights(path)


def test_files_of_another_kind_are_refused(tmp_path: Path) -> None:
    cut, text = tmp_path / "cut.safetensors", tmp_path / "text"
    save_weights(cut, some_weights(), {})
    cut.write_bytes(cut.read_bytes()[:-1])
    text.write_text("weights")
    infinite = np.full(N_WEIGHTS, np.inf, dtype=np.float32)
    for path, message in (
        (cut, "not a whole safetensors file.*copy it again"),
        (text, "not a whole safetensors file"),
        (write(tmp_path / "a", some_weights(), {}), "not the weights .* give the directory"),
        (write(tmp_path / "b", some_weights(), {**GOOD, "format": "v9"}), "is 'v9', not"),
        (write(tmp_path / "c", some_weights(), GOOD, "other"), "does not contain tensor weights"),
        (write(tmp_path / "d", some_weights()[1:], GOOD), f"takes {N_WEIGHTS}.*train"),
        (write(tmp_path / "e", infinite, GOOD), "finite numbers; train"),
        (write(tmp_path / "f", np.zeros(N_WEIGHTS), GOOD), "are float64, not float32"),
    ):
        with pytest.raises(FormatError, match=rf"{path}: .*{message}"):
            load_weights(path)
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(OSError, match=str(path)):
            load_weights(path)

"""A full disk: the error names the file of the run, and the old one stays."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from aerl_trainer import checkpoint
from aerl_trainer.config import Config
from aerl_trainer.reporting.metrics import MetricsLog
from aerl_trainer.reporting.pictures import learning_curve
from aerl_trainer.reporting.run_directory import RunDirectory

WRITERS: dict[str, Callable[[RunDirectory], object]] = {
    "system.json": lambda run: run.create(Config(), resume=True),
    "learning_curve.png": lambda run: learning_curve(run.metrics_file, run.learning_curve),
    "checkpoints/.last.new/arrays.npz": lambda run: checkpoint.save(
        run.checkpoints / "last", tensors={}, arrays={"x": np.zeros(3)}, state={}
    ),
}


@pytest.mark.parametrize("name", WRITERS)
def test_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    run = RunDirectory(tmp_path / "run")
    run.create(Config())
    run.metrics_file.touch()
    before = run.system_file.read_bytes()

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises((OSError, ValueError), match="No space left") as caught:
        WRITERS[name](run)
    assert str(run.path / name) in str(caught.value)
    assert run.system_file.read_bytes() == before
    assert not list(run.path.rglob("*.tmp"))


def test_metrics_name_their_file() -> None:
    log = MetricsLog(Path("/dev/full"))
    with pytest.raises(OSError, match="No space left") as caught:
        log.write("policy", step=1, time_s=0.0)
    assert caught.value.filename == "/dev/full"
    with pytest.raises(OSError, match="No space left"):
        log.close()  # what is buffered cannot be written either

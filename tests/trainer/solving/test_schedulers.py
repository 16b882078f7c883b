"""A checkpoint as schedulers of ``dagsched``: of a run, a checkpoint in it, or a file."""

import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest
import torch

from aerl_trainer import checkpoint
from aerl_trainer import config as settings
from aerl_trainer.config import Config
from aerl_trainer.policy.fast import FastPolicy
from aerl_trainer.policy.files import save_weights
from aerl_trainer.solving.schedulers import from_checkpoint
from dagsched_env import Schedule, io, suites
from dagsched_env.cli import main, policies
from dagsched_env.problem.errors import DAGSchedError
from helpers.policies import some_weights
from helpers.small_runs import problem

STATE = {"config": settings.to_dict(Config()), "rollout_weight": 1.0}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run directory with one checkpoint."""
    tensors = {"policy": {"weights": torch.from_numpy(some_weights())}}
    place = tmp_path / "run" / "checkpoints" / "last"
    checkpoint.save(place, tensors=tensors, arrays={}, state=STATE)
    return tmp_path / "run"


def test_every_kind_of_checkpoint_gives_the_same(run: Path, tmp_path: Path) -> None:
    file, instance, policy = tmp_path / "p.safetensors", problem(15, 3), FastPolicy(some_weights())
    save_weights(file, some_weights(), {})
    best = policy.best_of(instance, 7, np.random.default_rng(3))
    for source in (run, run / "checkpoints", run / "checkpoints" / "last", file):
        schedulers = from_checkpoint(source, 7, 3)
        assert list(schedulers) == list(policies.POLICIES)
        assert schedulers["policy"](instance) == policy.schedule(instance)
        for _ in range(2):  # the samples do not depend on what was scheduled before
            assert schedulers["policy_sampled"](instance) == best


def test_checkpoints_without_a_policy_are_named(tmp_path: Path) -> None:
    checkpoint.save(tmp_path / "old", tensors={"model": {}}, arrays={}, state=STATE)
    with pytest.raises(
        DAGSchedError, match=r"old: not the checkpoint of a run: tensor .* of 'policy'"
    ):
        from_checkpoint(tmp_path / "old", 1, 0)
    with pytest.raises(DAGSchedError, match=r"neither a run of aerl train nor a checkpoint"):
        from_checkpoint(tmp_path, 1, 0)
    with pytest.raises(DAGSchedError, match=r"no run, file or shipped policy '.*none'"):
        from_checkpoint(tmp_path / "none", 1, 0)


def test_a_file_is_read_without_torch(tmp_path: Path) -> None:
    save_weights(tmp_path / "p.safetensors", some_weights(), {})
    code = (
        "import sys; from pathlib import Path;"
        "from aerl_trainer.solving.schedulers import from_checkpoint;"
        "print(list(from_checkpoint(Path('p.safetensors'), 1, 0)), 'torch' in sys.modules)"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "['policy', 'policy_sampled'] False\n"


def test_the_command_shows_what_the_policy_does(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # What is installed may be older than this entry point; test_packaging looks at setup.cfg.
    point = EntryPoint("aerl", "aerl_trainer.solving.schedulers:from_checkpoint", policies.GROUP)
    monkeypatch.setattr(policies, "entry_points", lambda group: [point])
    arguments = ["compare", "--suite", "workflows_small", "--schedulers", "heft"]
    assert main([*arguments, "--checkpoint", str(run), "--samples", "4"]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = {line.split()[0]: line.split()[1:] for line in lines[3:]}
    policy = FastPolicy(some_weights())
    slr = [policy.schedule(i).slr(i) for i in suites.load("workflows_small")]
    assert list(rows) == ["heft", *policies.POLICIES]
    assert float(rows["policy"][0]) == pytest.approx(np.mean(slr), abs=6e-4)
    assert float(rows["policy_sampled"][0]) <= float(rows["policy"][0])
    assert all(float(row[-1]) > 0 for row in rows.values())  # ms
    out = tmp_path / "s.json"
    arguments = ["schedule", "montage", "--scheduler", "policy", "--out", str(out)]
    assert main([*arguments, "--checkpoint", str(run)]) == 0
    montage = io.load(io.bundled("montage"), platform=io.RandomPlatform())
    assert Schedule.from_json(out.read_text()) == policy.schedule(montage)

"""``aerl train --algorithm reinforce`` from start to end, and what its checkpoints are good for."""

import contextlib
import json
import os
import random
import re
import shutil
import signal
from importlib.metadata import EntryPoint
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import tomli_w

from aerl_trainer import checkpoint
from aerl_trainer import config as settings
from aerl_trainer.baselines.attention.scheduler import AttentionScheduler
from aerl_trainer.checkpoint import Checkpoint, CheckpointError
from aerl_trainer.cli import main
from aerl_trainer.config import Config
from aerl_trainer.run import launch
from aerl_trainer.run.attention_run import AttentionRun
from aerl_trainer.run.problems import Problems
from aerl_trainer.run.reporting import RunDirectory, read_metrics
from aerl_trainer.run.training import train
from aerl_trainer.solving import learned, loading
from aerl_trainer.solving.schedulers import from_checkpoint
from dagsched_env import suites
from dagsched_env.cli import main as dagsched
from dagsched_env.cli import policies as policy_options
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from helpers import damage
from helpers.small_runs import problem, replaced, small_config

CONFIG = small_config(
    attention={"width": 8, "heads": 2, "layers": 1, "candidates": 6},
    reinforce={"problems": 3, "starts": 3, "epoch_steps": 2, "baseline_problems": 4},
    learner={"groups": "rollouts", "network": False, "checkpoint_interval": 4},
    run={"algorithm": "reinforce", "max_steps": 6, "evaluation_simulations": 2},
    validator={"interval": 3},
)
ROWS = [
    *("heft", "best_single", "portfolio", "reinforce", "reinforce_sampled_32"),
    *("search_untrained", "solve_untrained"),
]


def with_steps(config: Config, steps: int) -> Config:
    return replaced(config, "run", max_steps=steps)


@pytest.fixture(autouse=True)
def unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """These files need not outlive the machine."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def state_of(directory: RunDirectory) -> Checkpoint:
    saved = checkpoint.load(directory.checkpoints / "last")
    saved.state.pop("time_s")
    return saved


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    directory = RunDirectory(tmp_path_factory.mktemp("attention") / "run")
    result = train(CONFIG, directory)
    assert (result.steps, result.jobs, result.interrupted) == (6, 0, False)
    return directory


# -- the run -------------------------------------------------------------------------------------


def test_a_run_records_its_steps_and_validations(finished: RunDirectory) -> None:
    found = read_metrics(finished.metrics_file)
    steps = [r for r in found if r["kind"] == "policy"]
    assert [r["step"] for r in steps] == [1, 2, 3, 4, 5, 6]
    assert all(r["schedules"] == 9 and r["relative_spread"] > 0 for r in steps)
    validations = [r for r in found if r["kind"] == "validation"]
    assert [r["step"] for r in validations] == [0, 3, 6]
    for record in validations:
        assert 0.5 < record["sampled_vs_heft"] <= record["slr_vs_heft"] < 3
        assert record["guided_vs_heft"] is None


@pytest.mark.parametrize("baseline", ["shared", "rollout"])
@pytest.mark.parametrize("cut", [1, 4])
def test_a_resumed_run_is_the_same(tmp_path: Path, baseline: str, cut: int) -> None:
    config = replaced(with_steps(CONFIG, 5), "reinforce", baseline=baseline)
    whole, parts = (RunDirectory(tmp_path / name) for name in ("whole", "parts"))
    train(config, whole)
    stopping = _StopAfter(cut)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AttentionRun, "_step", stopping.around(AttentionRun._step))
        assert train(config, parts).interrupted
    assert train(config, parts, resume=True).steps == 5
    expected, found = state_of(whole), state_of(parts)
    assert found.state == expected.state
    for group, tensors in expected.tensors.items():
        for name, tensor in tensors.items():
            assert tensor.equal(found.tensors[group][name]), name
    steps = [r["step"] for r in read_metrics(parts.metrics_file) if r["kind"] == "policy"]
    assert steps == [1, 2, 3, 4, 5]


class _StopAfter:
    """Sends SIGTERM to this process at the end of a step."""

    def __init__(self, steps: int) -> None:
        self._steps = steps

    def around(self, step):
        def stepping(run: AttentionRun, progress: float) -> None:
            step(run, progress)
            if run.steps == self._steps:
                signal.raise_signal(signal.SIGTERM)

        return stepping


@pytest.mark.parametrize(
    ("section", "change", "message"),
    [
        ("run", {"algorithm": "aerl"}, "has begun with --algorithm reinforce"),
        ("attention", {"width": 4}, r"another size than \[attention\] asks for"),
        ("reinforce", {"baseline": "rollout"}, "its reinforce.baseline is shared"),
    ],
)
def test_what_a_resumed_run_cannot_change(
    finished: RunDirectory, section: str, change: dict, message: str
) -> None:
    before = finished.config_file.read_bytes()
    with pytest.raises(DAGSchedError, match=message):
        train(replaced(CONFIG, section, **change), finished, resume=True)
    assert finished.config_file.read_bytes() == before


def test_a_run_from_python(tmp_path: Path) -> None:
    def draw(rng: np.random.Generator) -> Instance:
        return problem(6, 2, seed=int(rng.integers(100)))

    run = launch.train(draw, run_dir=tmp_path / "run", config=with_steps(CONFIG, 2))
    assert run.result.steps == 2


# -- its checkpoints -----------------------------------------------------------------------------


def test_a_checkpoint_schedules_and_guides_no_search(finished: RunDirectory) -> None:
    instance = problem(15, 3)
    for source in (finished.path, finished.checkpoints, finished.checkpoints / "best"):
        trained = loading.load_trained(source)
        assert isinstance(trained, AttentionScheduler)
        schedulers = from_checkpoint(source, 7, 3)
        schedule = schedulers["policy"](instance)
        schedule.validate(instance)
        assert schedule == trained.schedule(instance)
        best = schedulers["policy_sampled"](instance)
        assert best == schedulers["policy_sampled"](instance)
        assert best == trained.best_of(instance, 7, np.random.default_rng(3))
        with pytest.raises(DAGSchedError, match="an attention model, which schedules but guides"):
            loading.load_policy(source)


def test_the_one_before_is_read_where_it_is_damaged(finished: RunDirectory, tmp_path: Path) -> None:
    copy = tmp_path / "run"
    shutil.copytree(finished.path, copy)
    (copy / "checkpoints" / "last" / "policy.safetensors").write_bytes(b"x")
    with pytest.warns(learned.DamageWarning, match="previous is used instead") as caught:
        trained = loading.load_trained(copy)
    assert caught[0].filename == __file__
    assert isinstance(trained, AttentionScheduler)
    assert train(with_steps(CONFIG, 7), RunDirectory(copy), resume=True).steps == 7


def test_damage_is_one_clear_error(finished: RunDirectory, tmp_path: Path) -> None:
    """Bytes at random, and values of another structure with digests that are right."""
    whole, rng = finished.checkpoints / "last", random.Random(0)
    run = AttentionRun(CONFIG, finished, Problems(CONFIG.curriculum.levels, seed=3))
    place = tmp_path / "last"
    for name in sorted(path.name for path in whole.iterdir()):
        for _ in range(6):
            shutil.rmtree(place, ignore_errors=True)
            shutil.copytree(whole, place)
            content = (whole / name).read_bytes()
            (place / name).write_bytes(damage.damaged(content, rng))
            if (place / name).read_bytes() != content:
                with pytest.raises(CheckpointError, match=str(place)):
                    run.restore(place)
    saved = checkpoint.load(whole)
    kept = [s for s in damage.states_of_another_structure(saved.state) if "config" in s]
    made_up = [Checkpoint(saved.tensors, saved.arrays, s) for s in rng.sample(kept, 40)]
    few = {g: dict(islice(tensors.items(), 2)) for g, tensors in saved.tensors.items()}
    every = list(damage.checkpoints_of_another_structure(saved, few))
    for content in made_up + rng.sample(every, min(40, len(every))):
        shutil.rmtree(place, ignore_errors=True)
        checkpoint.save(place, tensors=content.tensors, arrays=content.arrays, state=content.state)
        # One clear error, or a run that goes on; anything else fails the test.
        for read in (run.restore, loading.load_trained):
            with contextlib.suppress(DAGSchedError):
                read(place)


# -- the commands --------------------------------------------------------------------------------


def test_the_command_trains_and_compares(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tenth of a minute, of which a step takes a moment; then every table and use of the run."""
    run, config = tmp_path / "run", tmp_path / "small.toml"
    small = with_steps(replaced(CONFIG, "run", algorithm="aerl"), 3)
    config.write_text(tomli_w.dumps(settings.to_dict(small)), encoding="utf-8")
    flags = ["--algorithm", "reinforce", "--minutes", "0.1", "--seed", "5", "--config", str(config)]
    problems = ["--instances", "family:chains?chains=2..3&length=2..3&processors=2"]
    assert main(["train", "--run-dir", str(run), *flags, *problems]) == 0
    output = capsys.readouterr().out
    assert "test: 3 instances" in output
    for row in ROWS:
        assert len(re.findall(rf"^{row}\b", output, re.MULTILINE)) == 1
    assert "dagsched schedule montage --scheduler policy --checkpoint" in output
    results = json.loads((run / "results.json").read_text())
    assert [row["scheduler"] for row in results["test"]["rows"]] == ROWS
    for file in ("report.html", "learning_curve.png", "gantt.png"):
        assert (run / file).stat().st_size > 1000
    saved = settings.load(run / "config.toml")
    assert (saved.run.algorithm, saved.run.seed, saved.run.minutes) == ("reinforce", 5, 0.1)
    assert main(["train", "--resume", "--run-dir", str(run), "--set", "run.max_steps=4"]) == 0
    capsys.readouterr()
    found = read_metrics(run / "metrics.jsonl")
    assert [r["step"] for r in found if r["kind"] == "policy"] == [1, 2, 3, 4]

    table = ["--count", "3", "--simulations", "3", "--budget", "0.01"]
    assert main(["evaluate", "--checkpoint", str(run), *problems, *table]) == 0
    output = capsys.readouterr().out
    for row in ROWS:
        assert len(re.findall(rf"^{row}\b", output, re.MULTILINE)) == 1
    assert main(["solve", "montage", "--checkpoint", str(run), "--simulations", "5"]) == 2
    assert "guides no search" in capsys.readouterr().err

    point = EntryPoint(
        "aerl", "aerl_trainer.solving.schedulers:from_checkpoint", policy_options.GROUP
    )
    monkeypatch.setattr(policy_options, "entry_points", lambda group: [point])
    compare = ["compare", "--suite", "workflows_small", "--schedulers", "heft"]
    assert dagsched([*compare, "--checkpoint", str(run), "--samples", "4"]) == 0
    rows = {line.split()[0]: line.split()[1:] for line in capsys.readouterr().out.splitlines()[3:]}
    assert list(rows) == ["heft", "policy", "policy_sampled"]
    slr = [loading.load_trained(run).schedule(i).slr(i) for i in suites.load("workflows_small")]
    assert float(rows["policy"][0]) == pytest.approx(np.mean(slr), abs=6e-4)

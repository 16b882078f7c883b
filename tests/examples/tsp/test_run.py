"""Training runs: they learn, go on exactly after a death, and refuse what does not fit."""

import dataclasses
import importlib.util
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
import torch

from aerl_trainer import checkpoint
from aerl_trainer.run.interruption import Stop
from aerl_trainer.run.reporting import RunDirectory, read_metrics
from dagsched_env.problem.errors import DAGSchedError
from helpers import ROOT
from tsp import training
from tsp.attention import ModelSettings
from tsp.evaluation import TestSet, gaps
from tsp.held_karp import optimal_length
from tsp.references import committed_set
from tsp.settings import settings_of
from tsp.text_format import TourSet, read_tours, write_tours
from tsp.weights import load_policy

TINY = ModelSettings(width=16, heads=2, layers=1, feed_forward=24)
EXAMPLE = ROOT / "examples" / "tsp"
SMOKE = ["--mode=multi-start", "--minutes=0.1", "--run-dir=run", "--seed=1", "--test=few.txt"]
BOTH = pytest.mark.parametrize("mode", ["rollout", "multi-start"])


def tiny(mode, **changes):
    few = {"batch": 8, "steps": 24, "epoch": 5, "validation": 1, "seed": 4}
    return settings_of(mode, size=5, model=TINY, **{**few, **changes})


@pytest.fixture(scope="module")
def test():
    points = np.random.default_rng(0).random((12, 5, 2))
    optimal = [optimal_length(one) for one in points]
    return TestSet(torch.from_numpy(points).float(), torch.tensor(optimal, dtype=torch.float64))


def run(path, settings, test, *, resume=False, stop=None):
    return training.train(settings, RunDirectory(path), test, stop or Stop(), resume=resume)


def weights(path):
    return load_policy(path / "policy.safetensors").state_dict()


def assert_same(one, other):
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)


@BOTH
def test_a_run_leaves_its_records_and_its_policy(tmp_path, test, mode):
    settings = tiny(mode)
    done = run(tmp_path, settings, test)
    assert done.steps == 24
    assert done.cpu_s > 0
    assert not done.interrupted
    records = read_metrics(tmp_path / "metrics.jsonl")
    steps = [r["step"] for r in records if r["kind"] == "train"]
    assert steps == list(range(1, 25))
    curve = [r for r in records if r["kind"] == "validation"]
    assert [r["step"] for r in curve] == [0, 3, 5, 8, 10, 12, 15, 17, 20, 22, 24]
    assert [r["step"] for r in records if r["kind"] == "baseline"] == [5, 10, 15, 20]
    policy = load_policy(tmp_path / "policy.safetensors")
    found = gaps(policy, test)
    assert found.one == pytest.approx(curve[-1]["gap"], rel=1e-6)
    assert found.best == pytest.approx(curve[-1]["best"], rel=1e-6)
    assert policy.settings.free_start == (mode == "rollout")
    recorded = (tmp_path / "config.toml").read_text()
    assert f'mode = "{mode}"' in recorded
    assert (tmp_path / "system.json").exists()
    assert list((tmp_path / "tb").iterdir())


@BOTH
def test_a_stopped_run_goes_on_exactly(tmp_path, test, mode):
    class StopAt(Stop):
        """A signal in the eleventh step."""

        asked = 0

        @property
        def requested(self):
            self.asked += 1
            return self.asked > 10

        @requested.setter
        def requested(self, value):
            pass

    run(tmp_path / "whole", tiny(mode), test)
    stopped = run(tmp_path / "broken", tiny(mode), test, stop=StopAt())
    assert stopped.interrupted
    assert stopped.steps == 10
    done = run(tmp_path / "broken", tiny(mode), test, resume=True)
    assert done.steps == 24
    assert_same(weights(tmp_path / "whole"), weights(tmp_path / "broken"))
    curves = [
        [(r["step"], r["gap"]) for r in read_metrics(tmp_path / name / "metrics.jsonl")
         if r["kind"] == "validation"]
        for name in ("whole", "broken")
    ]  # fmt: skip
    assert curves[0] == curves[1]


@BOTH
def test_a_killed_training_goes_on_from_its_last_checkpoint(tmp_path, test, mode, monkeypatch):
    class KilledError(Exception):
        pass

    run(tmp_path / "whole", tiny(mode), test)
    monkeypatch.setattr(training, "SAVE_INTERVAL_S", 0.0)
    write = training.MetricsLog.write

    def dying(log, kind, *, step, **values):
        if step == 13:
            raise KilledError
        write(log, kind, step=step, **values)

    with monkeypatch.context() as patch:
        patch.setattr(training.MetricsLog, "write", dying)
        with pytest.raises(KilledError):
            run(tmp_path / "broken", tiny(mode), test)
    saved = checkpoint.load(tmp_path / "broken" / "checkpoints" / "last")
    assert saved.state["reinforce"]["steps"] == 12
    assert not (tmp_path / "broken" / "policy.safetensors").exists()
    # The last checkpoint is damaged, too: the one before serves.
    (tmp_path / "broken" / "checkpoints" / "last" / "policy.safetensors").write_bytes(b"")
    assert run(tmp_path / "broken", tiny(mode), test, resume=True).steps == 24
    assert_same(weights(tmp_path / "whole"), weights(tmp_path / "broken"))


def test_a_run_is_not_overwritten_nor_continued_with_other_settings(tmp_path, test):
    run(tmp_path, tiny("multi-start"), test)
    before = weights(tmp_path)
    with pytest.raises(DAGSchedError, match="holds a run already"):
        run(tmp_path, tiny("multi-start"), test)
    with pytest.raises(DAGSchedError, match="the run has batch = 8, not 9"):
        run(tmp_path, tiny("multi-start", batch=9), test, resume=True)
    assert_same(before, weights(tmp_path))
    longer = run(tmp_path, tiny("multi-start", steps=30), test, resume=True)
    assert longer.steps == 30


@pytest.mark.parametrize(
    ("mode", "changes", "message"),
    [
        ("pomo", {}, "mode is 'pomo': choose one of rollout, multi-start"),
        ("rollout", {"points": "ring"}, "points are 'ring'"),
        ("rollout", {"minutes": 0.0, "steps": 0}, "minutes is 0.0"),
        ("rollout", {"size": 2}, "size is 2"),
        ("multi-start", {"starts": 21}, "starts is 21"),
    ],
)
def test_settings_are_checked(mode, changes, message):
    with pytest.raises(DAGSchedError, match=message):
        settings_of(mode, **changes)


def test_settings_of_a_mode_are_those_of_its_paper():
    rollout, multi_start = settings_of("rollout"), settings_of("multi-start")
    assert multi_start.starts == multi_start.size == 20
    sizes = {"width": 128, "heads": 8, "layers": 3, "feed_forward": 512, "clip": 10.0}
    for settings in (rollout, multi_start):
        assert sizes.items() <= dataclasses.asdict(settings.model).items()
    assert rollout.model.free_start
    assert not multi_start.model.free_start


# -- the commands --------------------------------------------------------------------------------


def script(name):
    """``main`` of a script; its module's name is too plain to be imported by it."""
    spec = importlib.util.spec_from_file_location(f"tsp_{name}", EXAMPLE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.main


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):
    """6 CPU seconds of multi-start, by the command: the directory and what it printed."""
    directory = tmp_path_factory.mktemp("smoke")
    few = (part[:80] for part in committed_set())
    write_tours(directory / "few.txt", TourSet(*few))
    done = subprocess.run(
        [sys.executable, str(EXAMPLE / "train.py"), *SMOKE],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=290,
    )
    assert done.returncode == 0, done.stderr
    return directory, done.stdout


@pytest.mark.slow
def test_six_seconds_learn(smoke):
    """Some 96 % longer than optimal before, 23 % after."""
    directory, output = smoke
    answer = json.loads(output.splitlines()[-1])
    results = json.loads((directory / "run" / "results.json").read_text())["multi-start"]
    assert answer == {"gap": None, "gap_multi_start": results["gap_best_start"]}
    assert results["cpu_s"] < 7
    assert 0 <= results["gap_augmented"] < results["gap_best_start"] < results["gap"] < 0.5
    for name in ("tours.png", "gap_over_time.png"):
        assert (directory / "run" / name).read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_a_finished_run_is_resumed_with_the_same_answer(smoke, monkeypatch, capsys):
    directory, output = smoke
    monkeypatch.chdir(directory)
    assert script("train")([*SMOKE, "--resume"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == output.splitlines()[-1]


@pytest.mark.slow
def test_evaluate_writes_tours_of_the_points_it_is_given(smoke, tmp_path, capsys):
    """Gaussian points with references by dynamic programming; the policy has seen uniform ones."""
    points = np.random.default_rng(2).standard_normal((6, 9, 2))
    policy = smoke[0] / "run" / "multi-start" / "policy.safetensors"
    reference = TourSet(points, np.tile(np.arange(9), (6, 1)))
    write_tours(tmp_path / "in.txt", reference)
    options = ("--test", tmp_path / "in.txt", "--out", tmp_path / "out.txt")
    assert script("evaluate")([str(policy), *map(str, options)]) == 0
    assert capsys.readouterr().out.count("best start") == 2
    found = read_tours(tmp_path / "out.txt")
    np.testing.assert_array_equal(found.points, points)
    legs = np.take_along_axis(points, found.tours[..., None], axis=1)
    lengths = np.linalg.norm(legs - np.roll(legs, -1, axis=1), axis=2).sum(axis=1)
    optimal = [optimal_length(one) for one in points]
    assert 1 - 1e-9 <= (lengths / optimal).mean() < 1.05


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_and_leaves_without_the_evaluation(tmp_path, monkeypatch, capsys, number):
    main = script("train")
    names = main.__globals__
    train = names["train"]

    def signalled(*args, **options):
        os.kill(os.getpid(), number)
        return train(*args, **options)

    monkeypatch.setitem(names, "train", signalled)
    monkeypatch.setitem(names, "gaps", lambda *args, **options: pytest.fail("it is evaluated"))
    monkeypatch.chdir(tmp_path)
    write_tours(tmp_path / "few.txt", TourSet(*(part[:2] for part in committed_set())))
    assert main(["--test=few.txt", "--run-dir=run"]) == 130
    assert capsys.readouterr().out.splitlines()[-1].startswith("stopped; go on with the same")
    # The other mode is not begun.
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["rollout"]
    last = tmp_path / "run" / "rollout" / "checkpoints" / "last"
    assert checkpoint.load(last).state["cpu_s"] == 0


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("train", ["--test", "bad.txt"], "bad.txt, line 1: 3 coordinates"),
        ("train", ["--minutes", "0"], "minutes is 0.0: it must be positive"),
        ("evaluate", ["nothing.safetensors"], "No such file"),
    ],
)
def test_errors_are_one_line(tmp_path, monkeypatch, capsys, name, arguments, message):
    (tmp_path / "bad.txt").write_text("1 2 3\n")
    monkeypatch.chdir(tmp_path)
    assert script(name)(arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"{name}.py: error: ")
    assert error.count("\n") == 1
    assert message in error
    assert [path.name for path in tmp_path.iterdir()] == ["bad.txt"]

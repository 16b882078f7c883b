"""Training of the learned dispatcher: it learns, goes on where it was, and its files."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from aerl_trainer.cli import main
from aerl_trainer.online.files import FORMAT, load_online, save_online
from aerl_trainer.online.learner import OnlineLearner, OnlineSettings
from aerl_trainer.online.mixture import draw_world
from aerl_trainer.online.training import STATE_FILE, WEIGHTS_FILE, OnlineRun, train_online
from aerl_trainer.online.validation import OnlineValidation
from aerl_trainer.online.weights import N_WEIGHTS, initial_weights
from aerl_trainer.run.reporting import RunDirectory
from dagsched_env.online import Lognormal, Poisson, World, Worlds
from dagsched_env.problem.errors import DAGSchedError, FormatError

STREAMS = Worlds(
    "family:layered?layers=3&width=3&processors=3", noise=Lognormal(0.5), arrivals=Poisson(5, 0.9)
)
SETTINGS = OnlineSettings(worlds=2, runs=16)


def learner(seed: int = 0) -> OnlineLearner:
    return OnlineLearner(STREAMS, np.random.default_rng(seed), SETTINGS)


def validation() -> OnlineValidation:
    return OnlineValidation([STREAMS(np.random.default_rng([1, i])) for i in range(10)])


def test_it_learns() -> None:
    judge, one = validation(), learner()
    assert judge(one.adam.mean) == pytest.approx(1.0, abs=1e-9)
    for _ in range(60):
        one.step()
    assert judge(one.adam.mean) < 0.95


def test_the_same_seed_learns_the_same() -> None:
    first, second, other = learner(), learner(), learner(1)
    for one in (first, second, other):
        for _ in range(2):
            one.step()
    assert (first.adam.weights == second.adam.weights).all()
    assert (first.adam.weights != other.adam.weights).any()


def test_a_run_goes_on_where_it_was(tmp_path: Path) -> None:
    whole, judge = learner(), validation()
    run = OnlineRun(tmp_path / "run", whole, judge)
    whole.step()
    run.validate()
    whole.step()
    again = learner(seed=5)
    twin = OnlineRun(tmp_path / "run", again, judge)
    twin.restore()
    assert (again.adam.steps, twin.best) == (1, run.best)
    again.step()
    assert all((again.adam.arrays()[name] == a).all() for name, a in whole.adam.arrays().items())


def test_after_validations_in_vain_a_run_goes_back_and_on_more_slowly(tmp_path: Path) -> None:
    one = learner()
    ratios = iter([1.0, 0.9, 0.95, 0.91, 0.92, 0.93, 0.8])
    run = OnlineRun(tmp_path / "run", one, lambda weights: next(ratios))
    for validated in range(6):
        one.step(run.rate)
        if validated == 1:
            best = one.adam.mean.copy()
        assert run.rate == 1.0
        run.validate()
    assert run.rate == 0.5
    assert (one.adam.weights == best).all()
    assert (one.adam.mean == best).all()
    again = learner(seed=5)
    twin = OnlineRun(tmp_path / "run", again, validation())
    twin.restore()
    assert (twin.rate, twin.best) == (0.5, 0.9)
    one.step(run.rate)
    run.validate()
    assert (run.rate, run.best) == (0.5, 0.8)


def test_training_writes_the_best_weights(tmp_path: Path) -> None:
    lines: list[str] = []
    options = {"draw": STREAMS, "validated": 4, "settings": SETTINGS, "say": lines.append}
    result = train_online(tmp_path, minutes=1e-3, **options)
    assert not result.interrupted
    assert len(lines) == 2
    assert f"step {result.steps:5d}" in lines[1]
    file = load_online(tmp_path / WEIGHTS_FILE)
    assert float(file.metadata["ratio"]) == pytest.approx(result.best, abs=1e-5)
    with pytest.raises(DAGSchedError, match="go on with --resume"):
        train_online(tmp_path, minutes=1e-3, **options)
    with pytest.raises(DAGSchedError, match="holds no run"):
        train_online(tmp_path / "other", minutes=1e-3, resume=True, **options)
    more = train_online(tmp_path, minutes=1e-3, resume=True, **options)
    assert more.steps > result.steps
    assert more.best <= result.best


@pytest.mark.parametrize("minutes", [0.0, -1.0, np.inf, np.nan])
def test_minutes_are_positive(tmp_path: Path, minutes: float) -> None:
    with pytest.raises(DAGSchedError, match="minutes="):
        train_online(tmp_path, minutes=minutes)


def test_killed_and_interrupted_runs_go_on(tmp_path: Path) -> None:
    """By SIGKILL after the first status line, and by SIGINT."""
    code = (
        "import sys; from pathlib import Path; from test_online_training import *;"
        "result = train_online(Path('run'), minutes=5, resume='r' in sys.argv, draw=STREAMS,"
        "validated=4, settings=SETTINGS, say=lambda line: print(line, flush=True));"
        "print('end', result.interrupted, flush=True)"
    )
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    for arguments, number in (([], signal.SIGKILL), (["r"], signal.SIGINT)):
        with subprocess.Popen(
            [sys.executable, "-c", code, *arguments],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": path},
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            assert "step" in process.stdout.readline()
            time.sleep(0.3)
            process.send_signal(number)
            rest = process.stdout.read()
        assert process.wait(60) == (-signal.SIGKILL if number == signal.SIGKILL else 0)
    assert rest.splitlines()[-1] == "end True"
    load_online(tmp_path / "run" / STATE_FILE)


def test_files_give_back_what_they_got(tmp_path: Path) -> None:
    weights = initial_weights(np.random.default_rng(3))
    path = tmp_path / "w.safetensors"
    save_online(path, weights, {"steps": "3"}, {"more": np.arange(3.0)})
    found = load_online(path)
    assert (found.weights == weights).all()
    assert found.metadata == {"steps": "3"}
    assert list(found.arrays) == ["more"]
    with pytest.raises(DAGSchedError, match="choose another name"):
        save_online(path, weights, {"format": "x"})
    with pytest.raises(DAGSchedError, match="finite numbers"):
        save_online(path, np.zeros(2), {})


def test_damaged_files_are_errors(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    save_online(path, np.zeros(N_WEIGHTS), {})
    whole = path.read_bytes()
    for cut in (0, 7, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(FormatError, match=r"w\.safetensors"):
            load_online(path)
    for old, new, message in [
        (FORMAT, "aerl-online-0", "its \"format\" is 'aerl-online-0'"),
        ("surprise", "surprisf", "differ in surprise, surprisf"),
        ("F64", "I64", "not of finite float64"),
    ]:
        path.write_bytes(whole.replace(old.encode(), new.encode()))
        with pytest.raises(FormatError, match=message):
            load_online(path)
    with pytest.raises(FileNotFoundError):
        load_online(tmp_path / "none")


def test_a_state_that_is_none_is_an_error(tmp_path: Path) -> None:
    one = learner()
    run = OnlineRun(tmp_path, one, validation())
    for state, arrays in [
        ("{}", one.adam.arrays()),
        ("", one.adam.arrays()),
        (json.dumps([]), one.adam.arrays()),
        ("{}", {}),
        ("{}", one.adam.arrays() | {"second": -np.ones(N_WEIGHTS)}),
    ]:
        save_online(tmp_path / STATE_FILE, one.adam.mean, {"state": state}, arrays)
        with pytest.raises(FormatError, match="train anew in another --run-dir"):
            run.restore()


def test_the_mixture_has_runs_of_all_kinds() -> None:
    worlds: list[World] = [draw_world(np.random.default_rng(i)) for i in range(60)]
    assert {world.n_graphs > 1 for world in worlds} == {True, False}
    assert {world.instance.n_resources for world in worlds} == {0, 1}
    assert {bool((world.actual == world.instance.comp).all()) for world in worlds} == {True, False}


def test_a_directory_is_that_of_one_run(tmp_path: Path) -> None:
    def train(*, resume: bool) -> None:
        train_online(
            tmp_path, minutes=0.001, draw=STREAMS, validated=3, settings=SETTINGS, resume=resume
        )

    folder = RunDirectory(tmp_path)
    with folder.hold(), pytest.raises(DAGSchedError, match=f"in use by process {os.getpid()} on"):
        train(resume=False)
    folder.config_file.touch()  # of a run of the default algorithm
    with pytest.raises(DAGSchedError, match="holds a run"):
        train(resume=False)
    with pytest.raises(DAGSchedError, match="holds no run of --online"):
        train(resume=True)
    assert list(tmp_path.iterdir()) == [folder.config_file]


def test_the_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from aerl_trainer.cli import online_training

    def train(directory: Path, **options: object) -> object:
        return train_online(directory, **options, draw=STREAMS, validated=3, settings=SETTINGS)  # type: ignore[arg-type]

    monkeypatch.setattr(online_training, "train_online", train)
    run = str(tmp_path / "run")
    assert main(["train", "--online", "--minutes", "0.001", "--run-dir", run, "--seed", "3"]) == 0
    assert f"learned:{run}" in capsys.readouterr().out
    assert main(["train", "--online", "--minutes", "0.001", "--run-dir", run, "--resume"]) == 0
    for arguments, message in [
        (["--actors", "3"], "--actors does not go with --online"),
        (["--instances", "suite:test"], "--instances does not go with --online"),
        (["--cores", "3"], "--machines does not go with --online"),
        (["--resume"], "--resume needs the --run-dir"),
    ]:
        assert main(["train", "--online", *arguments]) == 2
        assert message in capsys.readouterr().err

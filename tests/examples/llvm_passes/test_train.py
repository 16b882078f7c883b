"""``train.py`` as a user runs it: on a folder of programs, stopped, resumed, misused."""

import importlib.util
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from aerl_trainer import checkpoint
from aerl_trainer.run.reporting import RunDirectory, read_metrics
from dagsched_env import DAGSchedError
from dagsched_env.environment.rewards import Reduction, makespan
from helpers import ROOT
from llvm_phase.compiler import Compiler
from llvm_phase.policy import PolicyConfig
from llvm_phase.programs import Program
from llvm_phase.settings import Settings
from llvm_phase.tasks import make_tasks
from llvm_phase.training import Training

SMALL = (
    *("--horizon", "6", "--token-length", "32", "--samples", "2", "--k", "3"),
    *("--random-seconds", "0.02", "--policy.width", "16", "--policy.heads", "2"),
    *("--policy.feedforward", "16", "--policy.encoder-layers", "1"),
)


@pytest.fixture(scope="module")
def folder(
    compiler: Compiler, small: list[Program], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    pytest.importorskip("tokenizers")
    place = tmp_path_factory.mktemp("programs")
    for program in small:
        (place / f"{program.name}.ll").write_text(program.ir)
    return place


def command(folder: Path, run: Path, *options: str) -> list[str]:
    script = str(ROOT / "examples" / "llvm_passes" / "train.py")
    own = ("--programs", str(folder), "--run-dir", str(run), *SMALL, *options)
    return [sys.executable, script, *own]


def train(folder: Path, run: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(folder, run, *options), capture_output=True, text=True, timeout=200, check=False
    )


def records(run: Path) -> list[dict[str, Any]]:
    return read_metrics(run / "metrics.jsonl")


@pytest.mark.slow
def test_a_run_and_its_resume(folder: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shares = ("--search-share", "0.1", "--warm-share", "0.3")
    done = train(folder, run, "--minutes", "0.05", *shares)
    assert done.returncode == 0, done.stderr
    last = json.loads(done.stdout.splitlines()[-1])
    assert last.keys() == {"sampled", "best_of_k", "random"}
    assert last["best_of_k"] >= last["sampled"] > 0
    results = json.loads((run / "results.json").read_text())
    assert results["programs"] == ["three"]
    names = [row["name"] for row in results["rows"]]
    assert names == [
        "−Oz",
        "−O3",
        "greedy",
        "random 0.02 s",
        "random 3 × 6",
        "PPO greedy",
        "PPO sampled",
        "PPO best of 3",
    ]
    assert all(name in done.stdout for name in names)
    assert results["rows"][0]["mean"] == 1.0
    assert {record["kind"] for record in records(run)} >= {"found", "warm", "train"}
    assert (run / "learning_curve.png").read_bytes().startswith(b"\x89PNG")
    assert (run / "checkpoints" / "last" / "policy.safetensors").exists()
    before = [record["step"] for record in records(run) if record["kind"] == "train"]
    resumed = train(folder, run, "--minutes", "0.06", *shares, "--resume")
    assert resumed.returncode == 0, resumed.stderr
    steps = [record["step"] for record in records(run) if record["kind"] == "train"]
    assert steps == [*range(1, len(steps) + 1)]
    assert len(steps) > len(before)


def test_ctrl_c_and_a_kill_leave_a_checkpoint(folder: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    options = ("--minutes", "5", "--search-share", "0", "--warm-share", "0")
    process = subprocess.Popen(
        command(folder, run, *options),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        if (run / "metrics.jsonl").exists() and "train" in (run / "metrics.jsonl").read_text():
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    assert "stopped; go on with the same options and  --resume" in output
    state = json.loads((run / "checkpoints" / "last" / "state.json").read_text())["state"]
    trained = [record for record in records(run) if record["kind"] == "train"]
    assert state["iteration"] == len(trained) > 0
    # Gone on with, and killed in the middle: the checkpoint is whole.
    killed = subprocess.Popen(command(folder, run, *options, "--resume"))
    while time.monotonic() < deadline and len(records(run)) == len(trained):
        time.sleep(0.05)
    killed.kill()
    killed.wait()
    assert len(records(run)) > len(trained)
    saved = checkpoint.load(run / "checkpoints" / "last")
    assert saved.state["iteration"] >= len(trained)


def small_run(path: Path, **changes: object) -> Settings:
    tiny = PolicyConfig(width=16, heads=2, feedforward=16, encoder_layers=1)
    return Settings(run_dir=path, **{"horizon": 6, "token_length": 32, "policy": tiny, **changes})


def test_a_checkpoint_of_other_settings_is_refused(
    compiler: Compiler, small: list[Program], tmp_path: Path
) -> None:
    pytest.importorskip("tokenizers")
    tasks = make_tasks(compiler, small)

    def begun(**changes: object) -> Training:
        settings = small_run(tmp_path, **changes)
        folder = RunDirectory(tmp_path)
        return Training(settings, folder, compiler, tasks[:3], tasks[3:], lambda text: None)

    RunDirectory(tmp_path).make_folders(resume=False)
    begun(reward="log_ratio", threshold=0.5).save()
    begun(reward="log_ratio", threshold=0.5, minutes=99, workers=2).restore()
    for change, message in (
        ({"seed": 3}, "seed = 0, not 3: keep it, or choose another directory"),
        ({"threshold": None}, "threshold = 0.5, not None"),
        ({"policy": PolicyConfig(width=8, heads=2)}, "policy = "),
    ):
        other = begun(**{"reward": "log_ratio", "threshold": 0.5, **change})
        with pytest.raises(DAGSchedError, match=message):
            other.restore()


def test_options_of_a_reward(tmp_path: Path) -> None:
    shaped = small_run(tmp_path, reward="log_ratio", step_penalty=0.01, threshold=0.2, leak=0.5)
    assert shaped.reward_function() == Reduction("log", 0.01, 0.2, 0.5)
    assert small_run(tmp_path, reward="reduction").reward_function() == Reduction("relative")
    assert small_run(tmp_path).reward_function() is makespan


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--resume",), "holds no run to resume"),
        (("--minutes", "0"), "minutes must be positive"),
        (("--reward", "speed"), "reward is one of log_ratio, reduction"),
        (("--threshold", "0.5"), "threshold does not apply to the reward size: leave it out"),
        (("--reward", "reduction", "--leak", "2"), "leak=2.0 is not in 0..1"),
        (("--programs", "/nowhere"), "/nowhere: no files NAME.ll"),
        ((), "holds a run already"),
    ],
)
def test_mistakes_are_named(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...],
    message: str,
) -> None:
    if not options:
        (tmp_path / "config.toml").touch()
    arguments = command(folder, tmp_path, *options)[2:]
    try:
        status = main_of_script()(arguments)
    except SystemExit as stopped:  # of the parser of the command line
        status = stopped.code
    assert status == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "metrics.jsonl").exists()


def test_a_program_that_kills_oz_is_one_line(
    lossy: Compiler,
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    main = main_of_script()
    lossy.lost = frozenset(["default<Oz>"])
    monkeypatch.setitem(main.__globals__, "Compiler", lambda backend, workers: lossy)
    assert main(command(folder, tmp_path)[2:]) == 2
    error = capsys.readouterr().err
    assert error.startswith("train.py: error: four: −Oz kills LLVM")
    assert error.count("\n") == 1


def test_a_missing_tokenizer_is_one_line(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [name for name in sys.modules if name.startswith(("llvm_phase.t", "tokenizers"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    assert main_of_script()(command(folder, tmp_path)[2:]) == 2
    error = capsys.readouterr().err
    assert error.startswith("train.py: error: this feature needs 'tokenizers': install it with")
    assert "aerl-ds[llvm]" in error
    assert error.count("\n") == 1


def main_of_script() -> Callable[[Sequence[str]], int]:
    """``main`` of train.py, imported anew."""
    script = ROOT / "examples" / "llvm_passes" / "train.py"
    spec = importlib.util.spec_from_file_location("llvm_passes_train", script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.main

"""``train.py`` as a user runs it: on a folder of programs, stopped, resumed, misused."""

import importlib.util
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from aerl_trainer import checkpoint
from aerl_trainer.reporting import read_metrics
from helpers import ROOT
from llvm_phase.compiler import Compiler
from llvm_phase.programs import Program

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
    process = subprocess.Popen(
        command(folder, run, "--minutes", "5", "--search-share", "0", "--warm-share", "0"),
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
    assert "stopped; go on with  --resume" in output
    state = json.loads((run / "checkpoints" / "last" / "state.json").read_text())["state"]
    trained = [record for record in records(run) if record["kind"] == "train"]
    assert state["iteration"] == len(trained) > 0
    # Gone on with, and killed in the middle: the checkpoint is whole.
    killed = subprocess.Popen(command(folder, run, "--minutes", "5", "--resume"))
    while time.monotonic() < deadline and len(records(run)) == len(trained):
        time.sleep(0.05)
    killed.kill()
    killed.wait()
    assert len(records(run)) > len(trained)
    saved = checkpoint.load(run / "checkpoints" / "last")
    assert saved.state["iteration"] >= len(trained)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--resume",), "holds no run to resume"),
        (("--minutes", "0"), "minutes must be positive"),
        (("--reward", "speed"), "reward is one of log_ratio, reduction"),
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
    _, script, *arguments = command(folder, tmp_path, *options)
    spec = importlib.util.spec_from_file_location("llvm_passes_train", script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    try:
        status = module.main(arguments)
    except SystemExit as stopped:  # of the parser of the command line
        status = stopped.code
    assert status == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "metrics.jsonl").exists()

"""From tables of tasks and times to a schedule, in one command."""

import json
from pathlib import Path

import pytest

from dagsched_env import io
from dagsched_env.cli import main

MACHINES = ["--platform", "identical", "--processors", "8", "--bandwidth", "125e6"]


@pytest.fixture(autouse=True)
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nine tasks of 10 s after one of 5 s, which sends 1 s of data to each."""
    monkeypatch.chdir(tmp_path)
    tasks = [f"t{i}" for i in range(9)]
    Path("tasks.csv").write_text("task,time\nfirst,5\n" + "".join(f"{t},10\n" for t in tasks))
    rows = "".join(f"first,{t},125e6\n" for t in tasks)
    Path("edges.csv").write_text("source,target,data\n" + rows)


@pytest.mark.parametrize("path", ["tasks.csv", "."])
def test_eight_identical_machines(capsys: pytest.CaptureFixture[str], path: str) -> None:
    command = ["schedule", path, *MACHINES, "--scheduler", "heft", "--out", "s.json"]
    assert main(command) == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines()[1].split()[:2] == ["heft", "25"]  # two of them on one machine
    assert captured.err == ""
    assert len(json.loads(Path("s.json").read_text())["processor"]) == 10
    assert main(["verify", path, "s.json", *MACHINES]) == 0
    assert main(["compare", path, *MACHINES, "--schedulers", "heft"]) == 0, "s.json is no problem"


def test_every_other_command_reads_them(capsys: pytest.CaptureFixture[str]) -> None:
    for command in (
        ["info", "tasks.csv", *MACHINES],
        ["compare", ".", *MACHINES, "--scheduler", "heft", "cpop"],
        ["convert", "tasks.csv", "saved", "--to", "csv", *MACHINES],
        ["info", "saved"],
    ):
        assert main(command) == 0
    assert capsys.readouterr().err == ""
    assert io.load("saved").n_processors == 8


def test_a_single_file_of_csv_is_not_written(capsys: pytest.CaptureFixture[str]) -> None:
    for command in (
        ["convert", "tasks.csv", "out.csv", *MACHINES],
        ["convert", "tasks.csv", "out.csv", "--to", "csv", *MACHINES],
        ["generate", "--out", "out.csv"],
    ):
        assert main(command) == 2
        assert capsys.readouterr().err.startswith(
            "dagsched: error: out.csv: an instance as CSV is a folder of tables, no single file: "
            "name a folder, as in dagsched convert IN FOLDER --to csv"
        )
        assert not Path("out.csv").exists()


def test_machines_that_are_not_named_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "tasks.csv"]) == 0
    assert "tasks.csv describes no processors" in capsys.readouterr().err

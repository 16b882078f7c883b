"""Names of files, problems and runs are text on the terminal: rich finds no markup in them."""

from pathlib import Path

import pytest

from aerl_trainer.cli import main
from aerl_trainer.run.reporting import print_table
from aerl_trainer.run.reporting.progress import Progress
from dagsched_env import io
from dagsched_env.cli.progress import live
from dagsched_env.problem.instance import Instance
from dagsched_env.solver import Finding

MARKUP = "[/red]"


def test_files_in_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    files = ["[bold]a.json", "\x1b[31m.json"]
    for file in files:
        io.save(Instance([[1.0]], [], []), file)
    assert main(["solve", *files, "--checkpoint", "none", "--simulations", "1"]) == 0
    output = capsys.readouterr().out
    assert "[bold]a.json" in output
    assert "\x1b[31m" not in output


def test_titles(capsys: pytest.CaptureFixture[str]) -> None:
    print_table([], f"{MARKUP}: 3 instances")
    assert f"{MARKUP}: 3 instances" in " ".join(capsys.readouterr().out.split())


def test_lines_that_live(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with live(MARKUP) as callback:
        assert callback is not None
        callback(Finding(0.5, 200.0, "annealing"), 150.0)
    assert Progress(60.0, MARKUP)._panel().title == f"\\{MARKUP}"

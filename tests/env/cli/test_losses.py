"""What a user could lose: a file that is read and written, a schedule at Ctrl-C, a quiet pipe."""

import json
import shutil
import subprocess
import sys
from types import SimpleNamespace

import pytest

from dagsched_env.cli import main
from dagsched_env.schedulers import SCHEDULERS
from helpers import TESTS

GRAPH = TESTS / "data" / "formats" / "weight_style.dot"
ON_TWO = ["--platform", "identical", "--processors", "2", "--bandwidth", "1"]


@pytest.fixture
def problem(tmp_path, monkeypatch):
    """A problem, a schedule of it and a machine file in the current folder."""
    monkeypatch.chdir(tmp_path)
    assert main(["convert", str(GRAPH), "graph.json", *ON_TWO]) == 0
    assert main(["schedule", "graph.json", "--scheduler", "heft", "--out", "plan.json"]) == 0
    shutil.copy(GRAPH, "graph.dot")
    machines = {"processors": [{"name": "a"}, {"name": "b"}]}
    (tmp_path / "machines.json").write_text(json.dumps(machines))
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        "schedule graph.json --scheduler heft --out graph.json",
        "schedule graph.json --scheduler heft --out ./graph.json",
        "schedule graph.dot --machines machines.json --scheduler heft --out machines.json",
        "compare graph.json --schedulers heft --journal graph.json",
        "convert graph.json graph.json",
        "convert graph.dot graph.dot --processors 2",
        "compare . --schedulers heft --csv tasks.csv",
        "compare . --schedulers heft --csv edges.csv",
        "compare trio --schedulers heft --csv trio/computation.csv",
        "compare tasks.csv --schedulers heft --csv edges.csv",
        "compare . --schedulers heft --csv whole.csv/computation.csv",
        "compare . --schedulers heft --journal link",
        "schedule linked/graph.json --scheduler heft --out graph.json",
        "compare linked --schedulers heft --journal graph.json",
    ],
)
def test_a_file_that_is_read_is_not_written(problem, capsys, command):
    (problem / "tasks.csv").write_text("task,time\na,1\nb,2\n")
    (problem / "edges.csv").write_text("source,target\na,b\n")
    for folder in ("trio", "whole"):
        assert main(["convert", "graph.json", folder, "--to", "csv"]) == 0
    (problem / "whole").rename(problem / "whole.csv")
    (problem / "link").symlink_to("graph.json")
    (problem / "linked").mkdir()
    (problem / "linked" / "graph.json").symlink_to(problem / "graph.json")
    before = contents(problem)
    capsys.readouterr()
    assert main(command.split()) == 2
    assert "is read by this command: name another file with" in capsys.readouterr().err
    assert contents(problem) == before


def contents(folder):
    """Of all files in it."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("option", ["--journal new.json", "--journal ./new.dot"])
def test_what_the_next_call_would_take_for_a_problem_is_not_written(problem, capsys, option):
    command = f"compare . --schedulers heft {option}"
    assert main(command.split()) == 2
    assert "the next call would take it for a problem in ." in capsys.readouterr().err


def test_a_table_of_results_in_a_folder_that_is_read_is_written_anew(problem):
    """It is no problem, so a second call reads none of it."""
    (problem / "machines.json").unlink()
    (problem / "plan.json").unlink()
    command = "compare . --processors 2 --schedulers heft --csv all.csv --journal all.jsonl"
    assert [main(command.split()) for _ in range(2)] == [0, 0]


@pytest.fixture
def interrupted(monkeypatch):
    """Ctrl-C ends each solve when it has HEFT's schedule."""

    def solve(instance, budget_s, callback):
        del budget_s, callback
        schedule = SCHEDULERS["heft"](instance)
        return SimpleNamespace(schedule=schedule, lower_bound=1.0, stopped_by="interrupt")

    monkeypatch.setattr("dagsched_env.cli.schedulers.solver.solve", solve)


@pytest.mark.usefixtures("interrupted")
def test_ctrl_c_gives_the_best_schedule_so_far_and_says_so_by_its_exit_code(problem, capsys):
    capsys.readouterr()
    command = ["schedule", "graph.json", "--scheduler", "solve", "--out", "found.json"]
    assert main(command) == 130
    assert "wrote found.json (solve)" in capsys.readouterr().out
    assert main(["verify", "graph.json", "found.json"]) == 0


@pytest.mark.usefixtures("interrupted")
def test_ctrl_c_ends_a_comparison(problem, capsys):
    capsys.readouterr()
    command = ["compare", "graph.json", "--schedulers", "solve", "heft", "--csv", "table.csv"]
    assert main(command) == 130
    assert capsys.readouterr().out == ""
    assert not (problem / "table.csv").exists()


@pytest.mark.parametrize(
    "command", ["-m dagsched_env generate --list", "-m aerl_trainer --version"]
)
def test_a_reader_that_leaves_is_no_error(command):
    pytest.importorskip("torch" if "aerl" in command else "numpy")
    with subprocess.Popen(
        [sys.executable, *command.split()], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0

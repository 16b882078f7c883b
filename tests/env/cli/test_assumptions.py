"""What was assumed of a problem stands in every table and JSON that commands print about it."""

import csv
import json
import warnings
from pathlib import Path

import pytest

from dagsched_env.cli import main
from dagsched_env.cli.machines import warnings_on_stderr
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.sources import as_instance, resolve_source
from helpers import TESTS

GRAPH = TESTS / "data" / "formats" / "weight_style.dot"
PARALLEL = "digraph { node [weight=1] a -> b [size=1] a -> b [size=2] }"
SAID = "parallel edges between 1 pair of tasks are one with the data of all, such as 'a' -> 'b'"
MACHINES = ["--platform", "identical", "--bandwidth", "1"]
ASSUMED = "machines: 4 identical processors, bandwidth 1; not given: processors"


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[list[str], list[str]]:
    """Lines on stdout and on stderr of a command that succeeds."""
    assert main([str(argument) for argument in arguments]) == 0
    captured = capsys.readouterr()
    return captured.out.splitlines(), captured.err.splitlines()


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    path = tmp_path / "graph.dot"
    path.write_text(PARALLEL)
    return path


def test_tables_and_files_of_one_problem(
    capsys: pytest.CaptureFixture[str], graph: Path, tmp_path: Path
) -> None:
    schedule, copy = tmp_path / "s.json", tmp_path / "copy.json"
    wanted = [f"{SAID} with 3", ASSUMED]
    out, err = run(capsys, "schedule", graph, *MACHINES, "--out", schedule)
    assert [line for line in out if line.startswith("assumed: ")] == [
        f"assumed: {text}" for text in wanted
    ]
    assert err[0] == f"dagsched: {graph}: {wanted[0]}"
    assert err[1].startswith(f"dagsched: {graph} describes no processors: 4 identical")
    assert json.loads(schedule.read_text())["assumptions"] == wanted
    assert run(capsys, "verify", graph, schedule, *MACHINES)[0][1:] == [
        f"assumed: {text}" for text in wanted
    ]
    out, _ = run(capsys, "info", graph, *MACHINES)
    assert [line.partition("  ")[2].strip() for line in out if line.startswith("assumed")] == wanted
    run(capsys, "convert", graph, copy, *MACHINES)
    assert json.loads(copy.read_text())["assumptions"] == wanted
    out, err = run(capsys, "info", copy)  # what was assumed once is not forgotten
    assert [line.partition("  ")[2].strip() for line in out if line.startswith("assumed")] == wanted
    assert err == [f"dagsched: {copy}: {wanted[0]}"]


def test_tables_of_a_comparison(
    capsys: pytest.CaptureFixture[str], graph: Path, tmp_path: Path
) -> None:
    table, page = tmp_path / "all.csv", tmp_path / "all.html"
    files = [graph, GRAPH, *MACHINES, "--csv", table, "--html", page]
    out, _ = run(capsys, "compare", *files, "--schedulers", "heft")
    assert [line for line in out if line.startswith("assumed: ")] == [
        f"assumed: graph.dot: {SAID} with 3",
        f"assumed: {ASSUMED}",
    ]
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert [row["assumed"] for row in rows] == [f"{SAID} with 3; {ASSUMED}", ASSUMED]
    assert ASSUMED in page.read_text()
    out, _ = run(capsys, "compare", "--suite", "paper", "--schedulers", "heft", "--csv", table)
    assert not any(line.startswith("assumed") for line in out)


def test_no_filter_hides_what_a_command_assumes(capsys: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, (line,) = run(capsys, "info", GRAPH)
    assert line.startswith(f"dagsched: {GRAPH} describes no processors: ")


def test_what_files_leave_out_is_one_line_where_it_comes_as_a_warning(
    capsys: pytest.CaptureFixture[str], graph: Path
) -> None:
    spec = f"{graph}?platform=identical&bandwidth=1"
    with warnings_on_stderr("aerl"):
        warnings.simplefilter("ignore")  # as an import within may leave it
        resolve_source([spec, spec])
    first, second = capsys.readouterr().err.splitlines()
    assert first == f"aerl: {graph}: {SAID} with 3"
    assert second.startswith(f"aerl: {graph} and 1 other file describe no processors: 4 identical")


def test_times_on_the_command_line_and_in_specs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path, table = tmp_path / "dag.dot", tmp_path / "times.csv"
    path.write_text("digraph { a -> b }")
    table.write_text("task,time\na,2\nb,4\n")
    assert main(["info", str(path), *MACHINES]) == 2
    remedy = "--times names a table of name or label and seconds, --unit-times gives each task 1"
    (line,) = capsys.readouterr().err.splitlines()
    assert line == f"dagsched: error: {path}: task 'a' has no time (2 tasks have none): {remedy}"
    for options, mean, made in (
        (["--times", table], 3, f"times of {table}"),
        (["--unit-times"], 1, "unit times"),
    ):
        out, err = run(capsys, "info", path, *MACHINES, "--processors", 2, *options)
        facts = dict(line.split("  ", 1) for line in out)
        assert facts["mean computation"].strip() == str(mean)
        assert f"2 identical processors, {made}" in facts["machines"]
        assert err == []
    query = "platform=identical&processors=1"
    for said, times in ((f"times={table}", [2, 4]), ("unit_times=true", [1, 1])):
        assert as_instance(f"{path}?{query}&{said}", "x").comp.ravel().tolist() == times
    with pytest.raises(DAGSchedError, match="unit_times is 'yes': write true or false"):
        as_instance(f"{path}?unit_times=yes", "x")
    assert main(["schedule", str(path), "--times", str(table), "--out", str(table)]) == 2
    assert "times.csv" in capsys.readouterr().err

"""Tables that a spreadsheet opens: exact by default, without formulas on demand."""

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagsched_env import io
from dagsched_env.cli import main
from dagsched_env.comparison.compare import compare, to_csv
from dagsched_env.io.spreadsheets import quoted
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.schedulers import heft

FORMULAS = [
    *("=1+1", "+x", "-x", "@SUM(A1)", "＝1", "a;=1", "'=1", "''", "plain", "a=b"),
    *("\ufeff=1+1", "'\ufeff", "a;\ufeff=1", "\ufeff\ufeff-x", "a\ufeff"),
]
BEGINNINGS = tuple("=+-@＝＋－＠\ufeff")


def problem() -> Instance:
    return Instance(
        [[1.0, 2.0]] * len(FORMULAS),
        [(0, 1)],
        [1.0],
        task_names=FORMULAS,
        processor_names=FORMULAS[:2],
        latency=[[0, 1], [1, 0]],
        name=FORMULAS[0],
    )


def texts(folder: Path) -> list[str]:
    """All cells that are no numbers; a semicolon ends a cell as well."""
    cells = []
    for path in folder.glob("*.csv"):
        with path.open(newline="", encoding="utf-8") as stream:
            cells += [
                part for row in csv.reader(stream) for cell in row for part in cell.split(";")
            ]
    return [cell for cell in cells if not cell.replace(".", "").isdigit()]


def test_names_that_look_like_formulas_are_read_back_exactly(tmp_path: Path) -> None:
    io.save(problem(), tmp_path / "a", format="csv", schedule=heft(problem()))
    assert io.load(tmp_path / "a") == problem()
    assert any(cell.startswith(BEGINNINGS) for cell in texts(tmp_path / "a"))


def test_safe_tables_have_no_formulas(tmp_path: Path) -> None:
    io.save(problem(), tmp_path / "a", format="csv", schedule=heft(problem()), safe=True)
    assert not any(cell.startswith(BEGINNINGS) for cell in texts(tmp_path / "a"))
    again = io.load(tmp_path / "a")
    assert again.task_names == tuple(map(quoted, FORMULAS))
    assert again.fingerprint == problem().fingerprint


@pytest.mark.parametrize("name", ["\ufeff=1+1", "\ufeff", "\ufeff\ufeffa"])
def test_a_file_does_not_begin_with_a_mark_that_readers_drop(tmp_path: Path, name: str) -> None:
    """The label is the first cell of a table; names elsewhere are exact."""
    labelled = Instance([[1.0]], [], [], name=name)
    with pytest.raises(DAGSchedError, match="begins with a byte order mark: rename it"):
        io.save(labelled, tmp_path / "a", format="csv")
    assert not (tmp_path / "a").exists()
    io.save(labelled, tmp_path / "a", format="csv", safe=True)
    assert io.load(tmp_path / "a").name == f"'{name}"
    assert (tmp_path / "a" / "computation.csv").read_text("utf-8").startswith("'")
    elsewhere = Instance([[1.0]], [], [], task_names=[name], processor_names=[name])
    io.save(elsewhere, tmp_path / "b", format="csv", schedule=heft(elsewhere))
    assert io.load(tmp_path / "b") == elsewhere


@given(st.lists(st.text("=+-@';ab\ufeff", max_size=5), unique=True))
def test_quoted_names_stay_distinct(names: list[str]) -> None:
    assert len(set(map(quoted, names))) == len(names)
    assert not any(part.startswith(BEGINNINGS) for x in names for part in quoted(x).split(";"))


def test_safe_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    io.save(problem(), "a.json")
    assert main(["convert", "a.json", "a", "--to", "csv", "--safe"]) == 0
    assert io.load("a").task_names[0] == "'=1+1"
    assert main(["convert", "a.json", "a.dot", "--safe"]) == 2
    assert capsys.readouterr().err.startswith(
        "dagsched: error: a.dot: safe names are for CSV alone"
    )
    io.save(problem(), "=1+1.json")
    assert main(["compare", "=1+1.json", "--schedulers", "heft", "--csv", "t.csv", "--safe"]) == 0
    assert f"\n'=1+1.json,{len(FORMULAS)},2,1,heft," in Path("t.csv").read_text(encoding="utf-8")
    assert main(["compare", "a.json", "--schedulers", "heft", "--safe"]) == 2
    assert "--safe is for the table of --csv" in capsys.readouterr().err


def test_a_comparison_of_any_names_is_a_table() -> None:
    instances = [Instance([[1.0]], [], [], name=name) for name in ("=1+1", "\ud800", "a\nb", "")]
    comparison = compare(instances, {"-heft": heft})
    rows = [line.split(",") for line in to_csv(comparison, instances).splitlines()[1:]]
    assert [row[0] for row in rows] == ["=1+1", "\N{REPLACEMENT CHARACTER}", "a b", "3"]
    safe = to_csv(comparison, instances, safe=True).splitlines()[1].split(",")
    assert (safe[0], safe[4]) == ("'=1+1", "'-heft")


def test_a_name_that_is_too_long_to_be_read_back_is_not_written(tmp_path: Path) -> None:
    longest = csv.field_size_limit()
    io.save(Instance([[1.0]], [], [], name="a" * longest), tmp_path / "a", format="csv")
    assert io.load(tmp_path / "a").name == "a" * longest
    with pytest.raises(DAGSchedError, match=f"names of {longest} letters, one has {longest + 1}"):
        io.save(Instance([[1.0]], [], [], name="a" * (longest + 1)), tmp_path / "b", format="csv")


@pytest.mark.parametrize("format", ["csv", "dot", "graphml"])
def test_the_error_of_a_giant_name_is_short(tmp_path: Path, format: str) -> None:
    giant = Instance([[1.0]], [], [], name="\x00" * 1_000_000)
    with pytest.raises(DAGSchedError) as caught:
        io.save(giant, tmp_path / f"a.{format}")
    assert len(str(caught.value)) < 1000

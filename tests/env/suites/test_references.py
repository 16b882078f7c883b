"""``benchmarks/references.py``: references only ever get better."""

import importlib.util
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from dagsched_env import suites
from dagsched_env.io.atomic import write_text
from dagsched_env.suites.references import Reference, dump, parse
from helpers import ROOT

SCRIPT = ROOT / "benchmarks" / "references.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    pytest.importorskip("ortools")
    spec = importlib.util.spec_from_file_location("references_script", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def solved(script, tmp_path_factory) -> Path:
    """The references of the paper graphs, made from nothing."""
    path = tmp_path_factory.mktemp("references") / "made.json"
    script.main(["--seconds", "2", "--suite", "paper", "--file", str(path)])
    return path


def records(path: Path, suite: str = "paper") -> dict[str, Reference]:
    return parse(path.read_text(encoding="utf-8"))[suite]


def altered(path: Path, target: Path, name: str, **changes: object) -> Path:
    """A copy of the file in which one record says something else."""
    known = records(path)
    write_text(target, dump({"paper": {**known, name: replace(known[name], **changes)}}))
    return target


def test_the_paper_graphs_are_solved(solved):
    assert list(records(solved)) == list(suites.names("paper"))
    for name, known in records(solved).items():
        published = suites.reference("paper")[name]
        assert known.optimal
        assert known.runs == 1
        assert (known.makespan, known.lower_bound) == (published.makespan, published.makespan)
        assert "proved by CP-SAT (OR-Tools " in known.how


def test_what_is_proved_is_left_alone(script, solved, tmp_path, capsys):
    before = solved.read_text(encoding="utf-8")
    path = tmp_path / "again.json"
    write_text(path, before)
    script.main(["--seconds", "1", "--suite", "paper", "--file", str(path)])
    assert path.read_text(encoding="utf-8") == before
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "paper: 8 of 8 known, 8 proved optimal, mean gap 0.00%"


def test_a_worse_makespan_is_improved(script, solved, tmp_path):
    changes = {"makespan": 99.0, "lower_bound": 1.0, "optimal": False, "how": "a guess"}
    path = altered(solved, tmp_path / "worse.json", "Topcuoglu2002", **changes)
    script.main(["--seconds", "2", "--suite", "paper", "--file", str(path)])
    known = records(path)["Topcuoglu2002"]
    assert (known.makespan, known.lower_bound, known.optimal, known.runs) == (73, 73, True, 2)
    assert known.how != "a guess"


def test_a_better_makespan_and_a_higher_bound_stay(script, solved, tmp_path):
    """No one can find 72.5, so the record must come out as it went in, but for the count."""
    changes = {"makespan": 72.5, "lower_bound": 72.25, "optimal": False, "how": "a miracle"}
    path = altered(solved, tmp_path / "better.json", "Topcuoglu2002", **changes)
    known = records(path)["Topcuoglu2002"]
    instance = suites.instance("paper", "Topcuoglu2002")
    search = script.Search(instance, 1.0, known, workers=1)
    search.offer(search.best, "the portfolio")
    assert search.known == known


def test_records_of_other_instances_are_dropped(script, solved, tmp_path):
    path = altered(solved, tmp_path / "other.json", "Hsu", fingerprint="of another")
    assert set(records(solved)) - set(script.known_of(path, "paper")) == {"Hsu"}


def test_without_seconds_nothing_is_written(script, solved, capsys, tmp_path):
    path = tmp_path / "none.json"
    script.main(["--file", str(path)])
    assert not path.exists()
    assert capsys.readouterr().out.startswith("paper: 0 of 8 known, 0 proved optimal")

"""Records of best known makespans, and ``benchmarks/references.py``, which only improves them."""

import importlib.util
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from fnmatch import fnmatch
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from dagsched_env import suites
from dagsched_env.io.atomic import write_text
from dagsched_env.problem.errors import FormatError, InvalidScheduleError
from dagsched_env.records import RecordSet, make_entry, write_set
from dagsched_env.schedulers import heft
from dagsched_env.suites.references import Reference, dump, parse, published_references
from helpers import ROOT

COMMIT = "0123456789ab"
SCRIPT = ROOT / "benchmarks" / "references.py"
ROUNDING = 1e-9
"""Relative error of makespans."""
LITTLE = 0.003
"""By which a record may be beaten: a machine twice as fast searches twice as much in its time."""
SAMPLE_SEED = 20251122
STRATA = (
    ("heldout", "*"),
    ("structured", "*"),
    ("workflows", "*"),
    ("jobshop", "*"),
    ("test", "*-n50-*"),
    ("test", "*-n100-*"),
    ("test", "*-n200-*"),
    ("test", "*-n1000-*"),
)
"""Suites and patterns of names; the sample has one instance of each: the first in a random order
that is not proved."""


@pytest.fixture(scope="module")
def script() -> ModuleType:
    pytest.importorskip("ortools")
    pytest.importorskip("torch")
    module = loaded("references_script")
    module.commit_of = lambda _: COMMIT
    return module


def loaded(name: str) -> ModuleType:
    """The script as a module of its own, beside those that it imports."""
    spec = importlib.util.spec_from_file_location(name, SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(SCRIPT.parent))
        spec.loader.exec_module(module)
    return module


def test_bounds_are_only_raised(script: ModuleType, tmp_path: Path) -> None:
    """A record whose bound is lower than what is computed now; the others stay as they are."""
    path = tmp_path / "records.json"
    records = published_references()["workflows"]
    name = next(name for name, known in records.items() if not known.optimal)
    low = replace(records[name], lower_bound=1e-3, bound_by="nothing")
    write_text(path, dump({"workflows": records | {name: low}}))
    script.main(["--bounds", "--suite", "workflows", "--out", str(path)])
    after = parse(path.read_text())["workflows"]
    assert after[name].bound_by == "dagsched_env.problem.destructive"
    assert 1e-3 < after[name].lower_bound <= records[name].makespan
    others = records.keys() - {name}
    assert all(after[other].lower_bound >= records[other].lower_bound for other in others)
    with pytest.raises(RuntimeError, match="is above the makespan"):
        script.raised(low, 2.0 * low.makespan)


def test_a_shorter_record_is_taken_over(script: ModuleType, solved: Path, tmp_path: Path) -> None:
    name, instance = "Hsu", suites.instance("paper", "Hsu")
    schedule = script.exact.solve(instance, time_limit_s=5, workers=1).schedule
    entry = make_entry(name, instance, schedule, date="2026-01-02", solver="somebody")
    write_set(tmp_path, RecordSet("paper", "a suite", {name: entry}))
    path = altered(solved, tmp_path / "longer.json", name, makespan=1e6, optimal=False)
    command = ["--suite", "paper", "--out", str(path), "--records", str(tmp_path)]
    script.main(command)
    found = records(path)[name]
    assert found.makespan == schedule.makespan == records(solved)[name].makespan
    assert (found.found_by, found.optimal) == ("somebody, on record since 2026-01-02", True)
    script.main(command)
    assert records(path)[name] == found


@pytest.fixture(scope="module")
def solved(script, tmp_path_factory) -> Path:
    """The references of the paper graphs, made from nothing."""
    path = tmp_path_factory.mktemp("references") / "made.json"
    script.main(["--seconds", "20", "--suite", "paper", "--out", str(path)])
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
        assert known.makespan == published.makespan
        assert published.makespan * (1 - 1e-7) <= known.lower_bound <= published.makespan
        assert re.match(r"\w+$|(\w+\.)?\w+\(budget_s=[\d.]+, seed=\d+", known.found_by)
        assert re.match(
            r"dagsched_env\.problem\.destructive$|(exact|solver)\.solve\(budget_s=", known.bound_by
        )
        assert known.commit == COMMIT
        assert known.seconds >= 0.0


def test_what_is_proved_is_left_alone(script, solved, tmp_path, capsys):
    before = solved.read_text(encoding="utf-8")
    path = tmp_path / "again.json"
    write_text(path, before)
    script.main(["--seconds", "30", "--suite", "paper", "--out", str(path)])
    assert path.read_text(encoding="utf-8") == before
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "paper: 8 of 8 known, 8 proved optimal, mean gap 0.00%, 0 min of search"


def test_a_worse_makespan_is_improved(script, solved, tmp_path):
    changes = {"makespan": 99.0, "lower_bound": 1.0, "optimal": False, "seconds": 0.0}
    path = altered(solved, tmp_path / "worse.json", "Topcuoglu2002", found_by="a guess", **changes)
    script.main(["--seconds", "20", "--suite", "paper", "--out", str(path)])
    known = records(path)["Topcuoglu2002"]
    assert (known.makespan, known.optimal, known.runs) == (73, True, 2)
    assert known.lower_bound == pytest.approx(73, rel=1e-7)
    assert known.found_by != "a guess"


def test_a_better_makespan_and_a_higher_bound_stay(script, solved, tmp_path):
    """No one can find 72.5, so the record must come out as it went in, but for the count."""
    changes = {"makespan": 72.5, "lower_bound": 72.25, "optimal": False, "found_by": "a miracle"}
    path = altered(solved, tmp_path / "better.json", "Topcuoglu2002", **changes)
    known = records(path)["Topcuoglu2002"]
    instance = suites.instance("paper", "Topcuoglu2002")
    search = script.Search(instance, 1.0, known)
    search.offer(script.Found(search.best), "the portfolio")
    assert search.known == known


def test_what_cannot_be_is_refused(script, solved):
    instance = suites.instance("paper", "Topcuoglu2002")
    search = script.Search(instance, 1.0, records(solved)["Topcuoglu2002"])
    good = heft(instance)
    too_early = replace(good, start=good.start - 1.0, finish=good.finish - 1.0)
    with pytest.raises(InvalidScheduleError):
        search.offer(script.Found(too_early), "a liar")
    search.known = replace(search.known, makespan=99.0, lower_bound=98.0, optimal=False)
    with pytest.raises(RuntimeError, match=r"a rival found 8\d\.0 on \w+, below the bound 98\.0"):
        search.offer(script.Found(good), "a rival")


def test_a_proved_makespan_without_a_commit_is_found_again(script, solved, tmp_path):
    path = altered(solved, tmp_path / "old.json", "Hsu", commit=None, found_by="?", seconds=0.0)
    assert [todo.name for todo in script.pending(path, ["paper"], "*", 20.0)] == ["Hsu"]
    script.main(["--seconds", "20", "--suite", "paper", "--out", str(path)])
    known, before = records(path)["Hsu"], records(solved)["Hsu"]
    assert (known.makespan, known.commit) == (before.makespan, COMMIT)
    assert known.found_by != "?"


def test_a_run_that_was_killed_goes_on(script, tmp_path, monkeypatch):
    """Killed in its third search; what had been searched is not searched again."""
    path, searched = tmp_path / "killed.json", []

    def run(search: object) -> Reference:
        searched.append(search.instance.name)
        if len(searched) == 3:
            raise KeyboardInterrupt
        known = search.known
        return replace(known, runs=known.runs + 1, seconds=known.seconds + search.seconds)

    monkeypatch.setattr(script.Search, "run", run)
    command = ["--seconds", "5", "--suite", "heldout", "--only", "heldout-0?", "--out", str(path)]
    with pytest.raises(KeyboardInterrupt):
        script.main(command)
    script.main(command)
    names = [f"heldout-{i:02d}" for i in range(10)]
    assert searched == [*names[:3], *names[2:]]
    assert list(records(path, "heldout")) == names
    script.main(command)
    assert len(searched) == 11
    command[1] = "20"
    script.main(command)
    assert [known.runs for known in records(path, "heldout").values()] == [2] * 10
    seconds = [known.seconds for known in records(path, "heldout").values()]
    assert seconds == pytest.approx([20 * 0.3**0.5] * 10)


def test_an_instance_of_two_suites_is_searched_once(script, tmp_path):
    path = tmp_path / "twins.json"
    twice = script.pending(path, ["workflows", "workflows_small"], "montage", 1.0)
    assert [(todo.suite, todo.name) for todo in twice] == [("workflows", "montage")]
    known = suites.reference("workflows")["montage"]
    script.save(path, known)
    assert parse(path.read_text(encoding="utf-8")) == {
        "workflows": {"montage": known},
        "workflows_small": {"montage": known},
    }


def test_the_commit_is_that_of_the_checkout(tmp_path):
    module = loaded("references_again")
    assert module.commit_of(tmp_path) is None
    commit = module.commit_of(ROOT)
    assert commit is None or re.fullmatch(r"[0-9a-f]{12}(-dirty)?", commit)


def test_records_of_other_instances_are_dropped(script, solved, tmp_path):
    path = altered(solved, tmp_path / "other.json", "Hsu", fingerprint="of another")
    assert set(records(solved)) - set(script.known_of(path, "paper")) == {"Hsu"}


def test_without_seconds_nothing_is_written(script, solved, capsys, tmp_path):
    path = tmp_path / "none.json"
    script.main(["--out", str(path)])
    assert not path.exists()
    assert capsys.readouterr().out.startswith("paper: 0 of 8 known, 0 proved optimal")


# -- records -------------------------------------------------------------------------------------


def text_with(**changes: object) -> str:
    """A file of one record, some fields of it changed; ``...`` leaves a field out."""
    record = asdict(suites.reference("paper")["Hsu"]) | changes
    kept = {key: value for key, value in record.items() if value is not ...}
    return json.dumps({"paper": {"Hsu": kept}})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "line 1 is not JSON"),
        ("[]", "the file is not an object"),
        ('{"paper": {"Hsu": 3}}', "paper/Hsu is not an object"),
        (text_with(makespan=...), "paper/Hsu has no key 'makespan'"),
        (text_with(commit=...), "paper/Hsu has no key 'commit'"),
        (text_with(how="by luck"), "paper/Hsu has a key that no reference has: 'how'"),
        (text_with(makespan="80"), "paper/Hsu.makespan is str, not a number"),
        (text_with(optimal=1), "paper/Hsu.optimal is 1, not true or false"),
        (text_with(runs=1.5), "paper/Hsu.runs is 1.5, not a whole number"),
        (text_with(seconds=-1), "paper/Hsu.seconds is not between 0 and"),
        (text_with(commit="HEAD"), "paper/Hsu.commit is 'HEAD': give the hash of a commit"),
        (text_with(found_by=""), "paper/Hsu.found_by is empty"),
        (text_with(lower_bound=1e6), "paper/Hsu: the lower bound is above the makespan"),
        (text_with(lower_bound=1), "paper/Hsu is optimal, but the lower bound is below"),
    ],
)
def test_records_are_checked(text, message):
    with pytest.raises(FormatError, match=re.escape(message)):
        parse(text)


def test_records_without_a_commit_are_read():
    assert parse(text_with(commit=None))["paper"]["Hsu"].commit is None
    assert parse(text_with(commit=f"{COMMIT}-dirty"))["paper"]["Hsu"].commit == f"{COMMIT}-dirty"


def test_an_instance_of_two_suites_has_one_record():
    by_fingerprint: dict[str, Reference] = {}
    for suite_records in published_references().values():
        for known in suite_records.values():
            assert by_fingerprint.setdefault(known.fingerprint, known) == known


def sample() -> Iterator[tuple[str, str]]:
    """Suite and name of an instance of each stratum."""
    rng = np.random.default_rng(SAMPLE_SEED)
    for suite, pattern in STRATA:
        known = suites.reference(suite)
        shuffled = rng.permutation([name for name in known if fnmatch(name, pattern)]).tolist()
        yield suite, next(name for name in shuffled if not known[name].optimal)


@pytest.mark.slow
@pytest.mark.parametrize(("suite", "name"), list(sample()))
def test_no_record_is_beaten_by_much_in_two_seconds(suite, name):
    solve = pytest.importorskip("aerl_trainer").solve
    instance = suites.instance(suite, name)
    schedule = solve(instance, budget_s=2.0).schedule
    schedule.validate(instance)
    assert schedule.makespan >= suites.reference(suite)[name].makespan * (1.0 - LITTLE)

"""``dagsched records``."""

import json
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from dagsched_env import io, records, suites
from dagsched_env.cli import main
from dagsched_env.io.atomic import write_text
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.records import RecordSet, make_entry
from dagsched_env.schedulers import annealing, heft


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """A folder that has a bad schedule of one graph on record."""
    folder = tmp_path / "records"
    folder.mkdir()
    instance = suites.instance("paper", "Hsu")
    entry = make_entry("Hsu", instance, bad(instance), date="2026-01-01", lower_bound=79.0)
    records.write_set(folder, RecordSet("paper", "a suite", {"Hsu": entry}))
    return folder


def bad(instance: Instance) -> Schedule:
    """All tasks one after the other on the first processor."""
    finish = instance.comp[instance.topological_order, 0].cumsum()
    ends = dict(zip(instance.topological_order.tolist(), finish.tolist(), strict=True))
    finish = [ends[t] for t in range(instance.n_tasks)]
    return Schedule([0] * len(finish), finish - instance.comp[:, 0], finish, algorithm="serial")


def saved(schedule: Schedule, path: Path) -> str:
    write_text(path, schedule.to_json())
    return str(path)


def test_valid_records(archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["records", "verify", str(archive)]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].split() == ["set", "entries", "optimal", "mean", "gap", "result"]
    assert out[1].split()[:3] == ["paper", "1", "0"]
    assert out[1].endswith("valid")


def test_wrong_records_are_named_and_the_exit_code_is_1(
    archive: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = archive / "paper.json"
    record = json.loads(path.read_text())
    record["entries"][0]["makespan"] -= 1
    path.write_text(json.dumps(record))
    assert main(["records", "verify", str(archive)]) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[1].endswith("1 wrong")
    assert out[2].startswith("wrong: paper/Hsu: the schedule ends at ")


def test_no_folder_is_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["records", "verify", str(tmp_path)]) == 2
    assert "there are no records" in capsys.readouterr().err


def test_a_better_schedule_takes_the_place_of_the_record(
    archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    instance = suites.instance("paper", "Hsu")
    found = annealing(instance, seed=0)
    file = saved(found, tmp_path / "found.json")
    submit = ["records", "submit", file, "suite:paper/Hsu", "--records", str(archive)]
    before = records.read_set(archive / "paper.json").entries["Hsu"]
    assert main([*submit, "--solver", "mine 1.2", "--seconds", "3"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"paper/Hsu: a record, {found.makespan:g}; it was {before.makespan:g}\n")
    after = records.read_set(archive / "paper.json").entries["Hsu"]
    assert (after.makespan, after.solver, after.seconds) == (found.makespan, "mine 1.2", 3.0)
    assert after.lower_bound == 79.0, "what was proved before stays"
    assert after.commit is None
    assert main(["records", "verify", str(archive)]) == 0
    capsys.readouterr()
    assert main(submit) == 0
    assert "is not shorter than the record" in capsys.readouterr().out
    assert records.read_set(archive / "paper.json").entries["Hsu"] == after


def test_the_set_is_found_by_the_numbers_of_the_instance(
    archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever the file is called; a suite without a file gets one."""
    instance = suites.instance("heldout", "heldout-03")
    io.save(instance.renamed("mine"), tmp_path / "mine.json")
    file = saved(heft(instance), tmp_path / "found.json")
    arguments = ["records", "submit", file, str(tmp_path / "mine.json")]
    assert main([*arguments, "--records", str(archive)]) == 0
    assert capsys.readouterr().out.startswith("heldout/heldout-03: a record, ")
    entries = records.read_set(archive / "heldout.json").entries
    assert entries["heldout-03"].makespan == pytest.approx(heft(instance).makespan)
    assert main(["records", "verify", str(archive)]) == 0


def test_an_instance_of_no_set_has_its_entry_printed(
    archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    io.save(Instance([[1.0], [2.0]], [(0, 1)], [0.0]), tmp_path / "mine.json")
    instance = io.load(tmp_path / "mine.json")
    file = saved(heft(instance), tmp_path / "found.json")
    arguments = ["records", "submit", file, str(tmp_path / "mine.json")]
    assert main([*arguments, "--records", str(archive)]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("no set has this instance")
    assert json.loads(out[1])["order"] == [0, 1]
    assert [path.name for path in archive.iterdir()] == ["paper.json"]


def test_a_schedule_that_breaks_a_rule_is_refused(
    archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = heft(suites.instance("paper", "Hsu"))
    early = Schedule(good.processor, good.start / 2, good.finish / 2, algorithm="fast")
    file = saved(early, tmp_path / "found.json")
    arguments = ["records", "submit", file, "suite:paper/Hsu", "--records", str(archive)]
    before = (archive / "paper.json").read_text()
    assert main(arguments) == 2
    assert "takes" in capsys.readouterr().err
    assert (archive / "paper.json").read_text() == before


def test_what_another_process_adds_meanwhile_stays(archive: Path, tmp_path: Path) -> None:
    """It waits for the other one, and reads what that has written."""
    schedule = saved(heft(suites.instance("paper", "Hsu")), tmp_path / "heft.json")
    arguments = ["records", "submit", schedule, "suite:paper/Hsu", "--records", str(archive)]
    other = suites.instance("paper", "Ahmad")
    entry = make_entry("Ahmad", other, heft(other), date="2026-01-01")
    submit = threading.Thread(target=main, args=[arguments])
    with records.alone_in(archive):
        submit.start()
        submit.join(0.3)
        assert submit.is_alive()
        there = records.read_set(archive / "paper.json")
        records.write_set(archive, replace(there, entries={**there.entries, "Ahmad": entry}))
    submit.join()
    found = records.read_set(archive / "paper.json").entries
    assert found["Ahmad"] == entry
    assert found["Hsu"].solver == "heft"

"""The archive: schedules in two lists, entries, files of sets, and that all on record is true."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagsched_env import Instance, io, records, suites
from dagsched_env.cli import main
from dagsched_env.problem.errors import DAGSchedError, FormatError, InvalidScheduleError
from dagsched_env.problem.schedule import Schedule
from dagsched_env.problem.simulator import State
from dagsched_env.records import Entry, RecordSet, decode, make_entry, order_of, wrong_with
from dagsched_env.schedulers import heft, min_min
from helpers import ROOT
from helpers.strategies import instances, released, sharing_instances

ARCHIVE = ROOT / "docs" / "records"
COMPLETE = ("dagbench", "heldout", "paper", "resources", "structured", "test", "workflows")
"""Suites of which every instance is on record."""
DAY = "2026-11-28"


def entry_of(instance: Instance, schedule: Schedule | None = None, **more: Any) -> Entry:
    found = heft(instance) if schedule is None else schedule
    return make_entry(more.pop("name", "a"), instance, found, date=DAY, **more)


def hsu() -> Instance:
    return suites.instance("paper", "Hsu")


# -- schedules in two lists ----------------------------------------------------------------------


def placed_at_random(instance: Instance, seed: int) -> Schedule:
    """A valid schedule with gaps: tasks in a random order, some of them inserted before others."""
    rng = np.random.default_rng(seed)
    state = State(instance)
    while not state.terminal:
        task = int(rng.choice(state.ready()))
        state.apply(task, int(rng.choice(np.flatnonzero(np.isfinite(instance.comp[task])))))
    return state.schedule(algorithm="random")


@given(
    instance=st.one_of(
        instances(), sharing_instances(), released(instances()), released(sharing_instances())
    ),
    seed=st.integers(0, 2**32 - 1),
)
def test_a_schedule_comes_back_valid_and_no_longer(instance: Instance, seed: int) -> None:
    schedule = placed_at_random(instance, seed)
    order = order_of(instance, schedule)
    again = decode(instance, order, schedule.processor.tolist())
    again.validate(instance)
    assert again.makespan <= schedule.makespan * (1 + 1e-9)
    assert (again.processor == schedule.processor).all()
    # What came back has that order, too: an entry of an entry is the same.
    assert decode(instance, order_of(instance, again), again.processor.tolist()) == again


@given(instance=instances(), seed=st.integers(0, 2**32 - 1))
def test_tasks_follow_each_other_as_early_as_they_can(instance: Instance, seed: int) -> None:
    schedule = placed_at_random(instance, seed)
    order = order_of(instance, schedule)
    again = decode(instance, order, schedule.processor.tolist())
    free = [0.0] * instance.n_processors
    finish: dict[int, float] = {}
    for t in order:
        q = int(schedule.processor[t])
        start = free[q]
        for (u, v), data in zip(instance.edges.tolist(), instance.data.tolist(), strict=True):
            if v == t:
                a = int(schedule.processor[u])
                link = instance.latency[a, q] + data * instance.inv_bandwidth[a, q]
                start = max(start, finish[u] + (link if a != q else 0.0))
        assert again.start[t] == start
        free[q] = finish[t] = start + float(instance.comp[t, q])


def test_a_task_without_duration_just_after_its_successor_keeps_its_place() -> None:
    """Rounding may put it there; sorted by starts alone it would come too late."""
    instance = Instance([[0.0, 0.0], [2.0, 2.0]], [(0, 1)], [0.0])
    schedule = Schedule([0, 1], [1e-12, 0.0], [1e-12, 2.0])
    schedule.validate(instance)
    assert order_of(instance, schedule) == (0, 1)


@pytest.mark.parametrize(
    ("order", "processor", "message"),
    [
        ((0, 1, 1), (0, 0, 0), "order does not have each of the 3 tasks once"),
        ((0, 1), (0, 0, 0), "order does not have each of the 3 tasks once"),
        ((0, 2, 1), (0, 0, 0), "task 2 is before its predecessor 1 in the order"),
        ((0, 1, 2), (0, 0), "processor has 2 entries for 3 tasks"),
        ((0, 1, 2), (0, 2, 0), "task 1 is on processor 2, which there is not"),
        ((0, 1, 2), (0, -1, 0), "task 1 is on processor -1, which there is not"),
        ((0, 1, 2), (1, 0, 0), "task 0 may not run on processor 1"),
    ],
)
def test_lists_that_are_no_schedule(
    order: tuple[int, ...], processor: tuple[int, ...], message: str
) -> None:
    instance = Instance([[1, np.inf], [1, 1], [1, 1]], [(0, 1), (1, 2)], [1, 1])
    with pytest.raises(InvalidScheduleError, match=re.escape(message)):
        decode(instance, order, processor)


# -- entries -------------------------------------------------------------------------------------


def test_an_entry_says_what_the_schedule_is_worth() -> None:
    entry = entry_of(hsu(), lower_bound=79.5, seconds=0.12345, commit="0123456")
    assert (entry.makespan, entry.lower_bound) == (heft(hsu()).makespan, 79.5)
    assert (entry.solver, entry.seconds, entry.date) == ("heft", 0.123, DAY)
    assert entry.gap == (entry.makespan - 79.5) / entry.makespan
    assert not entry.optimal
    assert wrong_with(entry, hsu()) is None


def test_a_schedule_below_a_bound_is_refused() -> None:
    with pytest.raises(InvalidScheduleError, match="the lower bound says that none ends before"):
        entry_of(hsu(), lower_bound=1e6)


def test_a_schedule_without_a_finder_is_refused() -> None:
    nameless = replace(heft(hsu()), algorithm=None)
    with pytest.raises(DAGSchedError, match="name the solver"):
        entry_of(hsu(), nameless)
    assert entry_of(hsu(), nameless, solver="mine").solver == "mine"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"makespan": 79.0}, "the entry says 79.0"),
        ({"fingerprint": "0"}, "the instance has another fingerprint"),
        ({"lower_bound": 1e3}, "the lower bound 1000.0 is above the makespan"),
        ({"order": tuple(range(9, -1, -1))}, "is before its predecessor"),
        ({"processor": (0,) * 10}, "the schedule ends at"),
    ],
)
def test_what_is_wrong_is_found(changes: dict[str, Any], message: str) -> None:
    found = wrong_with(replace(entry_of(hsu()), **changes), hsu())
    assert found is not None
    assert message in found


def test_the_shorter_schedule_and_the_higher_bound_are_kept() -> None:
    instance = hsu()
    long, short = sorted((entry_of(instance), entry_of(instance, min_min(instance))), key=worst)
    assert long.makespan > short.makespan
    raised = replace(long, lower_bound=short.lower_bound + 1)
    assert records.better_of(raised, short) == replace(short, lower_bound=raised.lower_bound)
    assert records.better_of(short, raised) == replace(short, lower_bound=raised.lower_bound)
    later = replace(raised, published=short.makespan - 1)
    assert records.better_of(short, later).published == short.makespan - 1
    assert records.better_of(later, short).published == short.makespan - 1
    twin = replace(short, solver="another", date="2027-01-01")
    assert records.better_of(short, twin) == short
    with pytest.raises(InvalidScheduleError, match="a: a schedule ends at"):
        records.better_of(short, replace(long, lower_bound=long.makespan))


def worst(entry: Entry) -> float:
    return -entry.makespan


# -- files ---------------------------------------------------------------------------------------


def paper(folder: Path, **more: Any) -> RecordSet:
    """HEFT's schedules of three graphs of papers, as a file."""
    names = ("Hsu", "Kuan", "Topcuoglu2002")
    found = {name: entry_of(suites.instance("paper", name), name=name, **more) for name in names}
    made = RecordSet("paper", "a suite", found)
    records.write_set(folder, made)
    return made


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    made = paper(tmp_path, lower_bound=0.1 + 0.2, seconds=1.5, published=70.0)
    assert records.read_folder(tmp_path) == [made]
    text = (tmp_path / "paper.json").read_text()
    assert len(text.splitlines()) == len(made.entries) + 8, "an entry is a line"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda r: r.update(version=2), '"version": 1 is missing'),
        (lambda r: r.update(set="test"), "the set is 'test': its file is called test.json"),
        (lambda r: r["entries"].append(r["entries"][0]), "entries[3]: 'Hsu' is there twice"),
        (lambda r: r["entries"][1].pop("order"), "entries[1] has no key 'order'"),
        (lambda r: r["entries"][1].update(order=[1.0]), "entries[1].order is not a list of whole"),
        (lambda r: r["entries"][1].update(machines=0), "entries[1].machines is 0: give a whole"),
        (lambda r: r["entries"][1]["processor"].append(2**70), "entries[1].processor is not a"),
        (lambda r: r["entries"][1].update(how="luck"), "entries[1] has a key that no entry has"),
        (lambda r: r["entries"][1].update(date="28.11.26"), "entries[1].date is '28.11.26'"),
        (lambda r: r["entries"][1].update(commit="HEAD"), "entries[1].commit is 'HEAD'"),
        (lambda r: r["entries"][1].update(makespan="1"), "entries[1].makespan is str"),
        (lambda r: r["entries"][1].update(published="1"), "entries[1].published is str"),
    ],
)
def test_files_are_read_strictly(
    damage: Callable[[dict[str, Any]], object], message: str, tmp_path: Path
) -> None:
    paper(tmp_path)
    path = tmp_path / "paper.json"
    record = json.loads(path.read_text())
    damage(record)
    path.write_text(json.dumps(record))
    with pytest.raises(FormatError, match=re.escape(message)) as caught:
        records.read_set(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_a_folder_without_records(tmp_path: Path) -> None:
    with pytest.raises(DAGSchedError, match="there are no records"):
        records.read_folder(tmp_path)


def test_every_wrong_entry_is_named(tmp_path: Path) -> None:
    made = paper(tmp_path)
    lying = replace(made.entries["Kuan"], makespan=1.0, lower_bound=0.0)
    stranger = replace(made.entries["Hsu"], name="nobody")
    entries = {**made.entries, "Kuan": lying, "nobody": stranger}
    records.write_set(tmp_path, RecordSet("paper", "a suite", entries))
    (verdict,) = records.verify_folder(tmp_path)
    assert set(verdict.wrong) == {"Kuan", "nobody"}
    assert verdict.wrong["nobody"] == "there is no instance of this name that can be read"


def test_a_file_that_is_no_set_is_wrong_and_the_others_are_checked(tmp_path: Path) -> None:
    made = paper(tmp_path)
    wrong = replace(made.entries["Kuan"], machines=99)
    records.write_set(tmp_path, RecordSet("paper", "a suite", {**made.entries, "Kuan": wrong}))
    (tmp_path / "broken.json").write_text('{"format": "dagsched-records"}')
    first, second = records.verify_folder(tmp_path)
    assert first.records.name == "broken"
    assert "version" in first.wrong["the file"]
    assert "machines, the entry says 99" in second.wrong["Kuan"]
    assert len(second.wrong) == 1
    assert main(["records", "verify", str(tmp_path)]) == 1


def test_instances_of_files_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    """As the flexible job shops of Hurink: two folders have a file of one name."""
    entries = {}
    for folder, time_on_1 in (("edata", 7), ("vdata", 3)):
        path = tmp_path / "files" / folder / "la01.txt"
        path.parent.mkdir(parents=True)
        path.write_text(f"1 2\n1 2 1 5 2 {time_on_1}\n")
        name = f"la01_{folder}"
        entries[name] = entry_of(io.load(path), name=name)
    (tmp_path / "files" / "la01_edata.json").write_text('{"jobs": 1}')  # of no format that is read
    records.write_set(tmp_path, RecordSet("fjsp", "elsewhere", entries))
    (unchecked,) = records.verify_folder(tmp_path)
    assert not unchecked.checked
    (verdict,) = records.verify_folder(tmp_path, tmp_path / "files")
    assert verdict.checked
    assert verdict.wrong == {}
    with pytest.raises(DAGSchedError, match="there is no such folder of instances"):
        list(records.verify_folder(tmp_path, tmp_path / "elsewhere"))


# -- the archive itself --------------------------------------------------------------------------


def test_all_records_of_suites_are_true() -> None:
    verdicts = {verdict.records.name: verdict for verdict in records.verify_folder(ARCHIVE)}
    wrong = {name: verdict.wrong for name, verdict in verdicts.items() if verdict.wrong}
    assert wrong == {}
    assert all(verdicts[name].checked for name in COMPLETE)
    for name in COMPLETE:
        assert set(verdicts[name].records.entries) == set(suites.names(name))


def test_bounds_on_record_are_not_above_known_makespans() -> None:
    for found in records.read_folder(ARCHIVE):
        for name, entry in found.entries.items():
            if entry.published is not None:
                assert entry.lower_bound <= entry.published * (1 + 1e-6), name

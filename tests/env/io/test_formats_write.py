"""Writing every format: exact round trips, loud refusals, files whole or not at all."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dagsched_env import Instance, Schedule, io
from dagsched_env.problem.errors import DAGSchedError, FormatError, InvalidScheduleError
from dagsched_env.schedulers import heft
from helpers.strategies import instances

EXACT = ("csv", "dot", "graphml", "json", "wfformat")
WRITTEN = (*EXACT, "chrome_trace")
REFUSED = {"csv": "\ufeff", "dot": "\\", "graphml": "", "json": None, "wfformat": None}
"""Characters that a name may not have, besides control characters; None = it may have all."""


def plain(refused):
    kept = st.characters(
        exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff" + refused
    )
    return st.text(kept, max_size=5)


@st.composite
def named_instances(draw, names):
    """Any instance, with names of any text that the format can carry."""
    instance = draw(instances(max_tasks=6, max_processors=3))
    n, p = instance.n_tasks, instance.n_processors
    return Instance(
        instance.comp,
        instance.edges,
        instance.data,
        inv_bandwidth=instance.inv_bandwidth,
        latency=instance.latency,
        task_names=draw(st.none() | st.lists(names, min_size=n, max_size=n, unique=True)),
        processor_names=draw(st.none() | st.lists(names, min_size=p, max_size=p, unique=True)),
        name=draw(st.none() | names.filter(bool)),
        **draw(resources(n, p, names)),
    )


@st.composite
def resources(draw, n, p, names):
    """Demands that fit on every processor, and names of any text; or nothing."""
    k = draw(st.integers(0, 3))
    if k == 0:
        return {}
    demands = draw(hnp.arrays(np.float64, (n, k), elements=st.sampled_from([0, 0.1, 1, 1.5, 8e9])))
    spare = draw(hnp.arrays(np.float64, (p, k), elements=st.sampled_from([0, 0.1, 2, np.inf])))
    return {
        "demands": demands,
        "capacities": demands.max(axis=0) + spare,
        "resource_names": draw(st.none() | st.lists(names, min_size=k, max_size=k, unique=True)),
    }


@pytest.fixture
def instance():
    return Instance(
        [[1, np.inf], [0.1, 3], [2, 2]],
        [(0, 2), (0, 1)],
        [1 / 3, 0],
        inv_bandwidth=[[0, 2], [3, 0]],
        latency=[[0, 0.5], [0.25, 0]],
        task_names=["α", 'b "b"', " c "],
        name="small",
    )


def target(folder, format):
    """By its suffix of the format, but for CSV, which is a folder."""
    return folder / ("saved" if format == "csv" else f"saved{io.FORMATS[format].suffixes[0]}")


def put(instance, folder, format, schedule=None):
    named = "csv" if format == "csv" else None
    io.save(instance, target(folder, format), format=named, schedule=schedule)


def save(instance, folder, format):
    put(instance, folder, format, heft(instance) if io.FORMATS[format].schedule != "none" else None)


# -- round trips -------------------------------------------------------------------------------


@pytest.mark.parametrize("format", EXACT)
def test_round_trip_is_exact(format, tmp_path_factory):
    refused = REFUSED[format]
    folder = tmp_path_factory.mktemp(format)

    @given(named_instances(st.text(max_size=5) if refused is None else plain(refused)))
    def check(instance):
        put(instance, folder, format)
        again = io.load(target(folder, format))
        assert again == instance
        assert again.fingerprint == instance.fingerprint
        assert os.listdir(folder) == [target(folder, format).name]

    check()


@pytest.mark.parametrize("format", WRITTEN)
def test_any_name_is_read_back_or_refused_with_nothing_written(format, tmp_path_factory):
    folder = tmp_path_factory.mktemp(format)
    any_text = st.text(st.characters(), max_size=5)  # surrogates, too
    any_text |= st.builds("\ufeff{}".format, any_text)  # what begins like a marked file

    @given(named_instances(any_text))
    def check(instance):
        place, refusal = target(folder, format), None
        try:
            save(instance, folder, format)
        except DAGSchedError as error:
            refusal = str(error)
        if refusal is not None:
            assert "\n" not in refusal
            assert not place.exists()
            return
        if format in EXACT:
            assert io.load(place) == instance
        shutil.rmtree(place) if place.is_dir() else place.unlink()

    check()


@pytest.mark.parametrize("format", EXACT)
def test_a_schedule_does_not_change_what_is_read_back(tmp_path, format, instance):
    save(instance, tmp_path, format)
    assert io.load(target(tmp_path, format)) == instance


@pytest.mark.parametrize("format", EXACT)
def test_extreme_numbers_survive(tmp_path, format):
    instance = Instance(
        [[5e-324, 1e300], [0.1 + 0.2, np.inf]],
        [(1, 0)],
        [1e-300],
        inv_bandwidth=[[0, 5e-324], [1e100, 0]],
        latency=[[0, 1e250], [2.5e-310, 0]],
    )
    put(instance, tmp_path, format)
    assert io.load(target(tmp_path, format)) == instance


def test_format_overrides_the_suffix(tmp_path, instance):
    io.save(instance, tmp_path / "a.txt", format="graphml")
    assert io.load(tmp_path / "a.txt") == instance
    io.save(instance, tmp_path / "a.json", format="wfformat")
    assert io.load(tmp_path / "a.json") == instance
    io.save(instance, tmp_path / "folder", format="csv")
    assert io.load(tmp_path / "folder") == instance


def test_saving_again_replaces(tmp_path, instance):
    for format in EXACT:
        save(instance, tmp_path, format)
        smaller = Instance([[1.0]], [], [])
        put(smaller, tmp_path, format)
        assert io.load(target(tmp_path, format)) == smaller
    assert len(os.listdir(tmp_path)) == len(EXACT)


# -- what other programs see -------------------------------------------------------------------


def test_wfformat_has_the_graph_mean_runtimes_and_whole_sizes(tmp_path, instance):
    io.save(instance, tmp_path / "a.wfformat.json")
    record = json.loads((tmp_path / "a.wfformat.json").read_text())
    assert record["schemaVersion"] == "1.5"
    specification = record["workflow"]["specification"]
    assert [task["id"] for task in specification["tasks"]] == ["t0", "t1", "t2"]
    assert [task["name"] for task in specification["tasks"]] == list(instance.task_names)
    assert specification["tasks"][0]["children"] == ["t2", "t1"]
    assert specification["tasks"][2]["parents"] == ["t0"]
    sizes = [file["sizeInBytes"] for file in specification["files"]]
    assert sizes == [1 / 3, 0]
    assert isinstance(sizes[1], int)
    runtimes = [task["runtimeInSeconds"] for task in record["workflow"]["execution"]["tasks"]]
    assert runtimes == [1, 1.55, 2]


def test_wfformat_without_our_key_is_a_workflow(tmp_path, instance):
    io.save(instance, tmp_path / "a.wfformat.json")
    record = json.loads((tmp_path / "a.wfformat.json").read_text())
    del record["dagsched"]
    (tmp_path / "a.json").write_text(json.dumps(record))
    again = io.load(tmp_path / "a.json", platform=io.Platform([1], 1))
    assert again.comp.ravel().tolist() == [1, 1.55, 2]
    assert sorted(zip(again.edges.tolist(), again.data.tolist(), strict=True)) == [
        ([0, 1], 0),
        ([0, 2], 1 / 3),
    ]


def test_wfformat_changed_after_it_was_written_is_refused(tmp_path, instance):
    io.save(instance, tmp_path / "a.wfformat.json")
    record = json.loads((tmp_path / "a.wfformat.json").read_text())
    record["workflow"]["execution"]["tasks"][0]["runtimeInSeconds"] = 7
    (tmp_path / "a.json").write_text(json.dumps(record))
    with pytest.raises(FormatError, match="'dagsched' is not the instance of this workflow"):
        io.load(tmp_path / "a.json")


def test_networkx_reads_our_graphml(tmp_path, instance):
    save(instance, tmp_path, "graphml")
    graph = nx.read_graphml(tmp_path / "saved.graphml")
    assert list(graph.nodes) == list(instance.task_names)
    assert graph.nodes["α"]["comp"] == "1 inf"
    assert graph.edges["α", " c "]["data"] == 1 / 3
    assert graph.nodes["α"]["processor"] == "P0"
    assert graph.graph["name"] == "small"


def test_dot_shows_the_placement(topcuoglu, tmp_path):
    io.save(topcuoglu, tmp_path / "a.dot", schedule=heft(topcuoglu))
    text = (tmp_path / "a.dot").read_text()
    assert '"0" [comp="14 16 9", processor="P2", start="0", finish="9",' in text
    assert '"9" [comp="21 7 16", processor="P1", start="73", finish="80",' in text
    assert '"0" -> "1" [data="18"];' in text


def test_chrome_trace_of_the_published_schedule(topcuoglu, tmp_path):
    io.save(topcuoglu, tmp_path / "a.trace.json", schedule=heft(topcuoglu))
    record = json.loads((tmp_path / "a.trace.json").read_text())
    events = record["traceEvents"]
    rows = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert rows == {0: "P0", 1: "P1", 2: "P2"}
    slices = {e["name"]: e for e in events if e["ph"] == "X"}
    assert (slices["9"]["tid"], slices["9"]["ts"], slices["9"]["dur"]) == (1, 73e6, 7e6)
    sent = {e["id"]: e for e in events if e["ph"] == "s"}
    used = {e["id"]: e for e in events if e["ph"] == "f"}
    placed = heft(topcuoglu).processor
    apart = [e for e, (u, v) in enumerate(topcuoglu.edges) if placed[u] != placed[v]]
    assert sorted(sent) == sorted(used) == apart
    for e in apart:
        assert used[e]["ts"] - sent[e]["ts"] >= topcuoglu.data[e] * 1e6
    other = record["otherData"]
    assert (other["algorithm"], other["makespan"]) == ("heft", 80.0)
    assert other["edges"][:2] == [[0, 1, 18.0], [0, 2, 12.0]]


def test_csv_tables(topcuoglu, tmp_path):
    io.save(topcuoglu, tmp_path / "a", format="csv", schedule=heft(topcuoglu))
    tables = {path.name: path.read_text().splitlines() for path in (tmp_path / "a").iterdir()}
    assert sorted(tables) == [
        "bandwidth.csv",
        "communication.csv",
        "computation.csv",
        "schedule.csv",
    ]
    assert tables["computation.csv"][:2] == ["Topcuoglu2002,P0,P1,P2", "0,14,16,9"]
    assert tables["communication.csv"][:2] == ["from,to,data", "0,1,18"]
    assert tables["bandwidth.csv"][1] == "P0,inf,1,1"
    assert tables["schedule.csv"][-1] == "9,P1,73,80"


# -- refusals ----------------------------------------------------------------------------------


@pytest.mark.parametrize("format", ["csv", "dot", "graphml"])
@pytest.mark.parametrize("name", ["a\nb", "a\x00b", "\ud800", "\x85", "\uffff"])
def test_names_that_a_format_cannot_carry_are_refused(tmp_path, format, name):
    wrong = [
        Instance([[1.0]], [], [], task_names=[name]),
        Instance([[1.0]], [], [], processor_names=[name]),
        Instance([[1.0]], [], [], name=name),
    ]
    for instance in wrong:
        with pytest.raises(DAGSchedError, match="cannot carry the name"):
            put(instance, tmp_path, format)
    assert os.listdir(tmp_path) == []


def test_dot_refuses_backslashes_and_csv_an_empty_label(tmp_path):
    with pytest.raises(DAGSchedError, match="DOT cannot carry the name"):
        io.save(Instance([[1.0]], [], [], task_names=["\\"]), tmp_path / "a.dot")
    with pytest.raises(DAGSchedError, match="empty name"):
        io.save(Instance([[1.0]], [], [], name=""), tmp_path / "a", format="csv")
    assert os.listdir(tmp_path) == []


def test_more_processors_than_are_read_are_not_written(tmp_path, instance, monkeypatch):
    monkeypatch.setattr(io, "MOST_PROCESSORS", 1)
    with pytest.raises(DAGSchedError, match="more than 1 processors"):
        io.save(instance, tmp_path / "a.json")
    assert os.listdir(tmp_path) == []


def test_a_schedule_is_written_where_it_has_a_place(tmp_path, instance):
    schedule = heft(instance)
    for format in ("json", "wfformat"):
        with pytest.raises(DAGSchedError, match="no place for a schedule"):
            io.save(instance, target(tmp_path, format), schedule=schedule)
    with pytest.raises(DAGSchedError, match="pass one"):
        io.save(instance, tmp_path / "a.trace.json")
    wrong = Schedule([0, 0, 0], [0, 0, 0], [1, 0.1, 2])
    with pytest.raises(InvalidScheduleError, match=r"a\.dot: tasks 1 .* and 0 .* overlap"):
        io.save(instance, tmp_path / "a.dot", schedule=wrong)
    huge = Instance([[1e305]], [], [])
    with pytest.raises(DAGSchedError, match="larger unit"):
        io.save(huge, tmp_path / "a.trace.json", schedule=Schedule([0], [0.0], [1e305]))
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "format", "message"),
    [
        ("a.stg", None, "STG is only read: name a format of .*graphml"),
        ("a.xyz", None, "unknown suffix: name a format of"),
        ("a.json", "yaml", "no format 'yaml': there are chrome_trace, csv, dot, graphml, json"),
        ("a.json", "fjsp", "flexible job shop is only read"),
        ("a.csv", None, r"a\.csv: an instance as CSV is a folder of tables, .* --to csv"),
        ("a.CSV", "csv", 'no single file: name a folder, .* format="csv"'),
    ],
)
def test_formats_that_are_not_written(tmp_path, instance, name, format, message):
    with pytest.raises(DAGSchedError, match=message):
        io.save(instance, tmp_path / name, format=format)
    assert os.listdir(tmp_path) == []


# -- whole or not at all -----------------------------------------------------------------------


def snapshot(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("format", WRITTEN)
@pytest.mark.parametrize("call", ["fsync", "replace", "rename"])
@pytest.mark.parametrize("failure", [KeyboardInterrupt(), OSError(errno.ENOSPC, "disk full")])
def test_an_interrupted_save_keeps_the_old(tmp_path, instance, monkeypatch, format, call, failure):
    save(instance, tmp_path, format)
    before = snapshot(tmp_path)
    used = {"fsync": True, "replace": format != "csv", "rename": format == "csv"}[call]

    def fail(*_):
        raise failure

    with monkeypatch.context() as patch:
        patch.setattr(os, call, fail)
        if used:
            with pytest.raises(type(failure)):
                save(Instance([[1.0]], [], []), tmp_path, format)
            assert snapshot(tmp_path) == before
    assert os.listdir(tmp_path) == [target(tmp_path, format).name]


def test_a_directory_survives_when_its_replacement_cannot_take_its_place(
    tmp_path, instance, monkeypatch
):
    save(instance, tmp_path, "csv")
    before = snapshot(tmp_path)
    rename, calls = os.rename, []

    def fail_the_second(source, target):
        calls.append(source)
        if len(calls) == 2:
            raise OSError(errno.EIO, "broken disk")
        rename(source, target)

    monkeypatch.setattr(os, "rename", fail_the_second)
    with pytest.raises(OSError, match="broken disk") as caught:
        save(Instance([[1.0]], [], []), tmp_path, "csv")
    assert caught.value.filename == str(tmp_path / "saved")
    assert len(calls) == 3
    assert snapshot(tmp_path) == before


def test_a_directory_of_something_else_is_left_alone(tmp_path, instance):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(DAGSchedError, match=r"holds 'notes.txt' too"):
        io.save(instance, tmp_path, format="csv")
    (tmp_path / "a").write_text("a table")
    with pytest.raises(DAGSchedError, match="not a directory"):
        io.save(instance, tmp_path / "a", format="csv")
    assert sorted(os.listdir(tmp_path)) == ["a", "notes.txt"]


def test_a_directory_with_the_suffix_of_a_file_is_still_read(tmp_path, instance):
    save(instance, tmp_path, "csv")
    (tmp_path / "saved").rename(tmp_path / "old.csv")
    assert io.load(tmp_path / "old.csv") == instance


KILLED = """
import os, signal, sys
import numpy as np
from dagsched_env import Instance, io
n = 20000
comp = np.ones((n, 2))
edges = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
instance = Instance(comp, edges, np.ones(n - 1))
calls = []
fsync = os.fsync
def killing(descriptor):
    calls.append(descriptor)
    os.kill(os.getpid(), signal.SIGKILL)
os.fsync = killing
io.save(instance, sys.argv[1], format=sys.argv[2])
"""


@pytest.mark.parametrize("format", ["dot", "csv"])
def test_a_killed_save_leaves_the_old_whole(tmp_path, instance, format):
    """One format of a single file and the one of a directory; the others share their code."""
    put(instance, tmp_path, format)
    command = [sys.executable, "-c", KILLED, str(target(tmp_path, format)), format]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert io.load(target(tmp_path, format)) == instance

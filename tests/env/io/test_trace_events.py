"""Traces of Chrome and Perfetto: of this package, of torch.profiler, and small ones."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from dagsched_env import io
from dagsched_env.io import chrome_trace, trace_events
from dagsched_env.problem.errors import FormatError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.run import Run
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers import heft
from helpers.strategies import instances


def read(*events: dict[str, Any]) -> Run:
    """A trace of these events, as text, too."""
    return trace_events.parse(json.loads(json.dumps(events)), name="small")


def piece(name: str, ts: float, dur: float, pid: int = 1, tid: int = 1) -> dict[str, Any]:
    return {"name": name, "ph": "X", "ts": ts, "dur": dur, "pid": pid, "tid": tid}


def flow(
    ph: str, ts: float, pid: int = 1, tid: int = 1, id: int = 1, **more: Any
) -> dict[str, Any]:
    place = {"pid": pid, "tid": tid, "id": id, "cat": "c", "name": "n"}
    return {"ph": ph, "ts": ts, **place, **more}


def edges(run: Run) -> set[tuple[str, str]]:
    return {(run.workflow.tasks[u], run.workflow.tasks[v]) for u, v in run.workflow.edges}


# -- traces of this package ----------------------------------------------------------------------


@given(instances())
def test_what_we_write_is_a_run(instance: Instance) -> None:
    schedule = heft(instance)
    run = trace_events.parse(json.loads(chrome_trace.dump(instance, schedule)), name=None)
    assert run.workflow.tasks == instance.task_names
    assert run.workflow.edges == tuple(map(tuple, instance.edges.tolist()))
    assert run.workflow.data.tolist() == instance.data.tolist()
    assert run.machine.tolist() == schedule.processor.tolist()
    np.testing.assert_allclose(run.start, schedule.start)
    np.testing.assert_allclose(run.finish, schedule.finish)
    assert (run.tool, list(run.machines.processor_names)) == (
        "heft",
        list(instance.processor_names),
    )


def test_resources_and_links_are_read_back(tmp_path: Path) -> None:
    instance = Instance(
        np.ones((3, 2)) * [[2.0], [3.0], [1.0]],
        [(0, 2)],
        [6.0],
        inv_bandwidth=[[0, 0.5], [0.25, 0]],
        latency=[[0, 1], [2, 0]],
        processor_names=["A", "B"],
        name="night",
        demands=[[1, 0.5], [2, 0], [1, 4]],
        capacities=[[4, np.inf], [3, np.inf]],
        resource_names=["cores", "licence"],
    )
    schedule = Schedule([0, 0, 1], [0, 0, 6], [2, 3, 7], algorithm="mine")
    io.save(instance, tmp_path / "night.trace.json", schedule=schedule)
    run = io.read_run(tmp_path / "night.trace.json")
    assert run.workflow.name == "night"
    assert run.machines.bandwidths[0, 1] == 2
    assert run.machines.latency[1, 0] == 2
    assert run.machines.capacities["cores"].tolist() == [4, 3]
    assert run.workflow.recorded("licence").tolist() == [0.5, 0, 4]
    assert run.schedule() == schedule
    again = io.load(tmp_path / "night.trace.json")
    schedule.validate(again)
    assert again.data.tolist() == [6]
    (tmp_path / "other.json").write_bytes((tmp_path / "night.trace.json").read_bytes())
    assert io.load(tmp_path / "other.json") == again  # by its content


def test_machines_without_cores_are_read_back(tmp_path: Path) -> None:
    """Any number of tasks may run there, as long as they have what else they use."""
    project, trace = io.load(Path("tests/data/formats/project.sm")), tmp_path / "p.trace.json"
    schedule = heft(project)
    io.save(project, trace, schedule=schedule)
    again = io.load(trace)
    assert again.resource_names == project.resource_names
    assert again.capacities.tolist() == project.capacities.tolist()
    schedule.validate(again)
    run = io.read_run(trace)
    io.save_run(run, tmp_path / "run.json")
    assert io.read_run(tmp_path / "run.json").schedule() == schedule


def test_what_a_trace_has_no_place_for_is_remarked() -> None:
    for comp, release, remarks in (
        ([[1.0, 9.0]], None, (trace_events.ELSEWHERE,)),
        ([[1.0, 1.0]], None, ()),
        ([[1.0, 1.0]], [5.0], (trace_events.RELEASED,)),
    ):
        instance = Instance(comp, [], [], release=release)
        text = chrome_trace.dump(instance, heft(instance))
        assert trace_events.parse(json.loads(text), name=None).remarks == remarks


def test_a_list_without_its_end_is_read(tmp_path: Path) -> None:
    events = [piece("a", 0, 5), flow("s", 4), flow("f", 6), piece("b", 6, 3)]
    for end in ("", ",\n"):
        (tmp_path / "cut.json").write_text(json.dumps(events).removesuffix("]") + end)
        assert io.read_run(tmp_path / "cut.json").workflow.tasks == ("a", "b")


def test_many_processors_are_not_read_back(tmp_path: Path) -> None:
    instance = Instance(np.ones((1, 257)), [], [])
    io.save(instance, tmp_path / "a.trace.json", schedule=heft(instance))
    with pytest.raises(FormatError, match=r"a\.trace\.json: .* without all its edges"):
        io.read_run(tmp_path / "a.trace.json")


# -- a trace of another tool ---------------------------------------------------------------------


def test_a_trace_of_torch(tmp_path: Path) -> None:
    """The profiler joins operations with what computes their gradients."""
    torch = pytest.importorskip("torch")
    layer = torch.nn.Linear(8, 8)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        layer(torch.ones(2, 8)).relu().sum().backward()
    profiler.export_chrome_trace(str(tmp_path / "torch.json"))
    run = io.read_run(tmp_path / "torch.json")
    ends = {(u, v.partition(": ")[2]) for u, v in edges(run)}
    assert {("aten::linear", "AddmmBackward0"), ("aten::relu", "ReluBackward0")} <= ends
    assert run.workflow.kinds is not None
    assert "aten::linear" in run.workflow.kinds
    assert "aten::addmm" not in run.workflow.kinds  # a part of it
    assert any("count as parts of them" in remark for remark in run.remarks)
    assert any("last as long as all others" in remark for remark in run.remarks)
    assert 0 < run.makespan < 60
    for u, v in run.workflow.edges:
        assert run.start[u] < run.start[v]


# -- small ones ----------------------------------------------------------------------------------


def test_flows_join_the_outermost_events_of_their_lanes() -> None:
    run = read(
        {"name": "process_name", "ph": "M", "pid": 1, "args": {"name": "node"}},
        piece("make", 100, 50),
        piece("part", 110, 10),
        piece("use", 200, 30, 1, 2),
        piece("make", 300, 10, 2, 1),
        piece("last", 400, 10),
        {"name": "counter", "ph": "C", "ts": 0, "pid": 1, "args": {"x": 1}},
        flow("s", 115),
        flow("t", 205, 1, 2),
        flow("f", 405, bp="e"),
        flow("s", 305, 2, id=2),
        flow("f", 390, id=2),  # the next one
        {},
    )
    assert run.workflow.tasks == ("make", "use", "make #2", "last")
    assert run.workflow.kinds == ("make", "use", "make", "last")
    assert edges(run) == {("make", "use"), ("use", "last"), ("make #2", "last")}
    assert run.start.tolist() == [0, 1e-4, 2e-4, 3e-4]
    assert run.machine.tolist() == [0, 0, 1, 0]
    assert list(run.machines.processor_names) == ["node", "2"]
    assert run.machines.capacities["cores"].tolist() == [2, 1]
    assert not run.workflow.says_data
    assert run.remarks == ("1 events lie within others of their lane, and count as parts of them",)


def test_begin_and_end_are_one_event() -> None:
    run = read(
        {"name": "a", "ph": "B", "ts": 0, "pid": "p", "tid": "x"},
        {"name": "inner", "ph": "B", "ts": 1, "pid": "p", "tid": "x"},
        {"ph": "E", "ts": 2, "pid": "p", "tid": "x"},
        {"ph": "E", "ts": 3, "pid": "p", "tid": "x"},
        {"name": "b", "ph": "X", "ts": 4, "dur": 1, "pid": "p", "tid": "x"},
        {"name": "never", "ph": "B", "ts": 5, "pid": "p", "tid": "x"},
        flow("s", 2, "p", "x"),  # type: ignore[arg-type]
        flow("f", 4, "p", "x"),  # type: ignore[arg-type]
    )
    assert edges(run) == {("a", "b")}
    assert "1 events never ended, and are left out" in run.remarks


def test_flows_as_attributes_of_events() -> None:
    run = read(
        piece("a", 0, 10) | {"bind_id": "0x1", "flow_out": True},
        piece("b", 10, 10) | {"bind_id": "0x1", "flow_in": True, "flow_out": True},
        piece("c", 20, 10) | {"bind_id": "0x1", "flow_in": True},
    )
    assert edges(run) == {("a", "b"), ("b", "c")}


def test_what_flows_cannot_say_is_remarked() -> None:
    run = read(
        piece("a", 0, 10),
        piece("b", 5, 10, 2),
        piece("c", 20, 10),
        flow("s", 4),
        flow("f", 6, 2, bp="e"),  # b begins before a has ended
        flow("s", 25, id=2),
        flow("f", 7, 2, id=2, bp="e"),  # back in time
        flow("s", 15, id=3),  # in no event
        flow("f", 22, id=3, bp="e"),
    )
    assert edges(run) == {("a", "b")}
    assert "1 edges lead to a task that began before the other had ended" in run.remarks
    assert "3 flow events join no event to a later one, and are left out" in run.remarks


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ([piece("a", 0, 1)], "nothing says which of its 1 events waits .* flow events"),
        ([piece("a", 0, 1), flow("s", 0.5)], "join no two events"),
        ([{"ph": "M", "name": "x"}], "no events that last"),
        ([piece("a", 0, -1)], r"traceEvents\[0\].dur is -1"),
        ([piece("a", 0, 1), piece("a", "0", 1)], r"traceEvents\[1\].ts is str"),  # type: ignore[arg-type]
        ([{"ph": "E", "ts": 0}], r"traceEvents\[0\] ends what did not begin"),
        ([{"ph": "B", "ts": 1}, {"ph": "E", "ts": 0}], r"traceEvents\[1\].ts is before"),
        ([piece("a", 0, 1) | {"args": [1]}], r"traceEvents\[0\].args is not an object"),
        ([piece("a", 0, 1), 7], r"traceEvents\[1\] is not an object"),
    ],
)
def test_errors_name_the_event(tmp_path: Path, events: list[Any], message: str) -> None:
    file = tmp_path / "a.json"
    file.write_text(json.dumps(events))
    with pytest.raises(FormatError, match=message):
        io.load(file)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"task": 1', '"task": 0', "two events have the same args.task"),
        ('"task": 1', '"task": 9', "args.task 9, not one from 0 to 1"),
        ("[[0, 1, 2.0]]", "[[0, 2, 2.0]]", r"otherData.edges\[0\] is not"),
        ("[[0, 1, 2.0]]", "{}", "otherData.edges is not a list"),
        ('"tid": 1', '"tid": 2', "a row of none of the 2 machines"),
        ('"tid": 1', '"tid": "x"', "pid and tid of the events"),
    ],
)
def test_errors_of_our_own_traces(tmp_path: Path, old: str, new: str, message: str) -> None:
    instance = Instance(np.ones((2, 2)), [(0, 1)], [2.0])
    schedule = Schedule([0, 1], [0, 3], [1, 4])
    text = chrome_trace.dump(instance, schedule)
    assert old in text
    (tmp_path / "a.trace.json").write_text(text.replace(old, new))
    with pytest.raises(FormatError, match=message):
        io.read_run(tmp_path / "a.trace.json")


def test_a_trace_in_a_folder_of_problems_is_a_picture(tmp_path: Path) -> None:
    instance = Instance(np.ones((1, 1)), [], [])
    io.save(instance, tmp_path / "a.json")
    io.save(instance, tmp_path / "a.trace.json", schedule=heft(instance))
    assert len(io.load_folder(tmp_path)) == 1

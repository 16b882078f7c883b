"""Cores and memory in WfFormat traces: read by version and recorder, said, written."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dagsched_env import Instance, io
from dagsched_env.io import wfformat
from dagsched_env.io.machine_options import MachineOptions
from dagsched_env.problem.errors import FormatError
from dagsched_env.problem.workflow import Workflow

NODES = MachineOptions(nodes=2, cores=4, memory="1GB", bandwidth=1)


def trace(*runs: dict[str, Any], recorder: str = "", version: str = "1.5") -> dict[str, Any]:
    """Independent tasks t0, t1, … with these records of their executions."""
    names = [f"t{i}" for i in range(len(runs))]
    executed = [
        {"id": t, "name": t, "parents": [], "children": [], "runtimeInSeconds": 1, **run}
        for t, run in zip(names, runs, strict=True)
    ]
    listed = [{"id": t, "name": t, "parents": [], "children": []} for t in names]
    workflow: dict[str, Any] = {
        "specification": {"tasks": listed},
        "execution": {"tasks": executed},
    }
    if version == "1.4":
        executed = [{"cores" if k == "coreCount" else k: v for k, v in x.items()} for x in executed]
    return {
        "schemaVersion": version,
        "wms" if version == "1.4" else "runtimeSystem": {"name": recorder, "version": "1"},
        "workflow": {"tasks": executed} if version == "1.4" else workflow,
    }


@pytest.mark.parametrize("version", ["1.4", "1.5", "1.6"])
def test_cores_and_memory_of_executed_tasks(version: str) -> None:
    runs: tuple[dict[str, Any], ...] = (
        {"coreCount": 2, "memoryInBytes": 10},
        {"coreCount": 1.5, "memoryInBytes": None},
        {},
    )
    workflow = wfformat.parse(trace(*runs, version=version))
    assert workflow.resource_names == ("cores", "memory")
    assert workflow.demands is not None
    np.testing.assert_array_equal(
        workflow.demands, [[2, 10], [1.5, np.nan], [np.nan, np.nan]], strict=True
    )
    instance = NODES.equip(workflow)
    assert instance.demands.tolist() == [[2, 10], [1.5, 0], [1, 0]]


def test_0_is_nothing_that_was_recorded() -> None:
    workflow = wfformat.parse(trace({"coreCount": 0, "memoryInBytes": 0}))
    assert np.isnan(workflow.recorded("cores")).all()
    assert np.isnan(workflow.recorded("memory")).all()
    assert NODES.equip(workflow).assumptions[0] == (
        "resources: cores not recorded, taken as 1 each; memory not recorded, taken as none"
    )


@pytest.mark.parametrize(
    ("recorder", "said"),
    [
        ("Pegasus", "cores: those asked for, 1 where none were; memory: the peak of the resident"),
        ("makeflow", "cores: the peak of those that were used; memory: the peak of the resident s"),
        ("Nextflow", "cores: which WfCommons sets to 1 .*; memory: the resident set when sampled"),
        ("mine", "cores: coreCount; memory: the resident set that was measured"),
        ("", "cores: coreCount; memory: the resident set that was measured"),
    ],
)
@pytest.mark.parametrize("version", ["1.4", "1.5"])
def test_what_the_recorder_means_is_said(recorder: str, said: str, version: str) -> None:
    run = {"coreCount": 2, "memoryInBytes": 10}
    workflow = wfformat.parse(trace(run, recorder=recorder, version=version))
    (sentence, *_) = NODES.equip(workflow).assumptions
    assert re.match(f"resources: {said}", sentence)


def test_a_usage_above_the_cores_is_said() -> None:
    runs = ({"avgCPU": 105}, {"avgCPU": 177.5}, {"avgCPU": 177.5, "coreCount": 2})
    workflow = wfformat.parse(trace(*runs))
    assert workflow.note("cores") == "coreCount, though avgCPU of 1 is higher, up to 178 %"
    for usage in (99, -1, None, "200", float("nan"), [200]):
        assert wfformat.parse(trace({"avgCPU": usage})).note("cores") == ""


@pytest.mark.parametrize("value", [-1, "4", 1e200, True, [1]])
@pytest.mark.parametrize("key", ["coreCount", "memoryInBytes"])
def test_what_is_no_amount_names_its_place(key: str, value: Any) -> None:
    with pytest.raises(FormatError, match=rf"workflow.execution.tasks\[1\].{key} is "):
        wfformat.parse(trace({}, {key: value}))
    old = "cores" if key == "coreCount" else key
    with pytest.raises(FormatError, match=rf"workflow.tasks\[1\].{old} is "):
        wfformat.parse(trace({}, {key: value}, version="1.4"))


def test_they_are_written_as_the_schema_has_them(tmp_path: Path) -> None:
    path = tmp_path / "a.wfformat.json"
    instance = Instance(
        [[1.0], [2.0], [3.0]],
        [],
        [],
        demands=[[2, 1e9, 1], [1.5, 0, 0], [0.5, 1.5, 0]],
        capacities=[[4, 2e9, 1]],
        resource_names=["cores", "memory", "gpus"],
    )
    io.save(instance, path)
    record = json.loads(path.read_text())
    runs = record["workflow"]["execution"]["tasks"]
    written = [(run.get("coreCount"), run.get("memoryInBytes")) for run in runs]
    assert written == [(2, 1_000_000_000), (1.5, 0), (None, 1.5)]
    assert all(isinstance(number, int) for number in (*written[0], written[1][1]))
    assert io.load(path) == instance
    del record["dagsched"]
    workflow = wfformat.parse(record)
    np.testing.assert_array_equal(workflow.recorded("cores"), [2, 1.5, np.nan])
    np.testing.assert_array_equal(workflow.recorded("memory"), [1e9, np.nan, 1.5])


@pytest.mark.parametrize("name", io.BUNDLED)
def test_recorded_workflows_on_nodes(name: str) -> None:
    workflow = io.read(name)
    assert isinstance(workflow, Workflow)
    machines = MachineOptions(nodes=2, cores=8, memory="16GB", bandwidth="1Gbit/s")
    instance = machines.equip(workflow)
    assert instance.resource_names == ("cores", "memory")
    assert (instance.demands[:, 0] == 1).all()
    assert any(text.startswith("resources: ") for text in instance.assumptions)

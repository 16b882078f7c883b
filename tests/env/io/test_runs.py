"""Measured runs in the package's own format, and as problems."""

import dataclasses
import json

import numpy as np
import pytest

from dagsched_env import io
from dagsched_env.problem.errors import AssumptionWarning, DAGSchedError, FormatError
from dagsched_env.problem.platforms import Platform
from dagsched_env.problem.run import Run, observed_node
from dagsched_env.problem.workflow import Workflow

NAN = float("nan")


def two_nodes() -> Run:
    """Four tasks; one of them was there already."""
    workflow = Workflow(
        ("cached", "a", "b", "join"),
        np.array([9.0, 2.0, 0.1 + 0.2, 1.0]),
        ((0, 1), (1, 3), (2, 3)),
        np.array([0.0, 1e6, 2e6]),
        name="small",
        kinds=("make", "make", "sort", "join"),
        says_units=True,
        demands=np.array([[NAN, NAN], [2.0, 1e9], [1.0, NAN], [4.0, 2e9]]),
        resource_names=("cores", "memory"),
        resource_notes=("threads of the rule", ""),
    )
    return Run(
        "snakemake",
        workflow,
        np.array([NAN, 0.0, 0.0, 2.5]),
        np.array([NAN, 2.0, 0.1 + 0.2, 3.5]),
        np.array([-1, 0, 1, 0]),
        Platform(
            [1.0, 1.0],
            1e6,
            latency=0.01,
            processor_names=["n0", "n1"],
            capacities={"cores": [4, 2], "memory": [4e9, 4e9], "licence": [1, 1]},
        ),
        np.array([NAN, 10.0, 20.0, 30.0]),
        ("one task was not run again",),
    )


def test_a_run_is_read_back_exactly(tmp_path):
    run, file = two_nodes(), tmp_path / "first.run.json"
    io.save_run(run, file)
    again = io.read_run(file)
    for field in ("start", "finish", "machine", "input_bytes"):
        np.testing.assert_array_equal(getattr(again, field), getattr(run, field))
    assert (again.tool, again.remarks) == (run.tool, run.remarks)
    assert again.workflow.resource_notes == run.workflow.resource_notes
    assert again.instance() == run.instance()
    assert again.schedule() == run.schedule()


def test_a_run_is_a_problem_on_its_own_machines_or_on_others(tmp_path):
    file = tmp_path / "first.run.json"
    io.save_run(two_nodes(), file)
    with pytest.warns(AssumptionWarning, match="but 1 of 4 tasks"):
        own = io.load(file)
    assert "one task was not run again" in own.assumptions
    assert own.processor_names == ("n0", "n1")
    assert own.n_resources == 3
    with pytest.warns(AssumptionWarning, match="memory recorded, but not limited"):
        other = io.load(file, platform=io.MachineOptions(nodes=3, cores=8, bandwidth=1e6))
    assert (other.n_processors, other.n_resources) == (3, 1)


def test_what_ran_leaves_out_what_was_there_already():
    executed = two_nodes().executed()
    assert executed.workflow.tasks == ("a", "b", "join")
    assert executed.workflow.edges == ((0, 2), (1, 2))
    assert executed.makespan == 3.5
    executed.schedule().validate(executed.instance())


def test_a_machine_has_the_cores_that_were_seen_in_use():
    start, finish = np.array([0.0, 0.0, 2.0, NAN]), np.array([2.0, 3.0, 3.0, NAN])
    node = observed_node("here", start, finish, np.array([1.0, NAN, 4.0, 2.0]))
    assert node.capacities["cores"].tolist() == [5.0]


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("version",), 2, "version 2"),
        (("tasks", 1, "machine"), "n7", "tasks\\[1\\].machine is 'n7'"),
        (("tasks", 1, "finish"), "soon", "tasks\\[1\\].finish is str"),
        (("edges", 0), [0, 4, 1.0], "edges\\[0\\] names task 4"),
        (("edges", 0), [0, 1], "edges\\[0\\] is not"),
        (("tasks", 2, "name"), "a", "repeats 'a'"),
        (("tool",), "", "tool is empty"),
    ],
)
def test_errors_name_the_place(tmp_path, place, value, message):
    file = tmp_path / "first.run.json"
    io.save_run(two_nodes(), file)
    record = json.loads(file.read_text())
    *path, last = place
    target = record
    for key in path:
        target = target[key]
    target[last] = value
    file.write_text(json.dumps(record))
    with pytest.raises(FormatError, match=message):
        io.read_run(file)


def test_a_workflow_without_times_of_start_is_no_run():
    with pytest.raises(FormatError, match="no measured run"):
        io.read_run("montage")


def test_a_task_that_was_never_measured_is_named():
    run = two_nodes()
    runtimes = np.array([NAN, 2.0, 1.0, 1.0])
    unknown = dataclasses.replace(
        run, workflow=dataclasses.replace(run.workflow, runtimes=runtimes)
    )
    with pytest.raises(DAGSchedError, match="'cached': run"):
        unknown.instance()

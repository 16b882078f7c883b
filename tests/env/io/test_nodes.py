"""Machines with cores, memory and GPUs: in options, SPECs and machine files; what is said."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagsched_env import io
from dagsched_env.io import machine_file, size
from dagsched_env.io.machine_options import MachineOptions
from dagsched_env.problem.errors import DAGSchedError, FormatError, InvalidInstanceError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.platforms import Clustered, Platform, Restricted, ccr
from dagsched_env.problem.workflow import Workflow
from dagsched_env.schedulers import CONSTRUCTIVE, heft
from dagsched_env.sources import specs

PLAIN = Workflow(
    tasks=("a", "b", "c"),
    runtimes=np.array([8.0, 4.0, 2.0]),
    edges=((0, 1),),
    data=np.array([10.0]),
)
RECORDED = Workflow(
    tasks=PLAIN.tasks,
    runtimes=PLAIN.runtimes,
    edges=PLAIN.edges,
    data=PLAIN.data,
    demands=np.array([[2, np.nan], [1, 5e9], [np.nan, 3e9]]),
    resource_names=("cores", "memory"),
    resource_notes=("", "the peak"),
)


def options(**given: Any) -> MachineOptions:
    return MachineOptions(**{"bandwidth": 1, **given})


# -- sizes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("137032000", 137032000),
        ("1e9", 1e9),
        ("64 GB", 64e9),
        (" 64GB ", 64e9),
        ("64GiB", 64 * 2**30),
        ("1.5 kB", 1500),
        ("1.5 KB", 1500),
        ("2KiB", 2048),
        ("3B", 3),
        ("1PiB", 2**50),
    ],
)
def test_sizes(text: str, value: float) -> None:
    assert size.parse(text) == value


@pytest.mark.parametrize("text", ["", "64G", "64gb", "1iB", "1.2.3", "GB", "-1GB", "1 Gbit", "inf"])
def test_what_is_no_size(text: str) -> None:
    assert size.parse(text) is None


# -- what tasks use --------------------------------------------------------------------------------


def test_without_capacities_a_processor_runs_one_task_at_a_time_whatever_is_recorded() -> None:
    for platform in (Platform([1, 2], 1.0), options(nodes=2), options(speeds="1,2")):
        assert platform.equip(RECORDED) == platform.equip(PLAIN)
        assert platform.equip(RECORDED).n_resources == 0


def test_the_resources_are_those_of_the_platform() -> None:
    instance = Platform([1, 2], 1.0, capacities={"gpus": 1, "cores": [2, 4]}).equip(RECORDED)
    assert instance.resource_names == ("gpus", "cores")
    assert instance.demands.tolist() == [[0, 2], [0, 1], [0, 1]]
    assert instance.capacities.tolist() == [[1, 2], [1, 4]]
    heft(instance).validate(instance)


@pytest.mark.parametrize("around", [Clustered, Restricted])
def test_platforms_around_keep_resources(around: type[Clustered] | type[Restricted]) -> None:
    inner = Platform([1, 2], 1.0, capacities={"cores": [2, 4], "memory": 9e9})
    instance = around(inner)(RECORDED, np.random.default_rng(0))
    plain = inner.equip(RECORDED)
    assert instance.resource_names == plain.resource_names
    assert (instance.demands == plain.demands).all()
    assert (instance.capacities == plain.capacities).all()


def test_what_is_taken_is_said_in_one_sentence() -> None:
    def said(workflow: Workflow, **capacities: float) -> tuple[str, ...]:
        return Platform([1.0], 1.0, capacities=capacities).equip(workflow).assumptions

    assert said(RECORDED, cores=2, memory=9e9) == (
        "resources: cores of 1 of 3 tasks, such as 'c', not recorded, taken as 1 each; memory: "
        "the peak, but 1 of 3 tasks, such as 'a', not recorded, taken as none",
    )
    assert said(RECORDED, cores=2) == (
        "resources: cores of 1 of 3 tasks, such as 'c', not recorded, taken as 1 each; memory "
        "recorded, but not limited by these machines",
    )
    assert said(PLAIN, cores=2, gpus=0) == (
        "resources: cores not recorded, taken as 1 each; gpus not recorded, taken as none",
    )
    assert said(RECORDED) == ()


def test_a_task_that_fits_nowhere_is_named() -> None:
    with pytest.raises(InvalidInstanceError, match=r"task 'b' needs 5000000000 of 'memory'"):
        options(nodes=2, cores=4, memory="4GB").equip(RECORDED)


@pytest.mark.parametrize(
    ("capacities", "message"),
    [
        ({"cores": [1, 2, 3]}, r"capacities\['cores'\] needs to be one number or of shape \[2\]"),
        ({"cores": -1}, r"capacities\['cores'\] is -1.0: capacities are >= 0"),
        ({"cores": np.nan}, r"capacities\['cores'\] is nan: capacities are >= 0"),
        ({"cores": "many"}, r"capacities\['cores'\] is not a rectangular array of numbers"),
    ],
)
def test_capacities_that_are_refused(capacities: dict[str, Any], message: str) -> None:
    with pytest.raises(DAGSchedError, match=message):
        Platform([1, 2], 1.0, capacities=capacities)


# -- options ---------------------------------------------------------------------------------------


def test_nodes_are_identical_processors() -> None:
    both = options(nodes=3), options(platform="identical", processors=3)
    assert both[0].equip(RECORDED) == both[1].equip(RECORDED)
    assert both[0].statement(both[0].equip(PLAIN)).startswith("3 identical nodes, costs as in")


def test_options_are_the_platform_that_says_the_same() -> None:
    given = options(speeds=[1, 2], cores=[4, 8], memory="8GB,16GB", gpus=1, latency=3)
    platform = Platform(
        [1, 2], 1.0, latency=3.0, capacities={"cores": [4, 8], "memory": [8e9, 16e9], "gpus": 1}
    )
    assert given.equip(RECORDED) == platform.equip(RECORDED)
    statement = given.statement(given.equip(RECORDED))
    assert statement.startswith(
        "2 related processors with cores 4,8, memory 8GB,16GB, gpus 1 of speeds 1,2, costs as in"
    )


def test_a_ccr_is_exact_where_some_nodes_are_too_small() -> None:
    for kind in ({"speeds": "1,3"}, {"processors": 2, "platform": "unrelated"}):
        equipped = MachineOptions(**kind, cores="1,2", ccr=2.0).equip(RECORDED)
        assert np.isinf(equipped.comp[0, 0])
        assert ccr(equipped) == pytest.approx(2.0)


@pytest.mark.parametrize("kind", ["unrelated", "related", "identical", "clustered", "restricted"])
def test_every_kind_of_processors_can_have_cores(kind: str) -> None:
    instance = MachineOptions(platform=kind, cores=2).equip(RECORDED)
    assert instance.capacities.tolist() == [[2.0]] * 4


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"nodes": 2, "processors": 2}, "nodes N is the same as .*: leave processors or nodes out"),
        ({"nodes": 2, "platform": "identical"}, "leave platform or nodes out"),
        ({"nodes": 0}, "nodes is 0: write a number between 1 and"),
        ({"nodes": 3, "speeds": "1,2"}, "speeds has 2 values, but nodes is 3: write one speed"),
        ({"nodes": 2, "memory": "8GB"}, "memory without cores would let .*: write cores, too"),
        ({"nodes": 2, "gpus": 1}, "gpus without cores would let a processor run any number"),
        ({"gpus": 1}, "gpus is for platform cpu-gpu, .*; for GPUs of each processor write cores"),
        ({"nodes": 2, "cores": "1,2,3"}, "cores has 3 values, but there are 2 processors"),
        ({"cores": "1,2,3"}, "cores has 3 values, but there are 4 processors"),
        ({"nodes": 2, "cores": "many"}, "cores is 'many': write a number, or several with commas"),
        ({"nodes": 2, "cores": -1}, "cores is -1: write a number >= 0"),
        ({"nodes": 2, "cores": "inf"}, "cores is inf: write a number between 0"),
        ({"nodes": 2, "cores": True}, "cores is True: write a text or numbers"),
        ({"nodes": 2, "cores": 2, "memory": "64G"}, "memory is '64G': write bytes, or a number wi"),
        ({"platform": "cpu-gpu", "cores": 2}, "processors of platform cpu-gpu run one task at a"),
        ({"platform": "cpu-gpu", "gpus": 1.5}, "gpus is 1.5: write a whole number"),
        ({"platform": "cpu-gpu", "gpus": 5}, "gpus is 5: write a number between 0 and 4"),
        ({"machines": "m.json", "cores": 2}, "machines describes the processors: leave cores out"),
    ],
)
def test_options_that_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(DAGSchedError, match=message):
        MachineOptions(**given).check()


def test_in_a_spec() -> None:
    path, found = specs.parse_file("montage?nodes=2&cores=32&memory=128GB&gpus=0")
    assert path == "montage"
    assert found == MachineOptions(nodes=2, cores=32, memory="128GB", gpus=0)
    assert specs.parse_file(specs.file_spec(path, found)) == (path, found)


@pytest.mark.parametrize("name", sorted(CONSTRUCTIVE))
def test_every_list_scheduler_schedules_a_recorded_workflow_on_nodes(name: str) -> None:
    machines = MachineOptions(nodes=2, cores="4,8", memory="1GB", bandwidth="1Gbit/s")
    workflow = io.read("montage")
    assert isinstance(workflow, Workflow)
    instance = machines.equip(workflow)
    CONSTRUCTIVE[name](instance).validate(instance)


# -- machine files ---------------------------------------------------------------------------------


def record(*processors: dict[str, Any]) -> dict[str, Any]:
    return {
        "format": "dagsched-machines",
        "processors": [{"name": f"n{i}", **found} for i, found in enumerate(processors)],
        "bandwidth": 1,
    }


def test_a_machine_file_states_resources() -> None:
    example = machine_file.__doc__.partition('``{"name": "node0"')[2].partition("``")[0]
    processor = json.loads('{"name": "node0"' + " ".join(example.split()))
    instance = machine_file.parse(record() | {"processors": [processor]}).equip(RECORDED)
    assert instance.resource_names == ("cores", "memory", "gpus", "licence")
    assert instance.capacities.tolist() == [[32, 64e9, 2, 1]]
    assert instance.demands[2].tolist() == [1, 3e9, 0, 0]


def test_resources_in_any_order_and_memory_as_a_number() -> None:
    first = {"cores": 1, "resources": {"a": 1, "b": 2.5}, "memory": 1e9}
    second = {"memory": "2GB", "resources": {"b": 0, "a": 3}, "cores": 4}
    instance = machine_file.parse(record(first, second)).equip(PLAIN)
    assert instance.resource_names == ("cores", "memory", "a", "b")
    assert instance.capacities.tolist() == [[1, 1e9, 1, 2.5], [4, 2e9, 3, 0]]


@pytest.mark.parametrize(
    ("processors", "message"),
    [
        ([{"cores": 1}, {}], r"processors\[1\] does not say its 'cores', but processors\[0\] does"),
        ([{}, {"cores": 1}], r"processors\[0\] does not say its 'cores', but processors\[1\] does"),
        ([{"memory": 1}], r"processors\[0\] says 'memory' without \"cores\", .*: write \"cores\""),
        ([{"resources": {"x": 1}}], r"processors\[0\] says 'x' without \"cores\""),
        ([{"cores": "4"}], r"processors\[0\].cores is '4': write a number >= 0"),
        ([{"cores": 1, "memory": "8G"}], r"processors\[0\].memory is '8G': write bytes, or a numb"),
        ([{"cores": 1, "memory": "1e200"}], r"processors\[0\].memory is '1e200': write bytes"),
        ([{"cores": 1, "resources": 3}], r"processors\[0\].resources is not an object"),
        ([{"cores": 1, "resources": {"gpus": 1}}], r"resources has 'gpus': write it beside the"),
        ([{"cores": 1, "resources": {"x": -1}}], r"processors\[0\].resources.x is -1: write a nu"),
        ([{"core": 1}], r"processors\[0\] has an unknown key 'core': write name, speed, cores"),
    ],
)
def test_machine_files_that_are_refused(processors: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        machine_file.parse(record(*processors))


@given(
    st.lists(st.sampled_from(["cores", "memory", "gpus"]), unique=True),
    st.lists(st.integers(1, 9), min_size=3, max_size=3),
)
def test_a_machine_file_is_the_platform_that_says_the_same(
    names: list[str], have: list[int]
) -> None:
    names = ["cores", *(name for name in ("memory", "gpus") if name in names)]
    found = machine_file.parse(record(*(dict.fromkeys(names, x) for x in have)))
    platform = Platform(
        [1.0] * 3,
        1.0,
        processor_names=["n0", "n1", "n2"],
        capacities=dict.fromkeys(names, have),
    )
    assert found.equip(PLAIN) == platform.equip(PLAIN)
    assert isinstance(found.equip(PLAIN), Instance)

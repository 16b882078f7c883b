"""What was assumed stands on the instance, in files, and is said whatever filters hide warnings."""

import copy
import json
import pickle
import warnings
from pathlib import Path

import pytest
from hypothesis import given

from dagsched_env import Instance, io
from dagsched_env.io.assumptions import stated, warn
from dagsched_env.problem.errors import (
    AssumptionWarning,
    DAGSchedError,
    InvalidInstanceError,
    MachinesAssumedWarning,
)
from dagsched_env.problem.platforms import (
    Clustered,
    CpuGpu,
    Platform,
    RandomPlatform,
    Related,
    Restricted,
)
from dagsched_env.problem.platforms.altered import altered, rescaled
from dagsched_env.problem.platforms.machines import Seeded
from dagsched_env.problem.workflow import Workflow
from dagsched_env.schedulers import heft
from helpers import TESTS
from helpers.strategies import instances

GRAPH = TESTS / "data" / "formats" / "weight_style.dot"
SAID = ("nothing is known of the network", "two tasks were taken as one")
TRACE = {"name": "x", "schemaVersion": "1.6", "workflow": {}}
MACHINES = io.MachineOptions(platform="identical", processors=2, bandwidth=1)


def trace(folder: Path, runtimes: list[float], parents: list[list[str]]) -> Path:
    """A WfFormat file with tasks t0, t1, …"""
    tasks = [{"id": f"t{i}", "parents": names} for i, names in enumerate(parents)]
    runs = [{"id": f"t{i}", "runtimeInSeconds": time} for i, time in enumerate(runtimes)]
    workflow = {"specification": {"tasks": tasks}, "execution": {"tasks": runs}}
    path = folder / "trace.json"
    path.write_text(json.dumps(TRACE | {"workflow": workflow}), encoding="utf-8")
    return path


# -- on the instance ---------------------------------------------------------------------------


@given(instances())
def test_assumptions_change_neither_equality_nor_fingerprint(instance: Instance) -> None:
    said = altered(instance, assumptions=SAID)
    assert said.assumptions == SAID
    assert (instance.assumptions, instance) == ((), said)
    assert (hash(said), said.fingerprint) == (hash(instance), instance.fingerprint)
    others = (pickle.loads(pickle.dumps(said)), copy.deepcopy(said), said.renamed("other"))
    for other in (*others, rescaled(said, 2), Instance.from_json(said.to_json())):
        assert other.assumptions == SAID


def test_files_without_assumptions_are_as_before(tmp_path: Path) -> None:
    instance = Instance([[1, 2]], [], [])
    assert "assumptions" not in json.loads(instance.to_json())
    assert "assumptions" not in json.loads(heft(instance).to_json(instance))
    said = altered(instance, assumptions=SAID)
    assert json.loads(heft(said).to_json(said))["assumptions"] == list(SAID)
    for name in ("own.json", "x.wfformat.json"):
        io.save(said, tmp_path / name)
        with pytest.warns(AssumptionWarning, match=f"{name}: {SAID[0]}; {SAID[1]}$"):
            assert io.load(tmp_path / name).assumptions == SAID


@pytest.mark.parametrize("value", ["a text", [1], 7])
def test_assumptions_are_sentences(value: object) -> None:
    with pytest.raises(InvalidInstanceError, match="assumptions is not a list of strings"):
        Instance([[1]], [], [], assumptions=value)  # type: ignore[arg-type]
    record = {"format": "dagsched-instance", "version": 1, "comp": [[1]], "assumptions": value}
    with pytest.raises(DAGSchedError, match="assumptions is not a list of strings"):
        Instance.from_json(json.dumps(record))


class Own:
    """A platform of a user's own, which knows nothing of assumptions."""

    def equip(self, workflow: Workflow) -> Instance:
        return Instance(workflow.runtimes[:, None], workflow.edges, workflow.data)


@pytest.mark.parametrize(
    "platform",
    [
        Platform([1, 2], 1),
        RandomPlatform(),
        Seeded(Clustered(Related())),
        Seeded(Restricted(CpuGpu())),
        MACHINES,
        Own(),
    ],
)
def test_every_platform_keeps_what_the_reader_assumed(tmp_path: Path, platform: io.Equips) -> None:
    path = tmp_path / "g.dot"
    path.write_text("digraph { node [weight=1] a -> b [size=1] a -> b [size=2] }")
    with pytest.warns(AssumptionWarning, match="parallel edges"):
        (text,) = io.load(path, platform=platform).assumptions
    assert text.startswith("parallel edges")


def test_machines_that_were_assumed_stand_on_the_instance() -> None:
    flow = io.read(GRAPH)
    assert isinstance(flow, Workflow)
    names = "platform, processors, beta, platform_seed, bandwidth, ccr"
    drawn = "machines: 4 unrelated processors (beta 0.5) drawn with seed 0"
    assert io.MachineOptions().equip(flow).assumptions == (f"{drawn}, CCR 1; not given: {names}",)
    (text,) = io.MachineOptions(platform="identical", processors=3).equip(flow).assumptions
    assert text == "machines: 3 identical processors, bandwidth 1; not given: bandwidth, ccr"
    assert MACHINES.equip(flow).assumptions == ()
    with pytest.warns(MachinesAssumedWarning):
        assert len(io.load(GRAPH).assumptions) == 1


# -- traces ------------------------------------------------------------------------------------


def test_a_trace_without_dependencies_or_runtimes_is_read_with_a_word(tmp_path: Path) -> None:
    path = trace(tmp_path, [1, 0, 0], [[], [], []])
    alone = "no task depends on another: all 3 may run at the same time"
    idle = "2 of 3 tasks take no time, such as 't1'"
    for platform in (MACHINES, Platform([1], 1)):
        with pytest.warns(AssumptionWarning, match=f"^{path}: {alone}; {idle}$") as caught:
            assert io.load(path, platform=platform).assumptions == (alone, idle)
        (warning,) = caught
        assert warning.filename == __file__
    trace(tmp_path, [1, 2, 3], [[], ["t0"], []])
    assert io.load(path, platform=MACHINES).assumptions == ()
    trace(tmp_path, [1], [[]])
    assert io.load(path, platform=MACHINES).assumptions == ()


def test_other_times_make_a_trace_whole(tmp_path: Path) -> None:
    path = trace(tmp_path, [1, 0], [[], ["t0"]])
    table = tmp_path / "t.csv"
    table.write_text("task,time\nt1,5\n")
    machines = io.MachineOptions(platform="identical", processors=1, bandwidth=1, times=str(table))
    assert io.load(path, platform=machines).assumptions == ()


# -- how it is said ----------------------------------------------------------------------------


def test_a_filter_that_ignores_all_does_not_hide_it() -> None:
    for hide in (warnings.simplefilter, warnings.filterwarnings):
        with warnings.catch_warnings(record=True) as caught:
            hide("ignore")
            before = list(warnings.filters)
            for _ in range(2):
                assert len(io.load(GRAPH).assumptions) == 1
            warnings.warn("something else", stacklevel=1)
            assert list(warnings.filters) == before
        assert [(x.category, x.filename) for x in caught] == [(MachinesAssumedWarning, __file__)]


def test_a_filter_of_its_own_category_counts() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("ignore", MachinesAssumedWarning)
        io.load(GRAPH)
    assert caught == []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", AssumptionWarning)
        before = list(warnings.filters)
        with pytest.raises(MachinesAssumedWarning):
            io.load(GRAPH)
        assert list(warnings.filters) == before


def test_a_warning_names_its_caller() -> None:
    with pytest.warns(AssumptionWarning) as caught:
        warn(AssumptionWarning("x"), stacklevel=1)
    assert caught[0].filename == __file__


def test_equal_sentences_of_many_problems_are_one_line() -> None:
    def of(*said: str) -> Instance:
        return Instance([[1]], [], [], name=f"n{len(said)}", assumptions=said)

    assert stated([of(), of()]) == []
    assert stated([of("a", "b")]) == ["a", "b"]
    assert stated([of("a"), of("a", "b"), of("b", "a")]) == ["a", "n2 and 1 more: b"]
    many = [of(str(i)) for i in range(9)]
    assert stated(many) == [*(f"n1: {i}" for i in range(5)), "4 more of this kind"]

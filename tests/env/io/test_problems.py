"""Problems of files on machines: what is assumed is said once, and how to say it oneself."""

import json
import os
import warnings
from pathlib import Path

import pytest

from dagsched_env import io
from dagsched_env.environment.env import DAGSchedEnv
from dagsched_env.problem.errors import (
    AssumptionWarning,
    DAGSchedError,
    DoubtfulUnitsWarning,
    MachinesAssumedWarning,
)
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.platforms import Platform, RandomPlatform
from helpers import TESTS

GRAPH = TESTS / "data" / "formats" / "weight_style.dot"
FLOW = io.read(GRAPH)
MADE = "4 unrelated processors (beta 0.5) drawn with seed 0, communication rescaled to CCR 1"
IDENTICAL = io.MachineOptions(platform="identical", processors=2, bandwidth=1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two graphs without machines, an instance, and a machine file."""
    for name in ("a.dot", "b.dot"):
        (tmp_path / name).write_bytes(GRAPH.read_bytes())
    io.save(Instance([[1, 2]], [], [], name="own"), tmp_path / "own.json")
    machines = {"format": "dagsched-machines", "processors": [{"name": "x"}, {"name": "y"}]}
    (tmp_path / "cluster.json").write_text(json.dumps(machines))
    return tmp_path


def test_load_says_what_it_assumes_and_which_argument_changes_it() -> None:
    with pytest.warns(MachinesAssumedWarning) as caught:
        assert io.load(GRAPH) == RandomPlatform().equip(FLOW)  # type: ignore[arg-type]
    (warning,) = caught
    assert warning.filename == __file__
    assert str(warning.message).startswith(f"{GRAPH} describes no processors: {MADE}; pass platf")
    for remedy in (
        'MachineOptions(platform="identical", processors=4, bandwidth=1)',
        "RandomPlatform()",
    ):
        assert remedy in str(warning.message)


def test_the_same_file_is_warned_of_once() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            io.load(GRAPH)
    assert len(caught) == 1


@pytest.mark.parametrize("platform", [RandomPlatform(), Platform([1], 1), IDENTICAL])
def test_a_platform_silences_load(platform: io.Equips) -> None:
    assert io.load(GRAPH, platform=platform).n_tasks == 6


def test_what_machine_options_leave_open_is_said_by_load_and_load_folder(folder: Path) -> None:
    options = io.MachineOptions(processors=2)
    remedy = "; say platform, beta, platform_seed, bandwidth, ccr in MachineOptions"
    with pytest.warns(MachinesAssumedWarning) as of_file:
        assert io.load(GRAPH, platform=options) == options.equip(FLOW)  # type: ignore[arg-type]
    with pytest.warns(MachinesAssumedWarning) as of_folder:
        io.load_folder(folder, platform=options)
    others = f"{folder / 'a.dot'} and 1 other file"
    for caught, who in ((of_file, GRAPH), (of_folder, others)):
        (warning,) = caught
        assert warning.filename == __file__
        assert str(warning.message).startswith(f"{who} describe")
        assert str(warning.message).endswith(remedy)


def test_load_says_that_a_machine_file_has_no_bandwidth(folder: Path) -> None:
    path = folder / "cluster.json"
    options = io.MachineOptions(machines=str(path))
    with pytest.warns(MachinesAssumedWarning, match='; say "bandwidth" in the machine file$'):
        io.load(GRAPH, platform=options)
    path.write_text(path.read_text().replace('"processors"', '"bandwidth": 1, "processors"'))
    options = io.MachineOptions(machines=str(path))
    assert io.load(GRAPH, platform=options).n_processors == 2


SMALL_DATA = "blast"
"""Its CCR is below 1 even where bytes meet a bandwidth of 1."""


@pytest.mark.parametrize("name", io.BUNDLED)
def test_bytes_against_a_bandwidth_of_1_are_doubted(name: str) -> None:
    told = io.MachineOptions(speeds="1,2", bandwidth=1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        io.load(name, platform=told)
    if name == SMALL_DATA:
        assert not caught
        return
    (warning,) = (w for w in caught if w.category is DoubtfulUnitsWarning)
    assert warning.filename == __file__
    assert str(warning.message).startswith(f"{name}: a transfer takes ")
    assert str(warning.message).endswith("if data is in bytes, say bandwidth 1Gbit/s or ccr 1")
    for mend in ({"bandwidth": "1Gbit/s"}, {"bandwidth": 125e6}, {"ccr": 1}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AssumptionWarning)
            warnings.simplefilter("error", DoubtfulUnitsWarning)
            io.load(name, platform=io.MachineOptions(speeds="1,2", **mend))  # type: ignore[arg-type]


def test_doubtful_units_of_machine_files_platforms_and_specs(folder: Path) -> None:
    path = folder / "cluster.json"
    mend = '"bandwidth": "1Gbit/s" in the machine file'
    options = io.MachineOptions(machines=str(path))
    with (
        pytest.warns(DoubtfulUnitsWarning, match=f"say {mend} or ccr 1$"),
        pytest.warns(MachinesAssumedWarning, match="describes no processors"),
    ):
        io.load("montage", platform=options)
    with pytest.warns(DoubtfulUnitsWarning, match=f"say {mend}$"):
        io.load("montage", platform=io.load_machines(path))
    with pytest.warns(DoubtfulUnitsWarning, match=r"say bandwidth 125e6$"):
        io.load("montage", platform=Platform([1, 2], 1))
    with pytest.warns(DoubtfulUnitsWarning, match="say bandwidth 1Gbit/s or ccr 1$"):
        DAGSchedEnv("montage?speeds=1,2&bandwidth=1")
    (folder / "m.json").write_bytes(io.bundled("montage").read_bytes())
    with pytest.warns(DoubtfulUnitsWarning, match=r"m\.json: a transfer"):
        io.load_folder(folder, platform=Platform([1, 2], 1))


def test_a_ccr_that_somebody_asks_for_is_not_doubted() -> None:
    io.load("montage", platform=io.MachineOptions(speeds="1,2", ccr=5000))
    io.load("montage", platform=io.MachineOptions(speeds="1,2", bandwidth="1bit/s"))
    io.load("montage", platform=RandomPlatform(ccr=5000))


def test_files_with_their_own_processors_are_no_reason_to_warn(folder: Path) -> None:
    io.load(folder / "own.json")
    with pytest.raises(DAGSchedError, match=r"own\.json: .* itself: leave platform out"):
        io.load(folder / "own.json", platform=IDENTICAL)
    with pytest.raises(DAGSchedError, match=r"own\.json: .* itself: leave platform out"):
        io.load(folder / "own.json", platform=RandomPlatform())


def test_a_folder_is_warned_of_once_and_its_machine_file_is_no_problem(folder: Path) -> None:
    with pytest.warns(MachinesAssumedWarning) as caught:
        instances = io.load_folder(folder)
    assert [i.n_processors for i in instances] == [4, 4, 2]
    (warning,) = caught
    who = f"{folder / 'a.dot'} and 1 other file describe no processors: {MADE}"
    assert str(warning.message).startswith(who)
    assert f'load_machines("{folder / "cluster.json"}")' in str(warning.message)


def test_a_folder_on_machines_of_choice(folder: Path) -> None:
    for platform in (IDENTICAL, io.load_machines(folder / "cluster.json")):
        instances = io.load_folder(folder, platform=platform)
        assert instances[0].comp.tolist() == platform.equip(FLOW).comp.tolist()  # type: ignore[arg-type]
        assert instances[2] == io.load(folder / "own.json")


def test_a_folder_is_no_file_and_no_name(folder: Path) -> None:
    for path in (folder / "own.json", "montage"):
        with pytest.raises(NotADirectoryError, match="Not a directory"):
            io.load_folder(path, platform=IDENTICAL)
    assert io.read_problems([], IDENTICAL) == []


def test_what_is_neither_file_nor_folder_is_left_out(folder: Path) -> None:
    os.mkfifo(folder / "pipe.json")  # to read it would wait for ever
    assert len(io.load_folder(folder, platform=IDENTICAL)) == 3


def test_machines_for_a_folder_that_needs_none(folder: Path) -> None:
    for name in ("a.dot", "b.dot"):
        (folder / name).unlink()
    assert len(io.load_folder(folder)) == 1
    with pytest.raises(DAGSchedError, match="describes its processors itself: leave platform out"):
        io.load_folder(folder, platform=IDENTICAL)

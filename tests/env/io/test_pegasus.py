"""Workflows of Pegasus 5: where times and sizes come from, edges of files, what is refused."""

import subprocess
import sys

import numpy as np
import pytest

from dagsched_env import io
from dagsched_env.io.source import parse_yaml
from dagsched_env.problem.errors import FormatError, InvalidInstanceError
from helpers import TESTS
from helpers.isolation import blocking

SAMPLE = TESTS / "data" / "formats" / "diamond.yml"
DIAMOND = SAMPLE.read_text()

TWO = """
pegasus: "5.0"
name: two
jobs:
  - {id: 01, name: make, arguments: [], profiles: {pegasus: {runtime: 60}}, uses: [
      {lfn: 1.10, type: output}, {lfn: log, type: output}]}
  - {id: 1e3, type: pegasusWorkflow, file: inner.yml, metadata: {runtime: "1.5"}, uses: [
      {lfn: 1.10, type: input}, {lfn: log, type: checkpoint}]}
"""
"""Without dependencies or sizes; YAML would take names for numbers."""


def read(folder, text):
    path = folder / "workflow.yml"
    path.write_text(text)
    return io.read(path)


def test_runtimes_come_from_the_job_its_metadata_or_its_transformation(tmp_path):
    assert io.read(SAMPLE).runtimes.tolist() == [2, 4.5, 0, 8]
    other = DIAMOND.replace("  - name: work", "  - version: 2\n    name: work")
    assert np.isnan(read(tmp_path, other).runtimes).tolist() == [False, True, False, False]
    with pytest.raises(FormatError, match=r"task 'work_\w+' .'work'. has no time: times names a"):
        io.load(tmp_path / "workflow.yml", platform=io.MachineOptions(processors=2))
    same = other.replace("\n  name: work", "\n  version: 2\n  name: work")
    assert read(tmp_path, same).runtimes.tolist() == [2, 4.5, 0, 8]


def test_tasks_have_the_names_that_pegasus_gives_and_kinds():
    workflow = io.read(SAMPLE)
    assert workflow.tasks == ("split_ID1", "work_ID2", "work_ID3", "join_ID4")
    assert workflow.kinds == ("split", "work", "work", "join")
    assert workflow.name == "diamond"
    assert workflow.says_units
    assert workflow.says_data


def test_edges_of_files_without_sizes_and_names_like_numbers(tmp_path):
    workflow = read(tmp_path, TWO)
    assert workflow.tasks == ("make_01", "inner.yml_1e3")
    assert workflow.runtimes.tolist() == [60, 1.5]
    assert workflow.edges == ((0, 1),)
    assert not workflow.says_data
    free = io.MachineOptions(platform="identical", processors=2, bandwidth=1)
    assert free.equip(workflow).data.tolist() == [0]
    wanted = io.MachineOptions(platform="identical", processors=2, ccr=2.0)
    assert wanted.equip(workflow).data.tolist() == [2 * 61.5 / 2]


def test_a_file_that_is_changed_gives_no_edge_to_itself(tmp_path):
    text = TWO.replace("{lfn: log, type: output}", "{lfn: log, type: inout}")
    assert read(tmp_path, text).edges == ((0, 1),)
    back = text.replace("log, type: checkpoint", "log, type: output").replace("inout", "input")
    workflow = read(tmp_path, back)
    assert workflow.edges == ((1, 0), (0, 1))
    with pytest.raises(InvalidInstanceError, match="cycle"):
        io.Platform([1], 1).equip(workflow)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("jobs:", "tasks:", "no Pegasus workflow: the top level has no key 'jobs'"),
        ("id: ID2", "id: ID1", r"jobs\[1\].id repeats 'ID1' of workflow.jobs\[0\]"),
        ("children: [ID4]", "children: [ID5]", r"jobDependencies\[1\].children names 'ID5', which"),
        ("- id: ID3", "- id: ID9", r"jobDependencies\[1\].id names 'ID9', which is not a job"),
        ("children: [ID4]", "children: ID4", r"jobDependencies\[1\].children is not a list"),
        ("runtime: '2'", "runtime: soon", r"jobs\[0\].metadata.runtime: 'soon' is not a number"),
        ("runtime: '2'", "runtime: [2]", r"jobs\[0\].metadata.runtime: .* is not a number"),
        ("{size: 5000}", "{size: -1}", r"replicas\[0\].metadata.size: '-1' is not between"),
        (", size: '7'", "", r"workflow.jobs\[3\] reads 'z', which has no size"),
        ("lfn: x, type: input", "type: input", r"jobs\[1\].uses\[0\] has no key 'lfn'"),
        ("arguments: [-i, in]", "arguments: [-i", "not YAML: .* line 28, column"),
        ("arguments: [-i, in]", "arguments: *in", "line 28: YAML with aliases is refused"),
        ("arguments: [-i, in]", "arguments: " + "[" * 200, "line 28: YAML with more than 100 lev"),
    ],
)
def test_errors_name_the_place(tmp_path, old, new, message):
    assert old in DIAMOND
    with pytest.raises(FormatError, match=message):
        read(tmp_path, DIAMOND.replace(old, new, 1))


def test_yaml_makes_nothing_but_text():
    assert parse_yaml("a: [no, 1, !!python/name:os.system x, 2020-01-01]") == {
        "a": ["no", "1", "x", "2020-01-01"]
    }
    with pytest.raises(FormatError, match="more than 100 levels"):
        parse_yaml("[" * 1_000_000)


@pytest.mark.filterwarnings("ignore::dagsched_env.AssumptionWarning")  # a task without work
def test_a_folder_leaves_out_other_yaml(tmp_path):
    (tmp_path / "sites.yml").write_text("pegasus: 5.0\nsites:\n- name: local\n")
    (tmp_path / "conf.yaml").write_text("jobs: [unit, lint]\n")
    (tmp_path / "workflow.yml").write_text(DIAMOND)
    (found,) = io.load_folder(tmp_path, platform=io.Platform([1], 1))
    assert found == io.load(SAMPLE, platform=io.Platform([1], 1))


def test_without_pyyaml():
    code = blocking("yaml") + (
        "from dagsched_env import MissingExtraError, io\n"
        "try:\n"
        f"    io.load({str(SAMPLE)!r})\n"
        "except MissingExtraError as error:\n"
        "    print(error)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    extra = "this feature needs 'pyyaml': install it with  pip install 'aerl-ds[formats]'"
    assert result.stdout.splitlines() == [extra]

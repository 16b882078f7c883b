"""Machines on the command line: every kind, what is said about them, and every refusal."""

import json
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagsched_env import io
from dagsched_env.cli import main
from dagsched_env.cli.machines import MachineFlags as MachineOptions
from dagsched_env.cli.machines import read_problem, warnings_on_stderr
from dagsched_env.environment.env import DAGSchedEnv
from dagsched_env.io.machine_checks import KINDS
from dagsched_env.problem.errors import DAGSchedError, MachinesAssumedWarning
from dagsched_env.problem.platforms import (
    PLATFORMS,
    Clustered,
    CpuGpu,
    Platform,
    RandomPlatform,
    Restricted,
    Unrelated,
    ccr,
)
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers import heft
from helpers import TESTS

GRAPH = TESTS / "data" / "formats" / "weight_style.dot"
OWN = TESTS / "data" / "formats" / "own.json"
FLOW = io.read(GRAPH)


def run(capsys, *arguments):
    """Lines on stdout and on stderr of a command that succeeds."""
    assert main([str(argument) for argument in arguments]) == 0
    captured = capsys.readouterr()
    return captured.out.splitlines(), captured.err.splitlines()


def refusal(capsys, *arguments):
    """The error of a command that fails; it is alone on stderr."""
    assert main([str(argument) for argument in arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line.removeprefix("dagsched: error: ")


def communication(instance):
    """``[m]`` mean time of each edge between different processors."""
    other = ~np.eye(instance.n_processors, dtype=bool)
    latency, inv_bandwidth = instance.latency[other].mean(), instance.inv_bandwidth[other].mean()
    return latency + instance.data * inv_bandwidth


@pytest.fixture
def machine_file(tmp_path):
    path = tmp_path / "machines.json"
    record = {
        "format": "dagsched-machines",
        "processors": [{"name": "slow"}, {"name": "fast", "speed": 2}],
        "bandwidth": 4,
        "eligible": {"4": ["slow"]},
    }
    path.write_text(json.dumps(record))
    return path


# -- one command ---------------------------------------------------------------------------------


def test_a_graph_with_weights_is_proved_optimal_on_identical_processors_in_one_command(capsys):
    machines = ["--platform", "identical", "--processors", 2]
    out, err = run(capsys, "schedule", GRAPH, *machines, "--scheduler", "cp_sat")
    assert out[1].split()[:2] == ["cp_sat", "15"]
    made = "2 identical processors, costs as in the file (bandwidth 1, CCR 0.812)"
    change = "--bandwidth, --ccr"
    assert err == [f"dagsched: {GRAPH} describes no processors: {made}; change it with {change}"]


def test_every_command_that_reads_a_problem_takes_machines(capsys, tmp_path, machine_file):
    machines = ["--machines", machine_file]
    schedule, copy = tmp_path / "s.json", tmp_path / "copy.json"
    for arguments in (
        ["schedule", GRAPH, "--out", schedule],
        ["verify", GRAPH, schedule],
        ["plot", GRAPH, schedule, "--out", tmp_path / "g.html"],
        ["convert", GRAPH, copy],
    ):
        assert run(capsys, *arguments, *machines)[1] == []
    assert io.load(copy) == io.load(GRAPH, platform=io.load_machines(machine_file))
    assert io.load(copy).comp.tolist()[4] == [3, float("inf")]


# -- what is said --------------------------------------------------------------------------------


def test_what_is_assumed_is_said_in_one_line(capsys):
    out, err = run(capsys, "info", GRAPH)
    made = "4 unrelated processors (beta 0.5) drawn with seed 0, communication rescaled to CCR 1"
    change = (
        "--platform, --processors, --beta, --platform-seed, --bandwidth, --ccr, or --machines FILE"
    )
    assert err == [f"dagsched: {GRAPH} describes no processors: {made}; change it with {change}"]
    assert f"machines            {made}" in out


@pytest.mark.parametrize(
    ("options", "made", "change"),
    [
        (
            ["--platform", "identical"],
            "4 identical processors, costs as in the file (bandwidth 1, CCR ",
            "--processors, --bandwidth, --ccr",
        ),
        (["--speeds", "1,2"], "2 related processors of speeds 1,2", "--bandwidth, --ccr"),
        (
            ["--speeds", "1,2", "--latency", 3],
            "2 related processors of speeds 1,2, costs as in the file (bandwidth 1, latency 3, CCR",
            "--bandwidth",
        ),
        (
            ["--processors", 3],
            "3 unrelated processors (beta 0.5) drawn with seed 0, costs as in the file (bandwidth",
            "--platform, --beta, --platform-seed, --bandwidth, --ccr",
        ),
        (
            ["--platform", "cpu-gpu", "--processors", 3, "--bandwidth", 2],
            "3 cpu-gpu processors (gpus 1, acceleration 0.5..30) drawn with seed 0, costs as in",
            "--gpus, --acceleration, --platform-seed",
        ),
        (
            ["--platform", "clustered", "--processors", 6, "--clusters", 3, "--ccr", 1],
            "6 clustered processors (beta 0.5, clusters 3, slowdown 10) drawn with seed 0, com",
            "--beta, --slowdown, --platform-seed",
        ),
        (
            ["--ccr", 2],
            "4 unrelated processors (beta 0.5) drawn with seed 0, communication rescaled to CCR 2",
            "--platform, --processors, --beta, --platform-seed",
        ),
    ],
)
def test_the_line_names_the_options_that_are_left(capsys, options, made, change):
    (line,) = run(capsys, "info", GRAPH, *options)[1]
    assert made in line
    assert line.endswith(f"; change it with {change}")


@pytest.mark.parametrize(
    ("options", "made"),
    [
        (
            ["--platform", "identical", "--processors", 2, "--bandwidth", 1],
            "2 identical processors, costs as in the file (bandwidth 1, CCR 0.812)",
        ),
        (
            ["--speeds", "1,2.5", "--bandwidth", 1, "--latency", 3],
            "2 related processors of speeds 1,2.5, costs as in the file (bandwidth 1, latency 3, ",
        ),
        (
            ["--speeds", "1,2", "--bandwidth", "1GB/s"],
            "2 related processors of speeds 1,2, costs as in the file (bandwidth 1e+09, data taken "
            "as bytes, times as seconds, CCR ",
        ),
        (
            ["--platform", "related", "--processors", 3, "--platform-seed", 1, "--ccr", 0.5],
            "3 related processors (speeds 1..4) drawn with seed 1, communication rescaled to CCR",
        ),
    ],
)
def test_where_all_is_said_only_info_says_it_again(capsys, options, made):
    out, err = run(capsys, "info", GRAPH, *options)
    assert all("data is taken as bytes" in line for line in err)
    assert any(line.startswith(f"machines            {made}") for line in out)


def test_a_bandwidth_with_a_unit_says_how_data_and_times_are_taken(capsys):
    taken = "bandwidth 1.25e+08, data taken as bytes, times as seconds, CCR "
    (line,) = run(capsys, "info", GRAPH, "--processors", 2, "--bandwidth", "1Gbit/s")[1]
    assert f"costs as in the file ({taken}" in line
    (line,) = run(capsys, "info", GRAPH, "--processors", 2, "--bandwidth", "125e6")[1]
    assert "costs as in the file (bandwidth 1.25e+08, CCR " in line


@pytest.mark.parametrize(
    ("options", "change"),
    [
        ([], "--platform, --processors, --beta, --platform-seed, or --machines FILE"),
        (["--platform", "identical"], "--processors"),
        (["--platform", "identical", "--processors", 2], None),
        (["--platform", "identical", "--processors", 2, "--latency", 1], None),
    ],
)
def test_nothing_is_assumed_of_the_links_of_a_graph_without_data(capsys, tmp_path, options, change):
    path = tmp_path / "g.dot"
    path.write_text("digraph { a [Weight=1]; b [Weight=2]; a -> b }")
    err = run(capsys, "info", path, *options)[1]
    assert [line.partition("; change it with ")[2] for line in err] == ([change] if change else [])


def test_nothing_is_assumed_of_the_links_of_one_processor(capsys):
    assert run(capsys, "info", GRAPH, "--platform", "identical", "--processors", 1)[1] == []


@pytest.mark.parametrize(
    ("text", "bytes_per_s"),
    [
        ("125e6", 125e6),
        ("1Gbit/s", 125e6),
        ("1 Gbps", 125e6),
        ("125MB/s", 125e6),
        ("8kb", 1e3),
        ("0.5GB", 5e8),
    ],
)
def test_bandwidths_with_a_unit(text, bytes_per_s):
    machines = {"platform": "identical", "processors": 2}
    expected = MachineOptions(**machines, bandwidth=bytes_per_s).equip(FLOW)
    assert MachineOptions(**machines, bandwidth=text).equip(FLOW) == expected


@pytest.mark.parametrize("text", ["fast", "1 Gbit per s", "1Gbit/h", "1.2.3", ""])
def test_what_is_no_bandwidth(capsys, text):
    error = refusal(capsys, "info", GRAPH, "--platform", "identical", f"--bandwidth={text}")
    assert f"--bandwidth is {text!r}: write a number, or one with a unit" in error


def test_info_states_the_machines_of_files(capsys, machine_file):
    out, err = run(capsys, "info", GRAPH, "--machines", machine_file)
    assert any(f"2 processors of {machine_file}, costs as in the file (CCR " in x for x in out)
    assert err == []
    out, err = run(capsys, "info", OWN)
    assert any("machines            2 processors as in the file, costs as in" in x for x in out)
    assert err == []


def test_a_machine_file_without_bandwidth(capsys, tmp_path, machine_file):
    record = json.loads(machine_file.read_text())
    del record["bandwidth"]
    machine_file.write_text(json.dumps(record))
    out, err = run(capsys, "info", GRAPH, "--machines", machine_file)
    made = f"2 processors of {machine_file}, costs as in the file (bandwidth 1, CCR "
    assert any(line.startswith(f"machines            {made}") for line in out)
    (line,) = err
    assert line.startswith(f"dagsched: {GRAPH} describes no processors: {made}")
    assert line.endswith('; change it with "bandwidth" in the machine file')
    assert run(capsys, "info", GRAPH, "--machines", machine_file, "--ccr", 1)[1] == []
    path = tmp_path / "g.dot"  # nothing to transfer
    path.write_text("digraph { 4 [Weight=1]; b [Weight=2]; 4 -> b }")
    assert run(capsys, "info", path, "--machines", machine_file)[1] == []


def test_doubtful_units_are_a_loud_line_with_the_mend(capsys, machine_file):
    _, (assumed, loud) = run(capsys, "schedule", "montage", "--speeds", "1,2")
    assert assumed.endswith("CCR 1.68e+06); change it with --bandwidth, --ccr")
    assert loud == (
        "dagsched: WARNING: montage: a transfer takes 1.7e+06 times as long as a task (CCR), so "
        "that hardly any pays; if data is in bytes, write --bandwidth 1Gbit/s or --ccr 1"
    )
    machines = ["--speeds", "1,2", "--bandwidth"]
    files = ["compare", "montage", "soykb", "blast", "--schedulers", "heft"]
    (loud,) = run(capsys, *files, *machines, 1)[1]
    assert loud.startswith("dagsched: WARNING: montage and 1 more: a transfer takes 1.7e+06 times")
    assert run(capsys, *files, *machines, "1Gbit/s")[1] == []
    assert run(capsys, *files, *machines, 125e6)[1] == []
    record = json.loads(machine_file.read_text()) | {"bandwidth": 1, "links": [], "eligible": {}}
    machine_file.write_text(json.dumps(record))
    (loud,) = run(capsys, "info", "montage", "--machines", machine_file)[1]
    assert loud.endswith('write "bandwidth": "1Gbit/s" in the machine file or --ccr 1')
    with warnings_on_stderr("aerl"):
        DAGSchedEnv("montage?speeds=1,2&bandwidth=1")
    assert capsys.readouterr().err == (
        "aerl: WARNING: montage: a transfer takes 1.7e+06 times as long as a task (CCR), so that "
        "hardly any pays; if data is in bytes, write --bandwidth 1Gbit/s or --ccr 1\n"
    )


def test_a_machine_file_can_be_a_pipe(capsys, machine_file):
    reader, writer = os.pipe()
    os.write(writer, machine_file.read_bytes())
    os.close(writer)
    out, err = run(capsys, "info", GRAPH, "--machines", f"/dev/fd/{reader}")
    os.close(reader)
    assert any(f"2 processors of /dev/fd/{reader}, costs as in the file (CCR" in x for x in out)
    assert err == []


# -- what is done --------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [GRAPH, "montage", TESTS / "data" / "formats" / "four.stg"])
def test_without_options_problems_are_those_of_load(path):
    with pytest.warns(MachinesAssumedWarning):
        instance = io.load(path)
    assert read_problem(str(path), MachineOptions()).instance == instance
    stated = MachineOptions(platform="unrelated", processors=4, beta=0.5, ccr=1, platform_seed=0)
    assert stated.assumed(instance) == ()
    assert read_problem(str(path), stated).instance == instance


@pytest.mark.parametrize(
    ("options", "platform"),
    [
        (["--platform", "unrelated", "--beta", 2], Unrelated(4, beta=2)),
        (
            ["--platform", "clustered", "--clusters", 4, "--slowdown", 3, "--beta", 0],
            Clustered(Unrelated(4, beta=0), n_clusters=4, slowdown=3),
        ),
        (
            ["--platform", "cpu-gpu", "--processors", 5, "--gpus", 3, "--acceleration", "2..8"],
            CpuGpu(5, 3, (2, 8)),
        ),
        (["--platform", "cpu-gpu", "--acceleration", 4], CpuGpu(4, 1, (4, 4))),
        (["--platform", "restricted", "--share", 0.1], Restricted(Unrelated(4), 0.1)),
    ],
)
def test_options_of_a_kind_are_parameters_of_its_platform(capsys, tmp_path, options, platform):
    run(capsys, "convert", GRAPH, tmp_path / "g.json", *options, "--ccr", 1)
    assert io.load(tmp_path / "g.json") == platform(FLOW, np.random.default_rng(0))


@pytest.mark.parametrize("kind", KINDS)
def test_costs_stay_without_ccr(kind):
    instance = MachineOptions(platform=kind, processors=5).equip(FLOW)
    assert instance.n_processors == 5
    assert instance.data.tolist() == FLOW.data.tolist()
    assert communication(instance).mean() == pytest.approx(FLOW.data.mean())
    drawn = PLATFORMS[kind.replace("-", "_")](n_processors=5)(FLOW, np.random.default_rng(0))
    assert np.array_equal(instance.comp, drawn.comp)


@pytest.mark.parametrize("kind", KINDS)
def test_ccr_is_exact_on_every_kind(kind):
    assert ccr(MachineOptions(platform=kind, ccr=2.5).equip(FLOW)) == pytest.approx(2.5)


def test_ccr_of_speeds_of_a_machine_file_and_of_a_file_with_its_own_processors(machine_file):
    assert ccr(MachineOptions(speeds="1,3", ccr=2.5).equip(FLOW)) == pytest.approx(2.5)
    described = MachineOptions(machines=str(machine_file), ccr=2.5)
    assert ccr(described.equip(FLOW)) == pytest.approx(2.5)
    instance, machines, _ = read_problem(str(OWN), MachineOptions(ccr=2.5))
    assert ccr(instance) == pytest.approx(2.5)
    assert machines == "2 processors as in the file, communication rescaled to CCR 2.5"


@given(st.sampled_from(KINDS), st.floats(1e-3, 1e3), st.floats(0, 1e3))
def test_bandwidth_divides_and_latency_adds(kind, bandwidth, latency):
    free = MachineOptions(platform=kind).equip(FLOW)
    linked = MachineOptions(platform=kind, bandwidth=bandwidth, latency=latency).equip(FLOW)
    expected = communication(free) / bandwidth + latency
    assert communication(linked) == pytest.approx(expected)


@given(st.lists(st.floats(0.1, 10), min_size=2, max_size=5), st.floats(0.1, 10))
def test_speeds_are_those_of_a_platform(speeds, bandwidth):
    options = MachineOptions(speeds=",".join(map(repr, speeds)), bandwidth=bandwidth, latency=2.0)
    expected = Platform(speeds, bandwidth, latency=2.0).equip(FLOW)
    assert np.array_equal(options.equip(FLOW).comp, expected.comp)
    assert communication(options.equip(FLOW)) == pytest.approx(communication(expected))


def test_another_seed_draws_other_processors():
    first, second = (MachineOptions(platform_seed=seed).equip(FLOW) for seed in (0, 1))
    assert first != second
    assert first == MachineOptions(platform="unrelated").equip(FLOW)


def test_options_are_a_platform_for_load():
    options = MachineOptions(platform="identical", processors=2, bandwidth=1)
    assert io.load(GRAPH, platform=options) == Platform([1, 1], 1).equip(FLOW)
    with pytest.warns(MachinesAssumedWarning):
        assert io.load(GRAPH, platform=MachineOptions()) == RandomPlatform().equip(FLOW)


def test_units_are_said_of_formats_without_any(capsys, tmp_path):
    (tmp_path / "w.dot").write_text("digraph { a [weight=3]; b [weight=2]; a -> b [weight=5] }")
    machines = ["--platform", "identical", "--processors", 2, "--bandwidth"]
    (line,) = run(capsys, "schedule", tmp_path / "w.dot", *machines, "1Gbit/s")[1]
    assert "w.dot: data is taken as bytes, times as seconds: CCR 1.6e-08; if they are" in line
    (tmp_path / "w.txt").write_text((tmp_path / "w.dot").read_text())
    (line,) = run(capsys, "compare", tmp_path, "--schedulers", "heft", *machines, "1GB/s")[1]
    assert "w.dot and 1 more: data is taken as bytes" in line
    (tmp_path / "m.json").write_text(
        '{"format": "dagsched-machines", "processors": [{"name": "a"}, {"name": "b"}], '
        '"bandwidth": "1Gbit/s"}'
    )
    (line,) = run(capsys, "schedule", tmp_path / "w.dot", "--machines", tmp_path / "m.json")[1]
    assert line.endswith('write "bandwidth" in the machine file without a unit')
    assert run(capsys, "schedule", tmp_path / "w.dot", *machines, "5")[1] == []
    assert run(capsys, "schedule", "montage", *machines, "1Gbit/s")[1] == []


def test_nothing_to_rescale_is_not_said_to_be_rescaled(capsys, tmp_path):
    (tmp_path / "w.csv").write_text("task,time\na,1\nb,2\n")
    out, _ = run(capsys, "info", tmp_path / "w.csv")
    (line,) = [line for line in out if line.startswith("machines")]
    assert line.endswith("seed 0, costs as in the file, which have no communication")
    (tmp_path / "n.dot").write_text("digraph { a [weight=3]; b [weight=2]; a -> b }")
    options = ["--platform", "identical", "--processors", 2, "--bandwidth", 1, "--latency", 5]
    out, _ = run(capsys, "info", tmp_path / "n.dot", *options)
    (line,) = [line for line in out if line.startswith("machines")]
    assert line.endswith("costs as in the file (bandwidth 1, latency 5, CCR 2)")


# -- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--platform", "magic"], "--platform is 'magic': write one of clustered, cpu-gpu, ide"),
        (["--processors", "0"], "--processors is 0: write a number between 1 and 1024"),
        (["--bandwidth", "0"], "--bandwidth is 0: write a number > 0"),
        (["--bandwidth=-1Gbit/s"], "--bandwidth is -1.25e+08: write a number > 0"),
        (["--latency", "-1"], "--latency is -1: write a number >= 0"),
        (["--ccr", "nan"], "--ccr is nan: write a number >= 0"),
        (["--platform-seed", "-1"], "--platform-seed is -1: write a number >= 0"),
        (["--speeds", "1;2"], "--speeds is '1;2': write numbers with commas, as in 1,2,4"),
        (["--speeds", "1,0"], "--speeds is 0: write a number > 0"),
        (
            ["--speeds", "1,2", "--processors", "3"],
            "--speeds has 2 values, but --processors is 3: write one speed for each processor",
        ),
        (
            ["--speeds", "1,2", "--platform", "cpu-gpu"],
            "--speeds are those of related processors: leave --platform cpu-gpu out",
        ),
        (
            ["--speeds", "1,2", "--platform-seed", "1"],
            "nothing is drawn: leave --platform-seed out",
        ),
        (
            ["--platform", "identical", "--platform-seed", "1"],
            "nothing is drawn: leave --platform-seed out",
        ),
        (
            ["--ccr", "2", "--latency", "1"],
            "--ccr rescales all communication: leave --bandwidth and --latency out",
        ),
        (
            ["--machines", "m.json", "--processors", "2"],
            "--machines describes the processors: leave --processors out",
        ),
        (
            ["--gpus", "1"],
            "--gpus is for --platform cpu-gpu, not for unrelated processors: choose such a",
        ),
        (
            ["--platform", "cpu-gpu", "--beta", "1"],
            "--beta is for --platform clustered or restricted or unrelated, not for cpu-gpu",
        ),
        (["--speeds", "1,2", "--clusters", "2"], "--clusters is for --platform clustered, not fo"),
        (
            ["--platform", "cpu-gpu", "--gpus", "5"],
            "--gpus is 5: write a number between 0 and 4",
        ),
        (
            ["--platform", "cpu-gpu", "--acceleration", "fast"],
            "--acceleration is 'fast': write a number or a range, as in 10 or 2..30",
        ),
        (
            ["--platform", "cpu-gpu", "--acceleration", "3..2"],
            "--acceleration is '3..2': write a number or a range",
        ),
        (["--beta", "3"], "--beta is 3: write a number between 0 and 2"),
        (
            ["--platform", "clustered", "--slowdown", "0.5"],
            "--slowdown is 0.5: write a number >= 1",
        ),
        (
            ["--platform", "clustered", "--clusters", "9", "--processors", "8"],
            "--clusters is 9: write a number between 1 and 8, that of --processors",
        ),
        (
            ["--platform", "clustered", "--clusters", "0"],
            "--clusters is 0: write a number between 1 and 4, that of --processors",
        ),
        (
            ["--platform", "restricted", "--share", "2"],
            "--share is 2: write a number between 0 and 1",
        ),
        (["--machines", "none.json"], "none.json: No such file or directory"),
    ],
)
def test_options_that_are_refused(capsys, options, message):
    assert refusal(capsys, "info", GRAPH, *options).startswith(message)


@pytest.mark.parametrize("options", [["--platform", "identical"], ["--speeds", "1,2"]])
def test_a_file_with_its_own_processors_takes_no_others(capsys, options):
    message = f"{OWN}: the file describes its processors itself: leave {options[0]} out"
    assert refusal(capsys, "info", OWN, *options) == message


@pytest.mark.parametrize(
    ("text", "options", "what"),
    [
        ("a [Weight=1]", {"ccr": 2}, "communication"),
        ("a [Weight=1]", {"ccr": 2, "platform": "identical"}, "communication"),
        ("a [Weight=1]", {"ccr": 2, "speeds": "1,2"}, "communication"),
        (
            "a [Weight=0]; b [Weight=0]; a -> b [Weight=1]",
            {"ccr": 2, "speeds": "1,2"},
            "computation",
        ),
    ],
)
def test_nothing_to_rescale(tmp_path, text, options, what):
    path = tmp_path / "g.dot"
    path.write_text(f"digraph {{ {text} }}")
    with pytest.raises(DAGSchedError, match=f"{path}: there is no {what} to rescale: leave --ccr"):
        read_problem(str(path), MachineOptions(**options))


def test_without_data_the_costs_stay_free(tmp_path):
    path = tmp_path / "g.dot"
    path.write_text("digraph { a [Weight=1]; b [Weight=2]; a -> b }")
    instance = read_problem(str(path), MachineOptions(platform="clustered")).instance
    assert communication(instance).tolist() == [0]


@pytest.mark.parametrize("kind", KINDS)
def test_costs_stay_where_no_task_takes_any_time(tmp_path, kind):
    path = tmp_path / "g.dot"
    path.write_text("digraph { a [Weight=0]; b [Weight=0]; a -> b [Weight=3] }")
    instance = read_problem(str(path), MachineOptions(platform=kind)).instance
    assert communication(instance).tolist() == [3]


def test_machine_files_that_do_not_fit_name_the_problem(capsys, tmp_path, machine_file):
    machine_file.write_text(machine_file.read_text().replace('"4"', '"x"'))
    message = refusal(capsys, "info", GRAPH, "--machines", machine_file)
    assert message.startswith(f"{GRAPH}: eligible names 'x', which is neither a task nor a kind")
    machine_file.write_text("{}")
    message = refusal(capsys, "info", GRAPH, "--machines", machine_file)
    assert f'{machine_file}: no machine file: the top level needs "format"' in message


def test_nodes_with_cores_and_memory_from_a_command_to_a_schedule(capsys, tmp_path):
    options = ["--nodes", 2, "--cores", 8, "--memory", "128GB", "--bandwidth", "1Gbit/s"]
    schedule = tmp_path / "schedule.json"
    out, err = run(capsys, "schedule", "blast", *options, "--scheduler", "heft", "--out", schedule)
    assert err[0] == (
        "dagsched: blast: resources: cores: the peak of those that were used; memory: the peak of "
        "the resident set"
    )
    assert out[-2].startswith("assumed: resources: cores: the peak")
    machines = io.MachineOptions(nodes=2, cores=8, memory="128GB", bandwidth="1Gbit/s")
    instance = machines.equip(io.read("blast"))
    found = Schedule.from_json(schedule.read_text())
    found.validate(instance)
    assert found.makespan < heft(io.MachineOptions(nodes=2, ccr=0).equip(io.read("blast"))).makespan
    out, _ = run(capsys, "info", "blast", *options)
    assert any("2 identical nodes with cores 8, memory 128GB" in line for line in out)


def test_convert_says_what_its_machines_leave_out(capsys, tmp_path):
    """A workflow records cores and memory; processors without cores do not count them."""
    dax = tmp_path / "a.dax"
    profile = '<profile namespace="pegasus" key="{}">{}</profile>'
    job = '<job id="{0}" name="{0}" runtime="5">{1}</job>'
    uses = profile.format("cores", 2) + profile.format("memory", 1024)
    dax.write_text(f"<adag>{job.format('a', uses)}{job.format('b', '')}</adag>")
    options = ["--platform", "identical", "--processors", "2", "--bandwidth", "100"]
    _, err = run(capsys, "convert", dax, tmp_path / "g.json", *options)
    assert "left out: cores and memory of 1 task; write --cores" in err[-1]
    _, err = run(capsys, "convert", dax, tmp_path / "g.json", *options, "--cores", "4")
    assert not any("left out" in line for line in err)

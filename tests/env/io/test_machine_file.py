"""Machine files: every key, every error with its place and what to write, any JSON."""

import contextlib
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagsched_env import io
from dagsched_env.io import machine_file
from dagsched_env.pictures.colours import colour_tasks
from dagsched_env.problem.errors import DAGSchedError, FormatError
from dagsched_env.problem.workflow import Workflow

FLOW = Workflow(
    tasks=("a", "b", "c"),
    runtimes=np.array([8.0, 4.0, 2.0]),
    edges=((0, 1),),
    data=np.array([10.0]),
    kinds=("render", "parse", "render"),
)
RECORD = {
    "format": "dagsched-machines",
    "processors": [{"name": "cpu0"}, {"name": "cpu1", "speed": 2}, {"name": "gpu0", "speed": 16}],
    "bandwidth": 100,
    "latency": 0.5,
    "links": [
        {"between": ["cpu0", "cpu1"], "bandwidth": 400, "latency": 0},
        {"from": "gpu0", "to": "cpu0", "bandwidth": 50},
    ],
    "eligible": {"render": ["gpu0"], "parse": ["cpu0", "cpu1"]},
}


def test_the_example_of_the_documentation():
    example = machine_file.__doc__.partition("An example:\n")[2].partition("\n- ``")[0]
    assert json.loads(example) == RECORD
    instance = machine_file.parse(RECORD).equip(FLOW)
    inf = math.inf
    assert instance.processor_names == ("cpu0", "cpu1", "gpu0")
    assert instance.comp.tolist() == [[inf, inf, 0.5], [4, 2, inf], [inf, inf, 0.125]]
    assert instance.data.tolist() == [10]
    assert instance.inv_bandwidth.tolist() == [
        [0, 1 / 400, 0.01],
        [1 / 400, 0, 0.01],
        [0.02, 0.01, 0],
    ]
    assert instance.latency.tolist() == [[0, 0, 0.5], [0, 0, 0.5], [0.5, 0.5, 0]]


def test_from_a_file_with_defaults(tmp_path):
    path = tmp_path / "machines.json"
    path.write_text('{"format": "dagsched-machines", "processors": [{"name": "x"}, {"name": "y"}]}')
    instance = io.load_machines(path).equip(FLOW)
    assert instance.comp.tolist() == [[8, 8], [4, 4], [2, 2]]
    assert instance.inv_bandwidth.tolist() == [[0, 1], [1, 0]]
    assert not instance.latency.any()


@pytest.mark.parametrize(
    ("changes", "assumes"),
    [
        ({"bandwidth": 1}, False),
        ({"latency": 2}, True),
        ({"links": [{"between": ["x", "y"], "bandwidth": 3}]}, False),
        ({"links": [{"from": "x", "to": "y", "bandwidth": 3}]}, True),
        ({"links": [{"between": ["x", "y"], "latency": 3}]}, True),
        ({"processors": [{"name": "x"}]}, False),
    ],
)
def test_whether_a_link_has_the_default_bandwidth(changes, assumes):
    record = {"format": "dagsched-machines", "processors": [{"name": "x"}, {"name": "y"}]}
    assert machine_file.parse(record | changes).assumes_bandwidth is assumes


def test_a_machine_file_is_no_problem(tmp_path):
    (tmp_path / "m.json").write_text(json.dumps(RECORD))
    with pytest.raises(
        FormatError, match=r"m\.json: a machine file is no problem: pass it with --"
    ):
        io.load(tmp_path / "m.json")


def test_the_name_of_a_task_goes_before_its_kind():
    eligible = {"render": ["gpu0"], "c": ["cpu0"]}
    comp = machine_file.parse(RECORD | {"eligible": eligible}).equip(FLOW).comp
    assert np.isfinite(comp).tolist() == [[False, False, True], [True] * 3, [True, False, False]]


TRACE = Workflow(
    tasks=("add_ID1", "add_ID2", "view_ID3", "view"),
    runtimes=np.ones(4),
    edges=(),
    data=np.zeros(0),
)


@pytest.mark.parametrize(
    ("eligible", "restricted"),
    [
        ({"add": ["gpu0"]}, [0, 1]),
        ({"add_ID2": ["gpu0"]}, [1]),
        ({"add": ["cpu0"], "view_ID3": ["gpu0"]}, [0, 1, 2]),
        ({"view": ["gpu0"]}, [3]),  # a task of this name goes before a kind
    ],
)
def test_names_of_tasks_tell_their_kinds(eligible, restricted):
    comp = machine_file.parse(RECORD | {"eligible": eligible}).equip(TRACE).comp
    assert np.flatnonzero(np.isinf(comp).any(axis=1)).tolist() == restricted


def test_every_kind_in_the_legend_of_a_chart_can_be_restricted():
    legend = colour_tasks(io.load("montage", platform=io.Platform([1, 1], 125e6))).legend
    assert "mProject" in legend
    platform = io.Platform([1, 1], 125e6, eligible={kind: ["P1"] for kind in legend})
    comp = io.load("montage", platform=platform).comp
    assert np.isinf(comp[:, 0]).all()


def processor(**changes):
    return {"processors": [{"name": "cpu0"} | changes]}


def link(**keys):
    return {"links": [keys], "eligible": {}}


ERRORS = [
    ({"format": "x"}, 'no machine file: the top level needs "format": "dagsched-machines"'),
    ({"speed": 2}, "the top level has an unknown key 'speed': write format, processors, bandwidth"),
    ({"processors": 8}, 'processors is 8: write a list of objects, as in [{"name": "P0", "speed"'),
    ({"processors": []}, "processors: 0 processors; between 1 and 4096 are read"),
    ({"processors": ["cpu0"]}, "processors[0] is not an object"),
    ({"processors": [{"speed": 1}]}, "processors[0] has no key 'name'"),
    ({"processors": [{"name": 3}]}, "processors[0].name is int, not text"),
    ({"processors": [{"name": "a"}] * 2}, "processors[1].name repeats 'a' of processors[0]"),
    (processor(sockets=4), "processors[0] has an unknown key 'sockets': write name, speed"),
    (processor(speed=0), "processors[0].speed is 0: write a number > 0, such as 1"),
    (processor(speed="2"), "processors[0].speed is '2': write a number > 0, such as 1"),
    (processor(speed=True), "processors[0].speed is True: write a number > 0, such as 1"),
    ({"bandwidth": math.inf}, "bandwidth is inf: write a number > 0, such as 1"),
    ({"latency": -1}, "latency is -1: write a number >= 0, such as 0"),
    ({"latency": math.nan}, "latency is nan: write a number >= 0, such as 0"),
    ({"bandwidth": "fast"}, "bandwidth is 'fast': write a number, or one with a unit where data"),
    (
        {"bandwidth": "1Gbit/s"},
        "links[0].bandwidth has no unit, but others have: write all with a unit, or none",
    ),
    (
        {"links": [{"between": ["cpu0", "cpu1"], "bandwidth": "1Gbit/s"}], "bandwidth": 4},
        "bandwidth has no unit, but others have",
    ),
    ({"bandwidth": "1e300Gbit/s"}, "bandwidth is '1e300Gbit/s': write one <= 1e100"),
    ({"bandwidth": "-1Gbit/s"}, "bandwidth is '-1Gbit/s': write one > 0"),
    ({"links": {}}, "links is {}: write a list of objects, as in [{"),
    (link(between=["cpu0", "cpu1"]), 'links[0] changes nothing: write "bandwidth", "latency" or'),
    (link(latency=1), 'links[0] needs "between": [A, B] for both directions, or "from": A and'),
    (link(latency=1, between=["cpu0", "cpu1"], to="gpu0"), 'links[0] needs "between": [A, B]'),
    (link(latency=1, to="gpu0"), "links[0] has no key 'from'"),
    (link(latency=1, between=["cpu0"]), "links[0].between has 1 names: write two processors"),
    (
        link(latency=1, between=["x", "cpu0"]),
        "links[0] names 'x', which is no processor: there are",
    ),
    (link(latency=1, between=["cpu0"] * 2), "links[0] joins 'cpu0' with itself: name two proc"),
    (link(speed=1, latency=1), "links[0] has an unknown key 'speed': write between, from, to"),
    (
        link(latency=-1, between=["cpu0", "cpu1"]),
        "links[0].latency is -1: write a number >= 0, such as 0.5",
    ),
    (
        {"links": RECORD["links"] + [{"from": "cpu1", "to": "cpu0", "latency": 1}]},
        "links[2] repeats a link: remove one of the two",
    ),
    ({"eligible": []}, "eligible is not an object"),
    ({"eligible": {"a": []}}, "eligible['a'] is empty: write at least one processor"),
    ({"eligible": {"a": "cpu0"}}, "eligible['a'] is not a list"),
    ({"eligible": {"a": ["x"]}}, "eligible['a'] names 'x', which is no processor: there are cpu0"),
]


@pytest.mark.parametrize(("changes", "message"), ERRORS)
def test_errors_name_the_place_and_what_to_write(tmp_path, changes, message):
    path = tmp_path / "machines.json"
    path.write_text(json.dumps(RECORD | changes))
    with pytest.raises(FormatError) as caught:
        io.load_machines(path)
    assert str(caught.value).startswith(f"{path}: {message}")


@pytest.mark.parametrize(
    ("text", "number", "in_bytes"),
    [("1Gbit/s", 1.25e8, True), ("10 MB/s", 1e7, True), ("80kb", 1e4, True), ("25", 25, False)],
)
def test_a_bandwidth_may_have_a_unit(text, number, in_bytes):
    machines = machine_file.parse(RECORD | {"bandwidth": text, "links": []})
    assert machines.bandwidths[0, 1] == machines.bandwidths[1, 0] == number
    assert machines.in_bytes == in_bytes
    links = [{"between": ["cpu0", "cpu1"], "bandwidth": text}]
    machines = machine_file.parse(
        RECORD | {"bandwidth": "1MB/s" if in_bytes else 4, "links": links}
    )
    assert machines.bandwidths[1, 0] == number
    assert machines.bandwidths[0, 2] == (1e6 if in_bytes else 4)


def test_a_unit_is_of_all_links():
    links = [{"between": ["cpu0", "cpu1"], "bandwidth": "1MB/s"}]
    record = {key: value for key, value in RECORD.items() if key != "bandwidth"}
    with pytest.raises(
        FormatError, match="some links have a bandwidth with a unit and others none"
    ):
        machine_file.parse(record | {"links": links})


def test_processors_cannot_be_left_out():
    with pytest.raises(FormatError, match=r'the top level needs "processors": \[{"name": "P0"'):
        machine_file.parse({"format": "dagsched-machines"})


def test_no_json_and_no_file(tmp_path):
    (tmp_path / "m.json").write_text("{")
    with pytest.raises(FormatError, match=r"m\.json: not JSON"):
        io.load_machines(tmp_path / "m.json")
    with pytest.raises(FileNotFoundError):
        io.load_machines(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("eligible", "message"),
    [
        ({"a": ["x"]}, r"eligible\['a'\] names no processor 'x': there are P0, P1"),
        ({"a": []}, r"eligible\['a'\] is empty: there are P0, P1"),
    ],
)
def test_a_platform_checks_who_may_run_what(eligible, message):
    with pytest.raises(DAGSchedError, match=message):
        io.Platform([1, 2], 1, eligible=eligible)


def test_eligible_has_to_name_tasks_or_kinds():
    platform = io.Platform([1, 2], 1, eligible={"rendr": ["P0"]})
    with pytest.raises(DAGSchedError, match="eligible names 'rendr', which is neither a task nor"):
        platform.equip(FLOW)


# -- any machine file ----------------------------------------------------------------------------


@st.composite
def records(draw):
    """A valid record, with the links by their ends."""
    names = draw(st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=4, unique=True))
    numbers = st.floats(1e-6, 1e6) | st.integers(1, 1000)
    processors = [
        {"name": name} | ({"speed": draw(numbers)} if draw(st.booleans()) else {}) for name in names
    ]
    pairs = [(a, b) for a in names for b in names if a != b]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    links = [{"from": a, "to": b, "bandwidth": draw(numbers)} for a, b in chosen]
    tasks = draw(st.lists(st.sampled_from("abc"), unique=True))
    some = st.lists(st.sampled_from(names), min_size=1, unique=True)
    return {
        "format": "dagsched-machines",
        "processors": processors,
        "bandwidth": draw(numbers),
        "latency": draw(numbers),
        "links": links,
        "eligible": {task: draw(some) for task in tasks},
    }


@given(records())
def test_valid_files_are_read_as_they_say(record):
    text = json.dumps(record)
    instance = machine_file.parse(json.loads(text)).equip(FLOW)
    names = [processor["name"] for processor in record["processors"]]
    assert list(instance.processor_names) == names
    for q, machine in enumerate(record["processors"]):
        for i, task in enumerate(FLOW.tasks):
            allowed = machine["name"] in record["eligible"].get(task, names)
            expected = FLOW.runtimes[i] / machine.get("speed", 1) if allowed else math.inf
            assert instance.comp[i, q] == expected
    special = {(x["from"], x["to"]): x["bandwidth"] for x in record["links"]}
    for a, first in enumerate(names):
        for b, second in enumerate(names):
            if a != b:
                bandwidth = special.get((first, second), record["bandwidth"])
                assert instance.inv_bandwidth[a, b] == pytest.approx(1 / bandwidth)
                assert instance.latency[a, b] == record["latency"]


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4)
anything = st.recursive(
    scalars | st.sampled_from(["cpu0", "gpu0"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "speed", "between", "from", "to", "bandwidth", "x"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(machine_file.KEYS[1:]), anything, max_size=3))
def test_any_other_json_is_read_or_refused(changes):
    with contextlib.suppress(FormatError):
        assert machine_file.parse(RECORD | changes).n_processors >= 1

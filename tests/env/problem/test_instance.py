"""Instance: construction errors, immutability, conversions, derived quantities."""

import copy
import json
import math
import pickle

import networkx as nx
import numpy as np
import pytest
from hypothesis import given

from dagsched_env.problem.errors import DAGSchedError, FormatError, InvalidInstanceError
from dagsched_env.problem.instance import Instance
from helpers.oracles import GRAPHS, paper_instance
from helpers.references import critical_path
from helpers.strategies import instances

INF, NAN = math.inf, math.nan
ONES = [[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]
CHAIN = [(0, 1), (1, 2)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], [], []), r"comp needs shape \[tasks, processors\]"),
        (([[]], [], []), r"at least one of each, got \[1, 0\]"),
        (([1.0, 2.0], [], []), r"comp needs shape .* got \[2\]"),
        (([[1.0], [1.0, 2.0]], [], []), "comp is not a rectangular array"),
        (([["a"]], [], []), "comp is not a rectangular array"),
        (([[1.0, 1.0], [1.0, NAN]], [], []), r"comp\[1, 1\] is nan"),
        (([[1.0, -2.0]], [], []), r"comp\[0, 1\] is -2"),
        (([[1.0, 1.0], [INF, INF]], [], []), "task 1 can run on no processor"),
        ((ONES, [(0, 1, 2)], [1]), r"edges needs shape \[edges, 2\]"),
        ((ONES, [(0, 1.5)], [1]), "not whole numbers"),
        ((ONES, [(0, NAN)], [1]), "not whole numbers"),
        ((ONES, [(0, 1), (0, 3)], [1, 1]), r"edge 1 is \[0, 3\]: task indices run from 0 to 2"),
        ((ONES, [(-1, 1)], [1]), r"edge 0 is \[-1, 1\]"),
        ((ONES, [(0, 1), (2, 2)], [1, 1]), "edge 1 is a self-loop on task 2"),
        ((ONES, [(0, 1), (1, 2), (0, 1)], [1, 1, 1]), r"edge 2 repeats the pair \(0, 1\)"),
        ((ONES, [(0, 1), (1, 2), (2, 0)], [1, 1, 1]), "cycle: 0 -> 1 -> 2 -> 0"),
        ((ONES, CHAIN, [1]), r"one number per edge, shape \[2\], got \[1\]"),
        ((ONES, CHAIN, [1, -1]), r"data\[1\] is -1"),
        ((ONES, CHAIN, [INF, 1]), r"data\[0\] is inf"),
        (([[1e308], [1e308]], [], []), "overflow"),
    ],
)
def test_bad_arrays_are_named(arguments: tuple, message: str) -> None:
    with pytest.raises(InvalidInstanceError, match=message) as caught:
        Instance(*arguments)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([(0, 1), (1, 2), (2, 0)], r"cycle: 'a' -> '1\\n' -> '0' -> 'a'; remove one edge"),
        ([(0, 1), (2, 2)], "edge 1 is a self-loop on task '0'; remove it"),
        ([(0, 1), (0, 1)], r"edge 1 repeats the pair \('a', '1\\n'\)"),
    ],
)
def test_bad_edges_name_their_tasks(edges: list, message: str) -> None:
    with pytest.raises(InvalidInstanceError, match=message):
        Instance(ONES, edges, [1] * len(edges), task_names=["a", "1\n", "0"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"inv_bandwidth": [[0.0, 1.0]]}, r"inv_bandwidth needs shape \[2, 2\], got \[1, 2\]"),
        ({"inv_bandwidth": [[0, INF], [1, 0]]}, r"inv_bandwidth\[0, 1\] is inf"),
        ({"latency": [[0, 1], [-1, 0]]}, r"latency\[1, 0\] is -1"),
        ({"latency": "fast"}, "latency is not a rectangular array"),
        ({"task_names": ["a", "b"]}, "task_names needs 3 names, got 2"),
        ({"task_names": ["a", "b", "a"]}, r"task_names\[2\] repeats 'a'"),
        ({"task_names": "abc"}, "task_names is not a list of strings"),
        ({"processor_names": [0, 1]}, "processor_names is not a list of strings"),
        ({"name": 7}, "name is int"),
    ],
)
def test_bad_options_are_named(options: dict, message: str) -> None:
    with pytest.raises(InvalidInstanceError, match=message):
        Instance(ONES, CHAIN, [1, 1], **options)


def test_it_is_frozen(topcuoglu: Instance) -> None:
    with pytest.raises(AttributeError, match="frozen"):
        topcuoglu.name = "other"
    for array in (topcuoglu.comp, topcuoglu.rank_u, *topcuoglu.arrays):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_it_does_not_share_memory_with_its_arguments() -> None:
    comp = np.ones((3, 2))
    instance = Instance(comp, CHAIN, [1, 1])
    comp[:] = 7.0
    assert instance.comp.max() == 1.0


def test_diagonal_of_the_links_is_ignored() -> None:
    plain = Instance(ONES, CHAIN, [1, 1])
    assert Instance(ONES, CHAIN, [1, 1], inv_bandwidth=np.ones((2, 2))) == plain
    assert Instance(ONES, CHAIN, [1, 1], latency=np.diag([3.0, INF])) == plain


@given(instances())
def test_both_compressed_forms_hold_every_edge(instance: Instance) -> None:
    a = instance.arrays
    wanted = sorted(
        (u, v, d) for (u, v), d in zip(instance.edges.tolist(), instance.data.tolist(), strict=True)
    )
    forward = [
        (t, int(a.succ_task[e]), float(a.succ_data[e]))
        for t in range(instance.n_tasks)
        for e in range(a.succ_ptr[t], a.succ_ptr[t + 1])
    ]
    backward = [
        (int(a.pred_task[e]), t, float(a.pred_data[e]))
        for t in range(instance.n_tasks)
        for e in range(a.pred_ptr[t], a.pred_ptr[t + 1])
    ]
    assert sorted(forward) == wanted
    assert sorted(backward) == wanted


@given(instances())
def test_topological_order(instance: Instance) -> None:
    order = instance.topological_order
    assert sorted(order.tolist()) == list(range(instance.n_tasks))
    position = instance.arrays.topo_position
    assert (order[position] == np.arange(instance.n_tasks)).all()
    assert (position[instance.edges[:, 0]] < position[instance.edges[:, 1]]).all()


@given(instances())
def test_json_round_trip(instance: Instance) -> None:
    text = instance.to_json()
    again = Instance.from_json(text)
    assert again == instance
    assert again.fingerprint == instance.fingerprint
    json.loads(text, parse_constant=lambda token: pytest.fail(f"{token} is not JSON"))


@given(instances())
def test_networkx_pickle_and_copy_round_trips(instance: Instance) -> None:
    again = Instance.from_networkx(
        instance.to_networkx(),
        inv_bandwidth=instance.inv_bandwidth,
        latency=instance.latency,
    )
    assert (again.comp == instance.comp).all()
    assert again.task_names == instance.task_names
    assert {
        (u, v): d for (u, v), d in zip(again.edges.tolist(), again.data.tolist(), strict=True)
    } == {
        (u, v): d for (u, v), d in zip(instance.edges.tolist(), instance.data.tolist(), strict=True)
    }
    assert pickle.loads(pickle.dumps(instance)) == instance
    assert copy.deepcopy(instance) == instance


def test_networkx_attributes() -> None:
    graph = nx.DiGraph(name="two")
    graph.add_node("a", cost=[1.0, 2.0])
    graph.add_node("b", cost=[3.0, INF])
    graph.add_edge("a", "b")
    instance = Instance.from_networkx(graph, comp="cost", data="bytes")
    assert (instance.name, instance.task_names) == ("two", ("a", "b"))
    assert instance.data.tolist() == [0.0]
    with pytest.raises(InvalidInstanceError, match="node 'a' has no attribute 'comp'"):
        Instance.from_networkx(graph)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "no instance"),
        ('{"format": "other"}', "no instance"),
        ('{"format": "dagsched-instance", "version": 9}', "version 9 is not 1"),
        ('{"format": "dagsched-instance", "version": 1}', "key 'comp' is missing"),
        (
            '{"format": "dagsched-instance", "version": 1, "comp": [[1]], "inv_bandwith": [[0]]}',
            "no key 'inv_bandwith': did you mean 'inv_bandwidth'",
        ),
        (
            '{"format": "dagsched-instance", "version": 1, "comp": [1], "edges": [], "data": []}',
            "key 'comp' has a row that is not a list",
        ),
        (
            '{"format": "dagsched-instance", "version": 1, "comp": [["x"]], "edges": [], '
            '"data": []}',
            "comp is not",
        ),
        (
            '{"format": "dagsched-instance", "version": 1, "comp": [[1]], "edges": [], "data": [],'
            ' "task_names": 5}',
            "task_names is not a list",
        ),
    ],
)
def test_bad_json_is_one_line_error(text: str, message: str) -> None:
    with pytest.raises(DAGSchedError, match=message) as caught:
        Instance.from_json(text)
    assert "\n" not in str(caught.value)


def test_the_smallest_json_is_a_table_of_costs() -> None:
    text = '{"format": "dagsched-instance", "version": 1, "comp": [[1, 2], [3, null]]}'
    assert Instance.from_json(text) == Instance([[1, 2], [3, np.inf]], [], [])


def test_bad_json_is_a_format_error() -> None:
    with pytest.raises(FormatError):
        Instance.from_json("nothing")


def test_zeros_of_either_sign_are_one_number() -> None:
    one, other = Instance([[0.0]], [], []), Instance([[-0.0]], [], [])
    assert one == other
    assert len({one, other}) == 1
    assert one.fingerprint == other.fingerprint
    late = [Instance([[1.0]] * 2, [], [], release=[zero, 3.0]) for zero in (0.0, -0.0)]
    assert late[0] == late[1]
    assert len(set(late)) == 1


def test_fingerprint_sees_every_number_and_no_name() -> None:
    base = Instance(ONES, CHAIN, [1, 1])
    assert Instance(ONES, CHAIN, [1, 1], name="x", task_names=list("abc")) != base
    same = Instance(ONES, CHAIN, [1, 1], name="x", task_names=list("abc"))
    assert same.fingerprint == base.fingerprint
    others = [
        Instance([[1, 1], [1, 1], [1, 2]], CHAIN, [1, 1]),
        Instance(ONES, [(0, 1), (0, 2)], [1, 1]),
        Instance(ONES, CHAIN, [1, 2]),
        Instance(ONES, CHAIN, [1, 1], latency=[[0, 1], [0, 0]]),
        Instance(ONES, CHAIN, [1, 1], inv_bandwidth=[[0, 2], [1, 0]]),
    ]
    assert len({base.fingerprint, *(other.fingerprint for other in others)}) == 6
    assert len({base, same, Instance(ONES, CHAIN, [1, 1])}) == 2


def test_cp_min_of_the_paper_graphs() -> None:
    assert paper_instance("Topcuoglu2002").cp_min == 41
    assert paper_instance("PEFT2014").cp_min == 75


@given(instances())
def test_bounds(instance: Instance) -> None:
    assert instance.cp_min == critical_path(instance)
    load = instance.comp.min(axis=1).sum() / instance.n_processors
    assert instance.lower_bound == pytest.approx(max(instance.cp_min, load), rel=1e-12)


@pytest.mark.parametrize("name", sorted(GRAPHS))
def test_lower_bound_holds_for_the_optimum(name: str) -> None:
    assert paper_instance(name).lower_bound <= GRAPHS[name]["makespan"]["optimum"]


def test_time_scale_of_a_free_problem_is_one() -> None:
    assert Instance([[0.0]], [], []).time_scale == 1.0
    assert "tasks=1" in repr(Instance([[0.0]], [], []))


def test_renamed_changes_the_names_that_are_given_and_nothing_else() -> None:
    named = Instance([[1.0, 2.0], [2.0, 1.0]], [(0, 1)], [3.0], task_names=["a", "b"], name="old")
    new = named.renamed("new", processor_names=["x", "y"])
    assert (new.name, new.task_names, new.processor_names) == ("new", ("a", "b"), ("x", "y"))
    assert new.fingerprint == named.fingerprint
    assert named.renamed(task_names=["c", "d"]).name == "old"
    with pytest.raises(InvalidInstanceError, match="task_names"):
        named.renamed(task_names=["a", "a"])

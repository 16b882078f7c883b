"""The formats ``dag`` and ``saga``: what is read, how they are recognised, errors with a place."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dagsched_env import io
from dagsched_env.problem.errors import FormatError, InvalidInstanceError
from dagsched_env.schedulers import heft
from helpers import TESTS
from helpers.brute_force import optimum

SAMPLES = TESTS / "data" / "formats"
DAG = (SAMPLES / "two.dag").read_text(encoding="utf-8")
SAGA = (SAMPLES / "diamond.saga.json").read_text(encoding="utf-8")


def test_a_graph_with_a_time_for_each_processor() -> None:
    instance = io.load(SAMPLES / "two.dag")
    assert instance.name == "two"
    assert instance.task_names == ("0", "1", "2", "3")
    assert instance.comp.tolist() == [[4.5, 6], [3, 1.5], [0, 0], [2, 8]]
    assert instance.edges.tolist() == [[0, 1], [0, 2], [1, 3]]
    assert instance.data.tolist() == [2.5, 0, 7.25]
    # 0 and 1 on the first processor, 3 there too: 4.5 + 3 + 2, nothing is transferred.
    assert optimum(instance) == heft(instance).makespan == 9.5


def test_the_cost_of_an_edge_is_the_time_of_its_transfer(tmp_path: Path) -> None:
    """The second processor alone may run the second task in less than a long time."""
    path = tmp_path / "a.dag"
    path.write_text("#tasks\n0: 1, 100\n1: 100, 1\n#edges\n0: 0, 1, 7.25\n#end\n")
    assert optimum(io.load(path)) == 1 + 7.25 + 1


def test_names_with_dots_stay_whole(tmp_path: Path) -> None:
    """Two files of a set differ in what stands behind a dot."""
    for name in ("robot-8-88-0.25-0.5.dag", "robot-8-88-0.25-1.dag"):
        (tmp_path / name).write_text(DAG)
    names = [instance.name for instance in io.load_folder(tmp_path)]
    assert names == ["robot-8-88-0.25-0.5", "robot-8-88-0.25-1"]


def test_costs_and_sizes_are_divided_by_speeds() -> None:
    instance = io.load(SAMPLES / "diamond.saga.json")
    assert instance.name == "diamond"
    assert instance.task_names == ("a", "b", "c", "d")
    assert instance.processor_names == ("slow", "fast", "far")
    assert instance.comp.tolist() == [[2, 1, 0.5], [4.5, 2.25, 1.125], [0, 0, 0], [8, 4, 2]]
    assert instance.edges.tolist() == [[0, 1], [0, 2], [1, 3]]
    assert instance.data.tolist() == [140, 40, 7]
    assert instance.inv_bandwidth.tolist() == [[0, 0.1, 0.25], [0.1, 0, 2], [0.25, 2, 0]]


@pytest.mark.parametrize("sample", ["two.dag", "diamond.saga.json"])
def test_the_content_tells_the_format(sample: str, tmp_path: Path) -> None:
    """As ``Sample-3-8.txt`` and ``graph.json``, under which names the sets have some of them."""
    name = {"two.dag": "two.txt", "diamond.saga.json": "diamond.json"}[sample]
    (tmp_path / name).write_text((SAMPLES / sample).read_text(encoding="utf-8"))
    assert io.load(tmp_path / name) == io.load(SAMPLES / sample)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("#end\n", "", "there is no line #end: the file seems to end early"),
        ("#edges\n", "", "there is no line #edges: the file seems to end early"),
        ("#end\n", "#tasks\n#end\n", "line 12 is a second #tasks: remove one"),
        ("1: 3, 1.5", "2: 3, 1.5", "line 5 is task 2: tasks are numbered in turn, here 1"),
        ("1: 3, 1.5", "1: 3", "line 5 has 1 times, but the first task has 2"),
        ("1: 3, 1.5", "1 3 1.5", "line 5 has no colon behind the number"),
        ("1: 3, 1.5", "1: 3, x", "line 5: 'x' is not a number"),
        ("0, 2,  0", "0, 4,  0", "line 10: task 4 is not in 0..3"),
        ("0, 2,  0", "0, 2", "line 10 has 2 numbers: an edge is two tasks and a cost"),
        ("0, 2,  0", "0, 2, -1", "line 10: '-1' is not between 0 and"),
        ("0, 2,  0", "0, 1,  0", "two.dag: edge 1 repeats"),
        ("0, 2,  0", "3, 0,  0", "the tasks form a cycle: 0 -> 1 -> 3 -> 0"),
    ],
)
def test_errors_in_a_graph_name_the_line(old: str, new: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "two.dag"
    assert DAG.count(old) == 1
    path.write_text(DAG.replace(old, new))
    with pytest.raises((FormatError, InvalidInstanceError), match=re.escape(message)):
        io.load(path)


def network(record: dict[str, Any]) -> list[dict[str, Any]]:
    edges: list[dict[str, Any]] = record["network"]["edges"]
    return edges


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda r: r["network"].pop("nodes"), "network has no key 'nodes'"),
        (lambda r: r["task_graph"]["tasks"].clear(), "task_graph.tasks is empty"),
        (lambda r: network(r).pop(), "network.edges has none between 'slow' and 'far'"),
        (
            lambda r: network(r)[2].update(speed=11),
            "network.edges[2] has another speed than the other edge of its nodes",
        ),
        (lambda r: network(r)[1].update(speed=0), "network.edges[1].speed is 0"),
        (lambda r: network(r)[1].update(speed=None), "network.edges[1].speed is NoneType"),
        (lambda r: network(r)[1].update(source="x"), "network.edges[1].source: there is no 'x'"),
        (
            lambda r: r["task_graph"]["tasks"][3].update(name="a"),
            "task_graph.tasks[3].name repeats 'a'",
        ),
        (
            lambda r: r["task_graph"]["dependencies"][2].update(target="e"),
            "task_graph.dependencies[2].target: there is no 'e'",
        ),
        (lambda r: r["network"]["nodes"].clear(), "network.nodes: 0 processors"),
    ],
)
def test_errors_in_a_problem_of_saga_name_the_place(
    damage: Callable[[dict[str, Any]], object], message: str, tmp_path: Path
) -> None:
    record = json.loads(SAGA)
    damage(record)
    path = tmp_path / "graph.json"
    path.write_text(json.dumps(record))
    with pytest.raises(FormatError, match=re.escape(f"graph.json: {message}")):
        io.load(path)

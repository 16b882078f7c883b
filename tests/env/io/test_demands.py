"""What tasks use, in graphs and tables: read by one rule, written, round trips, broken ones."""

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from dagsched_env import Instance, io
from dagsched_env.io.machine_options import MachineOptions
from dagsched_env.problem.errors import DAGSchedError, FormatError
from dagsched_env.problem.workflow import Workflow

NODES = MachineOptions(nodes=2, cores=4, memory="8GB", gpus=1, bandwidth=1)

DOT = 'digraph { node [cores=2]; a [runtime=1, Memory="2 GB"]; b [runtime=2, cores=1] }'
GRAPHML = """<graphml><key id="w" for="node" attr.name="weight"/>
<key id="c" for="node" attr.name="Cores"><default>2</default></key>
<key id="m" for="node" attr.name="memory"/>
<graph edgedefault="directed">
<node id="a"><data key="w">1</data><data key="m">2 GB</data></node>
<node id="b"><data key="w">2</data><data key="c">1</data></node>
</graph></graphml>"""
CSV = "Memory,task,time,cores\n2 GB,a,1,2\n,b,2, 1\n"


def read(path: Path, text: str) -> Workflow:
    path.write_text(text)
    found = io.read(path)
    assert isinstance(found, Workflow)
    return found


@pytest.mark.parametrize(("suffix", "text"), [("dot", DOT), ("graphml", GRAPHML), ("csv", CSV)])
def test_the_same_in_every_format(tmp_path: Path, suffix: str, text: str) -> None:
    workflow = read(tmp_path / f"a.{suffix}", text)
    assert workflow.resource_names == ("cores", "memory")
    np.testing.assert_array_equal(workflow.recorded("cores"), [2, 1])
    np.testing.assert_array_equal(workflow.recorded("memory"), [2e9, np.nan])
    np.testing.assert_array_equal(workflow.recorded("gpus"), [np.nan, np.nan])
    instance = NODES.equip(workflow)
    assert instance.demands.tolist() == [[2, 2e9, 0], [1, 0, 0]]
    assert MachineOptions(nodes=2, bandwidth=1).equip(workflow).n_resources == 0


def test_numbers_and_text_of_networkx() -> None:
    graph: nx.DiGraph[Any] = nx.DiGraph()
    graph.add_node("a", runtime=1, cores=2, memory="2 GB")
    graph.add_node("b", runtime=2, Cores=np.int64(1), gpus=1.0)
    workflow = io.workflow_from_networkx(graph)
    assert NODES.equip(workflow).demands.tolist() == [[2, 2e9, 0], [1, 0, 1]]


def test_what_jobs_of_pegasus_ask_for(tmp_path: Path) -> None:
    profiles = "profiles: {pegasus: {runtime: 1, cores: 4, memory: '2048'}}"
    workflow = read(
        tmp_path / "a.yml",
        "pegasus: 5.0.4\n"
        "transformationCatalog: {transformations: [{name: x, profiles: {pegasus: {gpus: 1}}}]}\n"
        f"jobs:\n- {{name: x, id: a, {profiles}}}\n- {{name: y, id: b, metadata: {{runtime: 2}}}}\n"
        "jobDependencies: [{id: a, children: [b]}]\n",
    )
    assert NODES.equip(workflow).demands.tolist() == [[4, 2 * 2**30, 1], [1, 0, 0]]
    dax = read(
        tmp_path / "a.dax",
        '<adag><job id="a" runtime="1"><profile namespace="pegasus" key="cores">4</profile>'
        '<profile namespace="pegasus" key="memory">2048</profile><profile namespace="env" '
        'key="gpus">x</profile></job><job id="b" runtime="2"/></adag>',
    )
    instance = NODES.equip(dax)
    assert instance.demands.tolist() == [[4, 2 * 2**30, 0], [1, 0, 0]]
    assert instance.assumptions[1].startswith(
        "resources: cores: as jobs ask for, but 1 of 2 tasks, such as 'b', not recorded, taken as 1"
    )


def test_files_without_them_record_nothing(tmp_path: Path) -> None:
    workflow = read(tmp_path / "a.csv", "task,time\na,1\n")
    assert workflow.demands is None
    assert workflow.resource_names == ()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.dot", "digraph { a [runtime=1, cores=many] }", "cores of node 'a': 'many' is not a nu"),
        ("a.dot", 'digraph { a [runtime=1, cores="-1"] }', "cores of node 'a': '-1' is not betwe"),
        ("a.dot", 'digraph { a [runtime=1, memory="2G"] }', "memory of node 'a' is '2G': write b"),
        ("a.dot", "digraph { a [runtime=1, gpus=1e200] }", "gpus of node 'a': '1e200' is not bet"),
        ("a.dot", "digraph { a [runtime=1, cores=1, Cores=2] }", "cores"),
        ("a.csv", "task,time,cores\na,1,x\n", "cores of line 2: 'x' is not a number"),
        ("a.csv", "task,time,memory\na,1,2gb\n", "memory of line 2 is '2gb': write bytes, or a"),
        ("a.csv", "task,time,cores,Cores\na,1,1,1\n", "line 1: 'Cores' is a second column of"),
        ("a.csv", "task,time,threads\na,1,1\n", "line 1: the column 'threads' is not read: remo"),
    ],
)
def test_what_is_no_amount_names_its_place(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    with pytest.raises(FormatError, match=message):
        read(tmp_path / name, text)


# -- instances ---------------------------------------------------------------------------------


@pytest.fixture
def instance() -> Instance:
    return Instance(
        [[1, 2], [3, 4]],
        [(0, 1)],
        [5],
        task_names=["a", "b"],
        demands=[[2.0, 1e9], [1.0, 0.0]],
        capacities=[[4.0, np.inf], [2.0, 2e9]],
        resource_names=["cores", "memory"],
    )


def test_dot_and_csv_as_they_are_written(tmp_path: Path, instance: Instance) -> None:
    io.save(instance, tmp_path / "a.dot")
    text = (tmp_path / "a.dot").read_text()
    assert r'resources="[\"cores\", \"memory\"]";' in text.replace("\\u0022", '\\"')
    assert 'capacities="4 inf; 2 2000000000";' in text
    assert '"a" [comp="1 2", demands="2 1000000000"];' in text
    io.save(instance, tmp_path / "folder", format="csv")
    assert (tmp_path / "folder" / "demands.csv").read_text() == (
        ",cores,memory\na,2,1000000000\nb,1,0\n"
    )
    assert (tmp_path / "folder" / "capacities.csv").read_text() == (
        ",cores,memory\nP0,4,inf\nP1,2,2000000000\n"
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (', demands="1 0"', "", "node 'b' has no attribute 'demands', as others have"),
        ('demands="1 0"', 'demands="1"', "node 'b' has 1 demands, but 'a' has 2"),
        ('demands="1 0"', 'demands="1 x"', "demands of node 'b': 'x' is not a number"),
        ("capacities=", "x=", "there are demands, but no capacities: give both"),
        ('="4 inf; ', '="', r"capacities needs shape \[2, 2\]"),
        ("resources=", "resources=cores; x=", "attribute 'resources' is not a JSON list of names"),
    ],
)
def test_broken_graphs(
    tmp_path: Path, instance: Instance, old: str, new: str, message: str
) -> None:
    io.save(instance, tmp_path / "a.dot")
    text = (tmp_path / "a.dot").read_text()
    assert old in text
    (tmp_path / "a.dot").write_text(text.replace(old, new))
    with pytest.raises(DAGSchedError, match=message):
        io.load(tmp_path / "a.dot")


@pytest.mark.parametrize(
    ("table", "text", "message"),
    [
        ("demands.csv", None, "has capacities.csv, but no demands.csv: give both"),
        ("capacities.csv", None, "has demands.csv, but no capacities.csv: give both"),
        ("demands.csv", ",cores,memory\nb,1,0\na,2,1\n", "demands.csv line 1: the tasks are not"),
        ("capacities.csv", ",cores,memory\nP0,1,1\n", "capacities.csv line 1: the processors ar"),
        ("capacities.csv", ",cores,x\nP0,2,1\nP1,1,1\n", "capacities.csv: the resources are not"),
        ("demands.csv", ",cores,memory\na,x,1\nb,1,1\n", "demands.csv line 2: 'x' is not a numb"),
    ],
)
def test_broken_tables(
    tmp_path: Path, instance: Instance, table: str, text: str | None, message: str
) -> None:
    folder = tmp_path / "folder"
    io.save(instance, folder, format="csv")
    if text is None:
        (folder / table).unlink()
    else:
        (folder / table).write_text(text)
    with pytest.raises(FormatError, match=message):
        io.load(folder)


def test_saving_without_resources_removes_their_tables(tmp_path: Path, instance: Instance) -> None:
    io.save(instance, tmp_path / "folder", format="csv")
    plain = Instance(instance.comp, instance.edges, instance.data, task_names=["a", "b"])
    io.save(plain, tmp_path / "folder", format="csv")
    assert io.load(tmp_path / "folder") == plain


def test_safe_names_of_resources(tmp_path: Path, instance: Instance) -> None:
    formula = Instance(**instance.arguments() | {"resource_names": ["=1+1", "memory"]})
    io.save(formula, tmp_path / "folder", format="csv", safe=True)
    assert io.load(tmp_path / "folder").resource_names == ("'=1+1", "memory")
    assert io.load(tmp_path / "folder").demands.tolist() == instance.demands.tolist()


@pytest.mark.parametrize("format", ["dot", "graphml", "csv"])
def test_names_of_resources_that_cannot_be_carried(
    tmp_path: Path, instance: Instance, format: str
) -> None:
    named = Instance(**instance.arguments() | {"resource_names": ["a\nb", "memory"]})
    with pytest.raises(DAGSchedError, match="cannot carry the name"):
        io.save(named, tmp_path / "out", format=format)


def test_an_instance_as_a_graph_of_networkx(instance: Instance) -> None:
    graph = instance.to_networkx()
    assert graph.nodes["a"]["demands"] == [2, 1e9]
    more = {"capacities": instance.capacities, "resource_names": instance.resource_names}
    assert Instance.from_networkx(graph, **more) == instance
    with pytest.raises(DAGSchedError, match="there are demands, but no capacities: give both"):
        Instance.from_networkx(graph)
    del graph.nodes["b"]["demands"]
    with pytest.raises(DAGSchedError, match="node 'b' has no attribute 'demands' with what it us"):
        Instance.from_networkx(graph, **more)

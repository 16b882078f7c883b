"""Graphs as other tools write them: parallel edges, control edges, no times; networkx alike."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagsched_env import Instance, io
from dagsched_env.io import MachineOptions, dot
from dagsched_env.problem.errors import AssumptionWarning, DAGSchedError, FormatError
from dagsched_env.problem.workflow import Workflow

ONE = {"platform": "identical", "processors": 1, "bandwidth": 1}
TIMED = MachineOptions(**ONE, unit_times=True)  # type: ignore[arg-type]

SIMGRID = """digraph G {
  c1 [size="1e9", alpha="0.2"];
  c2 [size="5e9", alpha="0.5"];
  c3 [size="2e9"];
  root->c1 [size="2e8"];
  root->c2 [size="1e8"];
  c1->c3   [size="5e8"];
  c2->c3   [size="-1."];
  c3->end  [size="2e8"];
}
"""
SNAKEMAKE = """digraph snakemake_dag {
    graph[bgcolor=white, margin=0];
    node[shape=box, style=rounded, fontname=sans,                 fontsize=10, penwidth=2];
    edge[penwidth=2, color=grey];
\t0[label = "all", color = "0.17 0.6 0.85", style="rounded"];
\t1[label = "merge", color = "0.50 0.6 0.85", style="rounded"];
\t2[label = "b", color = "0.33 0.6 0.85", style="rounded"];
\t3[label = "a\\nx: 1", color = "0.00 0.6 0.85", style="rounded"];
\t4[label = "b", color = "0.33 0.6 0.85", style="rounded"];
\t5[label = "a\\nx: 2", color = "0.00 0.6 0.85", style="rounded"];
\t1 -> 0
\t2 -> 1
\t4 -> 1
\t3 -> 2
\t5 -> 4
}            
"""  # noqa: W291 - as snakemake writes it
NEXTFLOW = """digraph "flowchart" {
p0 [shape=point,label="",fixedsize=true,width=0.1,xlabel="Channel.fromFilePairs"];
p1 [label="INDEX"];
p0 -> p1 [label="transcriptome"];

p1 [label="INDEX"];
p2 [label="QUANT"];
p1 -> p2;

p1 [label="INDEX"];
p2 [label="QUANT"];
p1 -> p2;

p2 [label="QUANT"];
p3 [shape=point];
p2 -> p3;

}
"""
DASK = """digraph {
\tgraph [rankdir=BT]
\tnode [fontname=helvetica]
\t1299022044763834254 [label=add shape=circle]
\t1299022044763834254 -> -8521078065668424529
\t-528385641494210590 [label="" shape=box]
\t-528385641494210590 -> 1299022044763834254
\t-8521078065668424529 [label="" shape=box]
\t"inc-2" [label="\\N" shape=circle]
\t"inc-2" -> -528385641494210590
}
"""


def saved(folder: Path, text: str, name: str = "graph.dot") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def read(text: str) -> Workflow:
    found = dot.parse(text)
    assert isinstance(found, Workflow)
    return found


def edges(found: Workflow) -> dict[tuple[str, str], float]:
    names = ((found.tasks[u], found.tasks[v]) for u, v in found.edges)
    return dict(zip(names, found.data.tolist(), strict=True))


# -- parallel and repeated edges ---------------------------------------------------------------


def test_a_later_statement_updates_an_edge_of_a_strict_graph() -> None:
    body = "{a [weight=1]; b [weight=1]; edge [size=9]; a -> b; edge [size=5] a -> b [weight=3];"
    found = read(f"strict digraph {body} a -> {{b c}}; c [weight=1] }}")
    assert edges(found) == {("a", "b"): 9, ("a", "c"): 5}  # a default is not applied again
    found = read(f"strict digraph {body} a:n -> b:s [size=4, color=red] a -> b [color=blue] }}")
    assert edges(found) == {("a", "b"): 4}
    assert found.assumptions == ()


def test_data_of_parallel_edges_is_added_up_and_said(tmp_path: Path) -> None:
    text = "digraph { a [weight=1]; b [weight=2]; a -> b [size=3]; a -> b [size=4]; a -> b }"
    path = saved(tmp_path, text)
    said = "parallel edges between 1 pair of tasks are one with the data of all, such as 'a' -> 'b'"
    with pytest.warns(AssumptionWarning, match=f"^{path}: {said} with 7$"):
        instance = io.load(path, platform=MachineOptions(**ONE))  # type: ignore[arg-type]
    assert instance.edges.tolist() == [[0, 1]]
    assert instance.data.tolist() == [7]
    (sentence,) = instance.assumptions
    assert sentence.startswith(said)
    assert read("digraph { a [weight=1] b [weight=2] a -> b a -> b }").assumptions == ()


def test_parallel_edges_of_an_instance_of_graphml_and_of_tables(tmp_path: Path) -> None:
    graphml = (
        '<graphml><key id="c" for="node" attr.name="comp"/><key id="s" attr.name="{}"/>'
        '<graph edgedefault="directed"><node id="a"><data key="c">1 2</data></node>'
        '<node id="b"><data key="c">3 4</data></node>'
        + '<edge source="a" target="b"><data key="s">2</data></edge>' * 3
        + "</graph></graphml>"
    )
    path = saved(tmp_path, graphml.format("size"), "g.graphml")
    with pytest.warns(AssumptionWarning, match="parallel edges between 1 pair"):
        assert io.load(path).data.tolist() == [6]
    path = saved(tmp_path, graphml.format("weight").replace('"comp"', '"runtime"'), "g.graphml")
    path.write_text(path.read_text().replace("1 2", "1").replace("3 4", "3"))
    assert edges(io.read(path)) == {("a", "b"): 6}  # type: ignore[arg-type]
    path = saved(tmp_path, "task,time\na,1\nb,2\n", "t.csv")
    saved(tmp_path, "source,target,data\na,b,3\na,b,5\n", "t-edges.csv")
    found = io.read(path)
    assert isinstance(found, Workflow)
    assert edges(found) == {("a", "b"): 8}
    assert len(found.assumptions) == 1


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(4, 6), st.integers(0, 99)), max_size=12))
def test_parallel_edges_carry_the_sum(drawn: list[tuple[int, int, int]]) -> None:
    lines = "".join(f"{u} -> {v} [data={size}];" for u, v, size in drawn)
    found = read(f"digraph {{ node [weight=1] 0 1 2 3 4 5 6; {lines} }}")
    wanted: dict[tuple[str, str], float] = {}
    for u, v, size in drawn:
        wanted[str(u), str(v)] = wanted.get((str(u), str(v)), 0.0) + size
    assert edges(found) == wanted
    strict = read(f"strict digraph {{ node [weight=1] 0 1 2 3 4 5 6; {lines} }}")
    assert edges(strict) == {(str(u), str(v)): size for u, v, size in drawn}  # the last counts


# -- SimGrid -----------------------------------------------------------------------------------


def test_control_edges_root_and_end_of_simgrid() -> None:
    found = read(SIMGRID)
    work = dict(zip(found.tasks, found.runtimes.tolist(), strict=True))
    assert work == {"c1": 1e9, "c2": 5e9, "c3": 2e9, "root": 0, "end": 0}
    assert edges(found)["c2", "c3"] == 0
    assert edges(found)["root", "c1"] == 2e8
    assert found.assumptions == ("root and end: without a time, taken as no work, as by SimGrid",)
    declared = read(SIMGRID.replace("c1->c3", "end [size=7]; c1->c3"))
    assert declared.runtimes[declared.tasks.index("end")] == 7
    assert declared.assumptions == ("root: without a time, taken as no work, as by SimGrid",)


@pytest.mark.parametrize("attribute", ["weight=-1", "data=-1", 'size="--1"', 'size="-inf"'])
def test_other_negative_amounts_are_refused(attribute: str) -> None:
    with pytest.raises(FormatError, match="of edge 'a' -> 'b': "):
        read(f"digraph {{ node [weight=1] a -> b [{attribute}] }}")


# -- graphs without times ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "task"), [(SNAKEMAKE, "'0' .'all'."), (NEXTFLOW, "'p1' .'INDEX'."), (DASK, "'12")]
)
def test_without_times_it_is_said_what_supplies_them(tmp_path: Path, text: str, task: str) -> None:
    path = saved(tmp_path, text)
    remedy = "times names a table of name or label and seconds, unit_times gives each task 1"
    others = (MachineOptions(), io.RandomPlatform(), io.Platform([1], 1))
    said = f"{path}: task {task}.* has no time .* tasks have none.: {remedy}"
    for platform in others:
        with pytest.raises(FormatError, match=said):
            io.load(path, platform=platform)
    with pytest.raises(FormatError, match="task 'b' has no time: times names"):
        MachineOptions().equip(read("digraph { a [weight=1]; a -> b }"))


@pytest.mark.parametrize(
    ("text", "work"),
    [
        (SNAKEMAKE, dict.fromkeys("012345", 1)),
        (NEXTFLOW, {"p0": 0, "p1": 1, "p2": 1, "p3": 0}),
        (
            DASK,
            {
                "1299022044763834254": 1,
                "-8521078065668424529": 0,
                "-528385641494210590": 0,
                "inc-2": 1,
            },
        ),
        ("digraph { a [weight=3]; a -> b -> c; c [weight=0] }", {"a": 1, "b": 1, "c": 0}),
    ],
)
def test_unit_times_leave_out_what_is_no_work(text: str, work: dict[str, float]) -> None:
    instance = TIMED.equip(read(text))
    assert dict(zip(instance.task_names, instance.comp[:, 0].tolist(), strict=True)) == work
    silent = sum(time == 0 for time in work.values()) if "label" in text else 0
    assert len(instance.assumptions) == (silent > 0)


def test_times_by_name_label_or_first_line_of_the_label(tmp_path: Path) -> None:
    table = saved(tmp_path, "label,seconds\nall,0\nmerge,3\na,2\nb,5\n4,7\nlost,1\n", "t.csv")
    options = MachineOptions(**ONE, times=str(table))  # type: ignore[arg-type]
    path = saved(tmp_path, SNAKEMAKE)
    with pytest.warns(AssumptionWarning, match="1 line, such as 'lost', of .*t.csv: no task has"):
        instance = io.load(path, platform=options)
    assert instance.comp[:, 0].tolist() == [0, 3, 5, 2, 7, 2]
    for end in ("\n", "\\n"):  # as a spreadsheet breaks a line in a cell, and as DOT does
        text = f'time,name\n1,"a{end}x: 1"\n2,a\n3,b\n4,all\n5,merge\n'
        whole = saved(tmp_path, text, "u.csv")
        found = MachineOptions(**ONE, times=str(whole)).equip(read(SNAKEMAKE))  # type: ignore[arg-type]
        assert found.comp[:, 0].tolist() == [4, 5, 3, 1, 3, 2]


def test_times_replace_those_of_a_file(tmp_path: Path) -> None:
    table = saved(tmp_path, "task,time\nb,9\n", "t.csv")
    options = MachineOptions(**ONE, times=str(table))  # type: ignore[arg-type]
    instance = options.equip(read("digraph { a [weight=3]; a -> b }"))
    assert instance.comp[:, 0].tolist() == [3, 9]
    with pytest.raises(FormatError, match=r"task 'c' has no time: add a line to .*t\.csv"):
        options.equip(read("digraph { a [weight=3]; a -> b -> c }"))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("task,time\na,1\na,2\n", "t.csv line 3 repeats the name 'a'"),
        ("task,time\na,-1\n", "t.csv line 2 needs seconds >= 0: '-1' is not between"),
        ("task,cost\na,1\n", "t.csv line 1: the column 'cost' is not read"),
        ("task\na\n", "t.csv line 1 has no column 'time' or "),
    ],
)
def test_a_broken_table_of_times_is_named_alone(tmp_path: Path, table: str, message: str) -> None:
    options = MachineOptions(times=str(saved(tmp_path, table, "t.csv")))
    with pytest.raises(FormatError, match=f"^{message}"):
        io.load(saved(tmp_path, SNAKEMAKE), platform=options)


def test_what_does_not_go_with_times(tmp_path: Path) -> None:
    with pytest.raises(DAGSchedError, match="times and unit_times: leave one of them out"):
        MachineOptions(times="t.csv", unit_times=True).check()
    with pytest.raises(DAGSchedError, match="unit_times is 1: write True or False"):
        MachineOptions(unit_times=1).check()  # type: ignore[arg-type]
    io.save(Instance([[1, 2]], [], []), tmp_path / "own.json")
    with pytest.raises(DAGSchedError, match="its processors itself: leave unit_times out"):
        io.load(tmp_path / "own.json", platform=MachineOptions(unit_times=True))


def test_times_say_nothing_of_the_machines(tmp_path: Path) -> None:
    graph = read("digraph { node [weight=2] a -> b [size=3] }")
    drawn = MachineOptions(unit_times=True).equip(graph)
    assert drawn.data[0] == pytest.approx(drawn.comp.mean())  # CCR 1, as without any option
    machines = '{"format": "dagsched-machines", "processors": [{"name": "x"}], "bandwidth": 1}'
    path = saved(tmp_path, machines, "m.json")
    assert MachineOptions(machines=str(path), unit_times=True).equip(graph).comp.tolist() == [
        [1],
        [1],
    ]


def test_a_table_of_times_in_the_folder_is_no_problem(tmp_path: Path) -> None:
    saved(tmp_path, SNAKEMAKE)
    table = saved(tmp_path, "task,time\nall,0\nmerge,3\na,2\nb,5\n", "times.csv")
    options = MachineOptions(**ONE, times=str(table))  # type: ignore[arg-type]
    (instance,) = io.load_folder(tmp_path, platform=options)
    assert instance.n_tasks == 6


def test_dax_without_runtimes(tmp_path: Path) -> None:
    text = '<adag name="x"><job id="ID1" name="split"/><job id="ID2" name="join"/>{}</adag>'
    child = '<child ref="ID2"><parent ref="ID1"/></child>'
    path = saved(tmp_path, text.format(child), "x.dax")
    table = saved(tmp_path, "name,time\nsplit,2\nID2,3\n", "t.csv")
    options = MachineOptions(**ONE, times=str(table))  # type: ignore[arg-type]
    assert io.load(path, platform=options).comp.ravel().tolist() == [2, 3]


def test_workflows_within_a_dax_are_tasks(tmp_path: Path) -> None:
    text = (
        '<adag><job id="j" runtime="5"/><dax id="d" file="d.dax"/><dag id="g" file="g"/>{}</adag>'
    )
    text = text.format('<child ref="g"><parent ref="d"/></child>')
    path = saved(tmp_path, text, "x.dax")
    with pytest.raises(DAGSchedError, match="'d'"):
        io.load(path, platform=MachineOptions(**ONE))  # type: ignore[arg-type]
    table = saved(tmp_path, "name,time\nd,2\ng,3\n", "t.csv")
    options = MachineOptions(**ONE, times=str(table))  # type: ignore[arg-type]
    assert sorted(io.load(path, platform=options).comp.ravel().tolist()) == [2, 3, 5]


# -- networkx ----------------------------------------------------------------------------------


def graph_of(
    nodes: dict[str, dict[str, object]], arcs: Sequence[tuple[str, str, dict[str, object]]]
) -> "nx.MultiDiGraph[str]":
    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph(name="G")
    graph.add_nodes_from(nodes.items())
    graph.add_edges_from(arcs)
    return graph


def test_networkx_by_the_rules_of_files() -> None:
    """As ``nx_pydot.read_dot`` gives ``SIMGRID``: a multigraph with quoted text."""
    graph = graph_of(
        {"c1": {"size": '"1e9"'}, "c2": {"size": '"5e9"'}, "c3": {"size": '"2e9"'}},
        [
            ("root", "c1", {"size": '"2e8"'}),
            ("root", "c2", {"size": '"1e8"'}),
            ("c1", "c3", {"size": '"5e8"'}),
            ("c2", "c3", {"size": '"-1."'}),
            ("c3", "end", {"size": '"2e8"'}),
        ],
    )
    with pytest.warns(AssumptionWarning, match="root and end: without a time") as caught:
        found = io.workflow_from_networkx(graph)
    assert caught[0].filename == __file__
    wanted = read(SIMGRID)
    assert edges(found) == edges(wanted)
    assert dict(zip(found.tasks, found.runtimes, strict=True)) == dict(
        zip(wanted.tasks, wanted.runtimes, strict=True)
    )
    assert (found.name, found.assumptions) == ("G", wanted.assumptions)


def test_weight_on_edges_of_networkx_is_data_and_parallel_edges_add_up() -> None:
    graph = graph_of(
        {"a": {"Weight": 2}, "b": {"runtime": "3"}},
        [("a", "b", {"weight": 4}), ("a", "b", {"Size": "5"})],
    )
    with pytest.warns(AssumptionWarning, match="parallel edges between 1 pair of tasks .* with 9"):
        found = io.workflow_from_networkx(graph)
    assert found.runtimes.tolist() == [2, 3]
    assert edges(found) == {("a", "b"): 9}
    chosen = io.workflow_from_networkx(graph_of({"a": {"t": 1, "weight": 5}}, []), runtime="t")
    assert chosen.runtimes.tolist() == [1]


def test_weight_on_edges_of_an_instance_from_networkx() -> None:
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from([("a", {"comp": [1, 2]}), ("b", {"comp": [3, 4]})])
    graph.add_edge("a", "b", Weight="5")
    assert Instance.from_networkx(graph).data.tolist() == [5]
    assert Instance.from_networkx(nx.MultiDiGraph(graph)).data.tolist() == [5]
    assert Instance.from_networkx(graph, data="bytes").data.tolist() == [0]


def test_graphs_of_dask_after_an_import_that_hides_warnings(tmp_path: Path) -> None:
    """``import wfcommons`` leaves a filter that ignores every warning."""
    path = saved(tmp_path, DASK)
    code = (
        "import wfcommons; from dagsched_env import io\n"
        f"instance = io.load({str(path)!r}, platform=io.MachineOptions(unit_times=True))\n"
        "print(*instance.assumptions, sep='|')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    silent, machines = done.stdout.strip().split("|")
    assert silent.startswith("2 nodes, such as '-")
    assert machines.startswith("machines: 4 unrelated processors")
    assert f"AssumptionWarning: {path}: {silent}" in done.stderr
    assert f"MachinesAssumedWarning: {path} describes no processors: 4 unrel" in done.stderr

"""Reading every format: hand-written samples, recognition, platforms, and errors with a place."""

import re
import subprocess
import sys
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from dagsched_env import Instance, exact, io
from dagsched_env.generators.job_shop import chains
from dagsched_env.io import dot, fjsp, job_shop, stg
from dagsched_env.problem.errors import DAGSchedError, FormatError, InvalidInstanceError
from dagsched_env.schedulers import heft
from helpers import TESTS
from helpers.brute_force import optimum
from helpers.isolation import blocking

pytestmark = pytest.mark.filterwarnings(
    "ignore::dagsched_env.AssumptionWarning"  # here it does not matter what is assumed
)

SAMPLES = TESTS / "data" / "formats"
INF = float("inf")
UNIT = io.Platform([1], 1)
"""One processor, so that costs are runtimes and data is as in the file."""


def edges(instance):
    pairs = map(tuple, instance.edges.tolist())
    return dict(zip(pairs, instance.data.tolist(), strict=True))


# -- samples -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["own.json", "costs.dot", "costs.graphml", "trio"])
def test_the_diamond_with_its_own_processors(name):
    instance = io.load(SAMPLES / name)
    assert instance.name == "diamond"
    assert instance.task_names == ("a", "b", "c", "d")
    assert instance.processor_names == ("slow", "fast")
    assert instance.comp.tolist() == [[2, 1], [4.5, INF], [0, 0], [8, 4]]
    assert edges(instance) == {(0, 1): 140, (0, 2): 40, (1, 3): 7}
    assert instance.inv_bandwidth.tolist() == [[0, 0.1], [0, 0]]
    assert instance.latency.tolist() == [[0, 0.5], [0.25, 0]]


@pytest.mark.parametrize(
    ("name", "tasks"),
    [
        ("trace_15.json", ("a", "b", "c", "d")),
        ("trace_14.json", ("split_ID1", "work_ID2", "work_ID3", "join_ID4")),
        ("diamond.dax", ("ID1", "ID2", "ID3", "ID4")),
        ("diamond.yml", ("split_ID1", "work_ID2", "work_ID3", "join_ID4")),
        ("diamond", ("a", "b", "c", "d")),
    ],
)
def test_the_diamond_as_a_workflow(name, tasks):
    instance = io.load(SAMPLES / name, platform=UNIT)
    assert instance.name == "diamond"
    assert instance.task_names == tasks
    assert instance.comp.ravel().tolist() == [2, 4.5, 0, 8]
    assert edges(instance) == {(0, 1): 140, (0, 2): 40, (1, 3): 7, (2, 3): 0}


def test_dot_with_one_runtime_a_node():
    instance = io.load(SAMPLES / "weights.dot", platform=UNIT)
    assert instance.name is None
    assert instance.task_names == ("a", "b", "c", "a b")
    assert instance.comp.ravel().tolist() == [1.5, 1.5, 1.5, 2]
    assert edges(instance) == {(0, 1): 10, (1, 2): 10, (2, 3): 0}


def test_graphml_with_one_weight_a_node_and_no_namespace():
    instance = io.load(SAMPLES / "weights.graphml", platform=UNIT)
    assert instance.comp.ravel().tolist() == [3, 4]
    assert edges(instance) == {(0, 1): 5}


def test_dot_in_the_style_of_scheduling_benchmarks_has_a_known_optimum():
    instance = io.load(SAMPLES / "weight_style.dot", platform=io.Platform([1, 1], 1))
    assert instance.name == "Fork_Nodes_6"
    assert instance.comp[:, 0].tolist() == [2, 5, 4, 3, 3, 2]
    assert edges(instance)[3, 5] == 6
    proved = exact.solve(instance, time_limit_s=20)
    assert proved.optimal
    assert proved.schedule.makespan == optimum(instance) == 15


def test_attributes_in_any_case(tmp_path):
    text = (SAMPLES / "costs.dot").read_text()
    for name in ("comp", "data", "processors", "inv_bandwidth", "latency"):
        text, count = re.subn(rf"\b{name}(?= ?=)", name.title(), text)
        assert count > 0
    (tmp_path / "costs.dot").write_text(text)
    assert io.load(tmp_path / "costs.dot") == io.load(SAMPLES / "costs.dot")
    text = (SAMPLES / "weights.graphml").read_text()
    key, node = 'attr.name="weight" attr.type="double"/>', '<node id="1"><data key="w">4</data>'
    assert key in text
    assert node in text
    text = text.replace(key, 'attr.name="Weight"><default>4</default></key>')
    (tmp_path / "weights.graphml").write_text(text.replace(node, '<node id="1">'))
    assert io.load(tmp_path / "weights.graphml") == io.load(SAMPLES / "weights.graphml")


def test_of_two_spellings_the_last_counts(tmp_path):
    (tmp_path / "a.dot").write_text("digraph { node [weight=1] a; b [Weight=2]; }")
    instance = io.load(tmp_path / "a.dot", platform=UNIT)
    assert instance.comp.ravel().tolist() == [1, 2]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "a.dot",
            "digraph {\n a [weight=1, Weight=2] }",
            "line 2: 'weight' and 'Weight' stand together: remove one",
        ),
        (
            "a.graphml",
            '<graphml><key id="a" attr.name="weight"/><key id="b" attr.name="Weight"/>'
            '<graph edgedefault="directed"><node id="x"><data key="a">1</data>'
            '<data key="b">2</data></node></graph></graphml>',
            "node 'x' has two values of 'weight': remove one",
        ),
        (
            "a.json",
            '{"name": "x", "schemaVersion": "1.4", "workflow": {"tasks": ['
            '{"name": "a", "runtimeInSeconds": 1}, {"name": "b", "runtimeInSeconds": 1}]}}',
            "no entry of workflow.tasks has a key 'parents' or 'children', and no file goes from",
        ),
        (
            "a.stg",
            "3\n0 0 0\n1 4 1 0\n2 5 1 1\n",
            "the file seems to end early: task 0 is a dummy, and 3 tasks with two dummies take 5",
        ),
    ],
)
def test_what_could_mean_two_things_is_refused(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(FormatError, match=message):
        io.read(tmp_path / name)
    (tmp_path / "a.dot").write_text("digraph { a [color=red, Color=blue, weight=2] }")
    assert io.read(tmp_path / "a.dot").runtimes.tolist() == [2]
    (tmp_path / "a.dot").write_text("digraph { a [weight=1e-05]; b [weight=-0]; c [weight=.5E+1] }")
    assert io.read(tmp_path / "a.dot").runtimes.tolist() == [1e-05, 0, 5]
    (tmp_path / "a.stg").write_text("3\n0 0 0\n1 4 1 0\n2 0 1 1\n")  # counts its dummies
    assert io.read(tmp_path / "a.stg").runtimes.tolist() == [0, 4, 0]


def test_graphml_of_networkx(tmp_path):
    graph = nx.DiGraph(name="pair")
    graph.add_node("x", comp="1 2")
    graph.add_node("y", comp="3 inf")
    graph.add_edge("x", "y", data=2.5)
    nx.write_graphml(graph, tmp_path / "a.graphml")
    instance = io.load(tmp_path / "a.graphml")
    assert instance.comp.tolist() == [[1, 2], [3, INF]]
    assert edges(instance) == {(0, 1): 2.5}


def test_stg_has_exactly_the_ccr_of_the_platform():
    instance = io.load(SAMPLES / "four.stg", platform=UNIT)
    assert instance.name == "four"
    assert instance.comp.ravel().tolist() == [0, 3, 5, 2, 4, 0]
    inner = {(1, 3): 1, (2, 3): 1}
    dummies = {(0, 1): 0, (0, 2): 0, (3, 4): 1, (3, 5): 0, (4, 5): 0}
    assert edges(instance) == inner | dummies
    drawn = io.load(SAMPLES / "four.stg", platform=io.RandomPlatform(ccr=5.0))
    assert drawn.data.mean() == pytest.approx(5.0 * drawn.comp.mean())
    free = io.load(SAMPLES / "four.stg", platform=io.RandomPlatform(ccr=0.0))
    assert free.data.max() == 0


def test_stg_on_machines_that_are_said_has_no_communication_unless_a_ccr_is_wanted():
    machines = io.MachineOptions(platform="identical", processors=2)
    assert io.load(SAMPLES / "four.stg", platform=machines).data.max() == 0
    wanted = io.MachineOptions(platform="identical", processors=2, ccr=5.0)
    drawn = io.load(SAMPLES / "four.stg", platform=wanted)
    assert drawn.data.mean() == pytest.approx(5.0 * drawn.comp.mean())


def test_job_shop_in_all_three_layouts():
    standard = io.load(SAMPLES / "ft06.txt")
    assert (standard.name, standard.n_tasks, standard.n_processors) == ("ft06", 36, 6)
    assert standard.task_names[7] == "J1.1"
    assert standard.comp[7].tolist() == [INF, INF, 5, INF, INF, INF]
    assert (np.isfinite(standard.comp).sum(axis=1) == 1).all()
    assert standard.data.tolist() == [0] * 30
    assert all(v == u + 1 and v % 6 for u, v in standard.edges.tolist())
    assert standard.comp[np.isfinite(standard.comp)].sum() == 197
    assert io.load(SAMPLES / "ft06.fjs") == standard
    assert 55 <= heft(standard).makespan <= 197  # the optimum is 55


def test_taillard_layout():
    instance = io.load(SAMPLES / "taillard.jsp")
    times = [[INF, 6, INF], [INF, INF, 7], [5, INF, INF], [1, INF, INF], [INF, 2, INF]]
    assert instance.comp[:5].tolist() == times
    assert job_shop.parse("1 3\n1 6 2 7 0 5\n") == job_shop.parse("1 3\n6 7 5\n2 3 1\n")


def test_fjsp_counts_machines_from_one_or_from_zero():
    instance = io.load(SAMPLES / "flexible.fjs")
    assert instance.comp.tolist() == [[5, INF, 4], [INF, 7, INF], [1, 2, 3]]
    assert edges(instance) == {(0, 1): 0}
    from_zero = "2 3\n2 2 0 5 2 4 1 1 7\n1 3 0 1 1 2 2 3\n"
    assert fjsp.parse(from_zero, name="flexible") == instance


# -- recognition -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["own.json", "costs.dot", "costs.graphml", "diamond.dax", "diamond.yml", "four.stg",
     "ft06.txt", "ft06.fjs", "graph.fjs", "taillard.jsp", "trace_14.json",
     "trace_15.json", "after.csv"],
)  # fmt: skip
@pytest.mark.parametrize("suffix", ["", ".txt", ".data"])
def test_content_tells_the_format(tmp_path, name, suffix):
    path = tmp_path / f"{Path(name).stem}{suffix}"
    path.write_bytes((SAMPLES / name).read_bytes())
    assert io.load(path) == io.load(SAMPLES / name)


def test_other_encodings_and_prefixes(tmp_path):
    dax = (SAMPLES / "diamond.dax").read_text().replace("UTF-8", "UTF-16")
    (tmp_path / "a.xml").write_text(dax, encoding="utf-16")
    (tmp_path / "b").write_text(dax, encoding="utf-16")
    (tmp_path / "c").write_bytes(b"\xef\xbb\xbf\n" + (SAMPLES / "costs.dot").read_bytes())
    (tmp_path / "d.stg").write_bytes((SAMPLES / "four.stg").read_bytes().replace(b"\n", b"\r\n"))
    assert io.load(tmp_path / "a.xml") == io.load(SAMPLES / "diamond.dax")
    assert io.load(tmp_path / "b") == io.load(SAMPLES / "diamond.dax")
    assert io.load(tmp_path / "c") == io.load(SAMPLES / "costs.dot")
    assert edges(io.load(tmp_path / "d.stg")) == edges(io.load(SAMPLES / "four.stg"))


def test_format_is_an_order(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("1 2\n1 1 1 7\n")  # a job with one operation, or twice on machine 1
    assert io.load(path).comp.tolist() == [[7, INF]]
    assert io.load(path, format="job_shop").comp.tolist() == [[INF, 1], [INF, 7]]
    with pytest.raises(
        DAGSchedError, match="no format 'fjs': there are chrome_trace, csv, dag, dax, dot, fjsp"
    ):
        io.load(path, format="fjs")
    with pytest.raises(FormatError, match=r"a\.txt: not JSON"):
        io.load(path, format="json")


def test_an_unknown_format_is_one_of_those_that_are_read(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("what is this\n")
    with pytest.raises(FormatError, match=r"unknown format: .* suffix .*\.csv, \.dag, \.dax,"):
        io.load(path)


def test_the_registry_covers_the_table_in_the_documentation():
    rows = [line.strip("| ").split("|") for line in io.__doc__.splitlines() if line[:1] == "|"]
    table = {row[0].strip(): row for row in rows if row[0].strip() in io.FORMATS}
    assert sorted(table) == sorted(io.FORMATS) == list(io.FORMATS)
    for name, format in io.FORMATS.items():
        flags = [cell.strip() for cell in table[name][2:4]]
        assert flags == ["yes" if f else "no" for f in (format.read, format.write)]
        assert all(suffix in table[name][1] for suffix in format.suffixes)


# -- platforms ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("own.json", "own JSON"),
        ("costs.dot", "DOT"),
        ("costs.graphml", "GraphML"),
        ("trio", "CSV"),
        ("ft06.txt", "job shop"),
        ("ft06.fjs", "flexible job shop"),
    ],
)
def test_formats_with_processors_take_no_platform(name, title):
    message = f"{name}: the file describes its processors itself: leave platform out"
    with pytest.raises(DAGSchedError, match=message):
        io.load(SAMPLES / name, platform=UNIT)


@pytest.mark.parametrize(
    "name",
    [
        "diamond.dax",
        "diamond.yml",
        "four.stg",
        "weights.dot",
        "trace_14.json",
        "diamond",
        "after.csv",
    ],
)
def test_workflows_get_a_random_platform_by_default(name):
    assert io.load(SAMPLES / name) == io.load(SAMPLES / name, platform=io.RandomPlatform())


# -- errors name the place ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("four.stg", "3          2          2 ", "3  2  3 ", "line 5 announces 3 predecessors"),
        ("four.stg", "4          4          1          3", "4 4 1 9", "line 6: predecessor 9 is"),
        ("four.stg", "          4\n", "          5\n", "5 tasks are announced, but 6 lines"),
        ("four.stg", "2          5 ", "3          5 ", "line 4 is task 3: .* here 2"),
        ("four.stg", "5          1 ", "-5          1 ", "line 4: '-5' is not between 0 and"),
        ("ft06.txt", " 6 6\n", " 7 6\n", "line 5 announces 7 jobs, but 6 lines"),
        ("ft06.txt", "4 10  5 10", "4 10  6 10", "line 7: operation 3 names machine 6, not"),
        ("ft06.txt", "4 10  5 10", "4 10  5", "line 7 has 11 numbers: machine and time"),
        ("taillard.jsp", " 6  7  5", " 6  7  x", "line 4: 'x' is not a number"),
        ("taillard.jsp", " 2  3  1", " 2  3  0", "line 7: operation 1 names machine 3, not"),
        ("flexible.fjs", "1  3 1 1 2 2 3 3", "1  3 1 1 2 2", "line 3 ends within operation 0"),
        ("flexible.fjs", "1  3 1 1", "1  3 2 1", "line 3: operation 0 lists a machine twice"),
        ("flexible.fjs", "1 2 7", "1 4 7", r"line 2: operation 1 names machine 4, not in 1\.\.3"),
        ("flexible.fjs", "1 2 7", "1 2 7 8", "line 2 has 1 numbers after its 2 operations"),
        ("diamond.dax", 'parent ref="ID3"', 'parent ref="ID9"', "child 2 refers to 'ID9'"),
        ("diamond.dax", 'id="ID4"', 'id="ID2"', "job 3 repeats the id 'ID2' of job 1"),
        ("diamond.dax", 'runtime="2"', 'runtime="soon"', "runtime of job 0: 'soon' is not a"),
        ("diamond.dax", 'runtime="0"', "", "task 'ID3' .'work'. has no time: times names a"),
        ("diamond.dax", ">7<", ">-7<", "size in uses 2 of job 1: '-7' is not between"),
        ("diamond.dax", "</adag>", "</adog>", "not XML: mismatched tag: line 27"),
        ("trace_14.json", '"link": "input"', '"link": "in"', r"tasks\[0\].files\[0\].link is in:"),
        ("trace_14.json", '"ID2", "work_ID3"', '"ID2", "x"', r"tasks\[3\].parents names 'x'"),
        ("trace_14.json", '"name": "work_ID3"', '"name": "work_ID2"', r"tasks\[2\].name repeats"),
        ("costs.dot", "a -> c [", "a -- c [", "line 13: undirected edges .* '--'"),
        ("costs.dot", 'comp="0 0"', 'comp="0 0 0"', "node 'c' has 3 costs, but 'a' has 2"),
        ("costs.dot", 'comp="0 0"', 'comp="0 none"', "comp of node 'c': 'none' is not a number"),
        ("costs.dot", "data=140", "data=-140", "data of edge 'a' -> 'b': '-140' is not"),
        ("costs.dot", "a -> b", "a -> e", "node 'e' has no attribute 'comp', as others have"),
        ("costs.graphml", 'target="c"', 'target="z"', "edge 1 has the target 'z'"),
        ("costs.graphml", '<node id="c"/>', '<node id="b"/>', "node 2 repeats the id 'b'"),
        ("costs.graphml", "4.5 inf", "4.5 nan", "comp of node 'b': 'nan' is not a number"),
        ("costs.graphml", '"directed"', '"undirected"', "edge 0 is undirected"),
        ("costs.graphml", 'key="d6"', 'key="d9"', "node 'b' has data of the key 'd9'"),
        ("costs.graphml", '["slow", "fast"]', "slow fast", "'processors' is not a JSON list"),
    ],
)  # fmt: skip
def test_errors_name_the_place(tmp_path, name, old, new, message):
    text = (SAMPLES / name).read_text()
    assert old in text
    path = tmp_path / name
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(FormatError, match=message) as caught:
        io.load(path)
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize(
    ("table", "old", "new", "message"),
    [
        ("computation.csv", "c,0,0", "c,0", "computation.csv line 4 has 2 cells, the header 3"),
        ("computation.csv", "c,0,0", "b,0,0", "computation.csv line 4 repeats the name 'b'"),
        ("computation.csv", "4.5", "-4.5", "computation.csv line 3: '-4.5' is not between"),
        ("communication.csv", "b,d", "b,e", "line 4 names 'e', which is not a task"),
        ("communication.csv", "from", "", "communication.csv needs the header from,to,data"),
        ("bandwidth.csv", "0,10", "0,0", "bandwidth.csv: 'slow' to 'fast' is 0, not > 0"),
        ("latency.csv", "slow,fast", "fast,slow", "latency.csv line 1: the processors are not"),
    ],
)
def test_broken_tables_name_the_place(tmp_path, table, old, new, message):
    for path in (SAMPLES / "trio").iterdir():
        (tmp_path / path.name).write_text(path.read_text())
    (tmp_path / table).write_text((tmp_path / table).read_text().replace(old, new, 1))
    with pytest.raises(FormatError, match=message):
        io.load(tmp_path)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.dot", "digraph { node [runtime=1] a -> b -> a }"),
        ("a.stg", "2\n0 1 1 1\n1 1 1 0\n"),
        ("a.dax", '<adag><job id="a" runtime="1"/><child ref="a"><parent ref="a"/></child></adag>'),
        ("a.csv", "task,time,after\na,1,b\nb,1,a\n"),
    ],
)
def test_cycles(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    with pytest.raises(InvalidInstanceError, match=r"cycle|self-loop"):
        io.load(tmp_path / name)


@pytest.mark.parametrize(
    "declaration", ['<!DOCTYPE x [<!ENTITY a "b">]>', '<!DOCTYPE x SYSTEM "y">']
)
def test_document_types_are_refused(tmp_path, declaration):
    (tmp_path / "a.xml").write_text(f'{declaration}<adag><job id="&a;" runtime="1"/></adag>')
    with pytest.raises(FormatError, match="remove <!DOCTYPE"):
        io.load(tmp_path / "a.xml")


def test_without_defusedxml():
    code = blocking("defusedxml") + (
        "from dagsched_env import MissingExtraError, io\n"
        f"print(io.load({str(SAMPLES / 'costs.dot')!r}).n_tasks)\n"
        "try:\n"
        f"    io.load({str(SAMPLES / 'costs.graphml')!r})\n"
        "except MissingExtraError as error:\n"
        "    print(error)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    extra = "this feature needs 'defusedxml': install it with  pip install 'aerl-ds[formats]'"
    assert result.stdout.splitlines() == ["4", extra]


# -- the grammar of DOT ------------------------------------------------------------------------


def test_dot_lexical_rules():
    workflow = dot.parse(
        'DiGraph "a \\"b\\" \\\\" { NODE [runtime=-0.0;weight=3]; 7 [runtime=.5] -1.5 ;'
        '"x" + "y" [runtime="1\\\n2"] ; é ; subgraph { node [runtime=9]; inner } outer }'
    )
    assert workflow.name == 'a "b" \\\\'
    assert workflow.tasks == ("7", "-1.5", "xy", "é", "inner", "outer")
    assert workflow.runtimes.tolist() == [0.5, 0, 12, 0, 9, 0]


@pytest.mark.parametrize(
    ("text", "nodes", "pairs"),
    [
        ("a -> {b c}", "abc", "ab ac"),
        ("{a b} -> {c d}", "abcd", "ac ad bc bd"),
        ("{a b} -> c -> {d e}", "abcde", "ac bc cd ce"),
        ("subgraph s {a; b} -> subgraph {c}", "abc", "ac bc"),
        ("{a -> b {c}} -> {d {e} -> f}", "abcdef", "ab ad ae af bd be bf cd ce cf ef"),
        ("{{a b} -> c} -> d", "abcd", "ac bc ad bd cd"),
        ("{a a} -> {} b -> {c c}", "abc", "bc"),
        ("{a b} {c} -> d", "abcd", "cd"),
        ("a:n -> b:s; a:port:n -> {c:_} -> d:<p>", "abcd", "ab ac cd"),
        ('b:"x" [runtime=2] a -> b', "ba", "ab"),
    ],
)
def test_dot_groups_and_ports(text, nodes, pairs):
    workflow = dot.parse("digraph { node [runtime=1] " + text + "}")
    assert workflow.tasks == tuple(nodes)
    found = {workflow.tasks[u] + workflow.tasks[v] for u, v in workflow.edges}
    assert found == set(pairs.split())
    assert len(workflow.edges) == len(found)


def test_dot_attributes_of_groups():
    workflow = dot.parse(
        "digraph { node [runtime=1] edge [data=2] a -> "
        "{ node [runtime=5] edge [data=7] b -> c } -> {d; e} [data=3] e -> f }"
    )
    assert workflow.runtimes.tolist() == [1, 5, 5, 1, 1, 1]
    ends = [workflow.tasks[u] + workflow.tasks[v] for u, v in workflow.edges]
    data = dict(zip(ends, workflow.data.tolist(), strict=True))
    assert data == {"ab": 3, "ac": 3, "bc": 7, "bd": 3, "be": 3, "cd": 3, "ce": 3, "ef": 2}


MANY = " ".join(f"n{i}" for i in range(20_000))


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "text",
    [
        f"{{{MANY}}} -> {{{MANY}}}",
        "a -> {" + "{" * 9000 + MANY + "} -> {}" * 9000 + "}",
        "".join(f"{name} -> {{" for name in MANY.split()) + "}" * MANY.count("n"),
    ],
    ids=["wide", "without edges", "nested"],
)
def test_dot_groups_have_a_limit(text):
    with pytest.raises(FormatError, match="groups of nodes make more than 1000000 edges: make the"):
        dot.parse(f"digraph {{ node [runtime=1] {text} }}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("digraph {\n a -> {b} -- c\n}", "line 2: undirected edges are not read, found '--'"),
        ("digraph { {a} -- b }", "line 1: undirected edges are not read, found '--'"),
        ("digraph {\n\n a:b:s:c -> d}", "line 3: expected a name or a value, found ':'"),
        ("digraph { a -> subgraph b }", "line 1: expected '{', found '}'"),
        (
            "digraph { subgraph s {a} subgraph s {b} -> c }",
            "line 1: a subgraph opened twice cannot be the end of an edge: name its nodes",
        ),
        ("digraph { a", "expected a name or a value, found the end of the file"),
        ("digraph { a [b] }", "line 1: expected '=', found ']'"),
        ("digraph { /* a\n\n", "line 1: '/.*is not DOT"),
        ("digraph { a [label=<<b>] }", "line 1: the HTML text that starts here does not end"),
        ("graph { a }", "expected 'digraph'; undirected graphs are not read, found 'graph'"),
        ("digraph { a [runtime=1] } }", "expected the end of the file, one graph in each"),
        ("digraph {}", "the graph has no nodes"),
    ],
)
def test_dot_that_is_not_read(text, message):
    with pytest.raises(FormatError, match=message):
        dot.parse(text)


# -- networkx ----------------------------------------------------------------------------------


def test_workflow_from_networkx():
    graph = nx.DiGraph(name="pair")
    graph.add_node(1, cost=np.float32(2))
    graph.add_node(0, cost=3)
    graph.add_edge(1, 0, bytes=np.int64(5))
    workflow = io.workflow_from_networkx(graph, runtime="cost", data="bytes")
    assert (workflow.name, workflow.tasks, workflow.edges) == ("pair", ("1", "0"), ((0, 1),))
    assert UNIT.equip(workflow).comp.ravel().tolist() == [2, 3]
    assert edges(UNIT.equip(workflow)) == {(0, 1): 5}
    assert io.workflow_from_networkx(graph, runtime="cost").data.tolist() == [0]


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (nx.Graph([(0, 1)]), "is a Graph: a workflow needs a DiGraph"),
        (nx.DiGraph(), "no nodes"),
        (nx.DiGraph([(0, 1)]), "node '0' has no attribute 'runtime' or 'weight' or"),
        (nx.DiGraph([(0, "0")]), "same text"),
    ],
)
def test_graphs_that_are_no_workflow(graph, message):
    with pytest.raises(FormatError, match=message):
        io.workflow_from_networkx(graph)


@pytest.mark.parametrize("value", ["one", None, float("nan"), -1, 1e101, 10**400, True, 1j])
def test_attributes_that_are_no_amount(value):
    graph = nx.DiGraph()
    graph.add_node("a", runtime=value)
    with pytest.raises(FormatError, match=r"runtime of node 'a'(: | is )"):
        io.workflow_from_networkx(graph)


def test_chains_of_code():
    """The job shop that the text describes, built directly."""
    built = chains([[[(0, 5.0), (2, 4.0)], [(1, 7.0)]], [[(0, 1), (1, 2), (2, 3)]]], 3)
    assert isinstance(built, Instance)
    assert built.comp.tolist() == io.load(SAMPLES / "flexible.fjs").comp.tolist()
    assert stg.parse("1\n0 3 0\n").tasks == ("0",)

"""Job shops: every layout and numbering of machines gives the same problem; setup times do not."""

from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagsched_env import exact, io
from dagsched_env.generators.job_shop import chains
from dagsched_env.io import fjsp, job_shop
from dagsched_env.io.recognise import recognise
from dagsched_env.io.source import Source
from dagsched_env.problem.errors import FormatError, InvalidInstanceError
from helpers import TESTS
from helpers.brute_force import optimum

INF = float("inf")
GRAPH = (TESTS / "data" / "formats" / "graph.fjs").read_text()
JOBS = [[[(1, 4)], [(0, 2), (2, 3)]], [[(2, 5)], [(1, 7)]]]
"""Operations as (machine, time), two of them on any of two machines."""


@st.composite
def shops(draw, flexible):
    """Machines, and jobs that may visit one twice; a last job visits them all."""
    n_machines = draw(st.integers(1, 4))
    machine = st.integers(0, n_machines - 1)
    times = st.integers(0, 30)
    several = st.lists(machine, min_size=1, max_size=n_machines if flexible else 1, unique=True)
    operation = several.flatmap(lambda qs: st.tuples(*(st.tuples(st.just(q), times) for q in qs)))
    jobs = draw(st.lists(st.lists(operation, min_size=1, max_size=5), max_size=4))
    return n_machines, [*jobs, [((q, draw(times)),) for q in range(n_machines)]]


def written(operation, first):
    return chain.from_iterable((q + first, time) for q, time in operation)


def standard(n_machines, jobs, first, end=()):
    rows = [[*chain.from_iterable(written(o, first) for o in job), *end] for job in jobs]
    return text([len(jobs), n_machines], *rows)


def flexible(n_machines, jobs, first):
    rows = [
        [len(job), *chain.from_iterable((len(o), *written(o, first)) for o in job)] for job in jobs
    ]
    return text([len(jobs), n_machines, 1.5], *rows)


def graph(n_machines, jobs, first):
    """With the arcs last to first, each with its job."""
    ends = np.cumsum([len(job) for job in jobs])
    arcs = [
        (t - 1, t, j) for j, job in enumerate(jobs) for t in range(ends[j] - len(job) + 1, ends[j])
    ]
    rows = [[len(o), *written(o, first)] for job in jobs for o in job]
    return text([len(rows), len(arcs), n_machines], *arcs[::-1], *rows)


def text(*rows):
    return "".join(" ".join(map(str, row)) + "\n" for row in rows)


def recognised(content, folder):
    path = folder / "shop"
    path.write_text(content)
    return recognise(Source(path))


@given(shops(flexible=False), st.sampled_from([0, 1]))
def test_a_job_may_visit_a_machine_twice_in_every_layout(shop, first):
    n_machines, jobs = shop
    instance = chains(jobs, n_machines)
    assert job_shop.parse(standard(n_machines, jobs, first)) == instance
    assert job_shop.parse(standard(n_machines, jobs, first, (-1, -1))) == instance
    assert fjsp.parse(flexible(n_machines, jobs, first)) == instance


@given(shops(flexible=True), st.sampled_from([0, 1]))
def test_jobs_written_as_a_graph_are_the_same_problem(shop, first):
    n_machines, jobs = shop
    instance = chains(jobs, n_machines)
    assert fjsp.parse(flexible(n_machines, jobs, first)) == instance
    read = fjsp.parse(graph(n_machines, jobs, first))
    assert read.task_names == tuple(f"O{i}" for i in range(instance.n_tasks))
    assert np.array_equal(read.comp, instance.comp)
    assert sorted(read.edges.tolist()) == sorted(instance.edges.tolist())
    assert not read.data.any()


def test_a_graph_of_operations():
    instance = fjsp.parse(GRAPH, name="graph")
    assert (instance.name, instance.processor_names) == ("graph", ("M0", "M1", "M2"))
    assert instance.comp.tolist() == [
        [3, INF, INF], [4, 2, INF], [INF, INF, 2], [INF, 3, 5], [INF, 4, INF],
    ]  # fmt: skip
    assert instance.edges.tolist() == [[0, 2], [1, 2], [2, 3], [2, 4]]
    assert fjsp.parse(GRAPH.replace(" J1", ""), name="graph") == instance
    assert fjsp.parse("1 0 2\n2 0 3 1 4\n").comp.tolist() == [[3, 4]]
    proved = exact.solve(instance, time_limit_s=20)
    assert proved.optimal
    assert proved.schedule.makespan == optimum(instance) == 10


def test_numbers_of_machines():
    """Machine 0 says from 0, the highest number from 1; else it is as the layout has it."""
    assert job_shop.parse("1 3\n1 5 0 6\n").comp[:, :2].tolist() == [[INF, 5], [6, INF]]
    assert job_shop.parse("1 3\n1 5 3 6\n").comp[:, ::2].tolist() == [[5, INF], [INF, 6]]
    assert job_shop.parse("1 3\n1 5 2 6\n").comp[:, 1:].tolist() == [[5, INF], [INF, 6]]
    assert job_shop.parse("1 2\n5 6\n1 0\n") == job_shop.parse("1 2\n5 6\n2 1\n")
    assert job_shop.parse("1 2\n5 6\n1 1\n").comp[:, 0].tolist() == [5, 6]
    assert fjsp.parse("1 3\n1 1 1 5\n").comp.tolist() == [[5, INF, INF]]
    assert fjsp.parse("1 0 3\n1 1 5\n").comp.tolist() == [[INF, 5, INF]]
    assert fjsp.parse("1 0 3\n2 1 5 3 6\n").comp.tolist() == [[5, INF, 6]]


@pytest.mark.parametrize("end", [(), (-1, -1)])
def test_content_tells_layouts_apart(tmp_path, end):
    twice = [[[(1, 5)], [(0, 2)], [(1, 9)]], [[(0, 4)]]]
    once = [[[(0, 5)], [(1, 2)]], [[(1, 5)], [(0, 2)]]]
    for jobs in (twice, once):
        assert recognised(standard(2, jobs, 1, end), tmp_path) == "job_shop"
        assert recognised(flexible(2, jobs, 1), tmp_path) == "fjsp"
        assert recognised(graph(2, jobs, 0), tmp_path) == "fjsp"
    assert recognised("2 2\n5 6\n7 8\n1 2\n2 1\n", tmp_path) == "job_shop"
    assert recognised("2 3\n5 6 1\n7 8 1\n1 2 3\n2 1 3\n", tmp_path) == "job_shop"


def setups(n_machines, size):
    return text(*np.arange(n_machines * size**2).reshape(-1, size).tolist())


@pytest.mark.parametrize("size", [2, 4], ids=["jobs", "operations"])
@pytest.mark.parametrize("layout", [flexible, standard])
def test_setup_times_are_refused_by_name(tmp_path, layout, size):
    path = tmp_path / ("shop.fjs" if layout is flexible else "shop.jsp")
    jobs = [[operation[:1] for operation in job] for job in JOBS]
    path.write_text(f"{layout(3, jobs, 1)}\n{setups(3, size)}")
    last = 4 + 3 * size
    message = f"lines 5 to {last} are setup times, which the model does not have: remove these"
    with pytest.raises(FormatError, match=message):
        io.load(path)
    name = "fjsp" if layout is flexible else "job_shop"
    assert recognised(path.read_text(), tmp_path) == name


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("5 4 3", "5 5 3", "line 1 announces 5 operations and 5 arcs, but 9 lines follow"),
        ("5 4 3", "5 4 2", r"line 8: operation 0 names machine 2, not in 0\.\.1"),
        ("5 4 3", "5 4 2.5", r"line 1: '2\.5' is not a whole number"),
        ("2 4 J1", "2 5 J1", r"line 5: operation 5 is not in 0\.\.4"),
        ("2 4 J1", "2 4 J1 9", "line 5 has 4 words: an arc is two operations"),
        ("2 1 3 2 5", "2 1 3", "line 9 ends within operation 0"),
        ("2 1 3 2 5", "2 1 3 1 5", "line 9: operation 0 lists a machine twice"),
        ("1 1 4", "1 1 four", "line 10: 'four' is not a number"),
    ],
)
def test_errors_in_a_graph_name_the_line(old, new, message):
    assert old in GRAPH
    with pytest.raises(FormatError, match=message):
        fjsp.parse(GRAPH.replace(old, new, 1))


@pytest.mark.parametrize("arc", ["2 0 J1", "1 2 J1"])
def test_a_graph_has_no_cycle_and_no_arc_twice(arc):
    with pytest.raises(InvalidInstanceError):
        fjsp.parse(GRAPH.replace("2 4 J1", arc))

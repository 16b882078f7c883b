"""Tables of tasks and times: edges beside them, columns, and errors with a place."""

import csv
import io as streams
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagsched_env import Instance, io
from dagsched_env.problem.errors import AssumptionWarning, DAGSchedError, FormatError
from dagsched_env.problem.workflow import Workflow
from helpers import TESTS

DIAMOND = TESTS / "data" / "formats" / "diamond"
UNIT = io.Platform([1], 1)
TIMES = ("time", "runtime", "duration", "weight", "work")


def write(folder: Path, tables: dict[str, str]) -> None:
    for name, text in tables.items():
        (folder / name).write_text(text, encoding="utf-8", newline="")


def read(path: Path) -> Workflow:
    found = io.read(path)
    assert isinstance(found, Workflow)
    return found


def edges(workflow: Workflow) -> dict[tuple[int, int], float]:
    return dict(zip(workflow.edges, workflow.data.tolist(), strict=True))


# -- where the edges are -----------------------------------------------------------------------


def test_a_directory_and_its_table_are_the_same_workflow() -> None:
    folder, file = read(DIAMOND), read(DIAMOND / "tasks.csv")
    assert (folder.name, file.name) == ("diamond", "tasks")
    assert folder.tasks == file.tasks == ("a", "b", "c", "d")
    assert folder.runtimes.tolist() == file.runtimes.tolist() == [2, 4.5, 0, 8]
    assert edges(folder) == edges(file) == {(0, 1): 140, (0, 2): 40, (1, 3): 7, (2, 3): 0}


def test_edges_of_its_own_name_go_before_those_of_all(tmp_path: Path) -> None:
    table = "task,time\na,1\nb,2\n"
    write(tmp_path, {"x.csv": table, "y.csv": table, "edges.csv": "from,to\na,b\n"})
    write(tmp_path, {"x-edges.csv": "to,from,size\na,b,5\n"})
    assert edges(read(tmp_path / "x.csv")) == {(1, 0): 5}
    assert edges(read(tmp_path / "y.csv")) == {(0, 1): 0}


def test_a_column_of_predecessors(tmp_path: Path) -> None:
    text = "Parents,Task,Work\n,a,1\na,load it,2\nload it;a,c,3\nload it,d,0\nc a ,e,1\n"
    write(tmp_path, {"x.csv": text})
    assert list(edges(read(tmp_path / "x.csv"))) == [(0, 1), (1, 2), (0, 2), (1, 3), (2, 4), (0, 4)]


def test_tasks_without_edges(tmp_path: Path) -> None:
    write(tmp_path, {"x.csv": "task,time\na,1\nb,2\n"})
    assert edges(read(tmp_path / "x.csv")) == {}


def test_a_folder_of_tables_is_read_without_their_edges_and_results(tmp_path: Path) -> None:
    table = "task,time\na,1\nb,2\n"
    write(tmp_path, {"tasks.csv": table, "y.csv": table, "y-edges.csv": "from,to\na,b\n"})
    write(tmp_path, {"results.csv": "instance,tasks,seconds\nx,1,2\n", "latin.csv": "task,time\n"})
    (tmp_path / "latin.csv").write_bytes("größe\n".encode("latin-1"))
    (tmp_path / "deeper").mkdir()
    write(tmp_path / "deeper", {"tasks.csv": table})
    said = (
        "deeper: no task depends on another: all 2 may run at the same time; there are notes on 1"
    )
    with pytest.warns(AssumptionWarning, match=said):
        instances = io.load_folder(tmp_path, platform=UNIT)
    assert [i.name for i in instances] == ["deeper", "tasks", "y"]


# -- a table of times or of one machine --------------------------------------------------------


@pytest.mark.parametrize("time", [*TIMES, "Time", " RUNTIME "])
@pytest.mark.parametrize("corner", ["task", "", "night"])
def test_one_column_of_times_is_no_machine(tmp_path: Path, time: str, corner: str) -> None:
    write(tmp_path, {"computation.csv": f"{corner},{time}\na,1\nb,2\n"})
    write(tmp_path, {"communication.csv": "from,to,data\na,b,5\n"})
    workflow = read(tmp_path)
    assert workflow.name == ("night" if corner == "night" else tmp_path.name)
    assert workflow.runtimes.tolist() == [1, 2]
    assert edges(workflow) == {(0, 1): 5}


@pytest.mark.parametrize("links", ["bandwidth.csv", "inverse_bandwidth.csv", "latency.csv"])
def test_a_machine_of_this_name_has_links(tmp_path: Path, links: str) -> None:
    write(tmp_path, {"computation.csv": "task,time\na,1\n", "communication.csv": "from,to,data\n"})
    write(tmp_path, {links: ",time\ntime,1\n"})
    instance = io.load(tmp_path)
    assert (instance.name, instance.processor_names) == ("task", ("time",))


@pytest.mark.parametrize("time", TIMES)
@pytest.mark.parametrize("rate", [0, 3, 49])
def test_what_is_written_of_such_a_machine_is_read_back(
    tmp_path: Path, time: str, rate: float
) -> None:
    instance = Instance(
        [[1], [2]], [(0, 1)], [3], inv_bandwidth=[[rate]], processor_names=[time], name="task"
    )
    io.save(instance, tmp_path / "saved", format="csv")
    assert io.load(tmp_path / "saved") == instance


# -- how the tables are written ----------------------------------------------------------------

names = st.text(st.characters(exclude_categories=["Cs"]), max_size=5).filter(
    lambda name: name == name.strip()
)


@given(
    tasks=st.dictionaries(names, st.floats(0, 1e100), min_size=1, max_size=5),
    data=st.lists(st.floats(0, 1e100), max_size=3),
    header=st.sampled_from(["task,time", "TASK, Duration ", "Task,work"]),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    mark=st.sampled_from(["", "\ufeff"]),
)
def test_any_names_are_read_as_a_spreadsheet_writes_them(
    tmp_path_factory: pytest.TempPathFactory,
    tasks: dict[str, float],
    data: list[float],
    header: str,
    end: str,
    mark: str,
) -> None:
    def table(header: str, rows: Iterable[Sequence[object]]) -> str:
        stream = streams.StringIO(newline="")
        stream.write(mark + header + end)
        csv.writer(stream, lineterminator=end, quoting=csv.QUOTE_ALL).writerows(rows)
        return stream.getvalue()

    folder = tmp_path_factory.mktemp("tables")
    first, *_, last = [*tasks] * 2
    write(folder, {"tasks.csv": table(header, tasks.items())})
    write(folder, {"edges.csv": table("source,target,data", ((first, last, x) for x in data))})
    workflow = read(folder)
    assert workflow.tasks == tuple(tasks)
    assert workflow.runtimes.tolist() == list(tasks.values())
    assert workflow.edges == ((0, len(tasks) - 1),) * bool(data)
    assert workflow.data.tolist() == [sum(data)][: len(data)]


# -- errors name the place ---------------------------------------------------------------------

TASKS = "task,time\na,1\nb,2\n"


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"x.csv": "task\na\n"}, "line 1 has no column 'time' or 'runtime' or .*: add it"),
        ({"x.csv": "time\n1\n"}, "line 1 has no column 'task': add it"),
        ({"x.csv": "task,time,queue\na,1,2\n"}, "line 1: the column 'queue' is not read: remove"),
        ({"x.csv": "\ntask;time\na;1\n"}, "cells of the table .* semicolons: .* by commas$"),
        ({"x.csv": "task\ttime\na\t1\n"}, "cells of the table .* tabs: separate them by commas$"),
        ({"x.csv": '"task";"time"\n"a";1,5\n'}, "by commas, and write numbers with points"),
        ({"x.csv": TASKS, "edges.csv": "from;to\na;b\n"}, "cells of edges.csv seem .* semicolons"),
        ({"x.csv": "task,time,Work\na,1,2\n"}, "line 1: 'Work' is a second column of 'time'"),
        ({"x.csv": "task,time\n"}, "line 1 is the last: a workflow has at least one task"),
        ({"x.csv": ""}, "the table is empty: it needs a header"),
        ({"x.csv": "task,time\n\na,soon\n"}, "line 3 needs seconds >= 0: 'soon' is not a number"),
        ({"x.csv": "task,time\na,-1\n"}, "line 2 needs seconds >= 0: '-1' is not between 0 and"),
        ({"x.csv": "task,time\na,inf\n"}, "line 2 needs seconds >= 0: 'inf' is not between"),
        ({"x.csv": "task,time\na,1\n\"b\nc\",1\na,2\n"}, "line 5 repeats the name 'a': each task"),
        ({"x.csv": "task,time\na,1,5\n"}, "line 2 has 3 cells, the header 2"),
        ({"x.csv": "task,time,after\na,1,\nb,1,a; z\n"}, "line 3 names 'z', which is not a task"),
        ({"x.csv": "task,time,after\na,1,\n", "edges.csv": "from,to\n"}, "are in edges.csv and in"),
        ({"x.csv": TASKS, "edges.csv": "from,to\na,c\n"}, "edges.csv line 2 names 'c', which"),
        ({"x.csv": TASKS, "edges.csv": "from,to,data\na,b,-2\n"}, "edges.csv line 2 needs bytes"),
        ({"x.csv": TASKS, "edges.csv": "from,data\na,b\n"}, "edges.csv line 1 has no column 'targ"),
        ({"x.csv": TASKS, "edges.csv": "from,to,MB\na,b,1\n"}, "edges.csv line 1: the column 'MB'"),
        ({"x.csv": TASKS, "x-edges.csv": "\xe9"}, "x-edges.csv line 1: the column 'é' is not read"),
    ],
)  # fmt: skip
def test_errors_name_the_table_and_the_line(
    tmp_path: Path, tables: dict[str, str], message: str
) -> None:
    write(tmp_path, tables)
    with pytest.raises(FormatError, match=message) as caught:
        io.read(tmp_path / "x.csv")
    assert str(caught.value).startswith(f"{tmp_path / 'x.csv'}: ")


def test_semicolons_are_named_whatever_the_suffix_and_in_a_folder(tmp_path: Path) -> None:
    write(tmp_path, {"x.csv": "task;time\na;1\n", "x.txt": "task;time\na;1\n"})
    for act, place in ((io.read, "x.csv"), (io.read, "x.txt"), (io.load_folder, "")):
        with pytest.raises(FormatError, match=r"x\.(csv|txt): the cells .* semicolons"):
            act(tmp_path / place)
    write(tmp_path, {"x.tsv": "task\ttime\na\t1\n"})
    with pytest.raises(FormatError, match=r"x\.tsv: the cells .* tabs"):
        io.read(tmp_path / "x.tsv")
    (tmp_path / "x.tsv").unlink()
    write(tmp_path, {"x.csv": 'task,time\n"a;b",1\n', "x.txt": "instance;tasks;seconds\na;1;2\n"})
    (found,) = io.load_folder(tmp_path, platform=UNIT)
    assert found.task_names == ("a;b",)


def test_another_encoding_names_the_table(tmp_path: Path) -> None:
    write(tmp_path, {"tasks.csv": TASKS})
    (tmp_path / "edges.csv").write_bytes("from,to\ngröße,b\n".encode("latin-1"))
    with pytest.raises(FormatError, match=r"edges\.csv: not UTF-8 text"):
        io.read(tmp_path)


def test_tables_that_cannot_be_told_apart_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"a folder, without computation\.csv or tasks\.csv"):
        io.read(tmp_path)
    write(tmp_path, {"tasks.csv": TASKS, "computation.csv": ",p\na,1\n"})
    for act in (io.read, io.load_folder):
        with pytest.raises(DAGSchedError, match=r"has tasks\.csv and computation\.csv: remove one"):
            act(tmp_path)
    with pytest.raises(FormatError, match="one table of a problem: give the directory"):
        io.read(tmp_path / "computation.csv")

"""Runs of Nextflow. The files are written here, by its documentation: it needs Java to run.

Fields, durations, sizes and times: nextflow.io/docs/latest/reports.html, "Trace file". The graph
has the nodes of ``-with-dag dag.dot``: processes have a label, channels and operators a shape.
"""

from pathlib import Path

import numpy as np
import pytest

from dagsched_env import io
from dagsched_env.io import nextflow
from dagsched_env.problem.errors import AssumptionWarning, FormatError
from dagsched_env.problem.run import Run

DAG = """digraph "dag" {
rankdir=TB;
v0 [shape=point,label="",fixedsize=true,width=0.1,xlabel="Channel.fromFilePairs"];
v1 [label="TRIM"];
v0 -> v1 [label="reads"];
v2 [shape=circle,label="",fixedsize=true,width=0.1,xlabel="map"];
v1 -> v2;
v3 [label="ALIGN"];
v2 -> v3;
v4 [label="INDEX"];
v4 -> v3;
v5 [label="SKIPPED"];
v4 -> v5;
v6 [label="MULTIQC"];
v5 -> v6;
v3 -> v6;
v7 [shape=point];
v6 -> v7;
}
"""
FIELDS = (
    "task_id", "hash", "native_id", "name", "status", "exit", "submit", "duration", "realtime",
    "%cpu", "peak_rss",
)  # fmt: skip
DAY = "2024-02-09 14:"
ROWS = (
    ("1", "d6", "1", "INDEX", "COMPLETED", "0", "00:00.000", "1m 30s", "1m 20s", "99.1%", "1 KB"),
    ("2", "1b", "2", "TRIM (a)", "COMPLETED", "0", "00:00.100", "10s", "9.5s", "130.1%", "2.4 MB"),
    ("3", "65/1c", "3", "TRIM (b)", "FAILED", "1", "00:00.200", "5s", "4s", "-", "-"),
    ("4", "65/1d", "4", "TRIM (b)", "COMPLETED", "0", "00:05.200", "20s", "352ms", "0.0%", "0"),
    ("5", "f9", "5", "ALIGN (a)", "COMPLETED", "0", "01:30.000", "1m", "59s", "780.0%", "1.5 GB"),
    ("6", "fa", "6", "ALIGN (b)", "COMPLETED", "0", "01:31.000", "2m", "1m 58s", "400%", "1 GB"),
    ("7", "03/fb", "7", "ALIGN (c)", "ABORTED", "-", "01:32.000", "-", "-", "-", "-"),
    ("8", "aa/01", "8", "MULTIQC", "COMPLETED", "0", "03:31.000", "1s", "900ms", "50%", "10 MB"),
)  # fmt: skip


def trace(folder: Path, *, dag: str = DAG, status: dict[str, str] | None = None) -> Path:
    """The trace of a run, and its graph."""
    lines = ["\t".join(FIELDS)]
    for row in ROWS:
        words = list(row)
        words[4] = (status or {}).get(row[0], row[4])
        words[6] = DAY + words[6]
        lines.append("\t".join(words))
    path = folder / "trace.txt"
    path.write_text("\n".join([*lines, ""]))
    if dag:
        (folder / "dag.dot").write_text(dag)
    return path


def edges(run: Run) -> set[tuple[str, str]]:
    return {(run.workflow.tasks[u], run.workflow.tasks[v]) for u, v in run.workflow.edges}


def test_a_task_waits_for_those_of_its_tag_or_for_all(tmp_path: Path) -> None:
    run = io.read_run(trace(tmp_path))
    assert run.workflow.tasks == (
        "INDEX", "TRIM (a)", "TRIM (b)", "ALIGN (a)", "ALIGN (b)", "MULTIQC",
    )  # fmt: skip
    assert run.workflow.kinds == ("INDEX", "TRIM", "TRIM", "ALIGN", "ALIGN", "MULTIQC")
    assert edges(run) == {
        ("TRIM (a)", "ALIGN (a)"),
        ("TRIM (b)", "ALIGN (b)"),
        ("INDEX", "ALIGN (a)"),
        ("INDEX", "ALIGN (b)"),
        ("ALIGN (a)", "MULTIQC"),
        ("ALIGN (b)", "MULTIQC"),
    }
    assert not run.workflow.says_data
    assert run.remarks[0] == nextflow.WAITS
    assert run.remarks[1:] == (
        "1 tasks ran more than once, such as TRIM (b): the last time counts",
        "left out, because not completed: 1 tasks, such as ALIGN (c)",
        "hosts are not recorded: one machine, with as many cores as were in use",
    )


def test_times_and_demands(tmp_path: Path) -> None:
    run = io.read_run(trace(tmp_path))
    assert run.workflow.runtimes.tolist() == [80, 9.5, 0.352, 59, 118, 0.9]
    np.testing.assert_allclose(run.finish, [90, 10.1, 25.2, 150, 211, 212], atol=1e-6)
    np.testing.assert_allclose(run.start, [10, 0.6, 24.848, 91, 93, 211.1], atol=1e-6)
    assert run.workflow.recorded("cores").tolist() == [1, 2, 1, 8, 4, 1]
    assert run.workflow.recorded("memory").tolist() == [
        1024, 2.4 * 1024**2, 0, 1.5 * 1024**3, 1024**3, 10 * 1024**2,
    ]  # fmt: skip
    assert run.machines.capacities["cores"].tolist() == [12]
    with pytest.warns(AssumptionWarning):
        instance = io.load(tmp_path / "trace.txt")
    assert (instance.n_tasks, instance.n_processors) == (6, 1)


def test_rounded_durations_make_no_task_start_before_the_run(tmp_path: Path) -> None:
    path = trace(tmp_path)
    path.write_text(path.read_text().replace("1m 30s\t1m 20s", "1m 1s\t1m 2s"))
    run = io.read_run(path)
    assert (run.start[0], run.finish[0], run.workflow.runtimes[0]) == (0, 61, 62)


def test_without_its_own_time_a_task_runs_from_its_submission_on(tmp_path: Path) -> None:
    path = trace(tmp_path)
    path.write_text(path.read_text().replace("1m 20s", "-"))
    run = io.read_run(path)
    assert (run.start[0], run.finish[0], run.workflow.runtimes[0]) == (0, 90, 90)


def test_cached_tasks_keep_their_time(tmp_path: Path) -> None:
    run = io.read_run(trace(tmp_path, status={"1": "CACHED", "2": "CACHED"}))
    assert run.ran.tolist() == [False, False, True, True, True, True]
    assert run.workflow.runtimes[0] == 80
    assert "2 of 6 tasks were cached: their times are of an earlier run" in run.remarks
    assert run.start.min(where=run.ran, initial=np.inf) >= 0


def test_a_task_cannot_have_waited_for_one_that_ended_later(tmp_path: Path) -> None:
    path = trace(tmp_path)
    text = path.read_text().replace("ALIGN (a)", "ALIGN (1)").replace("ALIGN (b)", "ALIGN (2)")
    path.write_text(text.replace("01:30.000", "00:11.000"))
    run = io.read_run(path)
    assert {e for e in edges(run) if e[1] == "ALIGN (1)"} == {("TRIM (a)", "ALIGN (1)")}
    assert len({e for e in edges(run) if e[1] == "ALIGN (2)"}) == 3
    said = "2 pairs are no edges: one task had not ended when the other was submitted"
    assert said in run.remarks


def test_raw_values_and_all_fields(tmp_path: Path) -> None:
    """As with trace.raw, and fields that are not there by default."""
    rows = [
        "name process tag status submit start complete realtime cpus peak_rss hostname hash",
        "P:A (1) P:A - COMPLETED 1700000000000 1700000001000 1700000003000 1500 4 1048576 n1 a",
        "P:A (2) P:A - COMPLETED 1700000000000 1700000001000 1700000002000 - 2 - n1 b",
        "P:B (7) P:B 7 COMPLETED 1700000003100 1700000003500 1700000004000 500 1 2048 n0 c",
        "P:B (7) P:B 7 COMPLETED 1700000003100 1700000003500 1700000004000 500 1 2048 n1 d",
    ]
    table = [row.replace(" (", "_(").split(" ") for row in rows]
    text = "\n".join("\t".join(word.replace("_(", " (") for word in row) for row in table)
    (tmp_path / "run.trace.txt").write_text(text)
    boxes = (
        'digraph "dag" { subgraph cluster_0 { label="P" v1 [label="A"] v2 [label="B"] } v1 -> v2 }'
    )
    (tmp_path / "pipeline.dot").write_text(boxes)  # labels are the last parts of names
    run = io.read_run(tmp_path / "run.trace.txt")
    assert run.workflow.tasks == ("P:A (1)", "P:A (2)", "P:B (7)", "P:B (7) #2")
    assert run.workflow.runtimes.tolist() == [1.5, 1, 0.5, 0.5]
    assert run.workflow.edges == ((0, 2), (1, 2), (0, 3), (1, 3))
    assert list(run.machines.processor_names) == ["n0", "n1"]
    assert run.machine.tolist() == [1, 1, 0, 1]
    assert run.machines.capacities["cores"].tolist() == [1, 6]
    assert run.start.tolist() == [1, 1, 3.5, 3.5]
    assert run.remarks == (nextflow.WAITS,)


def test_a_process_that_is_not_in_the_graph_is_named(tmp_path: Path) -> None:
    run = io.read_run(trace(tmp_path, dag=DAG.replace("INDEX", "OTHER")))
    assert not {e for e in edges(run) if "INDEX" in e}
    assert any(
        "1 processes are not in the graph by one name, such as INDEX" in r for r in run.remarks
    )


def test_the_graph_is_found_beside_the_trace(tmp_path: Path) -> None:
    path = trace(tmp_path, dag="")
    with pytest.raises(FormatError, match=r"there is no graph beside it; make it with .*-with-dag"):
        io.load(path)
    (tmp_path / "one.dot").write_text(DAG)
    expected = edges(io.read_run(path))
    (tmp_path / "two.dot").write_text(DAG)
    with pytest.raises(FormatError, match=r"several graphs .*: one\.dot, two\.dot; rename one"):
        io.load(path)
    (tmp_path / "flowchart.dot").write_text(DAG)
    assert edges(io.read_run(path)) == expected


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("1m 20s", "1m20 s", "line 2, realtime: '1m20 s' is no duration"),
        ("2.4 MB", "2.4 XB", "line 3, peak_rss: '2.4 XB' is no size"),
        ("2.4 MB", "2.4.1 MB", "line 3, peak_rss: '2.4.1' is no number"),
        ("14:00:05.200", "yesterday", "line 5, submit: '2024-02-09 yesterday' is no time"),
        ("99.1%", "much", "line 2, %cpu: 'much' is no number"),
        ("TRIM (a)\t", "TRIM (a)", "line 3: 10 values for 11 fields"),
        ("\tduration\t", "\tqueue\t", "line 1: no times"),
        ("COMPLETED", "FAILED", "no task of the trace was completed"),
    ],
)
def test_errors_name_the_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = trace(tmp_path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(FormatError, match=message):
        io.load(path)


def test_errors_of_the_graph_name_it(tmp_path: Path) -> None:
    path = trace(tmp_path, dag="graph {}")
    with pytest.raises(FormatError, match=r"trace\.txt: dag\.dot: line 1"):
        io.load(path)
    (tmp_path / "dag.dot").write_text('digraph { a [label="X"] }')
    with pytest.raises(FormatError, match=r"dag\.dot: no process of the trace, such as ALIGN"):
        io.load(path)


def test_a_trace_needs_names_and_states(tmp_path: Path) -> None:
    path = tmp_path / "a.trace.txt"
    path.write_text("name\tsubmit\tduration\n")
    with pytest.raises(FormatError, match="line 1: no field 'status': name it"):
        io.load(path)

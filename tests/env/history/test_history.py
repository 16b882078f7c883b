"""Measured durations: robust estimates, and the file that two processes may write at once."""

import dataclasses
import math
import sqlite3
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagsched_env.history import Estimates, History, default_path
from dagsched_env.history.estimates import Measurement, weighted_median
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.platforms import Platform
from dagsched_env.problem.run import Run
from dagsched_env.problem.workflow import Workflow


def run_of(seconds, *, kinds=None, sizes=None, tool="make", ran=None) -> Run:
    """Tasks t0, t1, … one after another."""
    seconds = np.asarray(seconds, dtype=np.float64)
    n = len(seconds)
    ran = np.ones(n, dtype=bool) if ran is None else np.asarray(ran)
    end = np.cumsum(np.where(ran, seconds, 0.0))
    return Run(
        tool,
        Workflow(
            tuple(f"t{i}" for i in range(n)),
            seconds,
            (),
            np.zeros(0),
            kinds=tuple(kinds or ["cc"] * n),
        ),
        np.where(ran, end - seconds, np.nan),
        np.where(ran, end, np.nan),
        np.where(ran, 0, -1),
        Platform([1.0], 1.0),
        None if sizes is None else np.asarray(sizes, dtype=np.float64),
    )


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 5)), min_size=1, max_size=9))
def test_a_weighted_median_is_that_of_repeated_values(pairs):
    values, counts = map(np.array, zip(*pairs, strict=True))
    expected = np.median(np.repeat(values, counts))
    assert weighted_median(values.astype(float), counts.astype(float)) == expected


def test_the_last_runs_count_most():
    old = [Measurement("cc", "a", 10.0, None, age) for age in range(6, 12)]
    new = [Measurement("cc", "a", 2.0, None, age) for age in range(3)]
    found = Estimates(old + new).estimate("cc", "a")
    assert (found.seconds, found.basis, found.measurements) == (2.0, "task", 9)


def test_one_slow_run_changes_nothing():
    measurements = [
        Measurement("cc", "a", s, None, age) for age, s in enumerate([50.0, 1, 1, 1, 1])
    ]
    assert Estimates(measurements).estimate("cc", "a").seconds == 1.0


def test_unknown_tasks_fall_back_to_their_kind_and_unknown_kinds_to_the_tool():
    found = Estimates([Measurement("cc", "a", 2.0, None, 0), Measurement("cc", "b", 4.0, None, 0)])
    assert found.estimate("cc", "a").basis == "task"
    assert found.estimate("cc", "new")[:1] + found.estimate("cc", "new")[2:] == (3.0, 2, "kind")
    assert found.estimate("ld", "x").basis == "tool"
    assert Estimates([]).estimate("cc", "a") is None
    assert math.isnan(found.estimate("cc", "a").spread)


@given(st.floats(0.3, 2.5), st.floats(0.001, 10.0), st.integers(0, 2**32 - 1))
def test_sizes_explain_durations(exponent, scale, seed):
    rng = np.random.default_rng(seed)
    size = np.exp(rng.uniform(np.log(1e3), np.log(1e9), 40))
    noise = np.exp(rng.normal(0.0, 0.05, 40))
    noise[:4] = 30.0  # a busy machine
    seconds = scale * (size / 1e6) ** exponent * noise
    found = Estimates(
        [
            Measurement("sort", f"t{i}", s, b, 0)
            for i, (s, b) in enumerate(zip(seconds, size, strict=True))
        ]
    )
    expected = scale * 30.0**exponent
    assert found.estimate("sort", None, 3e7).seconds == pytest.approx(expected, rel=0.25)
    grown = found.estimate("sort", "t5", size[5] * 100)
    assert grown.basis == "kind"
    assert found.estimate("sort", "t5", size[5]).basis == "task"


def test_a_run_is_kept_once(tmp_path):
    history = History(tmp_path / "deep" / "h.sqlite")
    assert history.estimate("make", "cc") is None
    assert not history.path.exists()
    assert history.add(run_of([1.0, 3.0], sizes=[10, np.nan])) == 2
    assert history.add(run_of([1.0, 3.0], sizes=[10, np.nan])) == 0
    assert history.add(run_of([1.0, 4.0], ran=[False, True])) == 1  # t0 is the one of before
    assert history.add(run_of([7.0, 4.0], ran=[False, True])) == 2  # another measurement of t0
    assert [row[3:6] for row in history.export()][:2] == [("t0", 1.0, 10.0), ("t1", 3.0, None)]
    assert history.estimate("make", "cc", "t1").seconds == 4.0
    (row,) = history.table()
    assert (row.tool, row.kind, row.runs, row.tasks, row.memory) == ("make", "cc", 3, 5, None)


OF_VERSION_1 = """
CREATE TABLE run (
    id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, tool TEXT NOT NULL, name TEXT,
    added TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
);
CREATE TABLE measurement (
    run INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE, kind TEXT NOT NULL,
    task TEXT NOT NULL, seconds REAL NOT NULL, input_bytes REAL, cores REAL, memory REAL
);
INSERT INTO run (id, digest, tool) VALUES (1, 'x', 'make');
INSERT INTO measurement VALUES (1, 'cc', 't0', 4.0, 10.0, NULL, NULL);
PRAGMA user_version = 1;
"""


def test_results_have_a_size_also_in_a_file_of_before(tmp_path):
    history = History(tmp_path / "h.sqlite")
    with sqlite3.connect(history.path) as database:
        database.executescript(OF_VERSION_1)
    assert history.of("make").result_bytes("cc", "t0") is None
    assert history.estimate("make", "cc", "t0").seconds == 4.0
    for second, amount in enumerate((100.0, 1e9, 100.0, 300.0, 300.0, 300.0)):
        run = run_of([1.0 + second, 2.0, 3.0])
        edges, data = ((0, 1), (0, 2), (1, 2)), np.array([1.0, amount, 0.0])
        workflow = dataclasses.replace(run.workflow, edges=edges, data=data)
        history.add(dataclasses.replace(run, workflow=workflow))
    found = history.of("make")
    assert found.result_bytes("cc", "t0") == 300.0
    assert found.result_bytes("cc", "new") == 300.0  # by its kind
    assert found.result_bytes("ld") is None
    assert [row[8] for row in history.export()][:4] == [None, 100.0, None, None]
    assert history.forget("make", "cc") == 19
    assert history.of("make").result_bytes("cc", "t0") is None


def test_forgetting_takes_a_kind_or_a_tool(tmp_path):
    history = History(tmp_path / "h.sqlite")
    history.add(run_of([1.0, 2.0, 3.0], kinds=["cc", "ld", "cc"]))
    history.add(run_of([5.0], tool="ninja"))
    assert history.forget("make", "cc") == 2
    assert history.estimate("make", "cc").basis == "tool"
    assert history.forget("make") == 1
    assert history.estimate("make", "cc") is None
    assert [row.tool for row in history.table()] == ["ninja"]
    assert history.forget() == 1


def test_what_was_forgotten_can_be_added_again(tmp_path):
    history, run = History(tmp_path / "h.sqlite"), run_of([1.0, 2.0, 3.0], kinds=["cc", "ld", "cc"])
    history.add(run)
    assert history.forget("make", "cc") == 2
    assert history.add(run) == 2
    assert history.add(run) == 0
    assert history.estimate("make", "cc").basis == "kind"


def test_two_processes_write_at_once(tmp_path):
    path = tmp_path / "h.sqlite"
    script = f"""
import sys
sys.path.insert(0, {str(tmp_path.parent)!r})
import numpy as np
from dagsched_env.history import History
from dagsched_env.problem.platforms import Platform
from dagsched_env.problem.run import Run
from dagsched_env.problem.workflow import Workflow
first = int(sys.argv[1])
for i in range(first, first + 25):
    seconds = np.array([1.0 + i])
    workflow = Workflow(("t",), seconds, (), np.zeros(0), kinds=("cc",))
    History({str(path)!r}).add(
        Run("make", workflow, np.zeros(1), seconds, np.zeros(1, dtype=int), Platform([1.0], 1.0))
    )
"""
    writers = [subprocess.Popen([sys.executable, "-c", script, str(k)]) for k in (0, 100, 200)]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    seconds = sorted(row[4] for row in History(path).export())
    assert seconds == [1.0 + k + i for k in (0, 100, 200) for i in range(25)]


def test_other_files_are_refused(tmp_path):
    other = tmp_path / "notes.txt"
    other.write_text("these are notes, and no database at all\n" * 9)
    with pytest.raises(DAGSchedError, match=r"notes.txt: .*name another file"):
        History(other).add(run_of([1.0]))
    assert other.read_text().startswith("these")
    later = History(tmp_path / "h.sqlite")
    later.add(run_of([1.0]))
    with sqlite3.connect(later.path) as database:
        database.execute("PRAGMA user_version = 9")
    with pytest.raises(DAGSchedError, match="version 9"):
        later.of("make")


def test_the_default_place_is_that_of_the_desktop_standard(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_path() == tmp_path / "dagsched" / "history.sqlite"
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", "/home/ada")
    assert str(default_path()) == "/home/ada/.local/share/dagsched/history.sqlite"


def test_tasks_kept_one_by_one_that_took_the_same_all_count(tmp_path):
    history = History(tmp_path / "h.sqlite")
    for seconds in [2.0] * 10 + [9.0] + [2.0] * 10:
        history.add_task("airflow", "align", "a", seconds)
    history.add_task("airflow", "sort", "a", 2.0)
    estimate = history.of("airflow").estimate("align", "a")
    assert (estimate.seconds, estimate.measurements) == (pytest.approx(2.0), 21)

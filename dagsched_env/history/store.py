"""The file of measured durations: one SQLite database, for all tools."""

import hashlib
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dagsched_env.history.estimates import Estimate, Estimates, Measurement
from dagsched_env.kernels.arrays import Floats
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.platforms import Platform
from dagsched_env.problem.run import Run
from dagsched_env.problem.workflow import CORES, MEMORY, Workflow

__all__ = ["History", "default_path"]

VERSION = 2
"""2: measurements have ``result_bytes``; a file of version 1 gets the column when it is opened."""
PATIENCE_S = 30.0
"""How long a write waits for one of another process."""

# The default journal, not write-ahead: home folders are often on a network, where that one fails.
SCHEMA = """
CREATE TABLE run (
    id INTEGER PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,
    tool TEXT NOT NULL,
    name TEXT,
    added TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
);
CREATE TABLE measurement (
    run INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    task TEXT NOT NULL,
    seconds REAL NOT NULL,
    input_bytes REAL,
    cores REAL,
    memory REAL,
    result_bytes REAL
);
CREATE INDEX measurement_of_run ON measurement (run);
CREATE INDEX measurement_of_task ON measurement (kind, task);
CREATE INDEX run_of_tool ON run (tool);
"""
FROM_VERSION_1 = "ALTER TABLE measurement ADD COLUMN result_bytes REAL"
COLUMNS = (
    "tool",
    "run",
    "kind",
    "task",
    "seconds",
    "input_bytes",
    "cores",
    "memory",
    "result_bytes",
)


class Row(NamedTuple):
    """What is known of one kind of task."""

    tool: str
    kind: str
    runs: int
    tasks: int
    """Measurements of it."""
    seconds: float
    """Robust estimate, the last runs count most."""
    spread: float
    """As of ``Estimate``."""
    memory: float | None
    """The most that was measured (bytes)."""


def default_path() -> Path:
    """``$XDG_DATA_HOME/dagsched/history.sqlite``, by default below ``~/.local/share``."""
    data = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(data).expanduser() / "dagsched" / "history.sqlite"


class History:
    """Measured durations of the tasks of any number of runs.

    Args:
        path: the file, made when it is first written to; ``default_path()`` when None.
    """

    def __init__(self, path: str | PathLike[str] | None = None) -> None:
        self.path = default_path() if path is None else Path(path)
        self._estimates: dict[str, Estimates] = {}

    def add(self, run: Run) -> int:
        """Keep a run: all its tasks of which a time is known.

        Returns:
            How many measurements are new: none where this run is there already, but for kinds of it
            that were forgotten.

        Raises:
            DAGSchedError: the file is no history, or of a later version of this package.
            OSError: it cannot be written.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._open() as database, database:
            database.execute("BEGIN IMMEDIATE")
            last = database.execute("SELECT max(id) FROM run").fetchone()[0] or 0
            digest = _digest(run)
            database.execute(
                "INSERT OR IGNORE INTO run (id, digest, tool, name) VALUES (?, ?, ?, ?)",
                (last + 1, digest, run.tool, run.workflow.name),
            )
            (number,) = database.execute(
                "SELECT id FROM run WHERE digest = ?", (digest,)
            ).fetchone()
            there = {
                kind
                for (kind,) in database.execute(
                    "SELECT DISTINCT kind FROM measurement WHERE run = ?", (number,)
                )
            }
            measured = _measurements(run, number, self._known(database, run.tool))
            rows = [row for row in measured if row[1] not in there]
            database.executemany("INSERT INTO measurement VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
        self._estimates.pop(run.tool, None)
        return len(rows)

    def add_task(self, tool: str, kind: str, task: str, seconds: float) -> None:
        """Keep one task by itself, of a tool that tells of each when it ends.

        Args:
            tool: that ran it.
            kind: tasks of one kind run the same code.
            task: its name.
            seconds: that it took, >= 0.

        Raises:
            DAGSchedError: as of ``add``, or a negative time.
        """
        took = np.array([seconds], dtype=np.float64)
        alone = Workflow((task,), took, (), np.zeros(0), kinds=(kind,))
        # The start tells it from others that took as long.
        now, where = np.array([time.monotonic()]), np.zeros(1, dtype=np.int64)
        self.add(Run(tool, alone, now, now + took, where, Platform([1.0], 1.0)))

    def of(self, tool: str) -> Estimates:
        """Estimates for the tasks of a tool, as of now; read once, so for many tasks.

        Raises:
            DAGSchedError: as of ``add``.
        """
        if not self.path.exists():
            return Estimates([])
        with self._open() as database:
            ages = _ages(database, tool)
            rows = database.execute(
                "SELECT kind, task, seconds, input_bytes, run, result_bytes FROM measurement "
                "WHERE run IN (SELECT id FROM run WHERE tool = ?) ORDER BY run",
                (tool,),
            )
            return Estimates(
                [
                    Measurement(kind, task, seconds, size, ages[run], sent)
                    for kind, task, seconds, size, run, sent in rows
                ]
            )

    def estimate(
        self,
        tool: str,
        kind: str,
        task: str | None = None,
        input_bytes: float | None = None,
    ) -> Estimate | None:
        """``of(tool).estimate(kind, task, input_bytes)``; what was read is kept by this object.

        Args:
            tool: that ran it.
            kind: of the task.
            task: its name.
            input_bytes: size of what it reads; None = not known.
        """
        if tool not in self._estimates:
            self._estimates[tool] = self.of(tool)
        return self._estimates[tool].estimate(kind, task, input_bytes)

    def table(self) -> list[Row]:
        """What is known of each kind of task, by tool and kind."""
        if not self.path.exists():
            return []
        with self._open() as database:
            kinds = database.execute(
                "SELECT tool, kind, count(DISTINCT run), count(*), max(memory) "
                "FROM measurement JOIN run ON run.id = run GROUP BY tool, kind"
            ).fetchall()
        rows = []
        for tool, kind, runs, tasks, memory in kinds:
            found = self.estimate(tool, kind)
            if found is not None:  # not forgotten meanwhile
                rows.append(Row(tool, kind, runs, tasks, found.seconds, found.spread, memory))
        return rows

    def export(self) -> Iterator[tuple[Any, ...]]:
        """All measurements, in the order of ``COLUMNS``: tool, run, kind, task, and so on."""
        if self.path.exists():
            with self._open() as database:
                yield from self._rows(database)

    def forget(self, tool: str | None = None, kind: str | None = None) -> int:
        """Remove measurements.

        Args:
            tool: of this tool; None = of all.
            kind: of this kind; None = of all.

        Returns:
            How many were removed.

        Raises:
            DAGSchedError: as of ``add``.
        """
        if not self.path.exists():
            return 0
        with self._open() as database, database:
            database.execute("BEGIN IMMEDIATE")
            gone = database.execute(
                "DELETE FROM measurement WHERE kind = coalesce(?, kind) AND run IN "
                "(SELECT id FROM run WHERE tool = coalesce(?, tool))",
                (kind, tool),
            ).rowcount
            database.execute(
                "DELETE FROM run WHERE id NOT IN (SELECT DISTINCT run FROM measurement)"
            )
        self._estimates.clear()
        return gone

    @staticmethod
    def _rows(database: sqlite3.Connection) -> Iterator[tuple[Any, ...]]:
        yield from database.execute(
            f"SELECT {', '.join(COLUMNS)} "
            "FROM measurement JOIN run ON run.id = measurement.run ORDER BY tool, run"
        )

    @staticmethod
    def _known(database: sqlite3.Connection, tool: str) -> set[tuple[str, str, float]]:
        rows = database.execute(
            "SELECT kind, task, seconds FROM measurement "
            "WHERE run IN (SELECT id FROM run WHERE tool = ?)",
            (tool,),
        )
        return set(rows)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """The database, with its tables; errors name the file."""
        database = None
        try:
            # Transactions are begun by hand: else two writers could both read before they write.
            database = sqlite3.connect(self.path, timeout=PATIENCE_S, isolation_level=None)
            database.execute("PRAGMA foreign_keys = ON")
            self._prepare(database)
            yield database
        except sqlite3.DatabaseError as error:
            raise DAGSchedError(
                f"{self.path}: {error}: if it is no history of dagsched, name another file"
            ) from None
        finally:
            if database is not None:
                database.close()

    def _prepare(self, database: sqlite3.Connection) -> None:
        version = database.execute("PRAGMA user_version").fetchone()[0]
        if version > VERSION:
            raise DAGSchedError(
                f"{self.path}: version {version} of the history, this package knows {VERSION}: "
                "update it, or name another file"
            )
        if version == VERSION:
            return
        database.execute("BEGIN IMMEDIATE")
        version = database.execute("PRAGMA user_version").fetchone()[0]  # of another meanwhile?
        steps = {0: SCHEMA.split(";"), 1: [FROM_VERSION_1]}.get(version, [])
        for statement in filter(str.strip, steps):
            database.execute(statement)
        database.execute(f"PRAGMA user_version = {VERSION}")
        database.execute("COMMIT")


def _digest(run: Run) -> str:
    """The same for the same run, and hardly for any other."""
    content = hashlib.sha256(repr((run.tool, run.workflow.tasks)).encode())
    for column in (run.start, run.finish, run.workflow.runtimes):
        content.update(np.ascontiguousarray(column, dtype=np.float64).tobytes())
    return content.hexdigest()


def _ages(database: sqlite3.Connection, tool: str) -> dict[int, int]:
    """Run → number of later runs of the tool."""
    rows = database.execute("SELECT id FROM run WHERE tool = ? ORDER BY id DESC", (tool,))
    return {row[0]: age for age, row in enumerate(rows)}


def _measurements(
    run: Run, number: int, known: set[tuple[str, str, float]]
) -> Iterator[tuple[Any, ...]]:
    """Rows of the tasks of a run; of those that ran earlier, only what is not known."""
    workflow = run.workflow
    cores, memory = workflow.recorded(CORES), workflow.recorded(MEMORY)
    kinds, sent = run.kinds, _sent(workflow)
    for t in np.flatnonzero(~np.isnan(workflow.runtimes)).tolist():
        kind, task, seconds = kinds[t], workflow.tasks[t], float(workflow.runtimes[t])
        if run.ran[t] or (kind, task, seconds) not in known:
            size = np.nan if run.input_bytes is None else run.input_bytes[t]
            yield (
                number,
                kind,
                task,
                seconds,
                _or_none(size),
                _or_none(cores[t]),
                _or_none(memory[t]),
                _or_none(sent[t]),
            )


def _sent(workflow: Workflow) -> Floats:
    """``[n]`` the most that a task sends to one behind it (bytes); NaN = none is known."""
    most = np.zeros(len(workflow.tasks))
    if workflow.says_data:
        np.maximum.at(most, [u for u, _ in workflow.edges], workflow.data)
    return np.where(most > 0, most, np.nan)


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else float(value)

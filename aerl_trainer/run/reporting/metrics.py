"""Numbers over time: one JSON object a line, and the same as TensorBoard scalars."""

import contextlib
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagsched_env.problem.errors import DAGSchedError

if TYPE_CHECKING:
    from aerl_trainer.run.reporting.events import EventFile

ONE_A_STEP = ("policy", "train", "validation")
"""Kinds with at most one record for each learner step."""


class MetricsLog:
    """Appends records to a JSON-lines file and their numbers to TensorBoard.

    A record is ``{"kind": "policy" | "train" | "search" | "validation" | ..., "step": steps of
    training, "time_s": seconds of training, ...}``. Each line is written out at once, so a killed
    run loses none; values that are not finite are written as null.

    Args:
        path: file to append to.
        tensorboard: directory of event files; None writes none.
        purge_step: when going on from a checkpoint, its step: TensorBoard hides what came later.

    Raises:
        DAGSchedError: a file cannot be written, as where the disk is full; as of ``write``.
    """

    def __init__(
        self, path: Path, tensorboard: Path | None = None, *, purge_step: int | None = None
    ) -> None:
        with _naming(path):
            _end_torn_line(path)
            self._file = path.open("a", encoding="utf-8")
        self._path = path
        self._events: EventFile | None = None
        if tensorboard is not None:
            # Takes a while to import, and only a training run needs it.
            from aerl_trainer.run.reporting import events

            with _naming(tensorboard):
                self._events = events.EventFile(tensorboard, purge_step)

    def write(self, kind: str, *, step: int, time_s: float, **values: Any) -> None:
        """Append one record.

        Args:
            kind: what it is about.
            step: learner steps so far.
            time_s: seconds of training so far.
            values: numbers, strings, lists or nested dicts of them. A report is written as
                ``**dataclasses.asdict(report)``.
        """
        record = _plain({"kind": kind, "step": step, "time_s": time_s, **values})
        with _naming(self._path):
            self._file.write(json.dumps(record, allow_nan=False) + "\n")
            self._file.flush()
        if self._events is not None:
            scalars = {f"{kind}/{name}": value for name, value in _scalars(_plain(values))}
            with _naming(self._events.path):
                self._events.add(scalars, step)

    def close(self) -> None:
        """Finish both outputs; each record is written already, or its error has been raised."""
        with contextlib.suppress(OSError):
            self._file.close()
        if self._events is not None:
            with contextlib.suppress(OSError):
                self._events.close()

    def __enter__(self) -> "MetricsLog":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """All records in the order of writing; a line torn by a kill is left out.

    Where a resumed run has repeated steps, the abandoned records are left out too: of each kind,
    those with a step after that of a later record, or the same where there is one a step.

    Raises:
        DAGSchedError: the file cannot be read.
    """
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise DAGSchedError(f"{path}: {error.strerror}") from None
    kept: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for position, line in enumerate(lines):
        record = _parse(line)
        if record is None:
            continue
        same_kind = kept.setdefault(record["kind"], [])
        last = record["step"] - (record["kind"] in ONE_A_STEP)
        while same_kind and same_kind[-1][1]["step"] > last:
            same_kind.pop()
        same_kind.append((position, record))
    merged = sorted((item for items in kept.values() for item in items), key=lambda item: item[0])
    return [record for _, record in merged]


@contextlib.contextmanager
def _naming(path: Path) -> Iterator[None]:
    """An error of writing names the file."""
    try:
        yield
    except OSError as error:
        raise DAGSchedError(f"{error.filename or path}: {error.strerror}") from None


def _parse(line: str) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except json.JSONDecodeError:
        return None
    complete = isinstance(record, dict) and {"kind", "step", "time_s"} <= record.keys()
    return record if complete else None


def _end_torn_line(path: Path) -> None:
    """Close the last line if a killed writer has left it open, so that the next one stays whole."""
    if path.exists() and path.stat().st_size:
        with path.open("rb+") as file:
            file.seek(-1, 2)
            if file.read(1) != b"\n":
                file.write(b"\n")


def _plain(value: Any) -> Any:
    """JSON values only: numpy scalars become Python's, numbers that are not finite None."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _scalars(values: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """Numbers with their names; those of nested dicts as ``outer/inner``."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from ((f"{name}/{inner}", number) for inner, number in _scalars(value))
        elif isinstance(value, int | float):
            yield name, float(value)

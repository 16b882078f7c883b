"""The directory of a run: where everything lies, and how the run was made."""

import contextlib
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import tomli_w

from aerl_trainer.run.reporting.run_lock import held
from dagsched_env.io.atomic import remove_leftovers, write_text
from dagsched_env.problem.errors import DAGSchedError

PACKAGES = ("aerl-ds", "gymnasium", "networkx", "numba", "numpy", "torch")


class RunDirectory:
    """Names of the files of a run, and who may write them: see ``hold``.

    ``config.toml`` (every setting), ``system.json`` (see ``system_info``; and notes),
    ``metrics.jsonl``, ``tb/`` for TensorBoard, ``logs/`` one file a process, ``checkpoints/``; in
    the end ``results.json``, ``learning_curve.png``, ``gantt.png`` and ``report.html``. While a
    process writes them, ``run.lock`` names it.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.config_file = self.path / "config.toml"
        self.system_file = self.path / "system.json"
        self.metrics_file = self.path / "metrics.jsonl"
        self.tensorboard = self.path / "tb"
        self.logs = self.path / "logs"
        self.checkpoints = self.path / "checkpoints"
        self.results_file = self.path / "results.json"
        self.learning_curve = self.path / "learning_curve.png"
        self.gantt = self.path / "gantt.png"
        self.report = self.path / "report.html"
        self._held = False

    @property
    def holds_run(self) -> bool:
        """Whether a run has been started here."""
        return self.config_file.exists()

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        """Have the run for this process alone until the block ends.

        A block inside of another does nothing more. Directories that are made for it, and in which
        nothing has been written by its end, are removed, but for parents that another process made
        at the same moment.

        Raises:
            DAGSchedError: another process has the run; the message names it. Or the directory
                cannot be written.
        """
        if self._held:
            yield
            return
        made = [folder for folder in (self.path, *self.path.parents) if not folder.exists()]
        _make(self.path)
        try:
            with held(self.path / "run.lock"):
                self._held = True
                yield
        finally:
            self._held = False
            with contextlib.suppress(OSError):
                for folder in made:
                    folder.rmdir()

    def make_folders(self, *, resume: bool = False) -> None:
        """Make the folders of a run.

        Args:
            resume: go on with the run that is here.

        Raises:
            DAGSchedError: the directory holds a run and ``resume`` is False, or cannot be written.
        """
        if self.holds_run and not resume:
            raise DAGSchedError(
                f"{self.path} holds a run already: resume it, or choose another directory"
            )
        for directory in (self.path, self.tensorboard, self.logs, self.checkpoints):
            _make(directory)

    def record(self, settings: Mapping[str, Any]) -> None:
        """Write down settings and system: from now on the directory holds a run.

        What a killed process has left half written is removed.

        Args:
            settings: values that TOML can hold, and tables of them.

        Raises:
            DAGSchedError: a file cannot be written.
        """
        remove_leftovers(self.path)
        _write(self.system_file, json.dumps(system_info(), indent=2) + "\n")
        _write(self.config_file, tomli_w.dumps(settings))

    def note(self, name: str, value: Any) -> None:
        """Add one thing to ``system.json`` that is known only once the run has begun.

        Raises:
            DAGSchedError: the file cannot be read or written.
        """
        try:
            record = json.loads(self.system_file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise DAGSchedError(f"{self.system_file}: {error}") from None
        _write(self.system_file, json.dumps({**record, name: value}, indent=2) + "\n")


def system_info() -> dict[str, Any]:
    """What a run's results and speed depend on besides its settings, as JSON values.

    Versions of Python and packages (None = not installed), platform, processors, commit of the
    source (with ``-dirty`` when it has been changed; None outside git), command line, start time.
    """
    return {
        "python": platform.python_version(),
        "packages": {package: _version(package) for package in PACKAGES},
        "platform": platform.platform(),
        "cpu_count": os.cpu_count(),
        "cpus_usable": len(os.sched_getaffinity(0)),
        "git_commit": _git_commit(Path(__file__).parent),
        "command": sys.argv,
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    }


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _git_commit(directory: Path) -> str | None:
    command = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        done = subprocess.run(
            command, cwd=directory, capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def _make(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DAGSchedError(f"{error.filename or directory}: {error.strerror}") from None


def _write(path: Path, text: str) -> None:
    try:
        write_text(path, text)
    except OSError as error:
        raise DAGSchedError(f"{path}: {error.strerror}") from None

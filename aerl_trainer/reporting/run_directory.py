"""The directory of a run: where everything lies, and how the run was made."""

import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import tomli_w

from aerl_trainer import config as settings
from dagsched_env.errors import DAGSchedError
from dagsched_env.io.atomic import write_text

__all__ = ["RunDirectory", "system_info"]

PACKAGES = ("aerl-ds", "gymnasium", "networkx", "numba", "numpy", "torch")


class RunDirectory:
    """Names of the files of a run; ``create`` makes them.

    ``config.toml`` (every setting), ``system.json`` (see ``system_info``; and notes),
    ``metrics.jsonl``, ``tb/`` for TensorBoard, ``logs/`` one file a process, ``checkpoints/``; in
    the end ``results.json``, ``learning_curve.png``, ``gantt.png`` and ``report.html``.
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

    @property
    def holds_run(self) -> bool:
        """Whether a run has been started here."""
        return self.config_file.exists()

    def create(self, config: settings.Config, *, resume: bool = False) -> None:
        """Make the directories and record settings and system.

        Args:
            config: settings of the run.
            resume: go on with the run that is here; its settings and system are recorded anew.

        Raises:
            DAGSchedError: the directory holds a run and ``resume`` is False, or cannot be written.
        """
        if self.holds_run and not resume:
            raise DAGSchedError(
                f"{self.path} holds a run already: resume it, or choose another directory"
            )
        try:
            for directory in (self.path, self.tensorboard, self.logs, self.checkpoints):
                directory.mkdir(parents=True, exist_ok=True)
            write_text(self.system_file, json.dumps(system_info(), indent=2) + "\n")
            write_text(self.config_file, tomli_w.dumps(settings.to_dict(config)))
        except OSError as error:
            raise DAGSchedError(f"{error.filename or self.path}: {error.strerror}") from None

    def note(self, name: str, value: Any) -> None:
        """Add one thing to ``system.json`` that is known only once the run has begun.

        Raises:
            DAGSchedError: the file cannot be read or written.
        """
        try:
            record = json.loads(self.system_file.read_text(encoding="utf-8"))
            write_text(self.system_file, json.dumps({**record, name: value}, indent=2) + "\n")
        except (OSError, ValueError) as error:
            raise DAGSchedError(f"{self.system_file}: {error}") from None


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

"""The packages in examples/, installed without network into a folder, and found by the command."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dagsched_env import io
from helpers import ROOT


def run(*command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run where the installed packages are found, in the folder ``site``."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(cwd / "site"), str(ROOT)])}
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=200, check=False
    )


def dagsched(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    code = "import sys; from dagsched_env.cli import main; sys.exit(main())"
    return run(sys.executable, "-c", code, *arguments, cwd=cwd)


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder beside ``site``, into which both packages are installed."""
    options = ("--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--target", "site")
    for name in ("scheduler_package", "family_package"):
        # A copy, because a build leaves files beside the source.
        shutil.copytree(ROOT / "examples" / name, tmp_path / name)
        done = run(sys.executable, "-m", "pip", "install", *options, f"./{name}", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    return tmp_path


def test_installed_packages_add_a_scheduler_and_a_family(installed: Path) -> None:
    drawn = ("map_reduce", "mappers=5", "reducers=2", "--processors", "3", "--out", "drawn.json")
    done = dagsched("generate", *drawn, cwd=installed)
    assert done.returncode == 0, done.stderr
    instance = io.load(installed / "drawn.json")
    assert (instance.n_tasks, instance.n_edges, instance.n_processors) == (7, 10, 3)
    done = dagsched("compare", "drawn.json", "--schedulers", "widest_first", cwd=installed)
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()[3:]] == ["heft", "widest_first"]
    code = (
        "import gymnasium, dagsched_env;"
        "spec = 'family:map_reduce?mappers=2..3&platform=identical&processors=2';"
        "print(gymnasium.make('DAGSched-v0', instances=spec).unwrapped.padding)"
    )
    assert "tasks=6, processors=2, edges=9" in run(sys.executable, "-c", code, cwd=installed).stdout
    listed = dagsched("generate", "--list", cwd=installed).stdout.splitlines()
    (row,) = [line for line in listed if line.startswith("map_reduce ")]
    assert row.split()[1:] == ["mappers=4..16", "reducers=3", "platform=…"]


def test_every_example_package_is_in_the_readme() -> None:
    readme = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    for path in (ROOT / "examples").glob("*/pyproject.toml"):
        assert f"`pip install examples/{path.parent.name}`" in readme

"""A package and a home that are read-only: kernels compile once, into a temporary directory."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dagsched_env.kernels import machine_code
from helpers import ROOT
from helpers.isolation import obey_permissions

CODE = """
import sys, numba, dagsched_env
dagsched_env.SCHEDULERS["heft"](dagsched_env.Instance([[2, 4], [3, 1]], [(0, 1)], [1]))
modules = [vars(m) for name, m in sys.modules.items() if name.startswith("dagsched_env.kernels.")]
kernels = [x for names in modules for x in names.values() if hasattr(x, "stats")]
print(sum(len(kernel.stats.cache_hits) for kernel in kernels), numba.config.CACHE_DIR)
"""


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    """A copy of the package without machine code, and a home, which cannot be written."""
    site = tmp_path / "site"
    ignored = shutil.ignore_patterns("__pycache__")
    for package in ("dagsched_env", "aerl_trainer"):
        shutil.copytree(ROOT / package, site / package, ignore=ignored)
    (tmp_path / "home").mkdir()
    (tmp_path / "temporary").mkdir()
    folders = [path for path in [tmp_path / "home", site, *site.rglob("*")] if path.is_dir()]
    for folder in folders:
        folder.chmod(0o555)
    yield tmp_path
    for folder in folders:
        folder.chmod(0o755)


def run(folder: Path, code: str, home: str) -> str:
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("XDG_CACHE_HOME", "NUMBA_CACHE_DIR")
    }
    environment |= {
        "HOME": home,
        "PYTHONPATH": str(folder / "site"),
        "TMPDIR": str(folder / "temporary"),
    }
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env=environment,
        preexec_fn=obey_permissions,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_a_read_only_package_and_home_compile_once(read_only: Path) -> None:
    home = str(read_only / "home")
    cache = f"{read_only / 'temporary'}/aerl-ds-kernels-{os.getuid()}"
    assert run(read_only, CODE, home).split() == ["0", cache]
    hits, again = run(read_only, CODE, home).split()
    assert int(hits) > 0
    assert again == cache
    assert list((read_only / "home").iterdir()) == []


def test_a_home_that_is_nowhere(read_only: Path) -> None:
    code = "import dagsched_env.cli, aerl_trainer.search, numba; print(numba.config.CACHE_DIR)"
    assert "aerl-ds-kernels-" in run(read_only, code, str(read_only / "home" / "nowhere"))


def test_what_others_can_write_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = tmp_path / f"aerl-ds-kernels-{os.getuid()}"
    shared.mkdir()
    shared.chmod(0o777)
    monkeypatch.setattr(machine_code.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(machine_code.numba.config, "CACHE_DIR", "")
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    machine_code.keep_in_temporary_directory()
    used = Path(os.environ["NUMBA_CACHE_DIR"])
    assert used != shared
    assert used.stat().st_mode & 0o777 == 0o700
    assert str(used) == machine_code.numba.config.CACHE_DIR
    shutil.rmtree(shared)
    machine_code.keep_in_temporary_directory()
    assert os.environ["NUMBA_CACHE_DIR"] == str(shared)

"""Machine code is kept wherever that is possible, and is right whoever else writes it."""

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numba
import numpy as np
import pytest

from dagsched_env.kernels import machine_code
from helpers import ROOT
from helpers.isolation import obey_permissions

CODE = """
import sys, numba, dagsched_env
dagsched_env.Instance([[2, 4], [3, 1]], [(0, 1)], [1])  # compiles the order of its tasks
modules = [vars(m) for name, m in sys.modules.items() if name.startswith("dagsched_env.kernels.")]
kernels = [x for names in modules for x in names.values() if hasattr(x, "stats")]
print(sum(len(kernel.stats.cache_hits) for kernel in kernels), numba.config.CACHE_DIR)
"""

TOTAL = """
from dagsched_env.kernels.jit import kernel

@kernel
def total(values):
    result = 0 * values[0]
    for value in values:
        result += value
    return result
"""
INTEGERS, REALS = np.array([1, 2, 3]), np.array([0.5, 0.25])


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
    code = "import dagsched_env.cli, aerl_trainer.tree, numba; print(numba.config.CACHE_DIR)"
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


def test_nothing_is_made_for_a_user_without_a_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numba would make a directory of the name "~" in the one where the user is."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(machine_code.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(machine_code.numba.config, "CACHE_DIR", "")
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    source(tmp_path)
    assert fresh(tmp_path).total(INTEGERS) == 6
    assert {path.name for path in tmp_path.iterdir()} == {
        "small.py",
        f"aerl-ds-kernels-{os.getuid()}",
    }


# -- files that others write, too ------------------------------------------------------------------


PATCHED = """
from pathlib import Path
import dagsched_env
from dagsched_env.kernels import sources
sources.ROOT = Path({!r})
dagsched_env.__path__.append({!r})
from dagsched_env.caller import total
print(total(3), sum(total.stats.cache_hits.values()))
"""
"""Two modules more in the package, which lie somewhere else."""


def source(folder: Path) -> None:
    """A module with one small kernel."""
    (folder / "small.py").write_text(TOTAL)


def fresh(folder: Path) -> ModuleType:
    """The module as a new process has it: nothing is compiled or read yet."""
    spec = importlib.util.spec_from_file_location("small", folder / "small.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def hits(module: ModuleType) -> int:
    return sum(module.total.stats.cache_hits.values())


def cache(folder: Path) -> Path:
    return folder / "__pycache__"


def test_both_have_read_the_index_before_one_writes(tmp_path: Path) -> None:
    """Numba alone gives the sum of real numbers the machine code of that of integers."""
    source(tmp_path)
    first, second = fresh(tmp_path).total, fresh(tmp_path).total
    for kernel in (first, second):  # what each has read: nothing
        kernel._cache._cache_file._load_index = dict
    save_data = first._cache._cache_file._save_data
    late: list[tuple[object, ...]] = []
    first._cache._cache_file._save_data = lambda *data: late.append(data) or save_data(*data)
    assert first(INTEGERS) == 6
    assert second(REALS) == 0.75
    save_data(*late[0])  # the first process is slow: this is its last write
    later = fresh(tmp_path)
    assert (later.total(REALS), later.total(INTEGERS)) == (0.75, 6)


def test_two_cold_processes_at_once(tmp_path: Path) -> None:
    source(tmp_path)
    code = "import small, numpy as np; print(small.total(np.array({})))"
    path = os.pathsep.join((str(tmp_path), str(ROOT)))
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code.format(array.tolist())],
            env=os.environ | {"PYTHONPATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for array in (INTEGERS, REALS)
    ]
    assert [process.communicate() for process in processes] == [("6\n", ""), ("0.75\n", "")]
    both = f"np.array({REALS.tolist()}), np.array({INTEGERS.tolist()})"
    later = subprocess.run(
        [
            *(sys.executable, "-c"),
            f"import small, numpy as np; print(*map(small.total, ({both})), "
            "sum(small.total.stats.cache_hits.values()))",
        ],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        check=True,
        text=True,
    )
    *sums, hits = later.stdout.split()
    assert sums == ["0.75", "6"]
    assert int(hits) >= 1  # an entry may be lost, never be wrong


def test_a_kernel_is_compiled_again_where_one_that_it_calls_has_changed(tmp_path: Path) -> None:
    """Numba alone looks at the file of the caller, and goes on with the code of before."""
    package = tmp_path / "dagsched_env"
    package.mkdir()
    head = "from dagsched_env.kernels.jit import kernel\n"
    inner, caller = package / "inner.py", package / "caller.py"
    caller.write_text(
        f"{head}from dagsched_env.inner import twice\n\n\n"
        "@kernel\ndef total(x):\n    return twice(x) + 1\n"
    )
    command = [sys.executable, "-c", PATCHED.format(str(tmp_path), str(package))]

    def run(factor: int) -> list[str]:
        inner.write_text(f"{head}\n\n@kernel\ndef twice(x):\n    return {factor} * x\n")
        done = subprocess.run(
            command,
            capture_output=True,
            check=True,
            text=True,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )
        return done.stdout.split()

    assert run(2) == ["7", "0"]
    assert run(2) == ["7", "1"]
    assert run(5) == ["16", "0"]
    assert run(5) == ["16", "1"]
    assert len(list((package / "__pycache__").glob("caller.total*.nbc"))) == 1


@pytest.mark.parametrize("pattern", ["*.nbi", "*.nbc"])
@pytest.mark.parametrize("content", [b"", b"\x80\x05damaged", b"cos\nno_such\n."])
def test_damaged_machine_code_is_compiled_again(
    tmp_path: Path, pattern: str, content: bytes
) -> None:
    source(tmp_path)
    assert fresh(tmp_path).total(INTEGERS) == 6
    (damaged,) = cache(tmp_path).glob(pattern)
    damaged.write_bytes(content)
    again = fresh(tmp_path)
    assert (again.total(INTEGERS), hits(again)) == (6, 0)
    mended = fresh(tmp_path)
    assert (mended.total(INTEGERS), hits(mended)) == (6, 1)


def test_a_disk_that_is_full_by_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source(tmp_path)
    module = fresh(tmp_path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert module.total(INTEGERS) == 6
    assert list(cache(tmp_path).glob("*.nb*")) == []


def test_without_compilation_nothing_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    source(tmp_path)
    assert fresh(tmp_path).total(INTEGERS) == 6
    assert not list(tmp_path.rglob("*.nb*"))


SORTS = """
import sys, numpy as np
from numba.core.bytecode import FunctionIdentity
from dagsched_env.kernels.jit import kernel

@kernel
def in_order(values):
    return np.sort(values)

@kernel
def order(values):
    return np.argsort(values)

def main(skipped, *names):
    for _ in range(int(skipped)):  # functions that the process has compiled before
        next(FunctionIdentity._unique_ids)
    for name in names:
        print(*globals()[name](np.array([3.0, 1.0, 2.0])).astype(int), end=";")
"""


def test_inner_functions_of_one_name_are_not_taken_for_each_other(tmp_path: Path) -> None:
    """Each kernel is compiled by another process; then one process calls both.

    Without numbers of its own for each process the last line gave garbage: three functions more in
    one of them, and both have an inner function of the same number.
    """
    (tmp_path / "sorts.py").write_text(SORTS)

    def sorts(skipped: int, *names: str) -> str:
        return subprocess.run(
            [sys.executable, "-c", f"import sorts; sorts.main({skipped}, *{names})"],
            env=os.environ | {"PYTHONPATH": os.pathsep.join((str(tmp_path), str(ROOT)))},
            capture_output=True,
            check=True,
            text=True,
        ).stdout

    assert sorts(0, "in_order") == "1 2 3;"
    assert sorts(3, "order") == "1 2 0;"
    assert sorts(0, "in_order", "order") == "1 2 3;1 2 0;"

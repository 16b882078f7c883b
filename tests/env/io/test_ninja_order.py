"""A build in the order of a plan: real builds, and statements that stay what they are."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagsched_env.cli import main
from dagsched_env.io.ninja_order import in_order

FLAT = """# made by hand
pause = 0.05
rule cc
  command = sleep $pause && touch $out
  description = cc $out

# the first library
build a.o: cc
build b.o: cc
build slow.o: cc
  pause = 0.6
build lib: cc a.o b.o $
    slow.o
other = 1
build last.o: cc
default lib last.o
"""


def ninja(folder: Path, *words: str) -> str:
    """What the real tool writes."""
    pytest.importorskip("ninja")
    from ninja import BIN_DIR

    call = [str(Path(BIN_DIR) / "ninja"), "-C", str(folder), *words]
    return subprocess.run(call, capture_output=True, text=True, check=True).stdout


def first_started(folder: Path) -> str:
    rows = [row.split("\t") for row in (folder / ".ninja_log").read_text().splitlines()[1:]]
    return min(rows, key=lambda row: int(row[0]))[3]


def test_the_second_build_starts_with_what_takes_longest(tmp_path, capsys):
    (tmp_path / "build.ninja").write_text(FLAT)
    ninja(tmp_path, "-j1")
    assert first_started(tmp_path) == "a.o"
    assert main(["order", str(tmp_path), "--cores", "2", "--time-limit", "0.2"]) == 0
    assert "on 2 cores" in capsys.readouterr().out
    text = (tmp_path / "build.ninja").read_text()
    assert sorted(text.splitlines()) == sorted(FLAT.splitlines())
    assert "no work to do" in ninja(tmp_path)  # a new order makes nothing anew
    ninja(tmp_path, "-t", "clean")
    (tmp_path / ".ninja_log").unlink()
    ninja(tmp_path, "-j1")
    assert first_started(tmp_path) == "slow.o"


def test_commands_that_have_not_run_yet_have_a_place(tmp_path, capsys):
    (tmp_path / "build.ninja").write_text(FLAT)
    assert main(["order", str(tmp_path)]) == 2  # nothing was built
    capsys.readouterr()
    ninja(tmp_path, "-j2")
    more = FLAT.replace("cc a.o b.o $", "cc a.o b.o new.o $") + "build new.o: cc\n"
    (tmp_path / "build.ninja").write_text(more)
    assert main(["order", str(tmp_path), "--cores", "2", "--time-limit", "0.2"]) == 0
    assert "1 commands have not run yet" in capsys.readouterr().err
    assert sorted((tmp_path / "build.ninja").read_text().splitlines()) == sorted(more.splitlines())


@given(st.lists(st.integers(0, 9), min_size=5, max_size=5))
def test_statements_move_only_beside_each_other(tmp_path_factory, times):
    folder = tmp_path_factory.getbasetemp() / "moves"
    folder.mkdir(exist_ok=True)
    (folder / "build.ninja").write_text(FLAT)
    outputs = ["a.o", "b.o", "slow.o", "lib", "last.o"]
    text = in_order(folder, dict(zip(outputs, map(float, times), strict=True)))
    assert sorted(text.splitlines()) == sorted(FLAT.splitlines())
    assert text.index("other = 1") < text.index("build last.o")
    assert text.index("rule cc") < min(text.index(f"build {o}") for o in outputs[:4])
    assert text.index("  pause = 0.6") == text.index("build slow.o") + len("build slow.o: cc\n")
    assert text.index("    slow.o") == text.index("build lib") + len("build lib: cc a.o b.o $\n")
    places = {o: text.index(f"build {o}") for o in outputs[:4]}
    assert [times[outputs.index(o)] for o in sorted(places, key=places.get)] == sorted(times[:4])


def test_without_a_plan_nothing_moves(tmp_path):
    (tmp_path / "build.ninja").write_text(FLAT.rstrip("\n"))
    assert in_order(tmp_path, {}) == FLAT


def test_a_project_of_cmake_is_built_in_the_new_order(tmp_path, capsys):
    if shutil.which("cmake") is None or shutil.which("cc") is None:
        pytest.skip("needs cmake and a compiler of C")
    pytest.importorskip("ninja")
    from ninja import BIN_DIR

    for name in ("one", "two", "main"):
        body = (
            "int main(void) { return 0; }" if name == "main" else f"int {name}(void) {{return 1;}}"
        )
        (tmp_path / f"{name}.c").write_text(body)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.10)\nproject(p C)\nadd_executable(p main.c one.c two.c)\n"
    )
    build = tmp_path / "build"
    environment = {**os.environ, "PATH": f"{BIN_DIR}{os.pathsep}{os.environ['PATH']}"}
    call = ["cmake", "-G", "Ninja", "-S", str(tmp_path), "-B", str(build)]
    subprocess.run(call, check=True, capture_output=True, env=environment)
    ninja(build)
    assert main(["order", str(build), "--time-limit", "0.2"]) == 0
    assert "no work to do" in ninja(build)
    capsys.readouterr()


def test_another_run_has_no_such_order(tmp_path, capsys):
    assert main(["order", str(tmp_path)]) == 2
    assert "there is no build.ninja" in capsys.readouterr().err

"""Builds of ninja: real ones, made here, and logs of other versions."""

import shutil
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from dagsched_env import io
from dagsched_env.io import ninja_manifest
from dagsched_env.io.ninja import REORDERED, Entry, last_build
from dagsched_env.problem.errors import AssumptionWarning, FormatError
from dagsched_env.problem.run import Run

LOGS = Path(__file__).parents[2] / "data" / "ninja"

SMALL = """
pause = 0.1
rule gen
  command = sleep $pause && echo h > gen.h && echo c > gen.c
rule cc
  command = sleep $pause && cat $in > $out
rule link
  command = sleep $pause && cat $in > $out
rule stamp
  command = echo x > $out

build gen.h gen.c: gen
build generated: phony gen.h
build one.o: cc one.c || generated
build two.o: cc two.c | gen.h
build gen.o: cc gen.c
build objects: phony one.o two.o gen.o
build app: link one.o two.o gen.o
build check: stamp app || objects
build install: stamp | app
default check
"""


def tool(folder: Path, *words: str) -> list[str]:
    """A call of the real tool."""
    pytest.importorskip("ninja")
    from ninja import BIN_DIR

    return [str(Path(BIN_DIR) / "ninja"), "-C", str(folder), *words]


def ninja(folder: Path, *words: str) -> str:
    """What it writes."""
    call = tool(folder, *words)
    return subprocess.run(call, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """A folder that has been built once."""
    folder = tmp_path / "build"
    folder.mkdir()
    (folder / "build.ninja").write_text(SMALL)
    for name in ("one.c", "two.c"):
        (folder / name).write_text(name)
    ninja(folder, "-j", "2")
    return folder


def named_edges(run: Run) -> dict[tuple[str, str], float]:
    names = run.workflow.tasks
    pairs = zip(run.workflow.edges, run.workflow.data.tolist(), strict=True)
    return {(names[u], names[v]): size for (u, v), size in pairs}


def test_a_first_build_is_all_there(built: Path) -> None:
    run = io.read_run(built)
    assert run.workflow.tasks == ("gen.h", "one.o", "two.o", "gen.o", "app", "check")
    assert run.workflow.kinds == ("gen", "cc", "cc", "cc", "link", "stamp")
    assert named_edges(run) == {
        ("gen.h", "one.o"): 0.0,  # it only has to be there
        ("gen.h", "two.o"): 2.0,
        ("gen.h", "gen.o"): 2.0,
        ("one.o", "app"): 5.0,
        ("two.o", "app"): 5.0,
        ("gen.o", "app"): 2.0,
        ("one.o", "check"): 0.0,
        ("two.o", "check"): 0.0,
        ("gen.o", "check"): 0.0,
        ("app", "check"): 12.0,
    }
    assert run.ran.all()
    assert run.remarks == ("left out, because never run: 1 command of build.ninja",)
    assert run.machines.capacities["cores"].tolist() == [2.0]
    assert run.input_bytes is not None
    assert run.input_bytes.tolist() == [0, 5, 7, 2, 12, 12]
    for u, v in run.workflow.edges:
        assert run.finish[u] <= run.start[v] + 0.05


def test_a_build_is_a_problem(built: Path) -> None:
    with pytest.warns(AssumptionWarning, match="cores not recorded"):
        instance = io.load(built)
    assert (instance.n_tasks, instance.n_processors) == (6, 1)
    assert "never run: 1 command of" in " ".join(instance.assumptions)
    with pytest.warns(AssumptionWarning):
        assert io.load(built / ".ninja_log") == instance
    with pytest.warns(AssumptionWarning, match="cores not recorded"):
        assert io.load_folder(built.parent) == [instance]


def test_a_rebuild_leaves_the_other_times_of_before(built: Path) -> None:
    first = io.read_run(built)
    time.sleep(0.5)
    (built / "two.c").write_text("changed")
    ninja(built, "-j", "2")
    run = io.read_run(built)
    assert [run.workflow.tasks[t] for t in np.flatnonzero(run.ran)] == ["two.o", "app", "check"]
    assert "3 of 6 commands ran in earlier builds, which gives their time" in run.remarks
    np.testing.assert_array_equal(
        run.workflow.runtimes[~run.ran], first.workflow.runtimes[~run.ran]
    )
    assert run.executed().workflow.edges == ((0, 1), (1, 2), (0, 2))
    assert run.machines.capacities["cores"].tolist() == [1.0]


def test_a_build_that_is_longer_than_the_one_before_is_one_of_its_own(tmp_path: Path) -> None:
    """No time of end falls between them."""
    (tmp_path / "build.ninja").write_text(
        "rule sh\n command = sleep $t && touch $out\nbuild a: sh\n t = 0.1\nbuild b: sh\n t = 0.3\n"
    )
    ninja(tmp_path, "a")
    time.sleep(0.6)
    ninja(tmp_path, "b")
    assert io.read_run(tmp_path).ran.tolist() == [False, True]


@pytest.mark.parametrize("by", ["the tool", "hash"])
def test_ninja_may_have_rewritten_the_log(built: Path, by: str) -> None:
    """Newer ones put the last line of an output where its first one was; older ones hash them."""
    time.sleep(0.5)
    (built / "two.c").write_text("changed")
    ninja(built)
    if by == "the tool":
        ninja(built, "-t", "recompact")
    else:
        log = built / ".ninja_log"
        title, *lines = log.read_text().splitlines()
        lines = list({line.split("\t")[3]: line for line in lines}.values())
        lines.sort(key=lambda line: line.split("\t")[4])
        log.write_text("\n".join([title, *reversed(lines), ""]))
    run = io.read_run(built)
    assert [run.workflow.tasks[t] for t in np.flatnonzero(run.ran)] == ["two.o", "app", "check"]
    assert REORDERED in run.remarks


def test_an_interrupted_build_has_what_had_ended(built: Path) -> None:
    text = SMALL.replace("rule link\n  command = sleep $pause", "rule link\n  command = sleep 60")
    (built / "build.ninja").write_text(text)
    (built / ".ninja_log").unlink()
    with subprocess.Popen(tool(built), stdout=subprocess.PIPE, text=True) as process:
        until = time.monotonic() + 10
        log = built / ".ninja_log"
        while not (log.exists() and log.read_text().count("\n") == 6):  # its title, and 5 outputs
            assert time.monotonic() < until
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
    run = io.read_run(built)
    assert run.workflow.tasks == ("gen.h", "one.o", "two.o", "gen.o")
    assert run.ran.all()
    assert run.remarks == ("left out, because never run: 3 commands of build.ninja",)


def test_a_command_that_others_need_has_no_time_if_it_never_ended(built: Path) -> None:
    with (built / "build.ninja").open("a") as file:
        file.write("build new.c: stamp\nbuild late.o: cc new.c\n")
    manifest = built / "build.ninja"
    text = manifest.read_text().replace("build check: stamp app", "build check: stamp app late.o")
    manifest.write_text(text)
    run = io.read_run(built)
    assert "2 of 8 commands never ran to their end: they have no time" in run.remarks
    assert np.isnan(run.workflow.runtimes).sum() == 2


def test_outputs_that_are_gone_are_named(built: Path) -> None:
    manifest = built / "build.ninja"
    text = manifest.read_text().replace("build two.o: cc", "build second.o: cc")
    manifest.write_text(text.replace("two.o", "second.o"))
    (built / "gen.c").unlink()
    run = io.read_run(built)
    assert "no longer in build.ninja: 1 output of the log, such as two.o" in run.remarks
    assert "not there, taken as 0 bytes: 2 outputs, such as gen.c" in run.remarks


def test_a_log_without_its_files_says_nothing_of_data(built: Path, tmp_path: Path) -> None:
    for name in ("build.ninja", ".ninja_log"):
        shutil.copy(built / name, tmp_path / name)
    run = io.read_run(tmp_path)
    assert not run.workflow.says_data
    assert np.isnan(run.input_bytes[1])


NASTY = """
# a comment $
builddir = logs
dir = a$ b
cc = unused
include rules.ninja
subninja inner/part.ninja
rule touch
  command = mkdir -p logs "a b" && touch $out
  description = $$ not a variable $
    goes on
build $dir/x$:1 | ${dir}/more$
    : touch
build ./y: touch $dir/x$:1 || $
  inner/../all   $
  |@ check
build all: phony $dir/more z
build z: other | plain
build check: touch y
build self: phony self check
pool few
  depth = 1
build w.1: touch | self
  pool = few
default w.1
"""
RULES = 'rule other\n  command = mkdir -p "a b" && touch $out\n  restat = 1\n'
INNER = "dir = other\nrule own\n  command = touch $out\n\nbuild plain: own $dir\nbuild $dir: own\n"


def test_the_graph_is_that_of_the_real_tool(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "build.ninja").write_text(NASTY)
    (tmp_path / "rules.ninja").write_text(RULES)
    (tmp_path / "inner" / "part.ninja").write_bytes(INNER.replace("\n", "\r\n").encode())
    ninja(tmp_path, "w.1")
    run = io.read_run(tmp_path)  # its log is in logs/
    tasks = run.workflow.tasks
    assert tasks == ("plain", "other", "a b/x:1", "y", "z", "check", "w.1")
    before = {name: set[str]() for name in tasks}
    for u, v in sorted(run.workflow.edges, key=lambda edge: run.finish[edge[1]]):
        before[tasks[v]] |= {tasks[u]} | before[tasks[u]]
    for name in tasks:
        inputs = ninja(tmp_path, "-t", "inputs", "--no-shell-escape", name).splitlines()
        assert before[name] == {*inputs, *(["a b/x:1"] * ("a b/more" in inputs))} & {*tasks}
    manifest = ninja_manifest.parse(tmp_path)
    assert [c.rule for c in manifest.commands if c.own_times] == ["other"]


def test_what_a_dyndep_file_adds_counts(tmp_path: Path) -> None:
    (tmp_path / "build.ninja").write_text(
        "rule sh\n command = touch $out\nrule dd\n command = cp given $out\n"
        "build a: sh\nbuild d.dd: dd\nbuild b: sh || d.dd\n dyndep = d.dd\n"
    )
    (tmp_path / "given").write_text("ninja_dyndep_version = 1\nbuild b | b.mod: dyndep | a\n")
    ninja(tmp_path)
    assert set(named_edges(io.read_run(tmp_path))) == {("a", "b"), ("d.dd", "b")}
    (tmp_path / "d.dd").unlink()
    run = io.read_run(tmp_path)
    assert set(named_edges(run)) == {("d.dd", "b")}
    assert "d.dd is not there: what it adds is unknown" in run.remarks


def test_a_command_that_makes_the_manifest_is_no_task(tmp_path: Path) -> None:
    (tmp_path / "in").write_text(
        "rule again\n command = cp in $out\n generator = 1\nrule sh\n command = touch $out\n"
        "build build.ninja: again in\nbuild a: sh\n"
    )
    shutil.copy(tmp_path / "in", tmp_path / "build.ninja")
    ninja(tmp_path)
    time.sleep(0.01)
    (tmp_path / "in").touch()
    ninja(tmp_path)
    assert "build.ninja" in (tmp_path / ".ninja_log").read_text()
    run = io.read_run(tmp_path)
    assert (run.workflow.tasks, run.remarks) == (("a",), ())


def test_a_log_of_ninja_1_11() -> None:
    run = io.read_run(LOGS / "1.11.1.ninja_log")
    assert run.workflow.tasks == ("a", "c", "d", "solo", "ghost")
    assert run.ran.tolist() == [False, False, False, True, False]
    assert "4 of 5 commands ran in earlier builds, which gives their time" in run.remarks


def test_builds_are_told_apart() -> None:
    def entry(start: float, finish: float, begun: float, output: str) -> Entry:
        return Entry(start, finish, begun + start if begun else 0.0, output, "0")

    first = [entry(0, 1, 100, "a"), entry(0, 2, 100, "b"), entry(1, 3, 0, "no file")]
    assert last_build(first, [True] * 3) == ({0, 1, 2}, False)
    falls = [*first, entry(0, 1, 200, "c")]
    assert last_build(falls, [True] * 4) == ({3}, False)
    comes_back = [*first, entry(0, 9, 0, "b")]
    assert last_build(comes_back, [True] * 4) == ({3}, False)
    much_later = [*first, entry(0, 9, 200, "c")]
    assert last_build(much_later, [False] * 4) == ({3}, False)
    soon = [*first, entry(0, 9, 104, "c")]
    assert last_build(soon, [True] * 4) == ({3}, False)
    mixed = [first[1], first[0], entry(0, 1, 200, "c"), entry(1, 2, 100, "d")]
    assert last_build(mixed, [True] * 4) == ({2}, True)
    rewritten = [entry(0, 1, 200, "a"), *first[1:]]
    assert last_build(rewritten, [True] * 3) == ({0}, True)
    assert last_build([], []) == (set(), False)


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        (".ninja_log", "# ninja log v7", "# ninja log v4", "line 1: '# ninja log v4' is no log"),
        (".ninja_log", "\tgen.h\t", "\tgen.h", "line 2: 4 fields"),
        (".ninja_log", "\tgen.h\t", "x\tgen.h\t", "line 2: .*x' is not a whole number"),
        (
            "build.ninja",
            ": cc two.c",
            ": ccc two.c",
            "build.ninja: line 15: there is no rule 'ccc'",
        ),
        ("build.ninja", "pause =", "pause", "build.ninja: line 2: 'pause"),
        ("build.ninja", "$in > $out", "$in > $out$(x)\nbuild $(: cc", "line 7: .*write \\$\\$"),
        ("build.ninja", "build gen.o: cc gen.c", "build gen.o", "line 16: not build OUTPUTS: RULE"),
        ("build.ninja", "default check", "include no.ninja", "line 21: there is no no.ninja"),
        (
            "build.ninja",
            "default check",
            "include build.ninja",
            "line 21: build.ninja includes itself",
        ),
    ],
)
def test_errors_name_file_and_line(
    built: Path, file: str, old: str, new: str, message: str
) -> None:
    text = (built / file).read_text()
    assert old in text
    (built / file).write_text(text.replace(old, new))
    with pytest.raises(FormatError, match=message):
        io.read_run(built)


def test_a_log_whose_last_line_is_cut_is_read(built: Path) -> None:
    log = built / ".ninja_log"
    log.write_text(log.read_text()[:-5])
    assert "the last line of the log is cut: ninja was killed" in io.read_run(built).remarks


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    (tmp_path / "build.ninja").write_text(SMALL)
    with pytest.raises(FormatError, match=r"no .*\.ninja_log yet: build it once"):
        io.read_run(tmp_path)
    (tmp_path / ".ninja_log").write_text("# ninja log v7\n")
    with pytest.raises(FormatError, match="none of its outputs is made by"):
        io.read_run(tmp_path)
    (tmp_path / "build.ninja").unlink()
    with pytest.raises(FormatError, match=r"there is no build\.ninja in"):
        io.read_run(tmp_path)

"""LLVM in worker processes: what passes do, what is remembered, and what a crash costs."""

import os
import select
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dagsched_env import DAGSchedError
from llvm_phase.backends import BACKENDS, canonical
from llvm_phase.compiler import Compiler, CompilerError, PassError, _Worker
from llvm_phase.passes import ALL, O3, OZ, STANDARD, resolve
from llvm_phase.programs import Program, load, split


@pytest.fixture
def own(compiler: Compiler) -> Iterator[Compiler]:
    """A compiler whose workers may be killed, with no memory."""
    with Compiler(compiler.backend) as fresh:
        yield fresh


def kill_worker(compiler: Compiler) -> None:
    process = compiler._workers[0]._process
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_backend_makes_programs_smaller(backend: str, small: list[Program]) -> None:
    try:
        compiler = Compiler(backend)
    except CompilerError as error:
        pytest.skip(str(error))
    with compiler:
        assert compiler.backend == backend
        for program in small:
            state = compiler.load(program.ir)
            promoted = compiler.apply(state, "sroa")
            combined = compiler.apply(promoted, "instcombine")
            assert state.size > promoted.size >= combined.size >= compiler.apply(state, OZ).size
            assert compiler.apply(state, O3).size < state.size
        with pytest.raises(CompilerError, match="pass 'no-such-pass'"):
            compiler.apply(state, "no-such-pass")
        assert compiler.apply(state, "dce").size <= state.size  # it goes on


def test_the_standard_passes_run_and_mean_the_same_again(compiler: Compiler) -> None:
    program = load()[5]
    state = compiler.load(program.ir)
    with Compiler(compiler.backend) as other:
        again = other.load(program.ir)
        for name in compiler.supported(STANDARD):
            state, again = compiler.apply(state, name), other.apply(again, name)
            assert state.key == again.key
    assert state.size < compiler.load(program.ir).size


def test_actions_are_the_passes_that_this_llvm_knows(compiler: Compiler) -> None:
    assert compiler.supported(("sroa", "no-such-pass", "dce")) == ("sroa", "dce")
    if compiler.backend == "libLLVM-14":
        assert compiler.supported(ALL) == ALL
    with Compiler("llvmlite") as other:
        known = other.supported(STANDARD)
        assert 20 <= len(known) < 42
        assert "loop-reduce" not in known


def test_nothing_is_run_twice(own: Compiler, small: list[Program]) -> None:
    state = own.load(small[1].ir)
    jobs = [(state, "sroa"), (state, "dce"), (state, "sroa")]
    first = own.apply_many(jobs)
    runs = own.counters.runs
    assert first[0] is first[2]
    assert own.apply_many(jobs) == first
    assert own.counters.runs == runs
    assert own.counters.steps == 7  # with the one of load
    # What is already in registers, sroa leaves as it is: the very same state.
    assert own.apply(first[0], "sroa") is first[0]


def test_memory_is_bounded(compiler: Compiler, small: list[Program]) -> None:
    with Compiler(compiler.backend, memory=2) as forgetful:
        state = forgetful.load(small[1].ir)
        for name in ("sroa", "dce", "gvn" if compiler.backend != "llvmlite" else "newgvn", "sroa"):
            forgetful.apply(state, name)
        assert forgetful.counters.runs == 5
        assert len(forgetful._known) == 2


def test_several_workers_share_the_jobs(compiler: Compiler, small: list[Program]) -> None:
    with Compiler(compiler.backend, workers=2) as pair:
        states = [pair.load(program.ir) for program in small]
        jobs = [(state, name) for state in states for name in ("sroa", "instcombine", "dce")]
        alone = [compiler.apply(compiler.load(s.ir), name).key for s, name in jobs]
        assert [after.key for after in pair.apply_many(jobs) if after] == alone


def test_a_dead_worker_costs_one_pass(own: Compiler, small: list[Program]) -> None:
    state = own.load(small[0].ir)
    kill_worker(own)
    with pytest.raises(PassError):
        own.apply(state, "sroa")
    with pytest.raises(PassError):  # it is remembered too: LLVM would die again
        own.apply(state, "sroa")
    assert own.counters.failures == 1
    assert own.apply(state, "dce").size <= state.size


def test_a_pass_that_takes_too_long_is_lost(compiler: Compiler, small: list[Program]) -> None:
    with Compiler(compiler.backend) as patient:
        state = patient.load(small[0].ir)
    with Compiler(compiler.backend, seconds=0.05) as hasty:
        os.kill(hasty._workers[0]._process.pid, signal.SIGSTOP)
        with pytest.raises(PassError):
            hasty.apply(state, "sroa")


def test_an_answer_counts_where_the_parent_reads_it_late(
    compiler: Compiler, small: list[Program], monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds, ask = 0.01, _Worker.ask

    def slow(worker, job, limit):
        ask(worker, job, limit)
        assert select.select([worker.answers], [], [], 60)[0]
        time.sleep(limit)

    monkeypatch.setattr(_Worker, "ask", slow)
    with Compiler(compiler.backend, seconds=seconds) as busy:
        state = busy.load(small[0].ir)
        assert busy.apply(state, "sroa").size < state.size
        assert busy.counters.failures == 0


def running(pid: int) -> bool:
    """Whether a process is there, and no zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found in /proc")
def test_a_pass_that_hangs_in_opt_ends_with_its_worker(
    tmp_path: Path, small: list[Program], monkeypatch: pytest.MonkeyPatch
) -> None:
    noted = tmp_path / "pid"
    fake = tmp_path / "opt"
    fake.write_text(
        '#!/bin/sh\ncase "$*" in *-passes=dce*) echo $$ >'
        f" '{noted}.new'; mv '{noted}.new' '{noted}'; exec sleep 300;; esac\nexec cat\n"
    )
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with Compiler("opt") as own:
        state = own.load(small[0].ir)
        own._seconds = 2.0
        with pytest.raises(PassError):
            own.apply(state, "dce")
        deadline = time.monotonic() + 10
        while running(int(noted.read_text())) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not running(int(noted.read_text()))


def test_a_crash_of_llvm_is_survived(own: Compiler, small: list[Program]) -> None:
    if own.backend != "libLLVM-14":
        pytest.skip("a crash that is known of LLVM 14 alone")
    state = own.load(load()[0].ir)
    with pytest.raises(PassError):
        own.apply(state, "chr")
    assert own.apply(state, "sroa").size < state.size


def test_bad_input_is_named(own: Compiler) -> None:
    with pytest.raises(CompilerError, match=r"mine: .*not LLVM IR"):
        own.load("define nonsense", "mine")
    with pytest.raises(CompilerError, match="seconds=0"):
        Compiler(seconds=0)
    with pytest.raises(KeyError, match="gcc"):
        BACKENDS["gcc"]


def test_workers_end_with_their_compiler(compiler: Compiler) -> None:
    with Compiler(compiler.backend, workers=2) as pair:
        processes = [worker._process for worker in pair._workers]
        assert all(process.poll() is None for process in processes)
    assert all(process.poll() is not None for process in processes)


def test_a_worker_ends_with_its_input(compiler: Compiler) -> None:
    """As where the main process is killed."""
    with Compiler(compiler.backend) as own:
        process = own._workers[0]._process
        own._workers[0]._requests.close()
        deadline = time.monotonic() + 10
        while process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        assert process.poll() == 0


def test_canonical_texts_do_not_tell_where_they_are_from() -> None:
    ir = (
        '; ModuleID = \'a.c\'\nsource_filename = "a.c"\ntarget triple = "x86_64-pc-linux-gnu"\n'
        "\ndefine void @f() {\n  br label %a\n\na:           ; preds = %0\n  ret void\n}\n"
    )
    assert canonical(ir) == "define void @f() {\n  br label %a\n\na:\n  ret void\n}\n"
    assert canonical(canonical(ir)) == canonical(ir)


def test_passes_with_and_without_dash() -> None:
    assert resolve(["-mem2reg", "sroa", "--gvn"]) == ("mem2reg", "sroa", "gvn")
    assert (len(resolve("standard")), len(resolve("all"))) == (42, 119)
    assert resolve("all") == ALL
    assert set(STANDARD) <= set(ALL)
    assert len(set(ALL)) == 119


@pytest.mark.parametrize(
    ("passes", "message"),
    [
        ("mem2reg", "give 'standard', 'all' or a list"),
        (["-mem2regs"], "pass 'mem2regs' is unknown"),
        (["mem2reg", "-mem2reg"], "each once"),
        ([], "at least one"),
    ],
)
def test_bad_passes(passes: str | list[str], message: str) -> None:
    with pytest.raises(DAGSchedError, match=message):
        resolve(passes)


def test_programs() -> None:
    own = load()
    parts = split(own)
    assert len(own) == 26
    assert (len(parts.train), len(parts.test)) == (18, 8)
    assert not {p.name for p in parts.train} & {p.name for p in parts.test}
    assert all("define " in p.ir and "target triple" not in p.ir for p in own)


def test_a_folder_of_programs(tmp_path, small: list[Program]) -> None:
    with pytest.raises(DAGSchedError, match=r"no files NAME\.ll"):
        load(tmp_path)
    for program in small:
        (tmp_path / f"{program.name}.ll").write_text(program.ir)
    assert load(tmp_path) == sorted(small, key=lambda program: program.name)
    (tmp_path / "one.ll.xz").write_bytes(b"not compressed")
    with pytest.raises(DAGSchedError, match="another program of that name"):
        load(tmp_path)
    (tmp_path / "one.ll").unlink()
    with pytest.raises(DAGSchedError, match=r"one\.ll\.xz"):
        load(tmp_path)
    with pytest.raises(DAGSchedError, match="at least 3"):
        split(small[:2])

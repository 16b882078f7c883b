"""Shared memory: one set of arrays for all processes, locks that die with their owner, no leaks."""

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from aerl_trainer.shared_memory import (
    ALIGNMENT,
    SEGMENTS,
    LocalBlock,
    ProcessLock,
    SharedBlock,
    named_semaphores,
    sweep_stale,
)
from dagsched_env.errors import DAGSchedError
from helpers.faults import is_free, left_by
from helpers.small_runs import eventually, is_running, shared_memory_of

SPACE = os.stat("/proc/self/ns/pid").st_ino
SPECS = {
    "flags": ((3,), np.bool_),
    "numbers": ((4, 5), np.float64),
    "empty": ((0,), np.int32),
    "count": ((1,), np.int64),
}

CREATOR = """
import os, signal, sys, time
from multiprocessing import get_context, resource_tracker
import numpy as np
from aerl_trainer.shared_memory import SharedBlock, named_semaphores
with named_semaphores("test"):
    semaphore = get_context("spawn").Semaphore(0)
block = SharedBlock.create("test", {"numbers": ((1000,), np.float64)})
block.arrays["numbers"][:] = 1
if "hold" in sys.argv:
    block.lock.__enter__()
os.kill(resource_tracker._resource_tracker._pid, signal.SIGKILL)  # or it would clean up first
print(block.handle.segment, flush=True)
time.sleep(600)
"""


@pytest.fixture
def block() -> Iterator[SharedBlock]:
    made = SharedBlock.create("test", SPECS)
    yield made
    made.close()


@pytest.fixture
def creator(request: pytest.FixtureRequest) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Another process with a block of its own, and the path of the block."""
    command = [sys.executable, "-c", CREATOR, *getattr(request, "param", [])]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        yield process, SEGMENTS / process.stdout.readline().strip()
        process.kill()
    sweep_stale()


def test_more_memory_than_there_is_is_refused_with_the_mend(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    few = shutil.disk_usage(SEGMENTS)._replace(free=3 << 20)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: few)
    SharedBlock.create("test", {"small": ((1 << 20,), np.uint8)}).close()
    before = set(SEGMENTS.iterdir())
    with pytest.raises(DAGSchedError, match=r"has 3 MB left, and 8 MB may be needed: enlarge it"):
        SharedBlock.create("test", {"large": ((8 << 20,), np.uint8)})
    assert set(SEGMENTS.iterdir()) == before


def test_arrays_are_zero_aligned_and_writable(block: SharedBlock) -> None:
    assert block.arrays.keys() == SPECS.keys()
    for name, (shape, dtype) in SPECS.items():
        array = block.arrays[name]
        assert array.shape == shape
        assert array.dtype == dtype
        assert not array.any()
        assert array.ctypes.data % ALIGNMENT == 0 or array.size == 0
    block.arrays["numbers"][:] = np.nan
    assert not block.arrays["flags"].any(), "arrays do not overlap"
    assert not block.arrays["count"].any()


def test_attached_blocks_share_the_memory(block: SharedBlock) -> None:
    other = SharedBlock.attach(block.handle)
    other.arrays["numbers"][1, 2] = 7.5
    block.arrays["count"][0] = 2**40
    assert block.arrays["numbers"][1, 2] == 7.5
    assert other.arrays["count"][0] == 2**40
    other.close()
    assert block.arrays["numbers"][1, 2] == 7.5, "only the creator removes it"
    SharedBlock.attach(block.handle).close()


def test_the_creator_removes_the_segment() -> None:
    made = SharedBlock.create("test", SPECS)
    assert made.handle.segment in shared_memory_of(os.getpid())
    made.close()
    assert made.handle.segment not in shared_memory_of(os.getpid())
    with pytest.raises(FileNotFoundError):
        SharedBlock.attach(made.handle)
    assert made.handle.segment not in shared_memory_of(os.getpid()), "a late comer makes nothing"


def test_an_array_outlives_its_block() -> None:
    """Nobody crashes who looks at an array a moment too late."""
    made = SharedBlock.create("test", SPECS)
    other = SharedBlock.attach(made.handle)
    views = [made.arrays["numbers"], other.arrays["numbers"]]
    other.close()
    made.close()
    assert made.handle.segment not in shared_memory_of(os.getpid())
    del made, other
    views[0][:] = 3
    assert views[1].sum() == 60


def test_a_local_block_has_the_same_interface() -> None:
    local = LocalBlock(SPECS)
    assert local.handle is None
    assert {name: a.shape for name, a in local.arrays.items()} == {
        name: shape for name, (shape, _) in SPECS.items()
    }
    with local.lock:
        local.arrays["numbers"][:] = 1
    local.close()


# -- locks ---------------------------------------------------------------------------------------


LOCKER = """
import sys
from pathlib import Path
from aerl_trainer.shared_memory import ProcessLock
lock, counter = ProcessLock(Path(sys.argv[1])), Path(sys.argv[2])
for _ in range(int(sys.argv[3])):
    with lock:
        counter.write_text(str(int(counter.read_text()) + 1))
"""


def test_a_lock_excludes_other_processes(tmp_path: Path) -> None:
    """Read, add one, write: without the lock, increments would be lost."""
    counter, rounds = tmp_path / "counter", 300
    counter.write_text("0")
    (tmp_path / "lock").touch()
    command = [sys.executable, "-c", LOCKER, tmp_path / "lock", counter, str(rounds)]
    processes = [subprocess.Popen(command) for _ in range(3)]
    assert [process.wait(timeout=120) for process in processes] == [0, 0, 0]
    assert counter.read_text() == str(3 * rounds)


@pytest.mark.parametrize("creator", [["hold"]], indirect=True)
def test_a_dead_owner_frees_its_lock(creator: tuple[subprocess.Popen[str], Path]) -> None:
    process, path = creator
    lock = ProcessLock(path)
    assert not is_free(path)
    process.kill()
    process.wait()
    with lock:  # would wait for ever if the lock outlived its owner
        assert not is_free(path)
    assert is_free(path)
    lock.close()


# -- what a killed run leaves behind -------------------------------------------------------------


def test_sweeping_removes_what_a_dead_creator_left(
    creator: tuple[subprocess.Popen[str], Path],
) -> None:
    process, path = creator
    left = left_by(process.pid)
    block, semaphore = left
    assert block == path.name
    assert semaphore.startswith("sem.")
    assert not set(left) & set(sweep_stale()), "its creator lives"
    assert path.exists()
    process.send_signal(signal.SIGKILL)
    eventually(lambda: not is_running(process.pid), "the creator's end")
    assert set(left) <= set(sweep_stale()), "even before anybody has waited for it"
    assert left_by(process.pid) == []
    assert path.name not in sweep_stale()


@pytest.fixture
def files() -> Iterator[Callable[[str], Path]]:
    """Makes files among the segments, and removes them afterwards."""
    made = []

    def make(name: str) -> Path:
        made.append(SEGMENTS / name)
        made[-1].write_bytes(b"x")
        return made[-1]

    yield make
    for path in made:
        path.unlink(missing_ok=True)


def test_sweeping_knows_whose_files_are_whose(files: Callable[[str], Path]) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    mine = SharedBlock.create("test", SPECS)
    stale = [
        files(f"aerl-ds-{dead.pid}-123-{SPACE}-0-tree"),
        files(f"aerl-ds-{dead.pid}-123-{SPACE}-1-arena"),
        files(f"sem.aerl-ds-{dead.pid}-123-{SPACE}-2-arena-_x0k"),
    ]
    kept = [
        SEGMENTS / mine.handle.segment,
        files("aerl-ds-notes"),
        files(f"aerl-ds-{dead.pid}"),
        files(f"other-{dead.pid}-123-{SPACE}-0-tree"),
        files(f"my-aerl-ds-{dead.pid}-123-{SPACE}-0-tree"),
        files(f"sem.mp-{dead.pid}-123"),
        files(f"aerl-ds-{dead.pid}-123-{SPACE + 1}-0-tree"),  # of another container
    ]
    removed = sweep_stale()
    assert {path.name for path in stale} <= set(removed)
    assert not {path.name for path in kept} & set(removed)
    assert not any(path.exists() for path in stale)
    assert all(path.exists() for path in kept)
    mine.close()


def test_semaphores_have_such_a_name_only_where_asked_for() -> None:
    before, context = left_by(os.getpid()), multiprocessing.get_context("spawn")
    with named_semaphores("test"):
        named = context.Semaphore(0)
    other = context.Semaphore(0)
    (name,) = set(left_by(os.getpid())) - set(before)
    assert name.startswith(f"sem.aerl-ds-{os.getpid()}-")
    del named
    assert left_by(os.getpid()) == before
    assert not other.acquire(timeout=0)


def test_a_pid_that_came_back_protects_nothing(files: Callable[[str], Path]) -> None:
    """A live process has the pid of the dead creator, but another start time."""
    path = files(f"aerl-ds-{os.getpid()}-1-{SPACE}-0-tree")
    assert path.name in sweep_stale()
    assert not path.exists()


def test_what_belongs_to_another_user_stays(
    files: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """/dev/shm is sticky; with hidden processes their creators look dead from here."""
    path = files(f"aerl-ds-{os.getpid()}-1-{SPACE}-0-tree")

    def refuse(self: Path, missing_ok: bool = False) -> None:
        raise PermissionError(1, "Operation not permitted", str(self))

    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", refuse)
        assert path.name not in sweep_stale()
    assert path.exists()

"""Shared memory: one set of arrays for all processes, locks that die with their owner, no leaks."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from small_runs import eventually, is_running, shared_memory_of

from aerl_trainer.shared_memory import (
    ALIGNMENT,
    LocalBlock,
    ProcessLock,
    SharedBlock,
    sweep_stale,
)

SPECS = {
    "flags": ((3,), np.bool_),
    "numbers": ((4, 5), np.float64),
    "empty": ((0,), np.int32),
    "count": ((1,), np.int64),
}

CREATOR = """
import sys, time
import numpy as np
from aerl_trainer.shared_memory import SharedBlock
block = SharedBlock.create("test", {"numbers": ((1000,), np.float64)})
block.arrays["numbers"][:] = 1
if "hold" in sys.argv:
    block.lock.__enter__()
print(block.handle.lock_path, flush=True)
time.sleep(600)
"""


@pytest.fixture
def block() -> Iterator[SharedBlock]:
    made = SharedBlock.create("test", SPECS)
    yield made
    made.close()


@pytest.fixture
def creator(request: pytest.FixtureRequest) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Another process with a block of its own, and the path of the block's lock file."""
    command = [sys.executable, "-c", CREATOR, *getattr(request, "param", [])]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        yield process, Path(process.stdout.readline().strip())
        process.kill()


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


def test_the_creator_removes_segment_and_lock_file() -> None:
    made = SharedBlock.create("test", SPECS)
    names = [made.handle.segment, Path(made.handle.lock_path).name]
    assert set(names) <= set(shared_memory_of(os.getpid()))
    made.close()
    assert not set(names) & set(shared_memory_of(os.getpid()))
    with pytest.raises(FileNotFoundError):
        SharedBlock.attach(made.handle)


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
    command = [sys.executable, "-c", LOCKER, tmp_path / "lock", counter, str(rounds)]
    processes = [subprocess.Popen(command) for _ in range(3)]
    assert [process.wait(timeout=120) for process in processes] == [0, 0, 0]
    assert counter.read_text() == str(3 * rounds)


@pytest.mark.parametrize("creator", [["hold"]], indirect=True)
def test_a_dead_owner_frees_its_lock(creator: tuple[subprocess.Popen[str], Path]) -> None:
    process, lock_path = creator
    lock = ProcessLock(lock_path)
    process.kill()
    process.wait()
    with lock:  # would wait for ever if the lock outlived its owner
        pass
    lock.close()
    sweep_stale()


# -- what a killed run leaves behind -------------------------------------------------------------


def test_sweeping_removes_what_a_dead_creator_left(
    creator: tuple[subprocess.Popen[str], Path],
) -> None:
    process, lock_path = creator
    assert len(shared_memory_of(process.pid)) == 2
    assert lock_path.name not in sweep_stale(), "its creator lives"
    assert len(shared_memory_of(process.pid)) == 2
    process.send_signal(signal.SIGKILL)
    process.wait()
    eventually(lambda: not is_running(process.pid), "the creator's end")
    assert lock_path.name in sweep_stale()
    assert shared_memory_of(process.pid) == []
    assert not [name for name in sweep_stale() if f"-{process.pid}-" in name]


def test_sweeping_knows_whose_files_are_whose() -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    memory, temporary = Path("/dev/shm"), Path(tempfile.gettempdir())
    stale = [memory / f"aerl-ds-{dead.pid}-0-tree", temporary / f"aerl-ds-{dead.pid}-0-tree.lock"]
    kept = [
        memory / f"aerl-ds-{os.getpid()}-999-tree",
        memory / "aerl-ds-notes",
        memory / f"other-{dead.pid}-0-tree",
    ]
    try:
        for path in stale + kept:
            path.write_bytes(b"x")
        removed = sweep_stale()
        assert {path.name for path in stale} <= set(removed)
        assert not {path.name for path in kept} & set(removed)
        assert not any(path.exists() for path in stale)
        assert all(path.exists() for path in kept)
    finally:
        for path in stale + kept:
            path.unlink(missing_ok=True)

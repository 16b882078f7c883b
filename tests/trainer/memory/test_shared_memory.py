"""Shared memory: one set of arrays for all processes, locks that die with their owner, no leaks."""

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

from aerl_trainer.memory.shared_memory import (
    ALIGNMENT,
    LocalBlock,
    ProcessLock,
    SharedBlock,
)
from dagsched_env.problem.errors import DAGSchedError
from helpers import actions
from helpers.faults import is_free
from helpers.small_runs import shared_memory_of

SPECS = {
    "flags": ((3,), np.bool_),
    "numbers": ((4, 5), np.float64),
    "empty": ((0,), np.int32),
    "count": ((1,), np.int64),
}

CREATOR = """
import sys, time
import numpy as np
from aerl_trainer.memory.shared_memory import SharedBlock
block = SharedBlock.create("test", {"numbers": ((1000,), np.float64)})
block.arrays["numbers"][:] = 1
block.lock.__enter__()
print(block.handle.descriptor, flush=True)
time.sleep(600)
"""


@pytest.fixture
def block() -> Iterator[SharedBlock]:
    made = SharedBlock.create("test", SPECS)
    yield made
    made.close()


@pytest.fixture
def creator() -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Another process that holds the lock of a block of its own, and the block's memory."""
    with subprocess.Popen(
        [sys.executable, "-c", CREATOR],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        yield process, Path(f"/proc/{process.pid}/fd/{process.stdout.readline().strip()}")
        process.kill()


def test_more_memory_than_there_is_is_refused_with_the_mend(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    little = tmp_path / "meminfo"
    little.write_text("MemTotal:  9999 kB\nMemAvailable:    3072 kB\n")
    monkeypatch.setattr("aerl_trainer.memory.shared_memory.MEMORY", little)
    SharedBlock.create("test", {"small": ((1 << 20,), np.uint8)}).close()
    with pytest.raises(DAGSchedError, match=r"3 MB of memory are left, and 8 MB may be needed"):
        SharedBlock.create("test", {"large": ((8 << 20,), np.uint8)})


@pytest.mark.parametrize("call", ["memfd_create", "truncate"])
def test_memory_that_the_kernel_refuses_is_named_and_nothing_is_left(
    call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before = shared_memory_of(os.getpid())
    with monkeypatch.context() as patched:
        patched.setattr(os, call, refuse)
        with pytest.raises(DAGSchedError, match=r"8 MB of shared memory \(test\) cannot be had"):
            SharedBlock.create("test", {"large": ((8 << 20,), np.uint8)})
    assert shared_memory_of(os.getpid()) == before


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


def test_the_creator_gives_the_memory_back() -> None:
    before = shared_memory_of(os.getpid())
    made = SharedBlock.create("test", SPECS)
    assert f"/memfd:aerl-ds-{os.getpid()}-test (deleted)" in shared_memory_of(os.getpid())
    made.close()
    assert shared_memory_of(os.getpid()) == before


def test_an_array_outlives_its_block() -> None:
    """Nobody crashes who looks at an array a moment too late."""
    made = SharedBlock.create("test", SPECS)
    other = SharedBlock.attach(made.handle)
    views = [made.arrays["numbers"], other.arrays["numbers"]]
    other.close()
    made.close()
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
from aerl_trainer.memory.shared_memory import ProcessLock
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


def test_a_dead_owner_frees_its_lock(creator: tuple[subprocess.Popen[str], Path]) -> None:
    process, path = creator
    lock = ProcessLock(path)
    mine = Path(f"/proc/self/fd/{lock._descriptor}")
    assert not is_free(mine)
    process.kill()
    process.wait()
    with lock:  # would wait for ever if the lock outlived its owner
        assert not is_free(mine)
    assert is_free(mine)
    lock.close()
    assert shared_memory_of(process.pid) == [], "nobody has it any more"


def test_a_spawned_process_has_the_same_memory(block: SharedBlock) -> None:
    process = get_context("spawn").Process(target=actions.counts, args=(block.handle,))
    process.start()
    process.join(60)
    assert process.exitcode == 0
    assert block.arrays["count"].tolist() == [1]

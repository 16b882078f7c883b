"""Named arrays in shared memory, and a lock between processes that a dead owner cannot keep.

The process that creates a block alone unlinks it. Names carry the creator's pid and start time, so
that blocks left behind by a killed run are recognised and swept at the next start, even where
another process has the pid by then; so do those of its semaphores. The lock is on the segment
itself: there is no file besides.
"""

import contextlib
import fcntl
import itertools
import mmap
import multiprocessing
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from multiprocessing import shared_memory
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dagsched_env.errors import DAGSchedError

__all__ = [
    "ArraySpec",
    "BlockHandle",
    "LocalBlock",
    "ProcessLock",
    "SharedBlock",
    "named_semaphores",
    "sweep_stale",
]

PREFIX = "aerl-ds"
SEGMENTS = Path("/dev/shm")  # where Linux keeps shared memory by name
NAME = re.compile(rf"(sem\.)?{PREFIX}-(?P<pid>\d+)-(?P<started>\d+)-(?P<space>\d+)-\d+-[\w-]+")
ALIGNMENT = 64
YIELDS = 100
"""Tries before a process sleeps for a lock: waking up takes longer than most owners hold it.
Between two tries it yields the processor to other processes."""
_serial = itertools.count()

ArraySpec = tuple[tuple[int, ...], npt.DTypeLike]
"""Shape and dtype of one array of a block."""


@dataclass(frozen=True)
class BlockHandle:
    """What another process needs to attach to a block; picklable."""

    segment: str
    specs: dict[str, tuple[tuple[int, ...], str]]


class ProcessLock:
    """An exclusive advisory file lock (``flock``): the kernel frees it when its owner dies.

    Every process, and every thread that competes, opens the file for itself.

    Raises:
        FileNotFoundError: the file must exist; a late comer does not make one for nothing.
    """

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)

    def __enter__(self) -> None:
        for _ in range(YIELDS):
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.sched_yield()
            else:
                return
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        os.close(self._descriptor)


class SharedBlock:
    """One shared-memory segment with a lock, laid out as a set of named arrays.

    Make one with ``create``, pass ``handle`` to other processes, and ``attach`` there.
    """

    def __init__(self, handle: BlockHandle, segment: shared_memory.SharedMemory | None) -> None:
        self.handle = handle
        self.arrays = _views(_map(handle.segment), handle.specs)
        self.lock = ProcessLock(SEGMENTS / handle.segment)
        self._segment = segment  # the creator's, who removes it

    @classmethod
    def create(cls, label: str, specs: Mapping[str, ArraySpec]) -> "SharedBlock":
        """Allocate a zeroed segment for ``specs`` (name → shape, dtype).

        Raises:
            DAGSchedError: there is not so much shared memory; pages are taken when they are first
                written, and a process that gets none then is killed.
        """
        plain = _plain(specs)
        name, size = _own_name(label), _layout(plain)[1]
        _check_room(size)
        segment = shared_memory.SharedMemory(name=name, create=True, size=size)
        segment.close()  # its own mapping would be gone before the last array that shows it
        return cls(BlockHandle(name, plain), segment)

    @classmethod
    def attach(cls, handle: BlockHandle) -> "SharedBlock":
        """Map a block of another process; closing it here never removes it."""
        return cls(handle, None)

    def close(self) -> None:
        """Let go of the memory; the creator also removes its name.

        An array that somebody still holds stays valid.
        """
        self.arrays.clear()
        self.lock.close()
        if self._segment is not None:
            with contextlib.suppress(FileNotFoundError):  # somebody swept it: it is gone already
                self._segment.unlink()


class LocalBlock:
    """The same interface on private memory, for a search by a single process.

    It is mapped anew: numpy's allocator would write zeros to all of it where it reuses memory.
    """

    handle = None

    def __init__(self, specs: Mapping[str, ArraySpec]) -> None:
        plain = _plain(specs)
        self.lock = contextlib.nullcontext()
        self.arrays = _views(mmap.mmap(-1, _layout(plain)[1]), plain)

    def close(self) -> None:
        self.arrays.clear()


@contextlib.contextmanager
def named_semaphores(label: str) -> Iterator[None]:
    """Semaphores that are made in here for spawned processes get names that can be swept.

    ``multiprocessing`` has no public way to name them: it appends a random word to a prefix in the
    settings of the process (CPython's ``SemLock._make_name``).
    """
    settings = vars(multiprocessing.current_process())["_config"]
    before = settings["semprefix"]
    settings["semprefix"] = f"/{_own_name(label)}"
    try:
        yield
    finally:
        settings["semprefix"] = before


def sweep_stale() -> list[str]:
    """Remove segments and semaphores whose creator is dead; returns the names of their files.

    Those of other users stay: only they may remove them; and those of other containers that share
    the folder: whether their creators live cannot be seen from here.
    """
    removed = []
    for path in SEGMENTS.glob(f"*{PREFIX}-*"):
        name = NAME.fullmatch(path.name)
        here = name and int(name["space"]) == _pid_namespace()
        if name and here and _start_time(int(name["pid"])) != name["started"]:
            with contextlib.suppress(PermissionError, FileNotFoundError):
                path.unlink()
                removed.append(path.name)
    return removed


def _check_room(size: int) -> None:
    free = shutil.disk_usage(SEGMENTS).free
    if size > free:
        raise DAGSchedError(
            f"{SEGMENTS} has {free >> 20} MB left, and {size >> 20} MB may be needed: enlarge it "
            f"(docker run --shm-size), use a single actor, or search with a smaller budget"
        )


def _own_name(label: str) -> str:
    """A name that no other object of this machine has, by which its creator is known."""
    pid = os.getpid()
    return f"{PREFIX}-{pid}-{_start_time(pid)}-{_pid_namespace()}-{next(_serial)}-{label}"


def _pid_namespace() -> int:
    """The space in which pids mean what they do here, see pid_namespaces(7)."""
    return os.stat("/proc/self/ns/pid").st_ino


def _start_time(pid: int) -> str | None:
    """When a live process started (clock ticks since the machine did); None if there is none.

    A pid comes back with another process, but not with the same start. See proc(5), field 22.
    """
    try:
        record = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = record.rpartition(")")[2].split()  # the name in brackets may hold anything
    return None if fields[0] == "Z" else fields[19]


def _plain(specs: Mapping[str, ArraySpec]) -> dict[str, tuple[tuple[int, ...], str]]:
    """Shapes and dtypes as they are pickled."""
    return {name: (shape, np.dtype(dtype).str) for name, (shape, dtype) in specs.items()}


def _layout(specs: Mapping[str, tuple[tuple[int, ...], str]]) -> tuple[dict[str, int], int]:
    """Byte offset of each array, and the size of the whole."""
    offsets, total = {}, 0
    for name, (shape, dtype) in specs.items():
        offsets[name] = total
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        total += -(-size // ALIGNMENT) * ALIGNMENT
    return offsets, max(total, 1)


def _map(segment: str) -> mmap.mmap:
    """The memory behind a name, mapped until the last array that shows it is gone."""
    with (SEGMENTS / segment).open("r+b") as file:
        return mmap.mmap(file.fileno(), 0)


def _views(
    memory: mmap.mmap, specs: Mapping[str, tuple[tuple[int, ...], str]]
) -> dict[str, npt.NDArray[Any]]:
    offsets, _ = _layout(specs)
    return {
        name: np.ndarray(shape, dtype=dtype, buffer=memory, offset=offsets[name])
        for name, (shape, dtype) in specs.items()
    }

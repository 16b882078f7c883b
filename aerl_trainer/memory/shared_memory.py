"""Named arrays in memory that processes share, and a lock that a dead owner cannot keep.

The memory has no name that anybody else could see: it is a file without a path (``memfd_create``),
which spawned processes inherit. The kernel frees it when the last process that has it is dead,
however that comes, so that nothing can be left behind and no other user is met; the size of
``/dev/shm`` does not matter. The lock is on the memory itself: there is no file besides.
"""

import contextlib
import fcntl
import mmap
import os
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dagsched_env.problem.errors import DAGSchedError

PREFIX = "aerl-ds"
DESCRIPTORS = Path("/proc/self/fd")
MEMORY = Path("/proc/meminfo")
ALIGNMENT = 64
YIELDS = 100
"""Tries before a process sleeps for a lock: waking up takes longer than most owners hold it.
Between two tries it yields the processor to other processes."""

ArraySpec = tuple[tuple[int, ...], npt.DTypeLike]
"""Shape and dtype of one array of a block."""


@dataclass(frozen=True)
class BlockHandle:
    """What another process needs to attach to a block; picklable when that one is started."""

    descriptor: int
    specs: dict[str, tuple[tuple[int, ...], str]]

    def __reduce__(self) -> tuple[Any, ...]:
        return _inherited, (DupFd(self.descriptor), self.specs)


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
    """Shared memory with a lock, laid out as a set of named arrays.

    Make one with ``create``, pass ``handle`` to processes that are started, and ``attach`` there.
    """

    def __init__(self, handle: BlockHandle, *, created: bool) -> None:
        self.handle = handle
        self.arrays = _views(mmap.mmap(handle.descriptor, 0), handle.specs)
        self.lock = ProcessLock(DESCRIPTORS / str(handle.descriptor))
        self._created = created

    @classmethod
    def create(cls, label: str, specs: Mapping[str, ArraySpec]) -> "SharedBlock":
        """Allocate zeroed memory for ``specs`` (name → shape, dtype).

        Raises:
            DAGSchedError: there is not so much memory; pages are taken when they are first written,
                and a process that gets none then is killed.
        """
        plain = _plain(specs)
        size = _layout(plain)[1]
        _check_room(size)
        descriptor = -1
        try:
            descriptor = os.memfd_create(f"{PREFIX}-{os.getpid()}-{label}")
            os.truncate(descriptor, size)
            return cls(BlockHandle(descriptor, plain), created=True)
        except OSError as error:
            if descriptor >= 0:
                os.close(descriptor)
            raise DAGSchedError(
                f"{size >> 20} MB of shared memory ({label}) cannot be had: {error.strerror}"
            ) from None

    @classmethod
    def attach(cls, handle: BlockHandle) -> "SharedBlock":
        """Map a block of another process."""
        return cls(handle, created=False)

    def close(self) -> None:
        """Let go of the memory.

        An array that somebody still holds stays valid.
        """
        self.arrays.clear()
        self.lock.close()
        if self._created:
            os.close(self.handle.descriptor)


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


def _check_room(size: int) -> None:
    fields = dict(line.split(":") for line in MEMORY.read_text(encoding="ascii").splitlines())
    free = int(fields["MemAvailable"].split()[0]) << 10
    if size > free:
        raise DAGSchedError(
            f"{free >> 20} MB of memory are left, and {size >> 20} MB may be needed: end other "
            f"programs, use a single actor, or search with a smaller budget"
        )


def _inherited(descriptor: Any, specs: dict[str, tuple[tuple[int, ...], str]]) -> BlockHandle:
    """The handle in the process that was started with it."""
    return BlockHandle(descriptor.detach(), specs)


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


def _views(
    memory: mmap.mmap, specs: Mapping[str, tuple[tuple[int, ...], str]]
) -> dict[str, npt.NDArray[Any]]:
    offsets, _ = _layout(specs)
    return {
        name: np.ndarray(shape, dtype=dtype, buffer=memory, offset=offsets[name])
        for name, (shape, dtype) in specs.items()
    }

"""Named arrays in shared memory, and a lock between processes that a dead owner cannot keep.

The process that creates a block alone unlinks it. Names carry the creator's pid, so that blocks
left behind by a killed run are recognised and swept at the next start.
"""

import contextlib
import fcntl
import itertools
import mmap
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from multiprocessing import shared_memory
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "ArraySpec",
    "BlockHandle",
    "LocalBlock",
    "ProcessLock",
    "SharedBlock",
    "sweep_stale",
]

PREFIX = "aerl-ds"
SEGMENTS = Path("/dev/shm")  # where Linux keeps shared memory by name
ALIGNMENT = 64
_serial = itertools.count()

ArraySpec = tuple[tuple[int, ...], npt.DTypeLike]
"""Shape and dtype of one array of a block."""


@dataclass(frozen=True)
class BlockHandle:
    """What another process needs to attach to a block; picklable."""

    segment: str
    lock_path: str
    specs: dict[str, tuple[tuple[int, ...], str]]


class ProcessLock:
    """An exclusive advisory file lock (``flock``): the kernel frees it when its owner dies.

    Every process, and every thread that competes, opens the file for itself.
    """

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def __enter__(self) -> None:
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
        # First the memory: a late comer must fail before it makes a lock file for nothing.
        self.arrays = _views(_map(handle.segment), handle.specs)
        self.lock = ProcessLock(Path(handle.lock_path))
        self._segment = segment  # the creator's, who removes it

    @classmethod
    def create(cls, label: str, specs: Mapping[str, ArraySpec]) -> "SharedBlock":
        """Allocate a zeroed segment for ``specs`` (name → shape, dtype)."""
        plain = {name: (shape, np.dtype(dtype).str) for name, (shape, dtype) in specs.items()}
        name = f"{PREFIX}-{os.getpid()}-{next(_serial)}-{label}"
        segment = shared_memory.SharedMemory(name=name, create=True, size=_layout(plain)[1])
        segment.close()  # its own mapping would be gone before the last array that shows it
        lock_path = str(Path(tempfile.gettempdir()) / f"{name}.lock")
        return cls(BlockHandle(name, lock_path, plain), segment)

    @classmethod
    def attach(cls, handle: BlockHandle) -> "SharedBlock":
        """Map a block of another process; closing it here never removes it."""
        return cls(handle, None)

    def close(self) -> None:
        """Let go of the memory; the creator also removes its name and the lock file.

        An array that somebody still holds stays valid.
        """
        self.arrays.clear()
        self.lock.close()
        if self._segment is not None:
            with contextlib.suppress(FileNotFoundError):  # somebody swept it: it is gone already
                self._segment.unlink()
            Path(self.handle.lock_path).unlink(missing_ok=True)


class LocalBlock:
    """The same interface on private memory, for a search by a single process."""

    handle = None

    def __init__(self, specs: Mapping[str, ArraySpec]) -> None:
        self.lock = contextlib.nullcontext()
        self.arrays: dict[str, npt.NDArray[Any]] = {
            name: np.zeros(shape, dtype) for name, (shape, dtype) in specs.items()
        }

    def close(self) -> None:
        self.arrays.clear()


def sweep_stale() -> list[str]:
    """Remove segments and lock files whose creator is dead; returns their names."""
    removed = []
    for path in _left_behind():
        creator = path.name.removeprefix(f"{PREFIX}-").split("-")[0]
        if creator.isdigit() and not _alive(int(creator)):
            path.unlink(missing_ok=True)
            removed.append(path.name)
    return removed


def _left_behind() -> Iterator[Path]:
    for folder in (SEGMENTS, Path(tempfile.gettempdir())):
        if folder.is_dir():
            yield from folder.glob(f"{PREFIX}-*")


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


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

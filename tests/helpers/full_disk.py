"""A disk that is full when one file is written, for this process alone."""

import contextlib
import errno
import os
from collections.abc import Iterator

import pytest


@contextlib.contextmanager
def full_disk(monkeypatch: pytest.MonkeyPatch, name: str) -> Iterator[None]:
    """Within, a file whose path holds ``name`` cannot be synced; its error names no file."""
    sync = os.fsync

    def refuse(descriptor: int) -> None:
        if name in os.readlink(f"/proc/self/fd/{descriptor}"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", refuse)
        yield

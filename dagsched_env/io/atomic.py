"""Files and directories that appear whole or not at all."""

import os
import shutil
from collections.abc import Collection, Mapping
from os import PathLike
from pathlib import Path

from dagsched_env.errors import DAGSchedError

__all__ = ["write_bytes", "write_folder", "write_text"]


def write_text(path: str | PathLike[str], text: str) -> None:
    """``write_bytes`` of UTF-8 text."""
    write_bytes(path, text.encode())


def write_bytes(path: str | PathLike[str], content: bytes) -> None:
    """Write a file under a temporary name beside ``path``, then rename it.

    A device or a pipe is written to directly: renaming would replace it.

    Raises:
        OSError: the file cannot be written; an old file at ``path`` is unchanged.
    """
    target = Path(path)
    if target.exists() and not target.is_file():
        target.write_bytes(content)
        return
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        _write_synced(temporary, content)
        os.replace(temporary, target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename, error.filename2 = str(target), None
        raise


def write_folder(
    path: str | PathLike[str], files: Mapping[str, str], *, replaceable: Collection[str]
) -> None:
    """Write a directory of UTF-8 texts under a temporary name beside ``path``, then rename it.

    An old directory is replaced as a whole, by two renames. If the process is killed between them,
    the old one is complete under a name that ends in ``.old``.

    Args:
        path: the directory.
        files: text of each file in it.
        replaceable: names that an old directory may hold; it is not replaced if it holds others.

    Raises:
        DAGSchedError: something else is at ``path``.
        OSError: the directory cannot be written; an old one at ``path`` is unchanged.
    """
    target = Path(path)
    if target.exists() and not target.is_dir():
        raise DAGSchedError(f"{target} is not a directory: remove it, or choose another name")
    exists = target.exists()
    strangers = sorted(set(os.listdir(target)) - set(replaceable)) if exists else []
    if strangers:
        raise DAGSchedError(f"{target} holds {strangers[0]!r} too: choose another directory")
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    old = target.with_name(f".{target.name}.{os.getpid()}.old")
    try:
        temporary.mkdir()
        for name, text in files.items():
            _write_synced(temporary / name, text.encode())
        if exists:
            os.rename(target, old)
        os.rename(temporary, target)
    except BaseException as error:
        if old.exists() and not target.exists():
            os.rename(old, target)
        shutil.rmtree(temporary, ignore_errors=True)
        if isinstance(error, OSError):
            error.filename, error.filename2 = str(target), None
        raise
    if exists:
        shutil.rmtree(old)


def _write_synced(path: Path, content: bytes) -> None:
    with path.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())

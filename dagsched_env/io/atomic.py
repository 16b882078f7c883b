"""Files and directories that appear whole or not at all.

All are written under a temporary name beside their place, and renamed. Nobody can guess that name
or have put a link there, and no two writers share it, be they processes or threads. Where the place
is a link, the link stays, and what it names is replaced.
"""

import os
import re
import secrets
import shutil
import sys
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

from dagsched_env.problem.errors import DAGSchedError

NAME_LETTERS = 32
"""So many letters of a name are part of the temporary one, which must not become too long."""

MOST_LINKS = 40
"""From one to the next, as the kernel of Linux follows; more are a circle."""

LEFTOVER = re.compile(r"\..*\.[0-9a-f]{16}\.tmp", re.DOTALL)
"""A temporary name of a file."""

_swapping = threading.Lock()


def write_text(path: str | PathLike[str], text: str) -> None:
    """``write_bytes`` of UTF-8 text."""
    write_bytes(path, text.encode())


def write_bytes(path: str | PathLike[str], content: bytes) -> None:
    """Write a file under a temporary name beside ``path``, then rename it.

    A device or a pipe is written to directly: renaming would replace it. So is an open file of this
    process, such as ``/dev/stdout``: what it is redirected to keeps what is in it.

    Raises:
        OSError: the file cannot be written; it names ``path``, and an old file there is unchanged.
    """
    target = Path(path)
    with naming(target):
        if (descriptor := _descriptor(target)) is not None:
            sys.stdout.flush()  # what was printed before comes before
            with os.fdopen(os.dup(descriptor), "wb") as stream:
                stream.write(content)
            return
        if target.exists() and not target.is_file():
            target.write_bytes(content)
            return
        target = _place(target)
        temporary = _beside(target, "tmp")
        try:
            write_new(temporary, content)
            os.replace(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)
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
    target = _place(Path(path))
    with naming(path):
        temporary = _beside(target, "tmp")
        try:
            with _swapping:
                _check_replaceable(target, path, replaceable)
            temporary.mkdir()
            for name, text in files.items():
                write_new(temporary / name, text.encode())
            with _swapping:
                _check_replaceable(target, path, replaceable)
                _swap(temporary, target)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise


def write_new(path: Path, content: bytes) -> None:
    """Write a file that is not there yet, and sync it.

    Raises:
        OSError: the file cannot be written, or there is something, be it a link; it names ``path``.
    """
    with naming(path), path.open("xb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


def remove_leftovers(directory: Path) -> None:
    """Remove the temporary files of killed writers; nobody else may be writing there.

    Args:
        directory: it and all folders in it.

    Raises:
        OSError: one cannot be removed.
    """
    for path in directory.rglob(".*.tmp"):
        if LEFTOVER.fullmatch(path.name) and path.is_file():
            path.unlink()


@contextmanager
def naming(path: str | PathLike[str]) -> Iterator[None]:
    """An ``OSError`` within names this file, and no temporary one: that of a full disk has none."""
    try:
        yield
    except OSError as error:
        if error.errno is not None:  # else the message is all that it has, and would be lost
            error.filename = str(path)
            del error.filename2
        raise


def _descriptor(path: Path) -> int | None:
    """The open file of this process that the path is a name of; None: it is an ordinary path."""
    for _ in range(MOST_LINKS):
        if not path.is_symlink():
            break
        folder = os.path.realpath(path.parent)
        if folder == f"/proc/{os.getpid()}/fd":
            return int(path.name)
        path = Path(folder, os.readlink(path))
    return None


def _place(path: Path) -> Path:
    """The path, or what it is a link to."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def _beside(target: Path, suffix: str) -> Path:
    """A name in the same directory that is not in use and that nobody can foresee."""
    return target.with_name(f".{target.name[:NAME_LETTERS]}.{secrets.token_hex(8)}.{suffix}")


def _check_replaceable(
    target: Path, path: str | PathLike[str], replaceable: Collection[str]
) -> None:
    """Raise a DAGSchedError where the target is no directory, or holds other files too."""
    if not target.exists():
        return
    if not target.is_dir():
        raise DAGSchedError(f"{path} is not a directory: remove it, or choose another name")
    strangers = sorted(set(os.listdir(target)) - set(replaceable))
    if strangers:
        raise DAGSchedError(f"{path} holds {strangers[0]!r} too: choose another directory")


def _swap(fresh: Path, target: Path) -> None:
    """Rename a directory to ``target``, and remove what was there."""
    if not target.exists():
        os.rename(fresh, target)
        return
    old = _beside(target, "old")
    try:
        os.rename(target, old)
        os.rename(fresh, target)
    except BaseException:
        if target.exists():  # the old one, or that of another process, which has been faster
            shutil.rmtree(old, ignore_errors=True)
        else:
            os.rename(old, target)
        raise
    shutil.rmtree(old)

"""Where machine code of kernels is kept, so that it is compiled once.

Numba keeps it beside the kernels, or else in the user's home; where neither can be written, a
temporary directory serves. Whatever happens to the files, a kernel computes what its sources say,
see ``sources``: what cannot be read is compiled again, and what cannot be written is compiled by
every process.
"""

import contextlib
import itertools
import os
import secrets
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core.bytecode import FunctionIdentity
from numba.core.caching import FunctionCache, IndexDataCacheFile

from dagsched_env.kernels.sources import digest

CONFIG: Any = numba.config

# Numba numbers the functions that a process compiles from 1 on, and two inner functions of one
# name, such as those of np.sort and np.argsort, differ in machine code by this number alone. Where
# code of several processes comes together from disk, one would be called for the other and write
# where it should not. Here each process begins somewhere else.
FunctionIdentity._unique_ids = itertools.count(secrets.randbits(48))


class _Files(IndexDataCacheFile):
    """An index with the name of a file for each signature; several processes write them at once.

    Numba gives out the same name in two of them, and so one signature can get the machine code of
    another. Here no name comes twice, and a file is whole before the index names it. At worst an
    index loses an entry, which is compiled again.
    """

    def save(self, key: Any, data: Any) -> None:
        name = self._data_name(secrets.randbits(64))
        if os.path.exists(self._index_path) and not self._load_index():  # it is of other sources
            names = self._data_name_pattern.replace("{number:d}", "*")
            for old in Path(self._cache_path).glob(names):
                old.unlink(missing_ok=True)
        self._save_data(name, data)
        self._save_index({**self._load_index(), key: name})

    def _load_index(self) -> dict[Any, str]:
        with contextlib.suppress(Exception):  # a damaged file makes the reader raise anything
            return dict(super()._load_index())
        return {}


class _Cache(FunctionCache):
    """A cache of one kernel that never makes a call of it fail."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        # Numba's own stamp is that of the file of the kernel, and leaves out those that it calls.
        stamp = digest(Path(function.__code__.co_filename).resolve())
        self._cache_file = _Files(self.cache_path, self._impl.filename_base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        with contextlib.suppress(Exception):
            return super().load_overload(sig, target_context)
        return None  # it is compiled

    def save_overload(self, sig: Any, data: Any) -> None:
        with contextlib.suppress(OSError):  # a full disk, or a directory that is read-only by now
            super().save_overload(sig, data)


def keep(kernel: Any) -> None:
    """From now on the machine code of a kernel is kept on disk, wherever that is possible."""
    if not hasattr(kernel, "_cache"):
        return  # compilation is switched off
    with contextlib.suppress(OSError, RuntimeError):
        if not (CONFIG.CACHE_DIR or _has_home()):
            keep_in_temporary_directory()
        try:
            kernel._cache = _Cache(kernel.py_func)
        except RuntimeError:  # neither the folder of the kernel nor the home can be written
            keep_in_temporary_directory()
            kernel._cache = _Cache(kernel.py_func)


def keep_in_temporary_directory() -> None:
    """From now on, in this process and its children, machine code goes to a temporary directory.

    It is the same one in the user's next process, unless somebody else could write to it.

    Raises:
        OSError: there is no directory for temporary files.
    """
    path = Path(tempfile.gettempdir()) / f"aerl-ds-kernels-{os.getuid()}"
    path.mkdir(mode=0o700, exist_ok=True)
    if not _is_private(path):
        path = Path(tempfile.mkdtemp(prefix="aerl-ds-kernels-"))
    os.environ["NUMBA_CACHE_DIR"] = str(path)  # for child processes
    CONFIG.CACHE_DIR = str(path)


def _has_home() -> bool:
    """Whether the user has a home; without one numba would make a directory "~" in this one."""
    return os.path.expanduser("~") != "~" or "XDG_CACHE_HOME" in os.environ


def _is_private(path: Path) -> bool:
    """Whether nobody else can put machine code there."""
    status = path.lstat()
    return (
        stat.S_ISDIR(status.st_mode)
        and status.st_uid == os.getuid()
        and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    )

"""Where machine code is kept when neither the package nor the home can be written.

Numba keeps it beside the kernels, or else in the user's home, and raises where it can do neither.
Then a temporary directory serves.
"""

import os
import stat
import tempfile
from pathlib import Path

import numba

__all__ = ["keep_in_temporary_directory"]


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
    setattr(numba.config, "CACHE_DIR", str(path))  # noqa: B010 - numba declares no types of these


def _is_private(path: Path) -> bool:
    """Whether nobody else can put machine code there."""
    status = path.lstat()
    return (
        stat.S_ISDIR(status.st_mode)
        and status.st_uid == os.getuid()
        and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    )

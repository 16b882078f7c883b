"""Files that a command will write, checked before its work: suffix, folder, what is needed."""

import os
from collections.abc import Collection
from pathlib import Path

from dagsched_env import io
from dagsched_env.errors import DAGSchedError
from dagsched_env.render.canvas import SUFFIXES as PICTURES
from dagsched_env.render.canvas import require_matplotlib

__all__ = ["CHARTS", "JSON", "PAGES", "PICTURES", "TABLES", "check_instance_output", "check_output"]

PAGES = (".html", ".htm")
CHARTS = (*PICTURES, *PAGES)
JSON = (".json", "")
TABLES = (".csv", "")


def check_output(option: str, path: str | Path | None, suffixes: Collection[str]) -> None:
    """Refuse a file that could not be written after the work.

    Args:
        option: of the command line, for messages.
        path: of the file; None = the option is not given.
        suffixes: that it may have, in lower case; the empty one = none.

    Raises:
        DAGSchedError: another suffix, or a folder that is missing or cannot be written; the message
            names the file and the option.
        MissingExtraError: it is a picture, and matplotlib is not installed.
    """
    if path is None:
        return
    target = Path(path)
    _check_folder(option, target)
    if target.is_dir():
        raise DAGSchedError(f"{path} is a folder: name a file in it with {option}")
    suffix = target.suffix.lower()
    if suffix not in suffixes and not _is_device(target):
        allowed = ", ".join(filter(None, suffixes))
        raise DAGSchedError(f"{path}: the suffix is {suffix!r}: {option} writes {allowed}")
    if suffix in PICTURES:
        require_matplotlib()


def check_instance_output(option: str, path: str | Path, format: str | None = None) -> None:
    """Refuse a file into which no instance could be written after the work.

    Args:
        option: of the command line, for messages.
        path: of the file, or of the folder for CSV.
        format: as of ``io.save``.

    Raises:
        DAGSchedError: no format that can be written, or a folder that is missing or cannot be
            written.
    """
    io.check_target(path, format=format)
    _check_folder(option, Path(path))


def _check_folder(option: str, path: Path) -> None:
    if path.is_symlink() and not _is_device(path):
        path = Path(os.path.realpath(path))  # what the link names is written
    folder = path.parent
    if not folder.is_dir():
        raise DAGSchedError(
            f"{path}: there is no folder {folder}: make it, or name another with {option}"
        )
    if not os.access(path if _is_device(path) else folder, os.W_OK):
        raise DAGSchedError(
            f"{path}: the folder {folder} cannot be written: name another with {option}"
        )


def _is_device(path: Path) -> bool:
    """A device or a pipe: it is written as it is."""
    return path.exists() and not (path.is_file() or path.is_dir())

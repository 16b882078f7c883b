"""Files that a command will write, checked before its work: suffix, folder, what is needed.

``option`` is that of the command line, for messages, ``path`` the file that it names, None where
it is not given, and ``inputs`` what the command reads: files, folders, and names that are neither.
What must not be raises a DAGSchedError that names the file and the option.
"""

import os
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryFile

from dagsched_env import io
from dagsched_env.pictures.canvas import SUFFIXES as PICTURES
from dagsched_env.pictures.canvas import require_matplotlib
from dagsched_env.problem.errors import DAGSchedError

PAGES = (".html", ".htm")
CHARTS = (*PICTURES, *PAGES)
JSON = (".json", "")
TABLES = (".csv", "")


def check_output(
    option: str,
    path: str | Path | None,
    suffixes: Collection[str],
    inputs: Iterable[str | Path | None] = (),
) -> None:
    """Refuse a file that could not be written after the work, or that the command reads.

    Args:
        option: see above, as ``path`` and ``inputs``.
        path: of the file.
        suffixes: that it may have, in lower case; the empty one = none.
        inputs: of the command.

    Raises:
        MissingExtraError: it is a picture, and matplotlib is not installed.
    """
    if path is None:
        return
    _refuse_dash(option, path)
    target = Path(path)
    _check_folder(option, target)
    check_not_read(option, target, inputs)
    if target.is_dir():
        raise DAGSchedError(f"{path} is a folder: name a file in it with {option}")
    suffix = target.suffix.lower()
    if suffix not in suffixes and not _is_device(target):
        allowed = ", ".join(filter(None, suffixes))
        raise DAGSchedError(f"{path}: the suffix is {suffix!r}: {option} writes {allowed}")
    if suffix in PICTURES:
        require_matplotlib()


def output_places(
    option: str,
    path: Path | None,
    files: Sequence[str],
    suffixes: Sequence[str],
    inputs: Iterable[str | Path | None] = (),
) -> list[Path]:
    """Where an output of each file goes: of one file to ``path``, of several into this folder.

    Args:
        option: see above, as ``path`` and ``inputs``.
        path: of the file or folder, which is made and must not be called like a file.
        files: that the command reads.
        suffixes: as of ``check_output``; the first one is that of files in a folder.
        inputs: of the command.

    Returns:
        A path for each file, all different and checked; none if the option is not given.
    """
    if path is None:
        return []
    places = [path]
    if len(files) > 1:
        places = [path / f"{Path(file).stem}{suffixes[0]}" for file in files]
        written: dict[Path, str] = {}
        for file, place in zip(files, places, strict=True):
            if place in written:
                raise DAGSchedError(
                    f"{written[place]} and {file} would both be {place}: take one of them alone"
                )
            written[place] = file
        if path.is_file() or (path.suffix and not path.is_dir()):
            raise DAGSchedError(f"{path}: of several files {option} names a folder")
        _check_folder(option, path)
        path.mkdir(exist_ok=True)
    for place in places:
        check_output(option, place, suffixes, inputs)
    return places


def check_distinct(*outputs: tuple[str, str | Path | None]) -> None:
    """Refuse two outputs, pairs of option and path, that are one file."""
    found: dict[str, str] = {}
    for option, path in outputs:
        if path is None or _is_device(Path(path)):
            continue
        place = os.path.realpath(path)
        if place in found:
            raise DAGSchedError(
                f"{path} is an output of {found[place]} and of {option}: name two files"
            )
        found[place] = option


def check_not_read(option: str, path: Path, inputs: Iterable[str | Path | None]) -> None:
    """Refuse a file that the command reads, which would be lost, or that it would next time."""
    for place in inputs:
        if place is None:
            continue
        if path.is_file() and io.reads(place, path):
            raise DAGSchedError(f"{path} is read by this command: name another file with {option}")
        if io.would_read(place, path):
            raise DAGSchedError(
                f"{path}: the next call would take it for a problem in {place}: name a file "
                f"elsewhere with {option}"
            )


def check_instance_output(
    option: str,
    path: str | Path,
    format: str | None = None,
    inputs: Iterable[str | Path | None] = (),
) -> None:
    """Refuse a file, or a folder of CSV, into which ``io.save`` could write no instance."""
    _refuse_dash(option, path)
    io.check_target(path, format=format)
    check_not_read(option, Path(path), inputs)
    _check_folder(option, Path(path))


def _refuse_dash(option: str, path: str | Path) -> None:
    if str(path) == "-":
        raise DAGSchedError(f"{option} - would be a file of this name: write /dev/stdout or ./-")


def _check_folder(option: str, path: Path) -> None:
    if path.is_symlink() and not _is_device(path):
        path = Path(os.path.realpath(path))  # what the link names is written
    folder = path.parent
    if not folder.is_dir():
        raise DAGSchedError(
            f"{path}: there is no folder {folder}: make it, or name another with {option}"
        )
    if not (os.access(path, os.W_OK) if _is_device(path) else _takes_files(folder)):
        raise DAGSchedError(
            f"{path}: the folder {folder} cannot be written: name another with {option}"
        )


def _takes_files(folder: Path) -> bool:
    """Whether a file can be made in a folder; permissions alone do not tell, as of /proc."""
    try:
        with TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _is_device(path: Path) -> bool:
    """A device or a pipe: it is written as it is."""
    return path.exists() and not (path.is_file() or path.is_dir())

"""Files that a command will write, checked before its work: suffix, folder, what is needed."""

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
    """Refuse a file that could not be written after the work.

    Args:
        option: of the command line, for messages.
        path: of the file; None = the option is not given.
        suffixes: that it may have, in lower case; the empty one = none.
        inputs: what the command reads: files, folders, and names that are neither.

    Raises:
        DAGSchedError: another suffix, a file that the command reads, or a folder that is missing
            or cannot be written; the message names the file and the option.
        MissingExtraError: it is a picture, and matplotlib is not installed.
    """
    if path is None:
        return
    if str(path) == "-":
        raise DAGSchedError(f"{option} - would be a file of this name: write /dev/stdout or ./-")
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
        option: of the command line, for messages.
        path: None = the option is not given.
        files: that the command reads.
        suffixes: as of ``check_output``; the first one is that of files in a folder.
        inputs: as of ``check_output``.

    Returns:
        A path for each file, checked; none if the option is not given. The folder is made.

    Raises:
        DAGSchedError: as ``check_output``; or the folder is called like a file, or two files have
            one name.
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
    """Refuse two outputs that are one file: one would overwrite the other.

    Args:
        outputs: pairs of an option and a path that it names, None where it is not given.

    Raises:
        DAGSchedError: the message names the file and both options.
    """
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
    """Refuse a file that the command reads, which would be lost, or that its next call would read.

    Args:
        option: of the command line, for messages.
        path: that it would write.
        inputs: as of ``check_output``.

    Raises:
        DAGSchedError: the message names the file and the option.
    """
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
    """Refuse a file into which no instance could be written after the work.

    Args:
        option: of the command line, for messages.
        path: of the file, or of the folder for CSV.
        format: as of ``io.save``.
        inputs: as of ``check_output``.

    Raises:
        DAGSchedError: no format that can be written, a file that is read, or a folder that is
            missing or cannot be written.
    """
    io.check_target(path, format=format)
    check_not_read(option, Path(path), inputs)
    _check_folder(option, Path(path))


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

"""Files that appear whole or not at all."""

import os
from os import PathLike
from pathlib import Path

__all__ = ["write_text"]


def write_text(path: str | PathLike[str], text: str) -> None:
    """Write UTF-8 text under a temporary name beside ``path``, then rename it.

    A device or a pipe is written to directly: renaming would replace it.

    Raises:
        OSError: the file cannot be written; what was at ``path`` is untouched.
    """
    target = Path(path)
    if target.exists() and not target.is_file():
        target.write_text(text, encoding="utf-8")
        return
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename, error.filename2 = str(target), None
        raise

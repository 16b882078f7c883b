"""Instances from files and into files; the format is recognised by its content."""

import json
from os import PathLike
from pathlib import Path
from typing import Any

from dagsched_env.errors import DAGSchedError, FormatError
from dagsched_env.instance import Instance
from dagsched_env.io import own_json, wfformat
from dagsched_env.io.atomic import write_text
from dagsched_env.io.traces import BUNDLED, bundled
from dagsched_env.platforms import Platform, RandomPlatform

__all__ = ["BUNDLED", "Platform", "RandomPlatform", "bundled", "load", "save"]


def load(
    path: str | PathLike[str], *, platform: Platform | RandomPlatform | None = None
) -> Instance:
    """Read a problem from own JSON or from a WfFormat 1.5 or 1.6 trace.

    Args:
        path: the file, or the name of a bundled trace where no such file exists.
        platform: the processors to run a trace on; ``RandomPlatform()`` when None. Own JSON
            describes its processors itself, so it takes none.

    Raises:
        FormatError: the file is no such format; the message names the file and the place in it.
        InvalidInstanceError: it is, but its numbers are no valid problem (a cycle, for example).
        OSError: the file cannot be read.
    """
    named = str(path) in BUNDLED and not Path(path).exists()
    content = (bundled(str(path)) if named else Path(path)).read_bytes()
    try:
        return _parse(content, platform)
    except DAGSchedError as error:
        raise type(error)(f"{path}: {error}") from None


def save(instance: Instance, path: str | PathLike[str]) -> None:
    """Write own JSON; the file appears whole or not at all. ``load`` reads it back exactly."""
    write_text(path, own_json.dump(instance))


def _parse(content: bytes, platform: Platform | RandomPlatform | None) -> Instance:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(f"not UTF-8 text: {error}") from None
    record = _json(text)
    if own_json.recognises(record):
        if platform is not None:
            raise DAGSchedError("own JSON describes its processors itself: leave platform out")
        return own_json.parse(text)
    if wfformat.recognises(record):
        return (platform or RandomPlatform()).equip(wfformat.parse(record))
    raise FormatError(
        'unknown format: the top level needs "format": "dagsched-instance", or "workflow" of a '
        "WfFormat trace"
    )


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"not JSON: {error}") from None

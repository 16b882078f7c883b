"""A ``build.ninja`` with its statements in the order of a plan.

Of the commands that are ready, ninja starts the one with the most commands on its way to the end,
whatever they take; of equal ones that which stands first in the file. So the order of the
statements decides between all sources of one library, and nothing is built anew because of it.
"""

from collections.abc import Mapping
from pathlib import Path

from dagsched_env.io import ninja_manifest
from dagsched_env.io.ninja_manifest import LOGICAL, MANIFEST
from dagsched_env.io.source import decoded


def in_order(folder: Path, place: Mapping[str, float]) -> str:
    """The text of the manifest, in which statements that follow each other change their places.

    Args:
        folder: of the build.
        place: of a command in the order, by any of its outputs; the others come last.

    Raises:
        FormatError: as of ``ninja_manifest.parse``.
        OSError: a file cannot be read.
    """
    place_of = {}
    for command in ninja_manifest.parse(folder).commands:
        places = [place[output] for output in command.outputs if output in place]
        place_of[command.where] = min(places, default=float("inf"))
    text = decoded((folder / MANIFEST).read_bytes())
    blocks = _blocks(text if text.endswith("\n") else text + "\n")
    made: list[str] = []
    together: list[tuple[float, str]] = []
    for line, text in [*blocks, (0, "")]:
        at = place_of.get(f"{MANIFEST}: line {line}")
        if at is None:
            made += [block for _, block in sorted(together, key=lambda pair: pair[0])]
            together = []
            made.append(text)
        else:
            together.append((at, text))
    return "".join(made)


def _blocks(text: str) -> list[tuple[int, str]]:
    """Line, from 1, of each statement, and its text with the comments before and what is indented.

    The texts together are the file; ninja takes CR LF for LF.
    """
    blocks: list[tuple[int, str]] = []
    comments, line = "", 1
    for match in LOGICAL.finditer(text.replace("\r\n", "\n")):
        logical = match.group()
        content = logical.strip("\n")
        if not content.strip(" ") or content.lstrip(" ").startswith("#"):
            comments += logical
        elif content.startswith(" ") and blocks:
            first, before = blocks[-1]
            blocks[-1] = (first, before + comments + logical)
            comments = ""
        else:
            blocks.append((line, comments + logical))
            comments = ""
        line += logical.count("\n")
    return [*blocks, (0, comments)]

"""Numbers in text files: read strictly, with their place for messages; written exactly.

``word`` is the text of a number, ``where`` its place in the file, and ``most`` the largest one that
is read. What is no such number raises a FormatError.
"""

import math
import sys

from dagsched_env.problem.errors import FormatError

FINITE = sys.float_info.max

LARGEST = 1e100
"""Largest time or size of a workflow; a platform can still scale it without overflow."""

INFINITY = ("inf", "infinity")

MOST_PROCESSORS = 4096
"""Largest number of processors; a platform needs memory for every pair of them."""

MOST_MACHINES = 1024
"""The same for files that announce machines without listing a number for each of them."""


def lines(text: str) -> list[tuple[int, list[str]]]:
    """Number, from 1, and words of each line that is not empty; ``#`` starts a comment."""
    rows = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    split = ((i, row.partition("#")[0].split()) for i, row in enumerate(rows, start=1))
    return [(i, words) for i, words in split if words]


def whole(word: str, where: str, *, most: int = 10**15) -> int:
    """A whole number between 0 and ``most``."""
    if not (word.isascii() and word.isdigit()):
        raise FormatError(f"{where}: {_shown(word)} is not a whole number >= 0")
    if len(word) > 100 or int(word) > most:
        raise FormatError(f"{where}: {_shown(word)} is beyond {most}")
    return int(word)


def amount(word: str, where: str, *, most: float = LARGEST) -> float:
    """A time or size between 0 and ``most``."""
    value = cost(word, where)
    if value > most:
        raise FormatError(f"{where}: {_shown(word)} is not between 0 and {most:g}")
    return value


def cost(word: str, where: str) -> float:
    """A number ≥ 0, or ``inf`` for what is not allowed."""
    try:
        value = float(word) if word.isascii() and "_" not in word else math.nan
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise FormatError(f"{where}: {_shown(word)} is not a number")
    if value < 0 or (value == math.inf and word.strip("+ ").lower() not in INFINITY):
        raise FormatError(f"{where}: {_shown(word)} is not between 0 and {FINITE:g}")
    return value


def number_text(value: float) -> str:
    """Shortest text that is read back as exactly this number; no ``.0`` on whole ones."""
    return repr(float(value)).removesuffix(".0")


def check_processors(count: int, where: str, *, most: int = MOST_PROCESSORS) -> None:
    """Refuse a number of processors that is not between 1 and ``most``."""
    if not 1 <= count <= most:
        raise FormatError(f"{where}: {count} processors; between 1 and {most} are read")


def _shown(word: str) -> str:
    return repr(word if len(word) <= 40 else word[:40] + "…")

"""One table as CSV (RFC 4180): its lines, each with its place for messages."""

import csv
import io
import re
from collections.abc import Iterable
from pathlib import Path

from dagsched_env.io.source import decoded, named
from dagsched_env.problem.errors import FormatError

DECIMAL_COMMA = re.compile(r"\d,\d")
SEPARATORS = {";": "semicolons", "\t": "tabs"}
"""Those that are refused."""

Row = tuple[str, list[str]]
"""Place of a line, for messages, and its cells."""


def read_file(path: Path) -> list[Row]:
    """``read_table`` of a file, which messages name; raises OSError, too."""
    with named(path.name):
        text = decoded(path.read_bytes())
    return read_table(text, path.name)


def read_table(text: str, name: str = "") -> list[Row]:
    """Header and lines of a table, all of the same length; blank lines are left out.

    Args:
        text: of the table.
        name: what messages call it; empty where they name it anyway.

    Raises:
        FormatError: not CSV, not rectangular, or empty; the message names the line. Separated by
            semicolons or tabs; it says what to write.
    """
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)

    def place() -> str:
        return f"{name} line {reader.line_num}".lstrip()

    rows: list[Row] = []
    try:
        _check_separator(text, name)
        rows.extend((place(), cells) for cells in reader if cells)
    except csv.Error as error:
        raise FormatError(f"{place()}: {error}") from None
    if not rows:
        raise FormatError(f"{name or 'the table'} is empty: it needs a header")
    for where, cells in rows:
        if len(cells) != len(rows[0][1]):
            raise FormatError(f"{where} has {len(cells)} cells, the header {len(rows[0][1])}")
    return rows


def _check_separator(text: str, name: str) -> None:
    """Refuse tabs, and what a spreadsheet saves where numbers are written with commas."""
    header = next(filter(None, csv.reader(io.StringIO(text, newline=""))), [])
    found = next((mark for mark in SEPARATORS if len(header) == 1 and mark in header[0]), None)
    if found is not None:
        numbers = ", and write numbers with points, as in 1.5" if DECIMAL_COMMA.search(text) else ""
        raise FormatError(
            f"the cells of {name or 'the table'} seem to be separated by {SEPARATORS[found]}: "
            f"separate them by commas{numbers}"
        )


def positions(names: Iterable[tuple[str, str]]) -> dict[str, int]:
    """Position of each name; pairs of a line's place, for the FormatError, and a distinct name."""
    index: dict[str, int] = {}
    for where, name in names:
        if name in index:
            raise FormatError(f"{where} repeats the name {name!r}: each task has one line")
        index[name] = len(index)
    return index

"""One table as CSV (RFC 4180): its lines, each with its place for messages."""

import csv
import io
from collections.abc import Iterable
from pathlib import Path

from dagsched_env.errors import FormatError
from dagsched_env.io.source import decoded, named

__all__ = ["Row", "positions", "read_file", "read_table"]

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
        FormatError: not CSV, not rectangular, or empty; the message names the line.
    """
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)

    def place() -> str:
        return f"{name} line {reader.line_num}".lstrip()

    rows: list[Row] = []
    try:
        rows.extend((place(), cells) for cells in reader if cells)
    except csv.Error as error:
        raise FormatError(f"{place()}: {error}") from None
    if not rows:
        raise FormatError(f"{name or 'the table'} is empty: it needs a header")
    for where, cells in rows:
        if len(cells) != len(rows[0][1]):
            raise FormatError(f"{where} has {len(cells)} cells, the header {len(rows[0][1])}")
    return rows


def positions(names: Iterable[tuple[str, str]]) -> dict[str, int]:
    """Position of each name.

    Args:
        names: place of its line, for messages, and name, in order.

    Raises:
        FormatError: a name is repeated.
    """
    index: dict[str, int] = {}
    for where, name in names:
        if name in index:
            raise FormatError(f"{where} repeats the name {name!r}: each task has one line")
        index[name] = len(index)
    return index

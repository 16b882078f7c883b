"""HTML tables that a click on the head of a column sorts."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from dagsched_env.pictures.page import asset, plain


class Cell(NamedTuple):
    """A cell of a table."""

    html: str
    value: float | None = None
    """By what it is sorted, in place of its text."""
    best: bool = False
    """Whether it is marked as the best of its kind."""


def sortable_table(
    headings: Sequence[str],
    rows: Iterable[Iterable[Cell | str]],
    *,
    kind: str = "numbers",
    best: Iterable[int] = (),
) -> Iterator[str]:
    """The lines of a table; the page needs ``sorting()`` among its scripts.

    Args:
        headings: plain text of each column.
        rows: cells; a ``str`` is plain text. Numbers are sorted as numbers, other text by its
            letters; a dash or nothing comes last.
        kind: class of the table: ``numbers`` aligns all columns but the first to the right.
        best: positions of the rows that are marked.
    """
    marked = set(best)
    head = "".join(
        f'<th scope="col"><button type="button">{plain(text)}</button></th>' for text in headings
    )
    yield f'<div class="wide"><table class="sortable {kind}">\n<thead><tr>{head}</tr></thead>'
    yield "<tbody>"
    for i, row in enumerate(rows):
        yield ('<tr class="best">' if i in marked else "<tr>") + "".join(map(_cell, row)) + "</tr>"
    yield "</tbody></table></div>"


def sorting() -> str:
    """The script that makes the tables of a page sortable."""
    return asset("tables.js")


def _cell(cell: Cell | str) -> str:
    if isinstance(cell, str):
        return f"<td>{plain(cell)}</td>"
    value = "" if cell.value is None else f' data-value="{json.dumps(cell.value)}"'
    mark = ' class="best"' if cell.best else ""
    return f"<td{mark}{value}>{cell.html}</td>"

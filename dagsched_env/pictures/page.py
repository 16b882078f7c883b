"""Self-contained HTML pages, and tables that can be sorted; nothing is fetched."""

import json
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from importlib.resources import files
from typing import NamedTuple

from dagsched_env.pictures.labels import printable


def document(
    title: str, body: Iterable[str], *, styles: Sequence[str], scripts: Sequence[str] = ()
) -> str:
    """A page.

    Args:
        title: plain text.
        body: parts of HTML.
        styles: style sheets, as text.
        scripts: JavaScript, as text; they share one scope and run after the body is there.
    """
    parts = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{plain(title)}</title>",
        f"<style>\n{''.join(styles)}</style>\n</head>\n<body>",
        *body,
    ]
    if scripts:
        parts.append(f'<script>\n"use strict";\n{"".join(scripts)}</script>')
    return "\n".join([*parts, "</body>\n</html>\n"])


def plain(text: str) -> str:
    """Any text as HTML that shows it."""
    return escape(printable(text))


def embed(identifier: str, data: object) -> str:
    """An element with JSON data for scripts.

    Raises:
        ValueError: the data has a number that is not finite.
    """
    # Inside a script element only "<" can end the data too early.
    text = json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json" id="{identifier}">{text}</script>'


def asset(name: str) -> str:
    """A style sheet, script or part of a page that comes with the package."""
    return (files("dagsched_env") / "data" / name).read_text(encoding="utf-8")


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
    """The lines of a table that a click on a head sorts; the page needs the script ``sorting()``.

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

"""Self-contained HTML pages: style, scripts and data are inside, nothing is fetched."""

import json
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files

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

"""What a command prints: names and paths are any text, which a terminal may not be able to show."""

import io
import sys

__all__ = ["print_any_text"]


def print_any_text() -> None:
    """From now on characters that standard output cannot encode are printed as escapes.

    A path need not be UTF-8, and a command that has done its work must not fail in the last line.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")

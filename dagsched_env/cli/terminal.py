"""What a command prints: names and paths are any text, which a terminal may not be able to show."""

import io
import os
import sys


def print_any_text() -> None:
    """From now on characters that standard output cannot encode are printed as escapes.

    A path need not be UTF-8, and a command that has done its work must not fail in the last line.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def leave_unread() -> None:
    """Nobody reads standard output any more, as behind ``| head``: that is no error.

    What is still to be written, when Python ends, goes nowhere.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def line_of(error: Exception) -> str:
    """What an error says, in one line."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split())

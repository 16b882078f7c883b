"""The commit of code that has found something."""

import subprocess
from collections.abc import Sequence
from pathlib import Path


def last_change(sources: Path, code: Sequence[str]) -> str | None:
    """The last commit that changed the code, marked where more has changed since; None: no git.

    Args:
        sources: the checkout.
        code: files and folders in it.
    """
    try:
        head, changed = (
            subprocess.run(
                ["git", *command], cwd=sources, capture_output=True, text=True, check=True
            ).stdout.strip()
            for command in (
                ["log", "-1", "--format=%h", "--abbrev=12", "--", *code],
                ["diff", "--name-only", "HEAD", "--", *code],
            )
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return f"{head}-dirty" if changed else head or None

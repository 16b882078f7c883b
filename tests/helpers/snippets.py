"""Python blocks, shell commands and files in Markdown, run as a reader would type them."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

FENCE = re.compile(r'^```(\w*)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^(?:dagsched|aerl) .*$", re.MULTILINE)
OUTPUT, EXAMPLE = "Output", "Output, for example"


class Block(NamedTuple):
    """A fenced block."""

    language: str
    title: str
    """``Output``, ``Output, for example``, the name of a file, or nothing."""
    content: str

    @property
    def commands(self) -> list[list[str]]:
        """What a reader would run: the Python block itself, or the shell's lines of ours."""
        if self.title:
            return []
        if self.language == "python":
            return [[sys.executable, "-c", self.content]]
        whole = self.content.replace("\\\n", " ")
        lines = COMMAND.findall(whole) if self.language == "sh" else []
        return [shlex.split(line) for line in lines]


def blocks(text: str) -> Iterator[Block]:
    """All fenced blocks, in their order."""
    for language, title, content in FENCE.findall(text):
        yield Block(language, title, content)


def run(command: list[str], cwd: Path) -> str:
    """Standard output of a command that has to succeed."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout

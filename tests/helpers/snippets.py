"""Python blocks, shell commands and files in Markdown, run as a reader would type them."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import aerl_trainer.cli
import dagsched_env.cli

FENCE = re.compile(r'^```(\w*)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
FILE = re.compile(r"[\w-]+\.\w+")
OUTPUT, EXAMPLE = "Output", "Output, for example"
OURS = {"dagsched": dagsched_env.cli.main, "aerl": aerl_trainer.cli.main}
TOOLS = ("snakemake", "ninja")
PLUGINS = Path(__file__).parents[2] / "integrations" / "snakemake"
ELSEWHERE = re.compile(r"10\.0\.0\.1:|--ray auto")
"""In commands for the machines of a cluster that is not there."""
BRIEF = "--set validator.instances=5 run.evaluation_simulations=20 run.evaluation_budget_s=0.01"
LONG = re.compile(r"--minutes [1-9]\d*(?= |$)")
"""What takes minutes, and runs for seconds in a test."""


class Block(NamedTuple):
    """A fenced block."""

    language: str
    title: str
    """``Output``, ``Output, for example``, the name of a file, what it is for, or nothing."""
    content: str

    @property
    def is_file(self) -> bool:
        """A reader would write the content into the file that the title names."""
        return FILE.fullmatch(self.title) is not None

    @property
    def commands(self) -> list[list[str]]:
        """What a test runs: the Python block itself, or the shell's lines of ours."""
        if self.language == "python" and not self.is_file:
            return [[sys.executable, "-c", self.content]]
        return [
            shlex.split(LONG.sub(f"--minutes 0.02 {BRIEF}", line))
            for line in self._lines
            if _runs(line)
        ]

    @property
    def not_run(self) -> list[list[str]]:
        """The words of the shell's other lines."""
        return [shlex.split(line, comments=True) for line in self._lines if not _runs(line)]

    @property
    def _lines(self) -> list[str]:
        whole = self.content.replace("\\\n", " ") if self.language == "sh" else ""
        return [line for line in whole.splitlines() if line.strip()]


def _runs(line: str) -> bool:
    programs = tuple(f"{program} " for program in (*OURS, *TOOLS))
    return f"{line} ".startswith(programs) and not ELSEWHERE.search(line)


def blocks(text: str) -> Iterator[Block]:
    """All fenced blocks, in their order."""
    for language, title, content in FENCE.findall(text):
        yield Block(language, title, content)


def expanded(command: list[str], cwd: Path) -> list[str]:
    """With the files that the shell puts in the place of ``*``."""
    words = []
    for word in command:
        if "*" in word and command[0] in OURS:
            found = sorted(path.relative_to(cwd).as_posix() for path in cwd.glob(word))
            assert found, f"no file is like {word}"
            words += found
        else:
            words.append(word)
    return words


def run(command: list[str], cwd: Path) -> str:
    """What a command that has to succeed says: on stdout, or else on stderr."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        expanded(command, cwd),
        cwd=cwd,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(PLUGINS)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout or done.stderr


def run_here(command: list[str], cwd: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The same; Python and commands of ours run in this process, which is in ``cwd``.

    It has loaded packages and kernels. Not on Ray, whose processes would outlive the test.
    """
    if command[0] == sys.executable:
        _, _, code = command
        assert "gymnasium.make" not in code or "import dagsched_env" in code, "it registers them"
        exec(compile(code, "block", "exec"), {"__name__": "__main__"})
        return capsys.readouterr().out
    if command[0] not in OURS or "--ray" in command:
        return run(command, cwd)
    code = OURS[command[0]](expanded(command, cwd)[1:])
    captured = capsys.readouterr()
    assert code == 0, captured.err
    return captured.out

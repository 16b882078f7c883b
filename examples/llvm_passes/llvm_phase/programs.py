"""The programs: those of this example, or the ``.ll`` files of a folder."""

import lzma
from dataclasses import dataclass
from pathlib import Path

from dagsched_env.problem.errors import DAGSchedError

__all__ = ["OWN", "Program", "Split", "load", "split"]

OWN = Path(__file__).resolve().parent.parent / "programs"
"""26 small C programs written for this project, compiled to IR with typed pointers."""

HELD_OUT_EVERY = 3
ENDINGS = (".ll", ".ll.xz")


@dataclass(frozen=True)
class Program:
    """A module to be made small."""

    name: str
    ir: str


@dataclass(frozen=True)
class Split:
    """Which programs are learned from, and which only the evaluation sees."""

    train: tuple[Program, ...]
    test: tuple[Program, ...]


def load(folder: Path = OWN) -> list[Program]:
    """The programs of a folder, by name: files ``NAME.ll`` and ``NAME.ll.xz``.

    Raises:
        DAGSchedError: there are none, one cannot be read, or two have the same name.
    """
    files = sorted(path for path in folder.glob("*.ll*") if path.name.endswith(ENDINGS))
    if not files:
        raise DAGSchedError(f"{folder}: no files NAME.ll or NAME.ll.xz here")
    programs: dict[str, Program] = {}
    for path in files:
        name = path.name.partition(".ll")[0]
        if name in programs:
            raise DAGSchedError(f"{path}: there is another program of that name")
        programs[name] = Program(name, _read(path))
    return [programs[name] for name in sorted(programs)]


def split(programs: list[Program]) -> Split:
    """Every third program, by name, is held out.

    Raises:
        DAGSchedError: there are fewer than three.
    """
    if len(programs) < HELD_OUT_EVERY:
        raise DAGSchedError(f"{len(programs)} programs: give at least {HELD_OUT_EVERY}")
    test = tuple(programs[HELD_OUT_EVERY - 1 :: HELD_OUT_EVERY])
    return Split(tuple(p for p in programs if p not in test), test)


def _read(path: Path) -> str:
    try:
        content = path.read_bytes()
        if path.suffix == ".xz":
            content = lzma.decompress(content)
        return content.decode()
    except (OSError, lzma.LZMAError, UnicodeDecodeError) as error:
        raise DAGSchedError(f"{path}: {error}") from None

"""The sources that machine code is made of: the file of a kernel, and what it imports of this
project.

A kernel holds the code of the kernels that it calls, and the values of constants. So all files of
kernels are followed that can be reached by imports, and from each of them one step on to files
without kernels, where constants come from.
"""

import hashlib
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""Of both packages."""
KERNEL = re.compile(r"^@(kernel|borrowing|embedded|inlined|summing)|^def kernel", re.MULTILINE)
"""Marks a file of kernels, or that of their decorators."""
IMPORT = re.compile(
    r"^from ((?:dagsched_env|aerl_trainer)[\w.]*) import (\([^)]*\)|.*)", re.MULTILINE
)


@cache
def digest(file: Path) -> str:
    """The same as long as nothing changes that the machine code of a file of kernels depends on.

    Raises:
        OSError: a file cannot be read.
    """
    found, waiting = {file}, [file]
    while waiting:
        fresh = _imports(waiting.pop()) - found
        found |= fresh
        waiting += fresh
    contents = hashlib.sha256()
    for each in sorted(found):
        contents.update(_text(each).encode())
    return contents.hexdigest()


@cache
def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8")


@cache
def _imports(file: Path) -> frozenset[Path]:
    """What a file of kernels imports: modules, and modules of a package; of other files nothing."""
    if not KERNEL.search(_text(file)):
        return frozenset()
    found = set()
    for module, names in IMPORT.findall(_text(file)):
        place = ROOT / module.replace(".", "/")
        if place.is_dir():
            parts = [f"{name}.py" for name in re.findall(r"\w+", names)]
            found |= {place / name for name in ("__init__.py", *parts)}
        else:
            found.add(place.with_suffix(".py"))
    return frozenset(each for each in found if each.is_file())

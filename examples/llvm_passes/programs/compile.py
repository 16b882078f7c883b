"""Compile the C programs of this folder to textual IR: ``python programs/compile.py``.

It needs clang-14, the last release whose IR has typed pointers, which every later LLVM reads too.
``-Oz -Xclang -disable-llvm-passes`` writes what clang would give to the passes of −Oz.
"""

import lzma
import subprocess
from pathlib import Path

COMMAND = ("clang-14", "-Wall", "-Wextra", "-Werror", "-Oz", "-Xclang", "-disable-llvm-passes")


def main() -> None:
    for source in sorted(Path(__file__).resolve().parent.glob("*.c")):
        command = [*COMMAND, "-S", "-emit-llvm", "-o", "-", source.name]
        done = subprocess.run(command, cwd=source.parent, stdout=subprocess.PIPE, check=True)
        ir = [
            line
            for line in done.stdout.splitlines(keepends=True)
            if not line.startswith((b"!llvm.ident", b"target triple"))
        ]
        source.with_suffix(".ll.xz").write_bytes(lzma.compress(b"".join(ir), preset=9))


if __name__ == "__main__":
    main()

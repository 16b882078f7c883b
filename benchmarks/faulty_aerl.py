"""``aerl`` in which one call goes wrong, for ``faults.py``.

    python benchmarks/faulty_aerl.py MODULE:NAME NUMBER HOW ARGUMENT …

The call with this NUMBER, from 1, of a function or method kills the process (HOW = kill), raises
that the disk is full (full), or, for a clock, returns another time from then on (jump).
"""

import errno
import importlib
import itertools
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

JUMP_S = 86400.0


def broken(call: Callable[..., Any], number: int, how: str) -> Callable[..., Any]:
    """The same function, but for one call."""
    calls = itertools.count(1)

    def breaking(*arguments: Any, **options: Any) -> Any:
        this = next(calls)
        if how == "jump":
            return call(*arguments, **options) - (JUMP_S if this >= number else 0.0)
        if this == number and how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if this == number:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return call(*arguments, **options)

    return breaking


def main() -> int:
    place, number, how, *arguments = sys.argv[1:]
    module, _, path = place.partition(":")
    owner = importlib.import_module(module)
    *parents, name = path.split(".")
    for parent in parents:
        owner = getattr(owner, parent)
    setattr(owner, name, broken(getattr(owner, name), int(number), how))
    sys.argv[1:] = arguments
    from aerl_trainer.__main__ import main as aerl

    return aerl()


if __name__ == "__main__":
    sys.exit(main())

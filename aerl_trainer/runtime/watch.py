"""Ends children that stand still, which their successors can then replace."""

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from aerl_trainer.runtime.children import Child

LOOK_EVERY_S = 1.0
MOST_LOOKS = 10
"""A child that is stopped (SIGSTOP) at so many looks in a row is killed: it may hold a lock that
all others wait for. Looks count, not time: after Ctrl-Z and ``fg`` nobody has stood still."""


class Watch:
    """A thread that looks after children, as their parent may wait for a lock of theirs itself.

    Args:
        children: those that live now.
    """

    def __init__(self, children: Callable[[], Sequence[Child]]) -> None:
        self._children = children
        self._looks = Counter[int]()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(LOOK_EVERY_S):
            for child in self._children():
                self._look(child)

    def _look(self, child: Child) -> None:
        pid = child.process.pid or 0
        if not _is_stopped(pid):
            self._looks.pop(pid, None)
            return
        self._looks[pid] += 1
        if self._looks[pid] >= MOST_LOOKS:
            child.process.kill()


def _is_stopped(pid: int) -> bool:
    """Whether a process has been stopped by a signal; see proc(5), field 3."""
    try:
        record = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return record.rpartition(")")[2].split()[0] == "T"

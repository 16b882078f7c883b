"""Process groups: a job, and all that it has started."""

import contextlib
import os

GRACE_S = 2.0
"""A job that is to end has so long to do so by itself."""


def signal_group(pid: int, number: int) -> None:
    """Send a signal to a process group; to its first process alone where it is none yet.

    Args:
        pid: of the first process.
        number: of the signal.
    """
    try:
        os.killpg(pid, number)
    except ProcessLookupError:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)

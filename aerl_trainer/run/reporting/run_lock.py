"""One process at a time has a run: a lock that the kernel frees however its holder ends."""

import contextlib
import errno
import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

from dagsched_env.problem.errors import DAGSchedError


@contextlib.contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold a lock until the block ends; a lock file of a holder that was killed is free.

    Args:
        path: the lock file: it says who holds the lock, and is removed at the end.

    Raises:
        DAGSchedError: another holder has it; the message names its process, its machine and the
            time since when. Or the file cannot be made, or is a link, which is not followed.
    """
    try:
        descriptor = _lock(path)
    except OSError as error:
        what = "is a link: remove it" if error.errno == errno.ELOOP else error.strerror
        raise DAGSchedError(f"{path}: {what}") from None
    try:
        _sign(descriptor, path)
        yield
    finally:
        path.unlink(missing_ok=True)  # before the lock is free: a later holder's file stays
        os.close(descriptor)


def _lock(path: Path) -> int:
    """Descriptor of the locked file, which child processes do not inherit."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(path, descriptor):
                return descriptor
        except BlockingIOError:
            holder = _holder(path)
            os.close(descriptor)
            raise DAGSchedError(
                f"{path.parent} is in use by {holder}: wait until it has ended, or choose another "
                "directory"
            ) from None
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # the holder before has removed the file in the meantime


def _is_at(path: Path, descriptor: int) -> bool:
    """Whether the open file still has its name."""
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _sign(descriptor: int, path: Path) -> None:
    """Write who holds the lock."""
    since = time.strftime("%Y-%m-%d %H:%M:%S %z")
    record = {"pid": os.getpid(), "host": socket.gethostname(), "since": since}
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(record).encode(), 0)
    except OSError as error:
        raise DAGSchedError(f"{path}: {error.strerror}") from None


def _holder(path: Path) -> str:
    """What the lock file says; it says nothing for a moment after it was locked."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        return f"process {record['pid']} on {record['host']} since {record['since']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"

"""Child processes with a pipe to the parent; the only file that starts any."""

import contextlib
import multiprocessing
import os
import signal
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnContext
from multiprocessing.process import BaseProcess
from typing import Any

from dagsched_env.problem.errors import DAGSchedError

JOIN_S = 2.0
"""How long a child may take to leave when asked; nothing is lost when it is killed."""
THREAD_LIMITS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
SIGNALS_OF_THE_PARENT = {signal.SIGINT, signal.SIGHUP}
"""Ctrl-C and the end of the terminal reach all processes, but only one decides what follows."""


@dataclass
class Child:
    """A process and the parent's end of the pipe to it; None on the pipe asks it to leave."""

    process: BaseProcess
    connection: "Connection[Any, Any]"


def start_child(
    context: SpawnContext, target: Callable[..., None], name: str, *arguments: Any
) -> Child:
    """Start ``target(*arguments, pipe)`` as a process.

    Args:
        context: that spawns.
        target: body of the process; ``pipe`` leads to the parent.
        name: of the process.
        arguments: picklable.

    Raises:
        DAGSchedError: this process is daemonic, and Python lets such a one start none.
    """
    if multiprocessing.current_process().daemon:
        raise DAGSchedError(
            "a daemonic process may not start others: call this in one with daemon=False, or with "
            "one actor"
        )
    here, there = context.Pipe()
    process = context.Process(target=target, args=(*arguments, there), name=name, daemon=True)
    with _single_threaded(), _signals_blocked():
        process.start()
    there.close()
    return Child(process, here)


def cause_of_death(child: Child) -> str:
    """How a child ended, in words."""
    child.process.join()
    code = int(child.process.exitcode or 0)
    if code < 0:
        why = ", as the kernel does where memory is used up" if code == -signal.SIGKILL else ""
        return f"was killed by {signal.Signals(-code).name}{why}"
    return f"ended with exit code {code}"


def dismiss(children: Sequence[Child]) -> None:
    """Ask children to leave, all at once; kill those that are still there ``JOIN_S`` later."""
    for child in children:
        with contextlib.suppress(OSError):
            child.connection.send(None)
    deadline = time.monotonic() + JOIN_S
    for child in children:
        child.process.join(max(0.0, deadline - time.monotonic()))
    kill(children)
    for child in children:
        child.connection.close()


def kill(children: Sequence[Child]) -> None:
    """End children at once, whatever they are doing; returns when they are dead."""
    for child in children:
        child.process.kill()
    for child in children:
        child.process.join()


@contextlib.contextmanager
def _single_threaded() -> Iterator[None]:
    """Children inherit one thread per numeric library: they are the parallelism themselves."""
    before = {name: os.environ.get(name) for name in THREAD_LIMITS}
    os.environ.update(dict.fromkeys(THREAD_LIMITS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextlib.contextmanager
def _signals_blocked() -> Iterator[None]:
    """Children inherit the mask, from before their first line on."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS_OF_THE_PARENT)
    try:
        with warnings.catch_warnings():
            # Nothing of ours needs tracking, so nothing leaks where the tracker has been killed.
            warnings.filterwarnings("ignore", "resource_tracker: process died")
            resource_tracker.ensure_running()
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS_OF_THE_PARENT)  # that has unblocked some
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

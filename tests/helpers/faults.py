"""Deaths at moments of one's choice, and what must be true after them."""

import contextlib
import fcntl
import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from aerl_trainer.config import Config
from aerl_trainer.runtime.pool import Finished
from aerl_trainer.tree.tree import BATCHES_KEPT, SIMS_DONE, TERMINAL_PATHS, WRITER
from helpers.pools import OpenPool
from helpers.small_runs import eventually, is_running
from helpers.tree_invariants import check_tree

PATIENCE_S = 10.0
"""For stopping a process inside a section of microseconds; a few tries suffice."""


def kill(pid: int) -> None:
    """End a process at once and wait until it is dead."""
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: not is_running(pid), f"the end of process {pid}", 20.0)


def freeze_when(pid: int, condition: Callable[[], bool], patience_s: float = PATIENCE_S) -> bool:
    """Stop a process while ``condition()`` holds; False if it never did for long enough."""
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        if not condition():
            continue
        os.kill(pid, signal.SIGSTOP)
        while _state(pid) not in "TZ":  # a few microseconds, all of which count
            assert time.monotonic() < deadline, f"process {pid} does not stand still"
        if condition():
            return True
        os.kill(pid, signal.SIGCONT)
    return False


def is_free(path: Path) -> bool:
    """Whether nobody holds the lock on a file; asked through a descriptor of its own."""
    descriptor = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def is_writing(pool: OpenPool, actor: int) -> bool:
    """Whether an actor is changing a tree, which it does under the tree's lock."""
    trees = [pool.tree(slot) for slot in range(len(pool.slots))]
    return any(tree.counter(WRITER) == actor + 1 for tree in trees)


def check_finished(finished: Finished, config: Config) -> None:
    """A tree as a search should leave it, and a report that fits."""
    t, report = finished.tree.arrays, finished.report
    instance = finished.job.instance
    check_tree(t)
    assert report.job_id == finished.job.id
    assert report.outcome == "complete"
    assert report.simulations == t.counters[SIMS_DONE] >= config.search.budget
    assert report.terminal_paths == t.counters[TERMINAL_PATHS] >= config.search.min_trajectories
    assert sum(report.simulations_by_actor) == report.simulations
    if len(report.interleaving) < BATCHES_KEPT:
        shares = Counter[int]()
        for actor, count in report.interleaving:
            shares[actor] += count
        assert [shares[actor] for actor in range(len(t.journal_count))] == list(
            report.simulations_by_actor
        )
    best = finished.tree.incumbent(instance.n_tasks, algorithm="pool")
    best.validate(instance)
    assert best.makespan == report.best_makespan


def locks_of(pid: int) -> list[Path]:
    """The shared blocks of a process; each is its own lock."""
    found = []
    for path in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed in the meantime
            if os.readlink(path).startswith("/memfd:aerl-ds-"):
                found.append(path)
    return found


def children_of(pid: int) -> list[int]:
    """Live children of a process."""
    processes = [entry for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [
        int(e.name)
        for e in processes
        if _fields(e)[1:2] == [str(pid)] and _state(int(e.name)) != "Z"
    ]


def nap(rng: np.random.Generator, longest_s: float) -> None:
    """Sleep for a random time, as likely of any order of magnitude down to microseconds."""
    time.sleep(longest_s * 10.0 ** -rng.uniform(0.0, 4.0))


def _state(pid: int) -> str:
    fields = _fields(Path(f"/proc/{pid}"))
    return fields[0] if fields else "Z"


def _fields(entry: Path) -> list[str]:
    """What follows the name in a process's ``stat``; empty if it is gone."""
    try:
        return (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []

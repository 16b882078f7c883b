"""The lock of a run: one holder, named to all others, and free again however it ends."""

import fcntl
import os
import re
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from aerl_trainer.run.reporting import RunDirectory
from aerl_trainer.run.reporting.run_lock import held
from dagsched_env.problem.errors import DAGSchedError

HOLDER = """
import sys
from aerl_trainer.run.reporting import RunDirectory

with RunDirectory(sys.argv[1]).hold():
    print("held", flush=True)
    sys.stdin.read()
"""


def test_the_holder_is_named_and_a_killed_one_is_free(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path / "run")
    command = [sys.executable, "-c", HOLDER, str(directory.path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        message = (
            f"{directory.path} is in use by process {holder.pid} on {socket.gethostname()} "
            r"since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4}: wait until it has ended"
        )
        with pytest.raises(DAGSchedError, match=message), directory.hold():
            pass
        holder.kill()
    assert (directory.path / "run.lock").exists(), "it had no time to remove it"
    with directory.hold():
        assert str(os.getpid()) in (directory.path / "run.lock").read_text()
    assert list(directory.path.iterdir()) == []


def test_of_many_that_begin_together_one_gets_it(tmp_path: Path) -> None:
    """A lock is that of an open file: threads compete as processes do."""
    count = 8
    barrier, done = threading.Barrier(count), threading.Event()
    winners, refused = [], []

    def begin() -> None:
        barrier.wait()
        try:
            with RunDirectory(tmp_path / "runs" / "one").hold():
                winners.append(1)
                done.wait()
        except DAGSchedError as error:
            refused.append(str(error))
            if len(refused) == count - 1:
                done.set()

    threads = [threading.Thread(target=begin) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(winners) == 1
    assert all(re.search(r"in use by (process \d+ on|another process)", text) for text in refused)
    assert not any(path.is_file() for path in tmp_path.rglob("*")), "nothing was written"


def test_a_file_that_the_holder_before_removes_locks_nobody_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is removed between the opening and the lock: who comes then makes another file."""
    path, flock, calls = tmp_path / "run.lock", fcntl.flock, []

    def late(descriptor: int, operation: int) -> None:
        calls.append(descriptor)
        if len(calls) == 1:
            path.unlink()
        flock(descriptor, operation)

    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "flock", late)
        with held(path):
            assert len(calls) == 2
            patch.undo()
            with pytest.raises(DAGSchedError, match="in use by process"), held(path):
                pass
    assert not path.exists()


def test_a_block_inside_of_another_changes_nothing(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path)
    with directory.hold():
        with directory.hold():
            pass
        assert (tmp_path / "run.lock").exists()
        with pytest.raises(DAGSchedError, match="in use"), RunDirectory(tmp_path).hold():
            pass
    assert tmp_path.exists(), "it was there before"
    assert not (tmp_path / "run.lock").exists()


def test_a_full_disk_is_reported_with_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> int:
        raise OSError(28, "No space left on device")

    path = tmp_path / "run.lock"
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", refuse)
        with pytest.raises(DAGSchedError, match=rf"^{path}: No space left on device"), held(path):
            pass
    with held(path):
        pass
    assert not path.exists()


@pytest.mark.parametrize("names", ["a file", "nothing"])
def test_a_link_is_refused_and_not_followed(tmp_path: Path, names: str) -> None:
    target, path = tmp_path / "target", tmp_path / "run.lock"
    if names == "a file":
        target.write_text("kept")
    path.symlink_to(target)
    with pytest.raises(DAGSchedError, match=rf"^{path}: is a link: remove it$"), held(path):
        pass
    assert path.is_symlink()
    assert target.exists() == (names == "a file")
    assert not target.exists() or target.read_text() == "kept"


def test_a_file_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "run.lock").mkdir()
    with (
        pytest.raises(DAGSchedError, match=r"run\.lock: Is a directory"),
        held(tmp_path / "run.lock"),
    ):
        pass

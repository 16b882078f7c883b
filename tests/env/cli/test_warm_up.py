"""Steps of warming up: all run here, in order, and those at the end in other processes as well."""

import os
from functools import partial
from pathlib import Path

import pytest

from dagsched_env.cli import compilation


def sign(directory: Path, name: str) -> None:
    """Leave a file that says in which process and after how many others a step ran."""
    path = directory / f"{name}-{os.getpid()}"
    path.write_text(str(sum(1 for _ in directory.glob(f"*-{os.getpid()}"))))


@pytest.mark.parametrize("cores", [1, 3])
def test_each_step_runs_here_in_order(
    cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)))
    compilation.call_all([partial(sign, tmp_path, name) for name in "abc"])
    here = {path for path in tmp_path.iterdir() if path.name.endswith(f"-{os.getpid()}")}
    assert {path.name[0]: path.read_text() for path in here} == {"a": "0", "b": "1", "c": "2"}
    elsewhere = {path.name[0] for path in set(tmp_path.iterdir()) - here}
    assert elsewhere <= (set("bc") if cores > 1 else set())


def test_the_last_step_runs_in_another_process_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    wait = partial(_wait_for, tmp_path)
    compilation.call_all([wait, partial(sign, tmp_path, "last")])
    assert len(list(tmp_path.glob("last-*"))) == 2


def _wait_for(directory: Path) -> None:
    """Wait until the other process has signed; without it this takes until the test times out."""
    while not any(directory.glob("last-*")):
        os.sched_yield()


@pytest.mark.parametrize("cores", [1, 2])
def test_what_fails_is_raised_here(cores: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)))
    with pytest.raises(ZeroDivisionError):
        compilation.call_all([os.getpid, partial(divmod, 1, 0)])

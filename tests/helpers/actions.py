"""Functions that jobs of the tests call; they are at the top level, so that processes find them."""

import os
import signal
import time
from pathlib import Path


def one() -> int:
    return 1


def total(*numbers: int) -> int:
    return sum(numbers)


def fails(*_: object) -> None:
    raise ValueError("no such column")


def dies(*_: object) -> None:
    os._exit(7)


def sleeps(seconds: float, *_: object) -> None:
    time.sleep(seconds)


def fails_at_first(path: str) -> str:
    file = Path(path)
    if not file.exists():
        file.write_text("tried")
        raise RuntimeError("try again")
    return file.read_text()


def noted(path: str) -> int:
    """1; the file gets a letter for each call."""
    with Path(path).open("a") as file:
        file.write("x")
    return 1


def kills_its_process_at_first(path: str, *numbers: int) -> int:
    file = Path(path)
    if not file.exists():
        file.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return sum(numbers)


def made_of_lambda(*_: object) -> object:
    return lambda: 0

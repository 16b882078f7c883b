"""Functions that jobs and processes of the tests call: processes find them at the top level.

They import next to nothing: a process would wait for it.
"""

import os
import signal
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any


def one() -> int:
    return 1


def total(*numbers: int) -> int:
    return sum(numbers)


def fails(*_: object) -> None:
    raise ValueError("no such column")


def dies(*_: object) -> None:
    os._exit(7)


def sizes(*values: Any) -> tuple[int, ...]:
    return tuple(len(value) for value in values if isinstance(value, bytes))


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


def writes_its_pid(path: str) -> None:
    Path(path).write_text(str(os.getpid()))


class UnreadableError(Exception):
    """It can be pickled, and not read back."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)


def unreadable(*_: object) -> UnreadableError:
    return UnreadableError(3, "no")


class OfMachineNine:
    """A dispatcher that starts the first task where there may be no machine."""

    def __init__(self, instance: object) -> None:
        pass

    def starts(self, situation: object) -> list[tuple[int, int]]:
        return [(0, 9)]


class Unsizable:
    def __sizeof__(self) -> int:
        raise OSError("the size is not known")


def unsizable(*_: object) -> Unsizable:
    return Unsizable()


def made_of_lambda(*_: object) -> object:
    return lambda: 0


def waits_for_a_word(line: "Connection[Any, Any]") -> None:
    line.recv()


def runs(code: str, _: "Connection[Any, Any]") -> None:
    exec(code)


def counts(handle: Any) -> None:
    """Adds 1 to the count in shared memory."""
    from aerl_trainer.memory.shared_memory import SharedBlock

    SharedBlock.attach(handle).arrays["count"][0] += 1

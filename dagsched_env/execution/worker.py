"""What runs in another process: functions, one after another. It imports nothing of this package.

A function and its arguments arrive on a pipe; what it returned, or why not, goes back with the
times of its start and end. Ctrl-C goes to the process that waits for it.
"""

import os
import signal
import time
import traceback
from multiprocessing.connection import Connection
from typing import Any


def serve(pipe: Connection) -> None:
    """Call what arrives until the other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.setpgrp()  # so that it can be ended with all that its functions have started
    while True:
        start, result, error = time.monotonic(), None, None
        try:
            function, arguments = pipe.recv()
            start = time.monotonic()
            result = function(*arguments)
        except EOFError:
            return
        except BaseException as problem:  # whatever it is, the job has failed, not the worker
            error = traceback.format_exception_only(problem)[-1].strip()
        finish = time.monotonic()
        _answer(pipe, start, finish, result, error)


def _answer(pipe: Connection, start: float, finish: float, result: Any, error: str | None) -> None:
    try:
        pipe.send((start, finish, result, error))
    except Exception as problem:
        told = f"its result cannot be sent to another process: {problem}"
        pipe.send((start, finish, None, told))

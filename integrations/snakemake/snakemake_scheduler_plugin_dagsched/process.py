"""The process that has the dispatcher, as the scheduler sees it: questions and answers."""

import atexit
import contextlib
import json
import queue
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import IO, Any


class Process:
    """Answers one question at a time; a thread talks to it, so that nobody waits for a pipe.

    Args:
        script: reads a question from each line of stdin, and writes a line as the answer.
    """

    def __init__(self, script: Path) -> None:
        self.error: str | None = None
        """Why there are no more answers."""
        self._questions: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._waits = False
        self._child: subprocess.Popen[str] | None = None
        threading.Thread(target=self._talk, args=(script,), daemon=True).start()
        atexit.register(self._stop)

    def is_idle(self) -> bool:
        """Whether it can be asked; an answer that came too late is thrown away."""
        if self._waits and not self._answers.empty():
            self._answers.get()
            self._waits = False
        return self.error is None and not self._waits

    def ask(self, question: dict[str, Any], wait_s: float) -> dict[str, Any] | None:
        """The answer; None where there is none in time, or ever."""
        self._questions.put(question)
        self._waits = True
        try:
            answer = self._answers.get(timeout=wait_s)
        except queue.Empty:
            return None
        self._waits = False
        return answer

    def _stop(self) -> None:
        if self._child is not None and self._child.poll() is None:
            self._child.kill()

    def _talk(self, script: Path) -> None:
        try:
            with tempfile.TemporaryFile("w+") as errors:
                self._exchange(script, errors)
        except Exception as error:
            self.error = f"{type(error).__name__}: {error}"
        self._answers.put(None)

    def _exchange(self, script: Path, errors: IO[str]) -> None:
        """Until an answer is an error, or the process has ended."""
        with subprocess.Popen(
            [sys.executable, "-P", str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,  # Ctrl-C is for Snakemake
        ) as child:
            self._child = child
            assert child.stdin is not None
            assert child.stdout is not None
            while self.error is None:
                question = self._questions.get()
                with contextlib.suppress(BrokenPipeError):
                    print(json.dumps(question), file=child.stdin, flush=True)
                line = child.stdout.readline()
                if not line:
                    break
                answer = json.loads(line)
                self.error = answer.get("error")
                if self.error is None:
                    self._answers.put(answer)
            with contextlib.suppress(BrokenPipeError):
                child.stdin.close()
        if self.error is None:
            errors.seek(0)
            text = errors.read().splitlines() or [f"its process ended: code {child.returncode}"]
            self.error = text[-1]

"""LLVM as a function of a module and a pass, with a memory: nothing is run twice.

The work is done in worker processes. A worker that dies, hangs or makes a module too large is
replaced, and only the pass that it ran is lost: it counts as a failure of that pass on that module.
"""

import contextlib
import hashlib
import os
import selectors
import signal
import subprocess
import sys
import time
import weakref
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dagsched_env.problem.errors import DAGSchedError
from llvm_phase.autophase import INSTRUCTIONS
from llvm_phase.backends import canonical
from llvm_phase.worker import read_frame, write_frame

__all__ = ["Compiler", "CompilerError", "Counters", "PassError", "State"]

LARGEST_BYTES = 2_000_000
"""Of textual IR; passes that unroll loops can make a module grow without end."""

SMALLEST = "define void @f() {\n  ret void\n}\n"


class CompilerError(DAGSchedError):
    """No LLVM, no such pass, or a text that is not IR; the message says which."""


class PassError(Exception):
    """A pass has killed LLVM, has not ended, or has made the module too large."""


@dataclass(frozen=True, eq=False)
class State:
    """A module at some moment."""

    key: str
    """Digest of its text: equal modules have equal keys."""
    packed: bytes = field(repr=False)
    features: npt.NDArray[np.int64] = field(repr=False)
    """``[56]`` Autophase, not to be written to."""

    @property
    def size(self) -> int:
        """Instructions."""
        return int(self.features[INSTRUCTIONS])

    @property
    def ir(self) -> str:
        """Textual IR."""
        return zlib.decompress(self.packed).decode(errors="surrogateescape")


@dataclass
class Counters:
    """What has been asked of a compiler."""

    steps: int = 0
    """Passes that were asked for."""
    runs: int = 0
    """Passes that LLVM has run; the others were known."""
    failures: int = 0
    """Of the runs, those that ended in a ``PassError``."""
    cpu_s: float = 0.0
    """Processor time of the runs, in seconds; that of failures is not known."""


class Compiler:
    """Runs passes in worker processes and remembers what they did.

    It is a context manager, and to be used by one thread.

    Args:
        backend: a key of ``backends.BACKENDS``, or ``"auto"`` for the first that is installed.
        workers: processes, ≥ 1; they share the jobs of ``apply_many``.
        seconds: that a pass may take, > 0.
        memory: results that are kept, ≥ 1; the oldest is forgotten first.

    Raises:
        CompilerError: the backend is not installed, or an argument is out of its range.
    """

    def __init__(
        self,
        backend: str = "auto",
        *,
        workers: int = 1,
        seconds: float = 20.0,
        memory: int = 200_000,
    ) -> None:
        if workers < 1 or not seconds > 0 or memory < 1:
            raise CompilerError(
                f"workers={workers}, seconds={seconds}, memory={memory}: all must be positive"
            )
        self.counters = Counters()
        self._seconds, self._memory = seconds, memory
        self._known: dict[tuple[str, str], State | None] = {}
        self._states: weakref.WeakValueDictionary[str, State] = weakref.WeakValueDictionary()
        self._workers = [_Worker(backend)]
        self.backend = self._workers[0].backend
        self._workers += [_Worker(self.backend) for _ in range(workers - 1)]

    def __enter__(self) -> "Compiler":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __deepcopy__(self, memo: dict[int, Any]) -> "Compiler":
        """Itself: processes are shared, as when ``gymnasium.make`` copies its arguments."""
        return self

    def close(self) -> None:
        """End the workers."""
        for worker in self._workers:
            worker.stop()

    def load(self, ir: str, name: str = "the program") -> State:
        """The state of a text, as LLVM prints it.

        Raises:
            CompilerError: it is not IR; names the program.
        """
        text = canonical(ir).encode(errors="surrogateescape")
        # Not a state of LLVM yet: the key says so, since the text may be the same.
        raw = State("", zlib.compress(text, 1), np.zeros(0, dtype=np.int64))
        self._known.pop(("", ""), None)
        try:
            return self.apply(raw, "")
        except PassError:
            raise CompilerError(f"{name}: LLVM cannot read it, or it is too large") from None
        except CompilerError as error:
            raise CompilerError(f"{name}: {error}") from None

    def supported(self, passes: Sequence[str]) -> tuple[str, ...]:
        """Those of the passes that this LLVM knows: tried on a module of one instruction."""
        state = self.load(SMALLEST)
        known = []
        for name in passes:
            try:
                self.apply_many([(state, name)])
            except CompilerError:
                continue
            known.append(name)
        return tuple(known)

    def apply(self, state: State, passes: str) -> State:
        """The state after a pass, or after a pipeline such as ``default<Oz>``.

        Raises:
            PassError: the pass is lost.
            CompilerError: the pass is unknown.
        """
        (after,) = self.apply_many([(state, passes)])
        if after is None:
            raise PassError(f"{passes} on {state.key}")
        return after

    def apply_many(self, jobs: Sequence[tuple[State, str]]) -> list[State | None]:
        """``apply`` for several jobs at once; None where the pass is lost.

        Raises:
            CompilerError: a pass is unknown.
        """
        self.counters.steps += len(jobs)
        new = {(s.key, p): (s, p) for s, p in jobs if (s.key, p) not in self._known}
        self._run(new.values())
        results = [self._known[state.key, passes] for state, passes in jobs]
        while len(self._known) > self._memory:
            del self._known[next(iter(self._known))]
        return results

    def _run(self, jobs: Iterable[tuple[State, str]]) -> None:
        """Have each job done by the next worker that is free; what comes back is known."""
        waiting, idle = list(jobs)[::-1], [*self._workers]
        errors: list[CompilerError] = []
        with selectors.DefaultSelector() as selector:
            while waiting or selector.get_map():
                while waiting and idle:
                    worker, job = idle.pop(), waiting.pop()
                    worker.ask(job, self._seconds)
                    selector.register(worker.answers, selectors.EVENT_READ, worker)
                first = min(key.data.deadline for key in selector.get_map().values())
                now = time.monotonic()
                ready = {key.data for key, _ in selector.select(max(0.0, first - now))}
                for worker in [key.data for key in selector.get_map().values()]:
                    # Late is who has not answered after its time: this process may be slow, too.
                    late = worker not in ready and worker.deadline <= now
                    if worker in ready or late:
                        selector.unregister(worker.answers)
                        answer = None if late else worker.receive()
                        if late:
                            worker.restart()
                        idle.append(worker)
                        if answer is not None and "error" in answer:
                            what = f"pass {worker.job[1]!r}: " if worker.job[1] else ""
                            errors.append(CompilerError(what + answer["error"]))
                        else:
                            self._learn(worker.job, answer)
        if errors:  # not before all answers are in
            raise errors[0]

    def _learn(self, job: tuple[State, str], answer: dict[str, Any] | None) -> None:
        state, passes = job
        self.counters.runs += 1
        after: State | None = state
        if answer is None:
            after = None
        else:
            self.counters.cpu_s += answer["cpu_s"]
        if answer is not None and answer["ir"] is not None:
            text = answer["ir"].encode(errors="surrogateescape")
            after = self._state(text, answer["features"]) if len(text) <= LARGEST_BYTES else None
        self.counters.failures += after is None
        self._known[state.key, passes] = after

    def _state(self, text: bytes, features: list[int]) -> State:
        key = hashlib.blake2b(text, digest_size=16).hexdigest()
        state = self._states.get(key)
        if state is None:
            counts = np.array(features, dtype=np.int64)
            counts.setflags(write=False)
            state = State(key, zlib.compress(text, 1), counts)
            self._states[key] = state
        return state


class _Worker:
    """A worker process: one job at a time."""

    def __init__(self, backend: str) -> None:
        self.backend = backend
        self.deadline = 0.0
        self.job: tuple[State, str]
        self._start()

    def _start(self) -> None:
        package = Path(__file__).resolve().parent
        paths = [str(package.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "llvm_phase.worker", self.backend],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            start_new_session=True,  # Ctrl-C is for the parent, which ends its workers
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests, self.answers = self._process.stdin, self._process.stdout
        hello = read_frame(self.answers)
        if hello is None or "error" in hello:
            self.stop()
            reason = hello["error"] if hello else "its process ends at once"
            raise CompilerError(f"backend {self.backend!r} cannot be used: {reason}")
        self.backend = hello["backend"]

    def ask(self, job: tuple[State, str], seconds: float) -> None:
        """Send a job."""
        self.job, self.deadline = job, time.monotonic() + seconds
        state, passes = job
        with contextlib.suppress(BrokenPipeError):  # it is dead: seen when the answer is read
            write_frame(self._requests, {"ir": state.ir, "passes": passes})

    def receive(self) -> dict[str, Any] | None:
        """The answer; None where the worker has died over it, and has been replaced."""
        answer = read_frame(self.answers)
        if answer is None:
            self.restart()
        return answer

    def restart(self) -> None:
        """Another process in its place."""
        self.stop()
        self._start()

    def stop(self) -> None:
        """End the process, and those that it has started."""
        if self._process.returncode is None:  # else the number may be that of another process
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        for stream in (self._requests, self.answers):
            with contextlib.suppress(BrokenPipeError):
                stream.close()

"""A scheduler of Snakemake that starts ready jobs in the order of a plan for all that are left.

The plan is made by another process, ``planning.py``: it needs seconds to load, and nothing that
happens there may delay or end a run. Until it has answered, the criterion of Snakemake's greedy
scheduler decides among jobs of equal priority.
"""

import atexit
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Optional

from snakemake_interface_common.io import AnnotatedStringInterface
from snakemake_interface_scheduler_plugins.base import SchedulerBase
from snakemake_interface_scheduler_plugins.interfaces.jobs import JobSchedulerInterface
from snakemake_interface_scheduler_plugins.settings import SchedulerSettingsBase

Resources = Mapping[str, int | str]
Sizes = Mapping[AnnotatedStringInterface, int | None]

UNLIMITED = sys.maxsize // 2
"""From so much on a resource is not limited."""
MOST_PLANNED = 2000
"""Jobs of which a plan is searched for; more are ordered by what depends on them."""
MOST_AWAITED = 10_000
"""Jobs for whose first order the first decision waits; of more, the first ones matter little."""
FIRST_WAIT_S = 10.0
"""How long the first decision waits for an order, at most; it takes a second or two."""
LOADING_S = 2.0
"""What a search needs before it begins, and more."""
SHARE = 0.05
"""Of the longest chain of jobs, that the first decision waits for a plan, at most."""
PAUSE_S = 5.0
"""Between two plans, at least; and twenty times as long as a plan took."""
TOLERANCE = 0.1
"""Share of the planned time by which jobs may end early or late, in sum, before a new plan."""


@dataclass
class SchedulerSettings(SchedulerSettingsBase):
    # Snakemake makes an option of it, and does not understand ``Path | None``.
    history: Optional[Path] = field(  # noqa: UP045
        default=None,
        metadata={
            "help": "The file with measured durations of jobs, which is made and added to. By "
            "default that of the command dagsched, below ~/.local/share.",
        },
    )
    time_limit: float = field(
        default=0.5,
        metadata={"help": "Seconds to search for a plan, at most, each time that one is made."},
    )

    def __post_init__(self) -> None:
        if not 0 < self.time_limit <= 60:
            raise ValueError("the time limit of a plan is above 0 and at most 60 seconds")


class Planner:
    """The process that plans; one plan at a time."""

    def __init__(self, request: dict[str, Any], jobs: Sequence[object]) -> None:
        self.jobs = jobs
        self.began = time.monotonic()
        self.took = 0.0
        self.seconds: list[float] = []
        """Expected durations of the jobs; empty until they are known."""
        self.keys: list[float] = []
        """Of two jobs that are ready, the one with the smaller key starts first."""
        self.length = 0.0
        """Planned time for all jobs (seconds)."""
        self.error: str | None = None
        self.ordered, self.ended = threading.Event(), threading.Event()
        self._child: subprocess.Popen[str] | None = None
        threading.Thread(target=self._talk, args=(request,), daemon=True).start()
        atexit.register(self.stop)

    def stop(self) -> None:
        """End the process, if it is there still."""
        if self._child is not None and self._child.poll() is None:
            self._child.kill()

    def _talk(self, request: dict[str, Any]) -> None:
        try:
            with tempfile.TemporaryFile("w+") as errors:
                self._ask(request, errors)
        except Exception as error:
            self.error = f"{type(error).__name__}: {error}"
        self.took = time.monotonic() - self.began
        self.ended.set()
        self.ordered.set()
        atexit.unregister(self.stop)

    def _ask(self, request: dict[str, Any], errors: IO[str]) -> None:
        with subprocess.Popen(
            [sys.executable, "-P", str(Path(__file__).with_name("planning.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,  # Ctrl-C is for Snakemake
        ) as child:
            self._child = child
            assert child.stdin is not None
            assert child.stdout is not None
            with child.stdin as stream, contextlib.suppress(BrokenPipeError):
                json.dump(request, stream)
            for line in child.stdout:
                self._take(json.loads(line))
        if not self.keys and self.error is None:
            errors.seek(0)
            text = errors.read().splitlines() or [f"planning ended with code {child.returncode}"]
            self.error = text[-1]

    def _take(self, answer: dict[str, Any]) -> None:
        if "error" in answer:
            self.error = str(answer["error"])
            return
        self.seconds = answer.get("seconds", self.seconds)
        self.length = answer["length"]
        self.keys = answer["keys"]
        self.ordered.set()


class Scheduler(SchedulerBase):
    def __post_init__(self) -> None:
        self._settings = (
            self.settings if isinstance(self.settings, SchedulerSettings) else SchedulerSettings()
        )
        self._planner: Planner | None = None
        self._taken: list[float] | None = None
        """The keys of the plan that were taken over."""
        self._keys: dict[object, float] = {}
        self._expected: dict[object, float] = {}
        self._known: set[object] = set()
        """The jobs that the last plan has, or that had started before it."""
        self._left = -1
        """Number of jobs that are expected to remain."""
        self._running: dict[object, float] = {}
        """Each job that was started, and when."""
        self._seen: dict[str, list[float]] = {}
        """Each kind of job, and what those of it took in this run."""
        self._off = 0.0
        self._most: dict[str, int] = {}
        """The most of each resource that was ever free."""
        self._said = False
        self._changed = False

    def dag_updated(self) -> None:
        self._changed = True

    def select_jobs(
        self,
        selectable_jobs: Sequence[JobSchedulerInterface],
        remaining_jobs: Sequence[JobSchedulerInterface],
        available_resources: Resources,
        input_sizes: dict[AnnotatedStringInterface, int],
    ) -> Sequence[JobSchedulerInterface] | None:
        """The ready jobs that fit, those of higher priority first, then as planned.

        None where anything went wrong: then Snakemake's own greedy scheduler decides.
        """
        try:
            free = {k: v for k, v in available_resources.items() if isinstance(v, int)}
            for name, amount in free.items():
                self._most[name] = max(amount, self._most.get(name, 0))
            self._look_at_running(remaining_jobs)
            chosen = _fitting(selectable_jobs, free)
            if len(chosen) < len(selectable_jobs):  # there is a choice
                self._update_plan(remaining_jobs, free)
                chosen = _fitting(self._sorted(selectable_jobs, input_sizes), free)
            self._note_start(chosen, remaining_jobs)
            return chosen
        except Exception as error:
            self._say(f"{type(error).__name__}: {error}")
            return None

    def _sorted(
        self, jobs: Sequence[JobSchedulerInterface], sizes: Sizes
    ) -> list[JobSchedulerInterface]:
        """By priority, then by plan, then as the greedy scheduler does it.

        What was not there when the plan was made is behind a checkpoint, and comes first.
        """
        keys, first = self._keys, float("-inf")
        if all(len(_members(job)) == 1 for job in jobs):
            own = {job: keys.get(job, first) for job in jobs}
        else:
            own = {job: min(keys.get(member, first) for member in _members(job)) for job in jobs}
        return sorted(jobs, key=lambda job: (-job.priority, own[job], *_greedy_key(job, sizes)))

    def _look_at_running(self, remaining: Sequence[JobSchedulerInterface]) -> None:
        """What ended since then: measured, and compared with what was expected."""
        now = time.monotonic()
        for job in [job for job in self._running if self.dag.finished(job)]:
            seconds = now - self._running.pop(job)
            self._seen.setdefault(_kind(job), []).append(seconds)
            self._off += abs(seconds - self._expected.get(job, seconds))
        if len(remaining) != self._left:  # failed jobs are back, or there are new ones
            back = self._running.keys() & set(remaining)
            for job in back:
                del self._running[job]
            self._changed = self._changed or any(job not in self._known for job in remaining)
            self._left = len(remaining)

    def _note_start(
        self, chosen: Sequence[JobSchedulerInterface], remaining: Sequence[JobSchedulerInterface]
    ) -> None:
        now = time.monotonic()
        started = [member for job in chosen for member in _members(job)]
        self._running.update(dict.fromkeys(started, now))
        self._left = len(remaining) - len(started)

    def _update_plan(
        self, remaining: Sequence[JobSchedulerInterface], free: Mapping[str, int]
    ) -> None:
        first = self._planner is None
        if self._planner is None or self._is_due(self._planner):
            self._planner = Planner(self._request(remaining, first), self._jobs)
            self._taken, self._off, self._changed = None, 0.0, False
        if first:
            if len(remaining) <= MOST_AWAITED:
                self._planner.ordered.wait(FIRST_WAIT_S)
            longest = LOADING_S + 2 * self._settings.time_limit
            self._planner.ended.wait(min(longest, SHARE * self._planner.length))
        self._take_over(self._planner)

    def _is_due(self, planner: Planner) -> bool:
        if not planner.ended.is_set():
            return False
        old = time.monotonic() - planner.began > max(PAUSE_S, 20 * planner.took)
        return old and (self._changed or self._off > TOLERANCE * max(planner.length, PAUSE_S))

    def _take_over(self, planner: Planner) -> None:
        if planner.error is not None:
            self._say(planner.error)
        keys = planner.keys
        if keys and keys is not self._taken:
            self._taken = keys
            self._keys = dict(zip(planner.jobs, keys, strict=True))
            self._expected = dict(zip(planner.jobs, planner.seconds, strict=True))

    def _request(self, remaining: Sequence[JobSchedulerInterface], first: bool) -> dict[str, Any]:
        """What ``planning.py`` is asked: all jobs that have not ended."""
        now = time.monotonic()
        jobs: list[Any] = [*remaining, *self._running]
        index = {job: i for i, job in enumerate(jobs)}
        limits = {n: m for n, m in self._most.items() if n != "_job_count" and m < UNLIMITED}
        planned = limits if len(jobs) <= MOST_PLANNED else {}
        self._jobs = jobs
        self._known = set(jobs)
        return {
            "history": None if self._settings.history is None else str(self._settings.history),
            "folder": os.getcwd(),
            "first": first,
            "time_limit": self._settings.time_limit,
            "limits": planned,
            "seen": {kind: sum(seconds) / len(seconds) for kind, seconds in self._seen.items()},
            "kinds": [_kind(job) for job in jobs],
            "outputs": [list(map(str, job.output)) for job in jobs],
            "inputs": [list(map(str, job.input)) for job in jobs],
            "needs": [
                [index[before] for before in self.dag.job_dependencies(job) if before in index]
                for job in jobs
            ],
            "elapsed": [now - self._running.get(job, now) for job in jobs],
            "uses": [_uses(job, planned) for job in jobs] if planned else [],
        }

    def _say(self, text: str) -> None:
        """One line on stderr, once."""
        if not self._said:
            self._said = True
            line = " ".join(text.split())
            print(f"dagsched: the greedy choice of jobs is taken: {line}", file=sys.stderr)


def _fitting(
    jobs: Iterable[JobSchedulerInterface], free: Mapping[str, int]
) -> list[JobSchedulerInterface]:
    """The jobs that fit together with those before them."""
    left = dict(free)
    chosen = []
    for job in jobs:
        wanted = job.scheduler_resources
        uses = [(name, wanted[name]) for name in left if wanted.get(name)]
        if any(not isinstance(amount, int) or amount > left[name] for name, amount in uses):
            continue
        for name, amount in uses:
            left[name] -= amount
        chosen.append(job)
        if left.get("_cores", 1) <= 0 or left.get("_job_count", 1) <= 0:
            break
    return chosen


def _members(job: Any) -> tuple[Any, ...]:
    """The job itself, or those of a group; its attribute is no method, as the interface has it."""
    jobs = getattr(job, "jobs", None)
    if jobs is None:
        return (job,)
    return tuple(jobs() if callable(jobs) else jobs)


def _kind(job: Any) -> str:
    rule = getattr(job, "rule", None)
    return str(getattr(rule, "name", "job"))


def _uses(job: Any, limits: Mapping[str, int]) -> dict[str, int]:
    """What a job that is not ready will use, as far as it is known.

    Not ``scheduler_resources``: what is not known yet would never be asked for again.
    """
    try:
        wanted = dict(
            (job.resources if hasattr(job, "resources") else job.scheduler_resources).items()
        )
    except Exception:  # the function of a rule needs a file that is not there yet
        return {}
    return {n: a for n in limits if isinstance(a := wanted.get(n), int) and 0 < a < UNLIMITED}


def _greedy_key(job: Any, sizes: Sizes) -> tuple[int, int]:
    """Larger temporary files first, then larger files."""
    temporary = total = 0
    for file in job.input:
        size = sizes.get(file) or 0
        total -= size
        if size and file.is_flagged("temp"):
            temporary -= size
    return temporary, total

"""A scheduler of Snakemake that starts the ready jobs that a dispatcher of dagsched_env says.

The dispatcher is in another process (``dispatching.py``, to which ``process.py`` talks): it needs
seconds to load, and nothing that happens there may end a run. Where it does not answer, the
criterion of Snakemake's greedy scheduler decides among jobs of equal priority.
"""

import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

from snakemake_interface_common.io import AnnotatedStringInterface
from snakemake_interface_scheduler_plugins.base import SchedulerBase
from snakemake_interface_scheduler_plugins.interfaces.jobs import JobSchedulerInterface
from snakemake_interface_scheduler_plugins.settings import SchedulerSettingsBase

from snakemake_scheduler_plugin_dagsched.process import Process

Resources = Mapping[str, int | str]
Sizes = Mapping[AnnotatedStringInterface, int | None]

UNLIMITED = sys.maxsize // 2
"""From so much on a resource is not limited."""
MOST_ASKED = 2000
"""Jobs that are asked for their resources before they are ready; of more, each has one core."""
MOST_AWAITED = 10_000
"""Jobs of which the first decision waits for the dispatcher."""
FIRST_WAIT_S = 10.0
"""How long the first decision waits, at most; it takes a second or two."""
WAIT_S = 1.0
"""How long later ones wait, beside twice the time for a plan; they take milliseconds."""
PAUSE_S = 5.0
"""Before the jobs are told anew, at least; and twenty times as long as that took."""


@dataclass
class SchedulerSettings(SchedulerSettingsBase):
    # Snakemake makes options of them, and does not understand ``Path | None``.
    history: Optional[Path] = field(  # noqa: UP045
        default=None,
        metadata={
            "help": "The file with measured durations of jobs, which is made and added to. By "
            "default that of the command dagsched, below ~/.local/share.",
        },
    )
    dispatcher: Optional[str] = field(  # noqa: UP045
        default=None,
        metadata={
            "help": "Who decides among ready jobs: a name that dagsched simulate --dispatchers "
            "takes, such as fifo, heft or replan:solve. By default heft, and replan-late:solve "
            "where at most 2000 jobs are left, which will take a minute at least.",
        },
    )
    time_limit: float = field(
        default=0.1,
        metadata={"help": "Seconds to search for a plan, at most, each time that one is made."},
    )

    def __post_init__(self) -> None:
        if not 0 < self.time_limit <= 60:
            raise ValueError("the time limit of a plan is above 0 and at most 60 seconds")


class Scheduler(SchedulerBase):
    def __post_init__(self) -> None:
        self._settings = (
            self.settings if isinstance(self.settings, SchedulerSettings) else SchedulerSettings()
        )
        self._process: Process | None = None
        self._jobs: list[Any] = []
        """Those that the process knows."""
        self._index: dict[object, int] = {}
        self._limits: dict[str, int] = {}
        self._unknown: set[str] = set()
        """Kinds of jobs of whose duration it knows nothing."""
        self._told_at = self._told_s = 0.0
        """When it was told the jobs, and how long that took."""
        self._left = -1
        """Number of jobs that are expected to remain."""
        self._running: dict[object, float] = {}
        """Each job that was started, and when."""
        self._ended: list[object] = []
        """Jobs that have ended and of which the process was not told."""
        self._seen: dict[str, list[float]] = {}
        """Each kind of job, and what those of it took in this run."""
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
        """The ready jobs that fit, those of higher priority first, then as the dispatcher says.

        None where anything went wrong: then Snakemake's own greedy scheduler decides.
        """
        try:
            free = {k: v for k, v in available_resources.items() if isinstance(v, int)}
            for name, amount in free.items():
                self._most[name] = max(amount, self._most.get(name, 0))
            self._look_at_running(remaining_jobs)
            chosen = _fitting(selectable_jobs, free)
            if len(chosen) < len(selectable_jobs):  # there is a choice
                chosen = self._chosen(selectable_jobs, remaining_jobs, free, input_sizes)
                chosen = self._without_loss(chosen, selectable_jobs, free)
            self._note_start(chosen, remaining_jobs)
            return chosen
        except Exception as error:
            self._say(f"{type(error).__name__}: {error}")
            return None

    def _chosen(
        self,
        jobs: Sequence[JobSchedulerInterface],
        remaining: Sequence[JobSchedulerInterface],
        free: Mapping[str, int],
        sizes: Sizes,
    ) -> list[JobSchedulerInterface]:
        """Those of higher priority, then those that the dispatcher starts."""
        greedy = sorted(jobs, key=lambda job: (-job.priority, *_greedy_key(job, sizes)))
        lowest = greedy[-1].priority
        first = _fitting([job for job in greedy if job.priority > lowest], free)
        starts = self._starts(first, remaining)
        if starts is None:
            return _fitting(greedy, free)
        of = {member: job for job in jobs for member in _members(job)}
        wanted = [of[job] for job in starts if job in of]
        new = [job for job in greedy if all(m not in self._index for m in _members(job))]
        order = list(dict.fromkeys([*first, *new, *wanted]))
        chosen = _fitting(order, free)
        if len(chosen) < len(order) or not (chosen or self._running):
            # Needs became known that were not, or all would wait for ever.
            chosen = _fitting(dict.fromkeys([*order, *greedy]), free)
        return chosen

    def _without_loss(
        self,
        chosen: list[JobSchedulerInterface],
        jobs: Sequence[JobSchedulerInterface],
        free: Mapping[str, int],
    ) -> list[JobSchedulerInterface]:
        """No checkpoint begins while a failed job waits, which Snakemake forgets at its end."""
        waiting = [job for job in jobs if getattr(job, "attempt", 1) > 1 and job not in chosen]
        if not waiting or not any(map(_is_checkpoint, chosen)):
            return chosen
        others = [job for job in (*chosen, *jobs) if not _is_checkpoint(job)]
        again = _fitting(dict.fromkeys([*waiting, *others]), free)
        return again if again or self._running else chosen

    def _starts(
        self,
        first: Sequence[JobSchedulerInterface],
        remaining: Sequence[JobSchedulerInterface],
    ) -> list[Any] | None:
        """What the dispatcher starts beside ``first``; None where it does not answer."""
        now = time.monotonic()
        limits = {n: m for n, m in self._most.items() if n != "_job_count" and m < UNLIMITED}
        if not limits:
            return None
        begins = self._process is None
        if self._process is None:
            self._process = Process(Path(__file__).with_name("dispatching.py"))
        if not self._process.is_idle():
            return None
        request: dict[str, Any] = {"now": now}
        tells = limits != self._limits or self._is_due(now)
        if tells:
            request["jobs"] = self._told(remaining, limits, begins)
            self._limits = limits
        own = [member for job in first for member in _members(job)]
        request["running"] = [
            self._index[job] for job in (*self._running, *own) if job in self._index
        ]
        request["ended"] = [self._index[job] for job in self._ended if job in self._index]
        self._ended = []
        wait_s = WAIT_S + 2 * self._settings.time_limit
        if begins:
            wait_s = FIRST_WAIT_S if len(self._jobs) <= MOST_AWAITED else 0.0
        answer = self._process.ask(request, wait_s)
        if tells:
            self._told_s = time.monotonic() - now
        if self._process.error is not None:
            self._say(self._process.error)
        if answer is None:
            return None
        self._unknown = set(answer["unknown"])
        return [self._jobs[i] for i in answer["starts"]]

    def _is_due(self, now: float) -> bool:
        """Whether the process is to be told all jobs anew."""
        if now - self._told_at < max(PAUSE_S, 20 * self._told_s):
            return False
        return self._changed or bool(self._unknown & self._seen.keys())

    def _look_at_running(self, remaining: Sequence[JobSchedulerInterface]) -> None:
        """What ended since then."""
        now = time.monotonic()
        for job in [job for job in self._running if self.dag.finished(job)]:
            self._seen.setdefault(_kind(job), []).append(now - self._running.pop(job))
            self._ended.append(job)
        if len(remaining) != self._left:  # failed jobs are back, or there are new ones
            back = self._running.keys() & set(remaining)
            for job in back:
                del self._running[job]
            self._changed = self._changed or any(job not in self._index for job in remaining)
            self._left = len(remaining)

    def _note_start(
        self, chosen: Sequence[JobSchedulerInterface], remaining: Sequence[JobSchedulerInterface]
    ) -> None:
        now = time.monotonic()
        started = [member for job in chosen for member in _members(job)]
        self._running.update(dict.fromkeys(started, now))
        self._left = len(remaining) - len(started)

    def _told(
        self,
        remaining: Sequence[JobSchedulerInterface],
        limits: Mapping[str, int],
        first: bool,
    ) -> dict[str, Any]:
        """All jobs that have not ended, for ``dispatching.py``."""
        now = time.monotonic()
        self._jobs = jobs = [*remaining, *self._running]
        self._index = index = {job: i for i, job in enumerate(jobs)}
        self._told_at, self._ended, self._changed = now, [], False
        one = {"_cores": 1} if "_cores" in limits else {}
        return {
            "history": None if self._settings.history is None else str(self._settings.history),
            "folder": os.getcwd() if first else None,
            "dispatcher": self._settings.dispatcher,
            "time_limit": self._settings.time_limit,
            "limits": limits,
            "seen": {kind: sum(seconds) / len(seconds) for kind, seconds in self._seen.items()},
            "kinds": [_kind(job) for job in jobs],
            "outputs": [list(map(str, job.output)) for job in jobs],
            "inputs": [list(map(str, job.input)) for job in jobs],
            "needs": [
                [index[before] for before in self.dag.job_dependencies(job) if before in index]
                for job in jobs
            ],
            "elapsed": [now - self._running.get(job, now) for job in jobs],
            "uses": [_uses(job, limits) if len(jobs) <= MOST_ASKED else one for job in jobs],
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


def _is_checkpoint(job: Any) -> bool:
    return bool(getattr(job, "is_checkpoint", False))


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

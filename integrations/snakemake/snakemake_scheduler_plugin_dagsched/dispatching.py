"""The process that has the dispatcher: a question on each line of stdin, an answer on stdout.

A question says what runs and what has ended since the last one; the answer says what starts. The
first question, and any after the jobs have changed, has all jobs that are left. They are a problem
of one machine, which has what Snakemake limits: it is Snakemake that says where a job runs. Run by
the scheduler, as a script.
"""

import contextlib
import json
import os
import sys
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from dagsched_env.cli.dispatchers import choose_dispatchers, schedulers_of
from dagsched_env.cli.schedulers import choose
from dagsched_env.history import History
from dagsched_env.io import read_run
from dagsched_env.io.snakemake_records import task_name
from dagsched_env.online import Dispatcher, Situation, World
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance

TOOL = "snakemake"
PLANS, LIST = "replan-late:solve", "heft"
"""Who decides where the user names nobody: by plans, if they are worth it, or by a list."""
MOST_PLANNED = 2000
"""Jobs that are planned unless the user says so."""
LEAST_PLANNED_S = 60.0
"""Expected length of a run that is planned: the kernels of ``solve`` need seconds to load."""
LEAST_LEFT = 0.05
"""Share of its duration that a job is taken to need still when it takes longer than expected."""


def main() -> None:
    run: Run | None = None
    for line in sys.stdin:
        question = json.loads(line)
        try:
            if "jobs" in question:
                run = Run(question["jobs"], question["now"])
            assert run is not None
            starts = run.starts(question["now"], question["running"], question["ended"])
            say({"starts": starts, "unknown": run.unknown})
        except Exception as error:
            say({"error": f"{type(error).__name__}: {error}"})


def say(answer: dict[str, Any]) -> None:
    print(json.dumps(answer), flush=True)


class Run:
    """The jobs that are left, what is known of them, and the dispatcher.

    Args:
        told: all of them (``Scheduler._told``).
        now: the time (seconds of the scheduler's clock).
    """

    def __init__(self, told: dict[str, Any], now: float) -> None:
        self._began = now
        history = History(told["history"])
        if told["folder"] is not None:
            add_last_run(history, Path(told["folder"]))
        seconds, self.unknown = durations(told, history)
        instance = problem(told, seconds)
        name = told["dispatcher"]
        if name is None:
            known = len(self.unknown) < len(set(told["kinds"]))
            planned = known and len(seconds) <= MOST_PLANNED
            name = PLANS if planned and instance.lower_bound >= LEAST_PLANNED_S else LIST
        self._dispatcher = dispatcher(name, instance, told["time_limit"])
        # Snakemake says what is ready; that inputs are there is its business, too.
        self._situation = Situation(instance, fetches=True)
        self._situation.arrive(0, instance.n_tasks)

    def starts(self, now: float, running: list[int], ended: list[int]) -> list[int]:
        """What starts now.

        Args:
            now: the time (seconds of the scheduler's clock).
            running: jobs that run.
            ended: jobs that have ended with success since the last call.
        """
        situation = self._situation
        situation.now = now - self._began
        self._finish(ended)
        for job in situation.running.tolist():
            if job not in running:  # it failed, or was not started
                situation.stop(job)
        for job in running:
            if situation.is_ready(job):  # else it is one of a group
                situation.start(job, 0)
        started = []
        for job, machine in self._dispatcher.starts(situation):
            situation.start(job, machine)
            started.append(job)
        return started

    def _finish(self, jobs: list[int]) -> None:
        """Those of a group become ready only when others of it have ended."""
        left = list(jobs)
        while left:
            waiting = []
            for job in left:
                if self._situation.is_ready(job):
                    self._situation.start(job, 0)
                if self._situation.is_running(job):
                    self._situation.finish(job)
                else:
                    waiting.append(job)
            if len(waiting) == len(left):
                return
            left = waiting


def dispatcher(name: str, instance: Instance, time_limit: float) -> Dispatcher:
    """The one of a name, for these jobs."""
    schedulers = choose(schedulers_of([name]), time_limit, {})
    return choose_dispatchers([name], schedulers, time_limit)[name](World(instance))


def problem(told: dict[str, Any], seconds: list[float]) -> Instance:
    """The jobs on one machine."""
    limits = told["limits"]
    edges = [(before, job) for job, needs in enumerate(told["needs"]) for before in set(needs)]
    return Instance(
        np.array(seconds)[:, None],
        edges,
        np.zeros(len(edges)),
        demands=[[min(uses.get(n, 0), limits[n]) for n in limits] for uses in told["uses"]],
        capacities=[list(limits.values())],
        resource_names=list(limits),
    )


def add_last_run(history: History, folder: Path) -> None:
    """Remember what the run before measured; where there is none, or it is broken, go on."""
    if (folder / ".snakemake").is_dir():
        with contextlib.suppress(DAGSchedError, OSError):
            history.add(read_run(folder))


def durations(told: dict[str, Any], history: History) -> tuple[list[float], list[str]]:
    """What each job will take still (seconds), and the kinds of which nothing is known.

    Of a kind that was never measured, jobs of this run count; else the middle of all others.
    """
    estimates, seen = history.of(TOOL), told["seen"]
    found: list[float | None] = []
    for kind, outputs, inputs in zip(told["kinds"], told["outputs"], told["inputs"], strict=True):
        name = task_name(kind, tuple(outputs))
        estimate = estimates.estimate(kind, name, input_bytes(inputs))
        if estimate is None or estimate.basis == "tool":
            found.append(seen.get(kind))
        else:
            found.append(estimate.seconds)
    other = median([seconds for seconds in found if seconds is not None] or [1.0])
    whole = [other if seconds is None else seconds for seconds in found]
    left = [
        max(seconds - elapsed, LEAST_LEFT * seconds)
        for seconds, elapsed in zip(whole, told["elapsed"], strict=True)
    ]
    kinds = {kind for kind, s in zip(told["kinds"], found, strict=True) if s is None}
    return left, sorted(kinds)


def input_bytes(files: list[str]) -> float | None:
    """None where a file is not there yet."""
    total = 0
    for file in files:
        try:
            total += os.stat(file).st_size
        except OSError:
            return None
    return float(total)


if __name__ == "__main__":
    main()

"""Turns of solvers on the same problems: how they are taken, kept in a file, and summed up."""

import gc
import json
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

import numpy as np
from contestants import OURS, VARIANTS, Solver, contestants, get_ready

from dagsched_env import Instance
from dagsched_env.comparison.compare import ratios
from dagsched_env.io.atomic import write_text


class Turn(TypedDict):
    """What one contestant did on one problem: means over the seeds."""

    makespan: float
    seconds: float
    """Wall time."""
    cpu_seconds: float
    proved: bool
    """With each seed."""


class Meeting(TypedDict):
    """The turns of all contestants on one problem with one budget."""

    problem: str
    """Suite and name."""
    budget_s: float
    reference: float | None
    """The published makespan, if there is one."""
    turns: dict[str, Turn]


def take_turn(solve: Solver, instance: Instance, budget_s: float, seeds: int = 1) -> Turn:
    """One contestant's time with each seed, and its schedules after a check.

    Args:
        solve: the contestant.
        instance: of which it gets copies, because a problem keeps what has been computed from it.
        budget_s: its wall time with one seed (s).
        seeds: how many.
    """
    each = [_with_seed(solve, instance, budget_s, seed) for seed in range(seeds)]
    return Turn(
        makespan=float(np.mean([turn["makespan"] for turn in each])),
        seconds=float(np.mean([turn["seconds"] for turn in each])),
        cpu_seconds=float(np.mean([turn["cpu_seconds"] for turn in each])),
        proved=all(turn["proved"] for turn in each),
    )


def _with_seed(solve: Solver, instance: Instance, budget_s: float, seed: int) -> Turn:
    copy = instance.renamed()
    gc.collect()  # what an earlier contestant has left, too
    cpu, wall = time.process_time(), time.perf_counter()
    schedule, proved = solve(copy, budget_s, seed)
    seconds, cpu_seconds = time.perf_counter() - wall, time.process_time() - cpu
    schedule.validate(instance)
    return Turn(
        makespan=float(schedule.makespan),
        seconds=seconds,
        cpu_seconds=cpu_seconds,
        proved=bool(proved),
    )


def rotated(names: Sequence[str], start: int) -> list[str]:
    """The same names from another one on."""
    start %= len(names)
    return [*names[start:], *names[:start]]


class Pairing(NamedTuple):
    """A meeting to come."""

    number: int
    """Decides who begins."""
    problem: str
    instance: Instance
    reference: float | None
    budget_s: float


def meet(pairing: Pairing, seeds: int) -> Meeting:
    """All contestants' turns on a problem."""
    number, problem, instance, reference, budget_s = pairing
    solvers = ready_contestants()
    order = rotated(list(solvers), number)
    turns = {name: take_turn(solvers[name], instance, budget_s, seeds) for name in order}
    return Meeting(
        problem=problem,
        budget_s=budget_s,
        reference=reference,
        turns={name: turns[name] for name in solvers},
    )


@cache
def ready_contestants() -> dict[str, Solver]:
    """Those of this process."""
    solvers = contestants()
    get_ready(solvers)
    return solvers


class Record:
    """The finished meetings, in a file if there is one.

    Args:
        path: of the file; None keeps them in memory only.
        settings: of this run.

    Raises:
        ValueError: the file is of other settings.
    """

    def __init__(self, path: Path | None, settings: dict[str, Any]) -> None:
        self._path = path
        self._settings = settings
        self.meetings: list[Meeting] = []
        if path is not None and path.exists():
            content = json.loads(path.read_text())
            if content["settings"] != settings:
                raise ValueError(f"{path} holds a run of other settings: take another file")
            self.meetings = content["meetings"]

    def has(self, problem: str, budget_s: float) -> bool:
        """This meeting is finished."""
        return any((m["problem"], m["budget_s"]) == (problem, budget_s) for m in self.meetings)

    def keep(self, meeting: Meeting) -> None:
        """Add it."""
        self.meetings.append(meeting)
        if self._path is not None:
            content = {"settings": self._settings, "meetings": self.meetings}
            write_text(self._path, json.dumps(content))


def with_budget(meetings: Sequence[Meeting], budget_s: float) -> list[Meeting]:
    """Those of one budget."""
    return [meeting for meeting in meetings if meeting["budget_s"] == budget_s]


def makespans(meetings: Sequence[Meeting], name: str) -> list[float]:
    """Of a contestant."""
    return [meeting["turns"][name]["makespan"] for meeting in meetings]


def best_of_rivals(meeting: Meeting) -> float:
    """The shortest makespan of all but ``solve`` and its variants."""
    ours = (OURS, *VARIANTS)
    return min(turn["makespan"] for name, turn in meeting["turns"].items() if name not in ours)


def best_known(meetings: Sequence[Meeting]) -> dict[str, float]:
    """Problem → the shortest makespan of the reference and of all contestants and budgets."""
    known: dict[str, float] = {}
    for meeting in meetings:
        found = [turn["makespan"] for turn in meeting["turns"].values()]
        reference = [] if meeting["reference"] is None else [meeting["reference"]]
        before = [known[meeting["problem"]]] if meeting["problem"] in known else []
        known[meeting["problem"]] = min(found + reference + before)
    return known


def mean_to_known(meetings: Sequence[Meeting], known: dict[str, float], name: str) -> float:
    """Mean of a contestant's makespan / the best known one.

    Args:
        meetings: of one budget.
        known: problem → best known makespan.
        name: of the contestant.
    """
    of_problems = [known[meeting["problem"]] for meeting in meetings]
    return float(np.mean(ratios(makespans(meetings, name), of_problems)))


def overruns(meetings: Sequence[Meeting], name: str) -> list[float]:
    """Wall time / budget of a contestant."""
    return [meeting["turns"][name]["seconds"] / meeting["budget_s"] for meeting in meetings]

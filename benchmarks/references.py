"""Reference makespans of the suites: the best schedule known of each instance, and a bound.

Without ``--seconds`` this only reports what is known. With it every instance whose optimum is not
proved is searched for that long, and ``dagsched_env/data/reference_makespans.json`` is improved: a
makespan in it is replaced by shorter ones only, a bound by higher ones. It may be interrupted and
run again at any time; every run draws from other seeds.

    python benchmarks/references.py --seconds 6
    python benchmarks/references.py --seconds 60 --suite test --workers 2
"""

import argparse
import functools
import importlib.metadata
import importlib.util
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import dagsched_env
from dagsched_env import exact, suites
from dagsched_env.bounds import lower_bounds
from dagsched_env.instance import Instance
from dagsched_env.io.atomic import write_text
from dagsched_env.schedule import Schedule
from dagsched_env.schedulers import best_of_portfolio
from dagsched_env.schedulers.genetic import genetic
from dagsched_env.schedulers.simulated_annealing import annealing
from dagsched_env.suites.references import Reference, dump, parse

FILE = Path(dagsched_env.__file__).parent / "data" / "reference_makespans.json"
SUITES = ("paper", "heldout", "test", "jobshop", "structured", "workflows", "workflows_small")

EXACT_MAX_TASKS = 200
"""CP-SAT gets no time on larger instances: its model alone would take most of it."""
FIRST_EXACT_SHARE, ANNEALING_SHARE, GENETIC_SHARE, AERL_SHARE = 0.25, 0.4, 0.05, 0.1
"""Of the seconds of an instance; the second run of CP-SAT has what is left."""
SHORTER = 1.0 - 1e-9
"""A makespan replaces one that it is below by this factor."""


class Search:
    """Everything that there is, one after the other, on one instance.

    Args:
        instance: the problem.
        seconds: wall time for all of it.
        known: what was known before.
        workers: threads of CP-SAT.
    """

    def __init__(self, instance: Instance, seconds: float, known: Reference, workers: int) -> None:
        self.instance = instance
        self.seconds = seconds
        self.known = known
        self.workers = workers
        self.best = best_of_portfolio(instance)
        self.offer(self.best, f"{self.best.algorithm}")

    def run(self) -> Reference:
        """What is known now."""
        small = self.instance.n_tasks <= EXACT_MAX_TASKS
        if small:
            self.solve(FIRST_EXACT_SHARE * self.seconds)
        for search, share in searchers():
            if not self.known.optimal:
                # Where CP-SAT is left out, the others have its time.
                budget_s = round(self.seconds * share / (1.0 if small else total_share()), 3)
                seed = self.known.runs
                schedule = search(self.instance, budget_s=budget_s, seed=seed)
                how = f"{schedule.algorithm}(budget_s={budget_s:g}, seed={seed})"
                self.offer(schedule, how)
        if small and not self.known.optimal:
            self.solve((1.0 - FIRST_EXACT_SHARE - total_share()) * self.seconds)
        return replace(self.known, runs=self.known.runs + 1)

    def solve(self, seconds: float) -> None:
        """Improve the best schedule of this search, and the bound, by CP-SAT."""
        seconds = round(seconds, 3)
        result = exact.solve(
            self.instance, time_limit_s=seconds, workers=self.workers, hint=self.best
        )
        self.offer(result.schedule, f"exact.solve(time_limit_s={seconds:g})")
        bound = max(self.known.lower_bound, result.lower_bound)
        self.known = replace(self.known, lower_bound=min(bound, self.known.makespan))
        if self.known.makespan - bound <= result.tolerance:
            proof = f"proved by CP-SAT (OR-Tools {importlib.metadata.version('ortools')})"
            self.known = replace(self.known, optimal=True, how=f"{self.known.how}, {proof}")

    def offer(self, schedule: Schedule, how: str) -> None:
        """Take a schedule into account, after a check of all its constraints."""
        schedule.validate(self.instance)
        if schedule.makespan < self.best.makespan:
            self.best = schedule
        if schedule.makespan < self.known.makespan * SHORTER:
            self.known = replace(self.known, makespan=schedule.makespan, how=how)


@functools.cache
def searchers() -> list[tuple[Callable[..., Schedule], float]]:
    """The metaheuristics, and the search of ``aerl_trainer`` where that is installed; shares."""
    found: list[tuple[Callable[..., Schedule], float]] = [
        (annealing, ANNEALING_SHARE),
        (genetic, GENETIC_SHARE),
    ]
    if importlib.util.find_spec("torch") is not None:
        from aerl_trainer import solver

        def aerl(instance: Instance, *, budget_s: float, seed: int) -> Schedule:
            return solver.solve(instance, budget_s=budget_s, seed=seed).schedule

        found.append((aerl, AERL_SHARE))
    return found


def total_share() -> float:
    """Of all ``searchers``."""
    return sum(share for _, share in searchers())


def unknown(instance: Instance) -> Reference:
    """Nothing but the bounds."""
    return Reference(
        makespan=math.inf,
        lower_bound=lower_bounds(instance).best,
        optimal=False,
        how="nobody",
        fingerprint=instance.fingerprint,
        runs=0,
    )


def known_of(path: Path, suite: str) -> dict[str, Reference]:
    """The records of a suite that still fit their instances."""
    table = parse(path.read_text(encoding="utf-8")) if path.exists() else {}
    published = suites.published_fingerprints()[suite]
    records = table.get(suite, {})
    return {name: r for name, r in records.items() if r.fingerprint == published.get(name)}


def save(path: Path, suite: str, records: dict[str, Reference]) -> None:
    """Put the records of one suite into the file, suites and instances in their order."""
    table = parse(path.read_text(encoding="utf-8")) if path.exists() else {}
    table[suite] = {name: records[name] for name in suites.names(suite) if name in records}
    write_text(path, dump({name: table[name] for name in suites.SUITES if name in table}))


def improve(suite: str, path: Path, seconds: float, workers: int) -> Iterator[str]:
    """Search every instance of a suite that is still open; yields a line on each."""
    records = known_of(path, suite)
    for name in suites.names(suite):
        before = records.get(name)
        if before is not None and before.optimal:
            continue
        instance = suites.instance(suite, name)
        after = Search(instance, seconds, before or unknown(instance), workers).run()
        records[name] = after
        save(path, suite, records)
        gain = "" if before is None else f", was {before.makespan:.6g}"
        yield f"{name}: {after.makespan:.6g}{gain}, {gap(after)}, {after.how}"


def gap(known: Reference) -> str:
    """How much is open."""
    if known.optimal:
        return "optimal"
    return f"at most {(known.makespan - known.lower_bound) / known.makespan:.2%} above the optimum"


def report(path: Path) -> str:
    """One line for each suite."""
    lines = []
    for suite in SUITES:
        records = known_of(path, suite).values()
        proved = sum(known.optimal for known in records)
        gaps = [1.0 - known.lower_bound / known.makespan for known in records if known.makespan]
        lines.append(
            f"{suite}: {len(records)} of {len(suites.names(suite))} known, {proved} proved optimal,"
            f" mean gap {sum(gaps) / max(len(gaps), 1):.2%}"
        )
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description="Report or improve the reference makespans.")
    parser.add_argument("--seconds", type=float, help="search each open instance for so long")
    parser.add_argument("--suite", nargs="+", choices=SUITES, default=["test"])
    parser.add_argument("--workers", type=int, default=1, help="threads of CP-SAT")
    parser.add_argument("--file", type=Path, default=FILE, help="default: the one of the package")
    options = parser.parse_args(arguments)
    if options.seconds is not None:
        for suite in options.suite:
            for line in improve(suite, options.file, options.seconds, options.workers):
                print(line, flush=True)
    print(report(options.file))


if __name__ == "__main__":
    main()

"""Reference makespans of the suites: the best schedule known of each instance, and a bound.

    python benchmarks/references.py
    python benchmarks/references.py --seconds 17
    python benchmarks/references.py --seconds 60 --suite test --only '*-n100-*'
    python benchmarks/references.py --bounds
    python benchmarks/references.py --records docs/records

Without ``--seconds`` this only reports what is known. With it, every instance of n tasks whose
optimum is not proved is searched until it has had ``seconds * sqrt(n / 100)`` in all runs together,
on one core. First all solvers begin from nothing, each with its own seed. Then the best of them
begins once more, with more time. Then solvers go on from the best schedule so far. CP-SAT also
raises the bound. A makespan on record is replaced by shorter ones only, a bound by higher ones. A
record without a commit is searched again, until its makespan is found once more.

``--bounds`` only raises the bounds, where those that the package computes are higher; some of
them are proofs. It takes some seconds for each problem that is not proved. ``--records`` takes over
the makespans of such an archive that are shorter.

The file is written after each instance, so a run that was killed goes on where it was. More
``--seconds`` go on from there, too, with other seeds.
"""

import argparse
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

import torch
from commits import last_change

import aerl_trainer
import dagsched_env
from dagsched_env import exact, solver, suites
from dagsched_env.io.atomic import write_text
from dagsched_env.problem.destructive import destructive_bound
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.records import read_set
from dagsched_env.schedulers import annealing, best_of_portfolio, genetic, hill_climbing
from dagsched_env.solver.result import OPTIMALITY_TOLERANCE
from dagsched_env.suites.references import PROOF_TOLERANCE, Reference, dump, parse

ROOT = Path(dagsched_env.__file__).parent.parent
FILE = ROOT / "dagsched_env" / "data" / "reference_makespans.json"
SUITES = ("paper", "heldout", "test", "jobshop", "structured", "workflows", "workflows_small")
SUITES += ("resources",)

EXACT_MAX_PLACEMENTS = 3200
"""Tasks times processors: CP-SAT gets no time on larger instances, whose models take most of it."""
SHORTER = 1.0 - 1e-9
"""A makespan replaces one that it is below by this factor."""
COMPLETE = 0.99
"""Share of its seconds after which a search is not taken up again."""
BOUND_BY = "dagsched_env.problem.destructive"
BOUND_STEPS = 2**28
"""For a bound; some seconds."""
NEARLY = 0.99
"""Share of the makespan from which on a bound is worth the attempt of a proof."""
LEAST_S = 0.01
"""Of an attempt, even if the ones before it have taken more than their time."""


class Found(NamedTuple):
    """What an attempt returns."""

    schedule: Schedule
    lower_bound: float = 0.0
    tolerance: float = 0.0
    """The schedule is proved if it is above the bound by no more (time)."""


@dataclass(frozen=True)
class Attempt:
    """One solver with its options."""

    name: str
    """Of the function, for the record."""
    search: Callable[..., Found]
    share: float
    """Of the time of its part, in units of the sum of all."""
    options: dict[str, Any] = field(default_factory=dict)
    goes_on: bool = False
    """Begins with the best schedule so far."""

    def call(self, budget_s: float, seed: int) -> str:
        """How it was called."""
        options = [f"{key}={value!r}" for key, value in self.options.items()]
        start = ["start=best"] if self.goes_on else []
        return f"{self.name}({', '.join([f'{budget_s=:g}', f'{seed=}', *options, *start])})"


def plain(scheduler: Callable[..., Schedule]) -> Callable[..., Found]:
    """A scheduler that searches, and proves nothing."""
    return lambda instance, **options: Found(scheduler(instance, **options))


def anytime(solve: Callable[..., solver.SolveResult]) -> Callable[..., Found]:
    """A ``solve`` of one of the packages. Ctrl-C ends the whole program, not only the solve."""

    def run(instance: Instance, **options: Any) -> Found:
        result = solve(instance, **options)
        if result.stopped_by == "interrupt":
            raise KeyboardInterrupt
        tolerance = OPTIMALITY_TOLERANCE * result.makespan
        return Found(result.schedule, result.lower_bound, tolerance)

    return run


def cp_sat(instance: Instance, *, budget_s: float, seed: int, start: Schedule) -> Found:
    """CP-SAT on one core; it has no seed."""
    del seed
    result = exact.solve(instance, time_limit_s=budget_s, workers=1, hint=start)
    return Found(result.schedule, result.lower_bound, result.tolerance)


def cooling(start: float, end: float) -> dict[str, float]:
    """Temperatures of an annealing."""
    return {"start_temperature": start, "end_temperature": end}


MOVES = solver.RULES._asdict()
"""Moves of the annealing that are best on average."""
CP_SAT, TRAINER = "exact.solve", "aerl_trainer.solve"
FROM_NOTHING = (
    Attempt("solver.solve", anytime(solver.solve), 10),
    # Early, because a proof saves the rest.
    Attempt(CP_SAT, cp_sat, 10, goes_on=True),
    Attempt(TRAINER, anytime(aerl_trainer.solve), 8, {"checkpoint": None}),
    Attempt(TRAINER, anytime(aerl_trainer.solve), 8, {"checkpoint": "auto"}),
    Attempt(TRAINER, anytime(aerl_trainer.solve), 8, {"checkpoint": "auto"}),
    Attempt("genetic", plain(genetic), 8),
    Attempt("hill_climbing", plain(hill_climbing), 3),
    Attempt("annealing", plain(annealing), 3),
    Attempt("annealing", plain(annealing), 6, {**cooling(0.4, 0.04), "pair_share": 0.3}),
    Attempt("annealing", plain(annealing), 6, {**cooling(1.5, 0.3), **MOVES}),
    Attempt("annealing", plain(annealing), 6, {**cooling(3.0, 0.05), **MOVES}),
)
GOING_ON = (
    Attempt("genetic", plain(genetic), 5, goes_on=True),
    Attempt("hill_climbing", plain(hill_climbing), 2, goes_on=True),
    Attempt("annealing", plain(annealing), 5, {**cooling(0.6, 0.1), **MOVES}, goes_on=True),
    Attempt("solver.solve", anytime(solver.solve), 8, goes_on=True),
    Attempt(CP_SAT, cp_sat, 30, goes_on=True),
)
END_OF_FIRST, END_OF_WINNER = 0.55, 0.7
"""Shares of the seconds: when the attempts from nothing end, and when the best of them does, which
begins once more."""
SEEDS = 100
"""Of a run; it makes fewer attempts."""


class Search:
    """All attempts, one after the other, on one instance.

    Args:
        instance: the problem.
        seconds: wall time for all of it; a proof ends it early.
        known: what was known before.
        commit: of this code; None: unknown.
    """

    def __init__(
        self, instance: Instance, seconds: float, known: Reference, commit: str | None = None
    ) -> None:
        self.instance = instance
        self.seconds = seconds
        self.known = known
        self.commit = commit
        self._started = time.perf_counter()
        self._attempts = 0
        self.best = best_of_portfolio(instance)
        self.offer(Found(self.best), self.best.algorithm)

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._started

    @property
    def over(self) -> bool:
        """Nothing is left to be found: the optimum is proved, and its schedule is here."""
        return self.known.optimal and self.best.makespan * SHORTER <= self.known.makespan

    def run(self) -> Reference:
        """What is known now."""
        winner = self.take_turns(FROM_NOTHING, END_OF_FIRST * self.seconds)
        self.take_turns([winner], END_OF_WINNER * self.seconds)
        self.take_turns(GOING_ON, self.seconds)
        spent = round(self.known.seconds + self.elapsed_s, 1)
        return replace(self.known, runs=self.known.runs + 1, seconds=spent)

    def take_turns(self, attempts: Sequence[Attempt], end_s: float) -> Attempt:
        """Make attempts one after the other, unless the search is over.

        Args:
            attempts: of which CP-SAT is left out where the instance is too large, and the trainer's
                search where there are resources.
            end_s: of them, in seconds since the start.

        Returns:
            The one that has found the shortest schedule from nothing, else the first one.
        """
        unfit = {CP_SAT} if self.instance.comp.size > EXACT_MAX_PLACEMENTS else set()
        unfit |= {TRAINER} if self.instance.n_resources else set()
        chosen = [attempt for attempt in attempts if attempt.name not in unfit]
        winner, shortest = chosen[0], math.inf
        for i, attempt in enumerate(chosen):
            if self.over:
                break
            share = attempt.share / sum(other.share for other in chosen[i:])
            budget_s = round(max(share * (end_s - self.elapsed_s), LEAST_S), 3)
            seed = self.known.runs * SEEDS + self._attempts
            self._attempts += 1
            start = {"start": self.best} if attempt.goes_on else {}
            options = {**attempt.options, **start}
            found = attempt.search(self.instance, budget_s=budget_s, seed=seed, **options)
            self.offer(found, attempt.call(budget_s, seed))
            if not attempt.goes_on and found.schedule.makespan < shortest:
                winner, shortest = attempt, found.schedule.makespan
        return winner

    def offer(self, found: Found, call: str) -> None:
        """Take a schedule and a bound into account, after a check of all constraints.

        Raises:
            RuntimeError: the schedule is shorter than a bound; one of the two is wrong.
        """
        schedule, known = found.schedule, self.known
        schedule.validate(self.instance)
        if schedule.makespan < known.lower_bound * (1.0 - PROOF_TOLERANCE):
            raise RuntimeError(
                f"{call} found {schedule.makespan!r} on {self.instance.name}, "
                f"below the bound {known.lower_bound!r} of {known.bound_by}"
            )
        if schedule.makespan < self.best.makespan:
            self.best = schedule
        again = known.commit is None and schedule.makespan * SHORTER <= known.makespan
        if again or schedule.makespan < known.makespan * SHORTER:
            makespan = min(known.makespan, schedule.makespan)
            known = replace(known, makespan=makespan, found_by=call, commit=self.commit)
        if found.lower_bound > known.lower_bound:
            known = replace(known, lower_bound=found.lower_bound, bound_by=call)
        gap = known.makespan - known.lower_bound
        self.known = replace(
            known,
            lower_bound=min(known.lower_bound, known.makespan),
            optimal=known.optimal or gap <= found.tolerance,
        )


def get_ready() -> None:
    """Load all kernels and policies, so that no search loses time with it; keep to one core."""
    torch.set_num_threads(1)
    for suite in ("heldout", "resources"):
        instance = suites.instance(suite, suites.names(suite)[0])
        start = best_of_portfolio(instance)
        for attempt in (*FROM_NOTHING, *GOING_ON):
            options = attempt.options | ({"start": start} if attempt.goes_on else {})
            attempt.search(instance, budget_s=LEAST_S, seed=0, **options)


def unknown(instance: Instance) -> Reference:
    """Nothing but the bounds."""
    return Reference(
        makespan=math.inf,
        lower_bound=destructive_bound(instance),
        optimal=False,
        found_by="nobody",
        bound_by=BOUND_BY,
        seconds=0.0,
        runs=0,
        commit=None,
        fingerprint=instance.fingerprint,
    )


def commit_of(sources: Path) -> str | None:
    """The last commit that changed the code, marked where more has changed since; None: no git."""
    return last_change(sources, ["dagsched_env/*.py", "aerl_trainer", "benchmarks/references.py"])


def known_of(path: Path, suite: str) -> dict[str, Reference]:
    """The records of a suite that still fit their instances."""
    table = parse(path.read_text(encoding="utf-8")) if path.exists() else {}
    published = suites.published_fingerprints()[suite]
    records = table.get(suite, {})
    return {name: r for name, r in records.items() if r.fingerprint == published.get(name)}


def save(path: Path, known: Reference) -> None:
    """Put a record into the file, in all suites that have its instance."""
    table = {suite: known_of(path, suite) for suite in SUITES}
    for suite, published in suites.published_fingerprints().items():
        same = [name for name, digest in published.items() if digest == known.fingerprint]
        if suite in table:
            records = table[suite] | dict.fromkeys(same, known)
            table[suite] = {name: records[name] for name in published if name in records}
    write_text(path, dump({suite: table[suite] for suite in sorted(table) if table[suite]}))


class Pending(NamedTuple):
    """An instance that is to be searched."""

    suite: str
    name: str
    seconds: float


def pending(path: Path, chosen: Sequence[str], pattern: str, seconds: float) -> list[Pending]:
    """The instances that are not proved and have not had their time.

    Args:
        path: of the records.
        chosen: names of suites.
        pattern: of the names of instances, with ``*`` and ``?``.
        seconds: of an instance of 100 tasks, in all its runs together.
    """
    found: dict[str, Pending] = {}
    for suite in chosen:
        records = known_of(path, suite)
        for name in suites.names(suite):
            known = records.get(name)
            if not fnmatch(name, pattern) or (known and known.optimal and known.commit):
                continue
            instance = suites.instance(suite, name)
            due = seconds * math.sqrt(instance.n_tasks / 100)
            spent = known.seconds if known else 0.0
            if spent < COMPLETE * due:
                found.setdefault(instance.fingerprint, Pending(suite, name, due - spent))
    return list(found.values())


def improve(path: Path, todo: Sequence[Pending]) -> Iterator[str]:
    """Search these instances; yields a line on each."""
    commit = commit_of(ROOT)
    for i, (suite, name, seconds) in enumerate(todo):
        before = known_of(path, suite).get(name)
        instance = suites.instance(suite, name)
        after = Search(instance, seconds, before or unknown(instance), commit).run()
        save(path, after)
        gain = "" if before is None else f" ({after.makespan / before.makespan - 1:.2%})"
        left_min = sum(other.seconds for other in todo[i + 1 :]) / 60
        yield (
            f"{i + 1}/{len(todo)} {suite}/{name}: {after.makespan:.6g}{gain}, {gap(after)}, "
            f"{after.found_by}; at most {left_min:.0f} min left"
        )


def raise_bounds(path: Path, chosen: Sequence[str], pattern: str) -> Iterator[str]:
    """Take over the bounds that are computed now, where they are higher; a line on each."""
    for suite in chosen:
        for name, before in known_of(path, suite).items():
            if before.optimal or not fnmatch(name, pattern):
                continue
            instance = suites.instance(suite, name)
            bound = destructive_bound(instance, steps=BOUND_STEPS)
            if NEARLY * before.makespan < bound <= before.makespan:
                most = destructive_bound(instance, makespan=before.makespan, steps=BOUND_STEPS)
                bound = max(bound, most)
            after = raised(before, bound)
            if after != before:
                save(path, after)
                yield f"{suite}/{name}: {before.lower_bound:.6g} to {bound:.6g}, {gap(after)}"


def take_over(path: Path, chosen: Sequence[str], pattern: str, folder: Path) -> Iterator[str]:
    """Take over the makespans that are shorter in the archive; a line on each."""
    for suite in chosen:
        archive = folder / f"{suite}.json"
        entries = read_set(archive).entries if archive.exists() else {}
        for name, before in known_of(path, suite).items():
            entry = entries.get(name)
            if entry is None or not fnmatch(name, pattern):
                continue
            if entry.fingerprint != before.fingerprint or (
                entry.makespan >= before.makespan * SHORTER
            ):
                continue
            after = replace(
                before,
                makespan=entry.makespan,
                found_by=f"{entry.solver}, on record since {entry.date}",
                commit=entry.commit,
                optimal=entry.makespan <= before.lower_bound * (1.0 + OPTIMALITY_TOLERANCE),
            )
            save(path, after)
            change = after.makespan / before.makespan - 1
            yield f"{suite}/{name}: {after.makespan:.6g} ({change:.2%}), {gap(after)}"


def raised(known: Reference, bound: float) -> Reference:
    """A record with a higher bound.

    Raises:
        RuntimeError: the bound is above the makespan; one of the two is wrong.
    """
    if bound <= known.lower_bound * (1.0 + PROOF_TOLERANCE):
        return known
    if bound > known.makespan * (1.0 + PROOF_TOLERANCE):
        raise RuntimeError(f"the bound {bound!r} is above the makespan {known.makespan!r}")
    return replace(
        known,
        lower_bound=min(bound, known.makespan),
        bound_by=BOUND_BY,
        optimal=known.optimal or known.makespan <= bound * (1.0 + OPTIMALITY_TOLERANCE),
    )


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
            f" mean gap {sum(gaps) / max(len(gaps), 1):.2%},"
            f" {sum(known.seconds for known in records) / 60:.0f} min of search"
        )
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description="Report or improve the reference makespans.")
    parser.add_argument("--seconds", type=float, help="search 100 tasks for so long in all")
    parser.add_argument("--bounds", action="store_true", help="raise bounds, search nothing")
    parser.add_argument("--records", type=Path, metavar="FOLDER", help="take over what is shorter")
    parser.add_argument("--suite", nargs="+", choices=SUITES, default=SUITES)
    parser.add_argument("--only", default="*", metavar="PATTERN", help="names of instances")
    parser.add_argument("--out", type=Path, default=FILE, help="default: the file of the package")
    options = parser.parse_args(arguments)
    if options.seconds is not None:
        todo = pending(options.out, options.suite, options.only, options.seconds)
        if todo:
            get_ready()
        for line in improve(options.out, todo):
            print(line, flush=True)
    if options.records:
        for line in take_over(options.out, options.suite, options.only, options.records):
            print(line, flush=True)
    if options.bounds:
        for line in raise_bounds(options.out, options.suite, options.only):
            print(line, flush=True)
    print(report(options.out))


if __name__ == "__main__":
    main()

"""How much of the gap between the best known schedules and the plain bounds is closed by others.

    python benchmarks/bounds.py [--suite valid] [--ccr 5 10] [--most-tasks 100] [--seconds 2]

The makespan is that on record, or where there is none that of ``solve`` after these seconds. The
bounds are those of ``lower_bounds``, and ``destructive_bound`` with as many steps as ``solve``
gives it in a second, and with its default. Each is divided by the makespan; ``closed`` is the share
of the gap that a bound closes, a mean over the problems with one. A bound above a makespan ends
the program.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from dagsched_env import Instance, solver, suites
from dagsched_env.problem.bounds import lower_bounds
from dagsched_env.problem.destructive import STEP_S, STEPS, destructive_bound
from dagsched_env.solver.solving import DESTRUCTIVE_SHARE
from dagsched_env.suites.splits import CCR, TASKS

BUDGETS = {"solve, 1 s": int(DESTRUCTIVE_SHARE / STEP_S), "default": STEPS}
"""Column → steps."""
OPEN = 1e-3
"""Least gap of a problem whose part that is closed counts."""


class Measured(NamedTuple):
    """Of one problem, divided by the makespan."""

    n_tasks: int
    ccr: str
    plain: float
    others: tuple[float, ...]
    seconds: tuple[float, ...]


def measure(instance: Instance, makespan: float, ccr: str) -> Measured:
    """All bounds of a problem.

    Args:
        instance: the problem.
        makespan: of its best known schedule (time).
        ccr: for the table.

    Raises:
        RuntimeError: a bound is above the makespan.
    """
    found, seconds = [lower_bounds(instance).best], []
    for steps in BUDGETS.values():
        started = time.perf_counter()
        found.append(destructive_bound(instance, steps=steps))
        seconds.append(time.perf_counter() - started)
    if max(found) > makespan * (1.0 + 1e-9):
        raise RuntimeError(f"{instance.name}: a bound of {found} is above {makespan!r}")
    plain, *others = (bound / makespan for bound in found)
    return Measured(instance.n_tasks, ccr, plain, tuple(others), tuple(seconds))


def problems(suite: str, ccrs: Sequence[str], most: int, budget_s: float) -> Iterator[Measured]:
    """Measure the problems of a suite of cells.

    Args:
        suite: ``train``, ``valid`` or ``test``.
        ccrs: of the problems.
        most: tasks of a problem.
        budget_s: of ``solve`` (s).
    """
    known = suites.reference(suite)
    for name in suites.names(suite):
        _, n, _, ccr, _ = name.split("-", maxsplit=4)
        if ccr.removeprefix("ccr") not in ccrs or int(n[1:]) > most:
            continue
        instance = suites.instance(suite, name)
        if name in known:
            makespan = known[name].makespan
        else:
            makespan = solver.solve(instance, budget_s=budget_s).makespan
        yield measure(instance, makespan, ccr.removeprefix("ccr"))


def row(title: str, group: Sequence[Measured]) -> str:
    """Means over some problems."""
    plain = np.array([one.plain for one in group])
    others = np.array([one.others for one in group])
    seconds = np.array([one.seconds for one in group]).mean(axis=0)
    wide = 1.0 - plain > OPEN
    cells = [title, str(len(group)), f"{plain.mean():.3f}"]
    for bound, time_s in zip(others.T, seconds, strict=True):
        closed = (bound - plain)[wide] / (1.0 - plain[wide])
        share = f"{closed.mean():.0%}" if wide.any() else "—"
        cells += [f"{bound.mean():.3f}", share, f"{time_s:.3f}"]
    return "| " + " | ".join(cells) + " |"


def main(arguments: list[str] | None = None) -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description="Compare lower bounds.")
    parser.add_argument("--suite", choices=("train", "valid", "test"), default="valid")
    parser.add_argument(
        "--ccr", nargs="+", choices=[f"{ccr:g}" for ccr in CCR], default=["5", "10"]
    )
    parser.add_argument("--most-tasks", type=int, choices=TASKS, default=100)
    parser.add_argument("--seconds", type=float, default=2.0, help="of solve (default: 2)")
    options = parser.parse_args(arguments)
    destructive_bound(Instance([[2.0, 2.0]] * 2, [(0, 1)], [1.0]))  # loads the kernels
    found = list(problems(options.suite, options.ccr, options.most_tasks, options.seconds))
    titles = [f"{title} | closed | s" for title in BUDGETS]
    print("| problems | number | plain | " + " | ".join(titles) + " |")
    print("|---|" + "---:|" * (2 + 3 * len(titles)))
    for ccr in options.ccr:
        print(row(f"CCR {ccr}", [one for one in found if one.ccr == ccr]))
    for n in sorted({one.n_tasks for one in found}):
        print(row(f"n = {n}", [one for one in found if one.n_tasks == n]))
    print(row("all", found))


if __name__ == "__main__":
    main()

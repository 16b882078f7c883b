"""``solve`` against the annealing of ``dagsched_env`` with the same wall time, one core each.

    python benchmarks/rival.py [--sizes 30 100] [--budgets 0.1 1] [--instances 60] [--jobs 2]
                               [--rival same-moves]

Mean ratio of makespans, solve / annealing, over graphs spread on p and CCR. The two take turns on
each graph, so that a busy machine disturbs both alike. The rival is the annealing by its own
defaults; ``same-moves`` gives it the moves and temperatures of the favourite in the race of
``solve``, to show what is due to them alone; ``cold`` the usual temperatures of moves that are
decoded, 0.3 down to 0.015.
"""

import argparse
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any

import numpy as np
import torch
from problems import draw, spread

from aerl_trainer import solve
from dagsched_env import Instance
from dagsched_env.schedulers import annealing, heft
from dagsched_env.solver.race import FAVOURITE

SIZES = (30, 50, 100, 200, 300)
BUDGETS = (0.1, 1.0)
INSTANCES = 20
RIVALS: dict[str, dict[str, Any]] = {
    "annealing": {},
    "same-moves": {
        "start_temperature": FAVOURITE.cooling.start,
        "end_temperature": FAVOURITE.cooling.end,
        **FAVOURITE.rules._asdict(),
    },
    "cold": {"start_temperature": 0.3, "end_temperature": 0.3 / 20},
}
"""Options of the annealing."""


def contest(
    instance: Instance, twin: Instance, *, budget_s: float, options: dict[str, Any]
) -> tuple[float, float, float]:
    """Makespans of HEFT, of the rival, and of ``solve``; each has a copy of the graph, which keeps
    what has been computed from it.
    """
    theirs = annealing(instance, budget_s=budget_s, **options)
    ours = solve(twin, budget_s=budget_s).schedule
    for schedule in (theirs, ours):
        schedule.validate(instance)
    return heft(instance).makespan, theirs.makespan, ours.makespan


def get_ready() -> None:
    """Load all kernels, as in a process that has solved before; and keep to one core."""
    torch.set_num_threads(1)
    instance = draw(100, 8, 1.0)
    contest(instance, instance, budget_s=1.0, options={})


def measure(
    *,
    sizes: Sequence[int] = SIZES,
    budgets: Sequence[float] = BUDGETS,
    instances: int = INSTANCES,
    jobs: int = 1,
    rival: str = "annealing",
) -> None:
    """Print the table; each of the jobs needs an idle core."""
    print(f"solve / {rival} at equal wall time, one core each")
    print("    n  seconds   ratio  (error)  wins/ties/losses   rival/HEFT  graphs")
    with ProcessPoolExecutor(jobs, get_context("spawn"), get_ready) as pool:
        for n in sizes:
            for budget in budgets:
                against = partial(contest, budget_s=budget, options=RIVALS[rival])
                graphs = spread(n, instances)
                base, theirs, ours = np.array(list(pool.map(against, graphs, graphs))).T
                ratio = ours / theirs
                error = ratio.std(ddof=1) / instances**0.5
                wins, losses = int((ratio < 1 - 1e-9).sum()), int((ratio > 1 + 1e-9).sum())
                counts = f"{wins}/{instances - wins - losses}/{losses}"
                print(
                    f"{n:5d}  {budget:7g}  {ratio.mean():.4f}   {error:.4f}  {counts:>16}  "
                    f"{(theirs / base).mean():11.4f}  {instances:6d}",
                    flush=True,
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_arguments(parser)
    parser.add_argument("--rival", choices=RIVALS, default="annealing")
    measure(**vars(parser.parse_args()))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What this script and the one that runs all figures have in common."""
    parser.add_argument("--budgets", type=float, nargs="+", default=BUDGETS, metavar="SECONDS")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="TASKS")
    parser.add_argument("--instances", type=int, default=INSTANCES, help="graphs of each size")
    parser.add_argument("--jobs", type=int, default=1, help="graphs at once, one core each")


if __name__ == "__main__":
    main()

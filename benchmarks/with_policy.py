"""What a policy is worth to ``solve`` at equal time, and how much there is to gain.

    python benchmarks/with_policy.py [--rows NAME …] [--budgets 0.1 1] [--count 40] [--seeds 2]
        [--graphs 777] [--best-s 0] [--cpu-time] [--auto]

Each row is a set of problems with the policy that ``solve`` gets: a family with the shipped policy
of its own, first small graphs, then large ones (the number of tasks is in the name); families that
have none, ``many`` (Topcuoglu graphs with 8 to 16 processors) and suites with the one that it
chooses (``auto``). With ``--auto`` it chooses everywhere. The columns are means over the problems
of makespans with the policy over those without one (± standard error), the share of solves in which
the policy was found to help, and, with ``--best-s``, makespans without and with it over the
shortest that anything here found, one more run of so many seconds each included. ``--cpu-time``
counts budgets in CPU time of this process, for a machine that does other work. ``--graphs`` is the
seed of the problems of families, and of the choice among those of a suite.
"""

import argparse
import time

import numpy as np
from families import ALL, FAMILIES
from numpy.typing import NDArray

from aerl_trainer import solve
from aerl_trainer.solver import SolveResult
from dagsched_env import Instance, suites
from dagsched_env.sources import resolve_source

AUTO = "auto"
MACHINES = "processors=8&ccr=0.5,1,2,5"
OTHERS = {
    "many": "family:topcuoglu?tasks=100&processors=8..16&ccr=0.5,1,2,5",
    "chains": f"family:chains?chains=8..16&length=4..12&{MACHINES}",
    "daggen": f"family:daggen?tasks=100&{MACHINES}",
    "erdos_renyi": f"family:erdos_renyi?tasks=100&{MACHINES}",
    "fork_join": f"family:fork_join?phases=6&width=8..24&{MACHINES}",
    "layered": f"family:layered?layers=8..12&width=8..12&{MACHINES}",
    "molecular_dynamics": f"family:molecular_dynamics?{MACHINES}",
    "qr": f"family:qr?tiles=6&{MACHINES}",
    "series_parallel": f"family:series_parallel?tasks=100&{MACHINES}",
}
"""Families without a shipped policy of their own."""
POLICIES = {name: name for name in FAMILIES} | {
    "laplace_144": "laplace",
    "stencil_144": "stencil",
    "gaussian_209": "gaussian_elimination",
    "out_tree_127": "out_tree",
    "in_tree_127": "in_tree",
    "fft_223": "fft",
    "lu_204": "factorizations",
}
"""Family → its shipped policy; elsewhere ``solve`` chooses."""
ROWS = (*POLICIES, *OTHERS, *suites.SUITES)
UNSEEN = 777
"""Seed of graphs on which nothing is tuned."""


def problems(row: str, count: int, graphs: int) -> list[Instance]:
    """At most ``count`` problems that no shipped policy was trained on."""
    if row in suites.SUITES:
        names = np.array(suites.names(row))
        chosen = np.random.default_rng(graphs).permutation(len(names))[:count]
        return [suites.instance(row, name) for name in names[np.sort(chosen)]]
    draw = resolve_source({**ALL, **OTHERS}[row])
    return [draw(np.random.default_rng([graphs, i])) for i in range(count)]


def solved(instance: Instance, checkpoint: str | None, budget_s: float, seed: int) -> SolveResult:
    """By one actor."""
    return solve(instance, budget_s=budget_s, checkpoint=checkpoint, seed=seed)


def mean_error(values: NDArray[np.float64]) -> str:
    """Mean ± standard error over the problems of ``[problems, seeds]``."""
    each = values.mean(axis=1)
    return f"{each.mean():.4f} ± {each.std(ddof=1) / np.sqrt(len(each)):.4f}"


def measure(
    row: str,
    checkpoint: str,
    instances: list[Instance],
    budgets: list[float],
    seeds: int,
    best_s: float,
) -> None:
    """Print the lines of a row, a budget each."""
    found: dict[float, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
    shares: dict[float, float] = {}
    best = np.full(len(instances), np.inf)
    for budget_s in budgets:
        runs = range(seeds)
        trained = [[solved(i, checkpoint, budget_s, seed) for seed in runs] for i in instances]
        plain = [[solved(i, None, budget_s, seed).makespan for seed in runs] for i in instances]
        with_it = np.array([[result.makespan for result in results] for results in trained])
        without = np.array(plain)
        found[budget_s] = with_it, without
        shares[budget_s] = float(np.mean([[r.policy is not None for r in rs] for rs in trained]))
        best = np.minimum(best, np.minimum(with_it, without).min(axis=1))
    if best_s > 0:
        for checkpoint_too in (checkpoint, None):
            longer = [solved(i, checkpoint_too, best_s, seeds).makespan for i in instances]
            best = np.minimum(best, longer)
    for budget_s, (with_it, without) in found.items():
        cells = [row, f"{budget_s:g} s", mean_error(with_it / without), f"{shares[budget_s]:.2f}"]
        if best_s > 0:
            cells += [f"{np.mean(each / best[:, None]):.4f}" for each in (without, with_it)]
        print("| " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", nargs="+", default=list(ROWS), choices=ROWS, metavar="NAME")
    parser.add_argument("--budgets", nargs="+", type=float, default=[0.1, 1.0])
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--graphs", type=int, default=UNSEEN, metavar="SEED")
    parser.add_argument("--best-s", type=float, default=0.0)
    parser.add_argument("--cpu-time", action="store_true")
    parser.add_argument("--auto", action="store_true")
    arguments = parser.parse_args()
    if arguments.cpu_time:
        time.perf_counter = time.process_time
    columns = ["problems", "budget", "with / without", "it helps"]
    if arguments.best_s > 0:
        columns += ["without / best", "with / best"]
    print("| " + " | ".join(columns) + " |")
    print("|---|" + "---:|" * (len(columns) - 1))
    for row in arguments.rows:
        measure(
            row,
            AUTO if arguments.auto else POLICIES.get(row, AUTO),
            problems(row, arguments.count, arguments.graphs),
            arguments.budgets,
            arguments.seeds,
            arguments.best_s,
        )


if __name__ == "__main__":
    main()

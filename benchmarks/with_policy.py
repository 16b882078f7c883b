"""What a policy is worth to ``solve`` at equal time, and how much there is to gain.

    python benchmarks/with_policy.py [--rows NAME …] [--budgets 0.1 1] [--count 40] [--seeds 2]
        [--graphs 777] [--best-s 0] [--cpu-time] [--auto]

Each row is a set of problems with the policy that ``solve`` gets: a family with the shipped policy
of its own, first small graphs, then large ones (the number of tasks is in the name); families that
have none, ``many`` (Topcuoglu graphs with 8 to 16 processors) and suites with the one that it
chooses (``auto``). With ``--auto`` it chooses everywhere. The columns are geometric means over the
problems of makespans with the policy over those of ``dagsched_env.solver.solve``, which has neither
policy nor tree (± standard error), the share of solves in which the policy was found to help, and,
with ``--best-s``, makespans without and with it over the shortest that anything here found, one
more run of so many seconds each included. ``--cpu-time`` counts budgets in CPU time of this
process, for a machine that does other work. ``--graphs`` is the seed of the problems of families,
and of the choice among those of a suite.

Each problem has seeds of its own: graphs of one shape are searched alike with one seed, so that the
errors of problems that share it add up instead of cancelling out. The means are geometric because
the arithmetic mean of x / y is above 1 where x and y are drawn alike.
"""

import argparse
import time

import numpy as np
from families import ALL, FAMILIES
from numpy.typing import NDArray

from aerl_trainer import solve
from dagsched_env import Instance, solver, suites
from dagsched_env.sources import resolve_source

AUTO = "auto"
MACHINES = "processors=8&ccr=0.5,1,2,5"
RANDOM = "family:topcuoglu?tasks=100&ccr=0.5,1,2,5&processors="
PLATFORM = "family:topcuoglu_graph?tasks=60..100&platform="
APPLICATION = "family:wfcommons?processors=4&ccr=0.5,1,2&application="
OTHERS = {
    "random_30": "family:topcuoglu?tasks=30&processors=4&ccr=0.5,1,2,5",
    "random_100": f"{RANDOM}8",
    "many": f"{RANDOM}8..16",
    "chains": f"family:chains?chains=8..16&length=4..12&{MACHINES}",
    "daggen": f"family:daggen?tasks=100&{MACHINES}",
    "erdos_renyi": f"family:erdos_renyi?tasks=100&{MACHINES}",
    "fork_join": f"family:fork_join?phases=6&width=8..24&{MACHINES}",
    "job_shop": "family:job_shop?jobs=8..10&machines=6..8",
    "layered": f"family:layered?layers=8..12&width=8..12&{MACHINES}",
    "molecular_dynamics": f"family:molecular_dynamics?{MACHINES}",
    "qr": f"family:qr?tiles=6&{MACHINES}",
    "series_parallel": f"family:series_parallel?tasks=100&{MACHINES}",
    "toy": "family:toy?tasks=20..60&processors=4",
    "clustered": f"{PLATFORM}clustered&{MACHINES}",
    "cpu_gpu": f"{PLATFORM}cpu_gpu&cpus=6&gpus=2&ccr=0.5,1,2,5",
    "identical": f"{PLATFORM}identical&{MACHINES}",
    "related": f"{PLATFORM}related&{MACHINES}",
    "restricted": f"{PLATFORM}restricted&{MACHINES}",
    "1000genome": f"{APPLICATION}1000genome&tasks=100",
    "blast": f"{APPLICATION}blast&tasks=100",
    "bwa": f"{APPLICATION}bwa&tasks=120",
    "cycles": f"{APPLICATION}cycles&tasks=100",
    "seismology": f"{APPLICATION}seismology&tasks=120",
    "soykb": f"{APPLICATION}soykb&tasks=100",
    "srasearch": f"{APPLICATION}srasearch&tasks=100",
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


def solved(
    instance: Instance, checkpoint: str | None, budget_s: float, seed: int
) -> tuple[float, bool]:
    """Makespan of one actor, and whether the policy was found to help."""
    if checkpoint is None:
        return solver.solve(instance, budget_s=budget_s, seed=seed).makespan, False
    result = solve(instance, budget_s=budget_s, checkpoint=checkpoint, seed=seed)
    return result.makespan, result.policy is not None


def mean_error(ratios: NDArray[np.float64]) -> str:
    """Geometric mean ± standard error over the problems of ``[problems, seeds]``."""
    each = np.log(ratios).mean(axis=1)
    return f"{np.exp(each.mean()):.4f} ± {each.std(ddof=1) / np.sqrt(len(each)):.4f}"


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
        trained, plain = (
            np.array(
                [
                    [solved(instance, guide, budget_s, seeds * k + run) for run in range(seeds)]
                    for k, instance in enumerate(instances)
                ]
            )
            for guide in (checkpoint, None)
        )
        found[budget_s] = with_it, without = trained[..., 0], plain[..., 0]
        shares[budget_s] = trained[..., 1].mean()
        best = np.minimum(best, np.minimum(with_it, without).min(axis=1))
    if best_s > 0:
        for checkpoint_too in (checkpoint, None):
            longer = [solved(i, checkpoint_too, best_s, seeds)[0] for i in instances]
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

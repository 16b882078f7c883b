"""A policy on the graphs of 100 tasks and more in a suite, against 23 schedulers.

    python benchmarks/large_graphs.py [CHECKPOINT] [--suite test] [--least-tasks 100]
        [--least-processors 1] [--instances SPEC …] [--count 40] [--samples 32]

CHECKPOINT is a run, a checkpoint in it, a file, or the name of a shipped policy, by default
``default``. Of families that SPECs name, in place of a suite, ``--count`` graphs are drawn. Behind
± are standard errors over the graphs. The p-values are of the one-sided Wilcoxon signed-rank test
on the logarithms of ratios.
"""

import argparse

import numpy as np
from scipy.stats import wilcoxon

from aerl_trainer.run.problems import listed
from aerl_trainer.solving.loading import load_policy
from dagsched_env import suites
from dagsched_env.kernels.arrays import Floats
from dagsched_env.schedulers import CONSTRUCTIVE, SCHEDULERS

DRAWN = 20261124
"""Seed of the graphs of families."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkpoint", nargs="?", default="default")
    parser.add_argument("--suite", default="test", choices=suites.SUITES)
    parser.add_argument("--least-tasks", type=int, default=100)
    parser.add_argument("--least-processors", type=int, default=1)
    parser.add_argument("--instances", nargs="+", metavar="SPEC", default=[])
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--samples", type=int, default=32)
    arguments = parser.parse_args()
    policy, k = load_policy(arguments.checkpoint).fast, arguments.samples
    least = (arguments.least_tasks, arguments.least_processors)
    instances = [i for i in suites.load(arguments.suite) if np.all(i.comp.shape >= np.array(least))]
    if arguments.instances:
        instances = listed(arguments.instances, count=arguments.count, seed=DRAWN)
    tasks = np.array([instance.n_tasks for instance in instances])
    rivals = {
        name: np.array([SCHEDULERS[name](instance).makespan for instance in instances])
        for name in CONSTRUCTIVE
    }
    portfolio = np.min(list(rivals.values()), axis=0)
    greedy = np.array([policy.schedule(instance).makespan for instance in instances])
    rng = np.random.default_rng(0)
    sampled = np.array([policy.best_of(i, k, rng).makespan for i in instances])
    print(f"tasks  graphs    policy / HEFT  best of {k} / portfolio")
    for size in [*sorted(set(tasks.tolist())), None]:
        chosen = np.ones_like(tasks, dtype=bool) if size is None else tasks == size
        one_pass = mean((greedy / rivals["heft"])[chosen])
        best = mean((sampled / portfolio)[chosen])
        print(f"{size or 'all':>5} {chosen.sum():7d} {one_pass:>16} {best:>23}")
    print("policy / scheduler, p")
    for name, values in sorted(rivals.items(), key=lambda item: -np.mean(greedy / item[1])):
        p = wilcoxon(np.log(greedy / values), zero_method="pratt", alternative="less").pvalue
        print(f"{name:16} {np.mean(greedy / values):8.4f} {p:8.1g}")


def mean(ratios: Floats) -> str:
    """With its standard error."""
    return f"{ratios.mean():.4f} ± {ratios.std(ddof=1) / len(ratios) ** 0.5:.4f}"


if __name__ == "__main__":
    main()

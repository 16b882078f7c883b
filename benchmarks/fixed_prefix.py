"""What fixing a prefix of the best schedule is worth where schedules are long.

    python benchmarks/fixed_prefix.py [--sizes 300 1000] [--every 10 30] [--instances 16]
                                    [--simulations 3000 | --seconds 4]

Trees alone, without a network or annealing, each beside one that fixes nothing, on the same
graphs with the same number of simulations, or with the same time. ``deepest`` is the depth of the
deepest node with children, ``fixed`` the placements fixed in the end, both as a share of n.
"""

import argparse
import dataclasses
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from problems import draw

from aerl_trainer.config import SearchConfig
from aerl_trainer.policy.encoding.evaluator import PriorEvaluator
from aerl_trainer.tree.alone import search_alone
from aerl_trainer.tree.records import SearchJob
from aerl_trainer.tree.tree import EXPANDED, N_NODES, SOLVED
from dagsched_env import Instance
from dagsched_env.schedulers import heft

PROCESSORS = 8
CCR = (0.5, 1.0, 2.0, 5.0)
UNLIMITED = 200_000
"""Simulations where time is the limit."""


class Result(NamedTuple):
    """One search."""

    makespan: float
    deepest: float
    fixed: float
    simulations: float
    elapsed_s: float


def search(instance: Instance, seed: int, every: int, simulations: int, seconds: float) -> Result:
    """One tree, up to the number of simulations or the time, whichever comes first."""
    config = dataclasses.replace(SearchConfig().for_solving(simulations), fix_every=every)
    started = time.perf_counter()
    tree, report = search_alone(
        SearchJob(0, instance, seed),
        PriorEvaluator(),
        config,
        rollout_weight=1.0,
        explore=False,
        spent=lambda: (time.perf_counter() - started) / seconds,
    )
    t, nodes = tree.arrays, tree.counter(N_NODES)
    inner = np.isin(t.status[:nodes], (EXPANDED, SOLVED))
    depths = t.depth[:nodes] / instance.n_tasks
    return Result(
        report.best_makespan,
        float(depths[inner].max(initial=0)),
        tree.fixed_depth / instance.n_tasks,
        report.simulations,
        report.elapsed_s,
    )


def measure(n: int, steps: Sequence[int], count: int, simulations: int, seconds: float) -> None:
    """One line for each number of placements fixed at a time, 0 = never."""
    instances = [draw(n, PROCESSORS, CCR[i % len(CCR)], i) for i in range(count)]
    results = np.array(
        [[search(x, i, k, simulations, seconds) for k in steps] for i, x in enumerate(instances)]
    )
    makespans = results[:, :, 0]
    of_heft = makespans / np.array([[heft(x).makespan] for x in instances])
    ratios = makespans / makespans[:, :1]
    errors = ratios.std(axis=0, ddof=1) / np.sqrt(count)
    for j, every in enumerate(steps):
        _, deepest, fixed, done, elapsed = results[:, j].mean(axis=0)
        print(
            f"{n:5d} {every:6d} {of_heft[:, j].mean():8.4f} {ratios[:, j].mean():9.4f} "
            f"{errors[j]:7.4f} {deepest:8.2f} {fixed:8.2f} {done:8.0f} {elapsed:8.2f} {count:7d}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[300, 1000], metavar="TASKS")
    parser.add_argument("--every", type=int, nargs="+", default=[10, 30], metavar="PLACEMENTS")
    parser.add_argument("--instances", type=int, default=16, help="at least 2")
    limits = parser.add_mutually_exclusive_group()
    limits.add_argument("--simulations", type=int)
    limits.add_argument("--seconds", type=float, default=float("inf"))
    arguments = parser.parse_args()
    timed = arguments.seconds < float("inf")
    simulations = arguments.simulations or (UNLIMITED if timed else 3000)
    search(draw(30, PROCESSORS, 1.0), 0, 5, 100, 60.0)  # nothing is compiled afterwards
    print("    n  every  of HEFT  of never   error  deepest  fixed    sims.  seconds  graphs")
    for n in arguments.sizes:
        steps = [0, *arguments.every]
        measure(n, steps, arguments.instances, simulations, arguments.seconds)


if __name__ == "__main__":
    main()

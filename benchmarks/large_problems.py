"""Large problems in a few seconds of one core: list schedulers, searches and ``solve``.

    python benchmarks/large_problems.py [--tasks 10000] [--processors 64] [--seconds 5]
        [--ccr 0.1 1 5] [--seeds 0 1]

Topcuoglu graphs with β 1. The table shows makespan / HEFT's for the best of three list schedulers
and for searches with the same time each; ``wall`` is the wall time of ``solve`` over its budget.
``solve`` is that of ``dagsched_env``.
"""

import argparse
import time

import numpy as np

from dagsched_env import Instance
from dagsched_env.generators import TopcuogluGenerator
from dagsched_env.schedulers import SCHEDULERS, heft
from dagsched_env.solver import load_kernels, solve

LISTS = ("heft", "peft", "ppts")
SEARCHES = ("noisy_heft", "annealing", "iterated_lists")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--processors", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--ccr", type=float, nargs="+", default=[0.1, 1.0, 5.0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    arguments = parser.parse_args()
    load_kernels()
    columns = ("lists", *SEARCHES, "solve")
    print("  CCR  seed " + "".join(f"{name:>16}" for name in columns) + f"{'wall':>8}")
    rows = []
    for ccr in arguments.ccr:
        for seed in arguments.seeds:
            draw = TopcuogluGenerator(arguments.tasks, arguments.processors, ccr=ccr, beta=1.0)
            makespans, wall = measure(draw(np.random.default_rng(seed)), arguments.seconds)
            rows.append(makespans)
            print(
                f"{ccr:5g} {seed:5d} "
                + "".join(f"{ratio:16.4f}" for ratio in makespans)
                + f"{wall:8.3f}",
                flush=True,
            )
    means = np.exp(np.log(rows).mean(axis=0))
    print("geom. mean " + "".join(f"{ratio:16.4f}" for ratio in means))


def measure(instance: Instance, budget_s: float) -> tuple[list[float], float]:
    """Makespans over HEFT's, in the order of the columns, and wall time of ``solve`` / budget."""
    made = [min(SCHEDULERS[name](instance).makespan for name in LISTS)]
    made += [SCHEDULERS[name](instance, budget_s=budget_s).makespan for name in SEARCHES]
    started = time.perf_counter()
    made.append(solve(instance, budget_s=budget_s).schedule.makespan)
    wall = (time.perf_counter() - started) / budget_s
    return [makespan / heft(instance).makespan for makespan in made], wall


if __name__ == "__main__":
    main()

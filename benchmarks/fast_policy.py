"""What the fast policy learns in a given time, and what one pass of it costs.

    python benchmarks/fast_policy.py [--seconds 60] [--seeds 1] [--rank-temperature 1]
        [--schedules 32]

Trains on random graphs of 30 tasks and 4 processors, on one core, from rank groups of its own
schedules. The table compares with HEFT and with the best of the 23 constructive schedulers
("portfolio") on graphs that training has not seen: mean ratios of makespans.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from problems import spread

from aerl_trainer.learning.policy_gradient import PolicyGradient
from aerl_trainer.policy.fast import FastPolicy
from dagsched_env import Instance, suites
from dagsched_env.generators import TopcuogluGenerator
from dagsched_env.schedulers import best_of_portfolio, heft

TRAINING = TopcuogluGenerator(n_tasks=30, n_processors=4, ccr=(0.5, 1.0, 2.0, 5.0))
SAMPLES = 32
SIZES = (30, 100, 300, 1000)
REPEATS = 20


class Unseen:
    """Instances with the makespans of their references."""

    def __init__(self, name: str, instances: list[Instance]) -> None:
        self.name, self._instances = name, instances
        self._heft = np.array([heft(instance).makespan for instance in instances])
        self._best = np.array([best_of_portfolio(instance).makespan for instance in instances])

    def measure(self, policy: FastPolicy) -> None:
        """One line."""
        rng = np.random.default_rng(0)
        greedy = np.array([policy.schedule(i).makespan for i in self._instances])
        samples = np.array([policy.sample(i, SAMPLES, rng).makespans for i in self._instances])
        best = np.minimum(samples.min(axis=1), greedy)
        print(
            f"{self.name:10} {np.mean(greedy / self._heft):10.4f} "
            f"{np.mean(samples.mean(axis=1) / self._heft):10.4f} "
            f"{np.mean(best / self._heft):10.4f} {np.mean(greedy / self._best):12.4f} "
            f"{np.mean(best / self._best):12.4f}",
            flush=True,
        )


def train(seconds: float, seed: int, tau: float, schedules: int) -> tuple[FastPolicy, int]:
    """The policy after so many seconds, and its gradient steps."""
    training = PolicyGradient(
        TRAINING, np.random.default_rng([7, seed]), rank_temperature=tau, schedules=schedules
    )
    training.step(1.0)  # loads the kernels, and learns nothing
    started = time.perf_counter()
    while (progress := (time.perf_counter() - started) / seconds) < 1.0:
        training.step(progress)
    return training.policy, training.steps


def best_time(action: Callable[[], object]) -> float:
    """Seconds of the fastest of several calls."""
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        action()
        times.append(time.perf_counter() - started)
    return min(times)


def measure_cost(policy: FastPolicy) -> None:
    """Time of a sampled schedule over that of HEFT's call."""
    print("    n   p   one pass / HEFT")
    for n in SIZES:
        p = {30: 4, 1000: 16}.get(n, 8)
        instance = TopcuogluGenerator(n_tasks=n, n_processors=p)(np.random.default_rng(n))
        one_pass = partial(policy.sample, instance, 1, np.random.default_rng(0))
        one_pass()
        ratio = best_time(one_pass) / best_time(partial(heft, instance))
        print(f"{n:5d} {p:3d} {ratio:17.1f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--rank-temperature", type=float, default=1.0)
    parser.add_argument("--schedules", type=int, default=32)
    arguments = parser.parse_args()
    unseen = [
        Unseen("heldout", list(suites.load("heldout"))),
        Unseen("n = 100", spread(100, 20)),
        Unseen("n = 300", spread(300, 10)),
    ]
    print("                    / HEFT                              / portfolio")
    print("             one pass    samples best of 32     one pass   best of 32")
    policy = FastPolicy()
    print("untrained")
    for instances in unseen:
        instances.measure(policy)
    for seed in range(arguments.seeds):
        policy, steps = train(
            arguments.seconds, seed, arguments.rank_temperature, arguments.schedules
        )
        print(f"seed {seed}: {steps} steps in {arguments.seconds:g} s")
        for instances in unseen:
            instances.measure(policy)
    measure_cost(policy)


if __name__ == "__main__":
    main()

"""What a second actor on the same tree is worth: speed, and quality at equal total simulations.

    python benchmarks/actors.py [--instances 40] [--repeats 20]
    python benchmarks/actors.py --solve 0.1 0.5 [--instances 40]
    python benchmarks/actors.py --learning [--repeats 10]

Prints ratios to one actor, without a network. The ceiling is two actors at once on two trees of
their own: they share processors and memory as well, but no lock and no leaves. Of many short
searches the fastest counts, which other work has disturbed least; run it on two idle cores even so.
With ``--solve`` the ratios are of ``solve`` with two actors and with one after so many seconds, one
after the other on each problem. With ``--learning`` trees are those that a default run learns from;
then CPU times of a tree and its gradient are compared with those of as many drawn schedules.
"""

import argparse
import contextlib
import dataclasses
import time
from collections.abc import Sequence

import numpy as np
from problems import draw, spread

from aerl_trainer.config import Config, RunConfig
from aerl_trainer.learning.group_gradients import grade_tree
from aerl_trainer.learning.rank_reward import rank_rewards
from aerl_trainer.policy.fast import FastPolicy
from aerl_trainer.runtime.process_pool import ProcessPool
from aerl_trainer.solving.solver import solve
from aerl_trainer.tree.alone import vary_alone
from aerl_trainer.tree.records import SearchJob, SearchReport
from aerl_trainer.tree.variation import group_of
from dagsched_env import Instance

SIZES = ((30, 4, 10_000), (100, 8, 5000))
"""Tasks, processors, and simulations of one timed search: some tenths of a second."""
SOLVED = (30, 100, 300, 1000)
QUALITY_SIMULATIONS = 4000
INSTANCES = 200
REPEATS = 20
LEARNED = 200
"""Trees of a measurement."""


def open_pool(n: int, actors: int, simulations: int) -> ProcessPool:
    """Actors that search one tree with the hand-made prior."""
    config = Config()
    return ProcessPool(
        dataclasses.replace(
            config,
            search=config.search.for_solving(simulations),
            run=dataclasses.replace(config.run, actors=actors, trees_in_flight=1),
        ),
        n,
        backend="prior",
        explore=False,
    )


def search(pools: Sequence[ProcessPool], instance: Instance, seed: int) -> list[SearchReport]:
    """One search in each pool, all at once."""
    for pool in pools:
        pool.submit(SearchJob(0, instance, seed), 1.0)
    reports = []
    for pool in pools:
        finished = pool.wait(600.0)
        assert finished is not None
        reports.append(finished.report)
        pool.release(finished)
    return reports


def rate(pools: Sequence[ProcessPool], instance: Instance, seed: int) -> float:
    """Simulations a second of all pools together."""
    return sum(report.simulations / report.elapsed_s for report in search(pools, instance, seed))


def measure_speed(n: int, p: int, simulations: int, repeats: int) -> None:
    """One line: one actor, two on a tree, and two on two trees, in turn."""
    instance = draw(n, p, 1.0)
    with contextlib.ExitStack() as stack:
        lone, other, together = (open_pool(n, actors, simulations) for actors in (1, 1, 2))
        for pool in (lone, other, together):
            stack.callback(pool.close)
        search([lone, other, together], instance, 0)  # everybody has started and compiled
        rates = np.array(
            [
                [rate(pools, instance, seed) for pools in ([lone], [together], [lone, other])]
                for seed in range(repeats)
            ]
        )
    one, two, ceiling = rates.max(axis=0)
    print(f"{n:5d} {p:3d} {one:12.0f} {two / one:9.2f} {ceiling / one:9.2f}", flush=True)


def measure_quality(n: int, count: int) -> None:
    """One line: mean ratio of makespans at the same number of simulations."""
    instances = spread(n, count)
    makespans = np.empty((2, count))
    for actors in (1, 2):
        with contextlib.closing(open_pool(n, actors, QUALITY_SIMULATIONS)) as pool:
            for i, instance in enumerate(instances):
                (report,) = search([pool], instance, i)
                makespans[actors - 1, i] = report.best_makespan
    ratios = makespans[1] / makespans[0]
    error = ratios.std(ddof=1) / np.sqrt(count)
    print(f"{n:5d} {ratios.mean():12.4f} {error:8.4f} {count:10d}", flush=True)


def measure(*, instances: int = INSTANCES, repeats: int = REPEATS) -> None:
    """Print both tables."""
    print("simulations a second: two actors / one (at least 1.6), and the ceiling / one")
    print("    n   p    one (1/s)   two/one   ceiling")
    for n, p, simulations in SIZES:
        measure_speed(n, p, simulations, repeats)
    print(f"makespan of two actors / one, {QUALITY_SIMULATIONS} simulations (at most 1.003)")
    print("    n        ratio    error  instances")
    for n, _, _ in SIZES:
        measure_quality(n, instances)


def measure_solve(seconds: Sequence[float], count: int) -> None:
    """Mean ratios of makespans at equal wall time."""
    print("makespan of solve with two actors / with one, after equal time")
    print("    n  seconds        ratio    error    worst  instances")
    for n in SOLVED:
        instances = spread(n, count)
        for budget_s in seconds:
            pairs = np.array(
                [
                    [
                        solve(instance, budget_s=budget_s, actors=actors, seed=i).makespan
                        for actors in (1, 2)
                    ]
                    for i, instance in enumerate(instances)
                ]
            )
            ratios = pairs[:, 1] / pairs[:, 0]
            error = ratios.std(ddof=1) / np.sqrt(count)
            print(
                f"{n:5d} {budget_s:8g} {ratios.mean():12.4f} {error:8.4f} {ratios.max():8.4f} "
                f"{count:10d}",
                flush=True,
            )


def measure_learning(repeats: int) -> None:
    """Trajectories a second of a pool, and what a group costs."""
    print("trajectories a second that runs learn from: two actors / one (at least 1.6)")
    print("    n   p    one (1/s)   two/one   a tree's group / as many rollouts (at most 1)")
    for n, p in ((30, 4), (100, 8), (200, 8)):
        instances = [draw(n, p, 1.0, seed) for seed in range(LEARNED)]
        with contextlib.ExitStack() as stack:
            pools = []
            for actors in (1, 2):
                run = RunConfig(actors=actors)
                pool = ProcessPool(Config(run=run), n, backend="prior", explore=True)
                stack.callback(pool.close)
                pools.append(pool)
                learn_from(pool, instances)  # everybody has started and compiled
            rates = np.array(
                [[learn_from(pool, instances) for pool in pools] for _ in range(repeats)]
            )
        one, two = rates.max(axis=0)
        cost = min(relative_cost(instances) for _ in range(repeats))
        print(f"{n:5d} {p:3d} {one:12.0f} {two / one:9.2f} {cost:9.2f}", flush=True)


def learn_from(pool: ProcessPool, instances: Sequence[Instance]) -> float:
    """Trajectories a second, with as many trees in flight as there is room for."""
    weights, trees, done = FastPolicy().weights, iter(enumerate(instances)), 0
    started, waiting = time.perf_counter(), len(instances)
    while waiting:
        while pool.free and (job := next(trees, None)) is not None:
            pool.submit(SearchJob(job[0], job[1], job[0], policy=weights), 1.0)
        finished = pool.wait(600.0)
        assert finished is not None
        done += len(group_of(finished.job, finished.tree.arrays).makespans) + 1
        pool.release(finished)
        waiting -= 1
    return done / (time.perf_counter() - started)


def relative_cost(instances: Sequence[Instance]) -> float:
    """CPU time of a tree and its gradient / that of as many drawn schedules and theirs."""
    policy, config = FastPolicy(), Config()
    rng = np.random.default_rng(0)
    started = time.process_time()
    for number, instance in enumerate(instances):
        job = SearchJob(number, instance, number, policy=policy.weights)
        tree, _ = vary_alone(job, config.search)
        grade_tree(policy, group_of(job, tree.arrays), rank_rewards)
        tree.close()
    between = time.process_time()
    for instance in instances:
        policy.sample(instance, config.search.budget, rng, gradients=True)
    return (between - started) / (time.process_time() - between)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--solve", type=float, nargs="+", metavar="SECONDS")
    parser.add_argument("--learning", action="store_true")
    parser.add_argument("--instances", type=int, default=INSTANCES)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    arguments = parser.parse_args()
    if arguments.solve:
        measure_solve(arguments.solve, arguments.instances)
    elif arguments.learning:
        measure_learning(arguments.repeats)
    else:
        measure(instances=arguments.instances, repeats=arguments.repeats)


if __name__ == "__main__":
    main()

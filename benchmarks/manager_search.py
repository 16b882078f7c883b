"""The search of ``aerl_trainer`` against the same on a ``multiprocessing.Manager().dict()``.

    python benchmarks/manager_search.py [--actors 1 2] [--rounds 3] [--instances 10]

The rival (``plain_search.py``) is what one writes first: plain Python, the tree in a dictionary of
a manager process, by state and action as in textbooks, under the manager's lock. Two more rows
tell where the factor comes from: the rival with its tree packed for fewer accesses, and its code
on a plain dictionary in one process. Makespans at equal simulations show that the search is the
same. Run it on an idle machine; of each row the best of the rounds counts.
"""

import argparse
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from multiprocessing import get_context
from time import perf_counter
from typing import NamedTuple

import numpy as np
from plain_schedule import Problem
from plain_search import PATIENCE_S, EdgeTree, NodeTree, Store, act, clear, incumbent, search
from problems import draw

from aerl_trainer.config import Config, SearchConfig
from aerl_trainer.policy.encoding.evaluator import PriorEvaluator
from aerl_trainer.runtime.process_pool import ProcessPool
from aerl_trainer.tree.alone import search_alone
from aerl_trainer.tree.records import SearchJob
from dagsched_env import Instance

ACTORS = (1, 2)
SIMULATIONS = 2000
ROUNDS = 3
INSTANCES = 10


class Run(NamedTuple):
    """What one search gave."""

    rate: float  # simulations a second
    makespan: float


def run_ours(instance: Instance, settings: SearchConfig, actors: int, rounds: int) -> list[Run]:
    """The shared tree and its processes, which are ready before the first counted round."""
    config = Config(search=settings)
    config = replace(config, run=replace(config.run, actors=actors, trees_in_flight=1))
    pool = ProcessPool(config, instance.n_tasks, backend="prior", explore=False)
    runs = []
    try:
        for seed in range(rounds + 1):
            pool.submit(SearchJob(0, instance, seed), 1.0)
            finished = pool.wait(PATIENCE_S)
            assert finished is not None, f"no tree within {PATIENCE_S} s"
            report = finished.report
            finished.tree.incumbent(instance.n_tasks, algorithm="shared").validate(instance)
            runs.append(Run(report.simulations / report.elapsed_s, report.best_makespan))
            pool.release(finished)
    finally:
        pool.close()
    return runs[1:]


def run_manager(
    layout: type[EdgeTree], instance: Instance, settings: SearchConfig, actors: int, seed: int
) -> Run:
    """The rival, timed from the moment at which all its processes are ready."""
    context = get_context("spawn")
    with context.Manager() as manager:
        tree, lock = layout(manager.dict()), manager.Lock()
        clear(tree.store)
        gate = context.Barrier(actors + 1)
        crowd = [
            context.Process(target=act, args=(tree, lock, instance, settings, seed, actor, gate))
            for actor in range(actors)
        ]
        for process in crowd:
            process.start()
        gate.wait(PATIENCE_S)
        started = perf_counter()
        gate.wait(PATIENCE_S)
        elapsed = perf_counter() - started
        for process in crowd:
            process.join()
        return judge(tree.store, instance, elapsed)


def run_plain(instance: Instance, settings: SearchConfig, seed: int) -> Run:
    """The rival's code in this process, without a Manager."""
    tree, problem = EdgeTree({}), Problem(instance)
    clear(tree.store)
    started = perf_counter()
    search(tree, nullcontext(), problem, settings, seed, 0)
    return judge(tree.store, instance, perf_counter() - started)


def judge(store: Store, instance: Instance, elapsed: float) -> Run:
    """Rate and makespan of the rival, whose schedule must be valid."""
    schedule = incumbent(store)
    schedule.validate(instance)
    return Run(store["totals"]["simulations"] / elapsed, schedule.makespan)


def report(name: str, *columns: list[Run]) -> list[float]:
    """Print a row with a column per number of actors; returns the best rate of each."""
    rates = [max(run.rate for run in runs) for runs in columns]
    makespan = np.mean([run.makespan for runs in columns for run in runs])
    print(f"{name:<28}{makespan:10.2f}" + "".join(f"{rate:12.0f}" for rate in rates), flush=True)
    return rates


def measure_speed(settings: SearchConfig, actors: list[int], rounds: int) -> None:
    """Simulations a second of everybody on one instance."""
    instance, seeds = draw(30, 4, 1.0, 0), range(rounds)

    def manager(layout: type[EdgeTree]) -> list[list[Run]]:
        return [
            [run_manager(layout, instance, settings, k, seed) for seed in seeds] for k in actors
        ]

    print(f"n = 30, p = 4, CCR 1          makespan   simulations/s, actors: {actors}")
    ours = report("shared tree", *[run_ours(instance, settings, k, rounds) for k in actors])
    plain = report("rival, dict, one process", [run_plain(instance, settings, s) for s in seeds])
    packed = report("rival, Manager, packed", *manager(NodeTree))
    rival = report("rival, Manager", *manager(EdgeTree))
    for k, mine, theirs, tuned in zip(actors, ours, rival, packed, strict=True):
        print(
            f"{k} actor(s): {mine / theirs:.0f} times the rival (at least 200), "
            f"{mine / tuned:.0f} times the packed one"
        )
    code, memory = ours[0] / plain[0], plain[0] / rival[0]
    print(f"the first of these: {code:.0f} by compiled code x {memory:.0f} by shared memory")


def measure_quality(settings: SearchConfig, instances: int) -> None:
    """Makespans of both codes of the search, at equal simulations."""
    ratios = []
    for i in range(1, instances + 1):
        instance, task = draw(30, 4, 1.0, i), SearchJob(0, draw(30, 4, 1.0, i), i)
        tree, _ = search_alone(task, PriorEvaluator(), settings, rollout_weight=1.0, explore=False)
        ratios.append(run_plain(instance, settings, i).makespan / tree.best_makespan)
    error = np.std(ratios) / np.sqrt(instances)
    print(f"makespan, rival / ours, {instances} graphs: {np.mean(ratios):.4f} ± {error:.4f}")


def measure(
    *,
    actors: Sequence[int] = ACTORS,
    simulations: int = SIMULATIONS,
    rounds: int = ROUNDS,
    instances: int = INSTANCES,
) -> None:
    """Print the rates, and the makespans at equal simulations."""
    settings = replace(
        Config().search,
        budget=simulations,
        best_weight=1.0,
        min_trajectories=1,
        cap_factor=1.0,
    )
    measure_speed(settings, list(actors), rounds)
    measure_quality(settings, instances)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--actors", type=int, nargs="+", default=ACTORS)
    parser.add_argument("--simulations", type=int, default=SIMULATIONS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--instances", type=int, default=INSTANCES)
    measure(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()

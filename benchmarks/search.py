"""The figures of the search, all in one run, each beside a reference measured in it.

    python benchmarks/search.py [--parts speed guided actors manager optimum server rival]
        [--sizes 30 100] [--budgets 0.1 1] [--instances 60] [--jobs 2]
        [--picture docs/inference_scaling.png]

Prints ratios: the machine's own speed cancels out. Run it on an idle machine. ``speed``:
simulations against list schedules. ``guided``: simulations with the fast policy against those
without. ``optimum``: gap to proved optima. The others are scripts of
their own: ``actors.py``, ``manager_search.py``, ``inference.py`` (server) and ``rival.py``, which
takes the remaining options.
"""

import argparse
import dataclasses
import time
from functools import partial
from pathlib import Path

import actors
import inference
import manager_search
import numpy as np
import rival
import torch
from problems import CCR, draw
from timing import best_in_turn

from aerl_trainer import solve
from aerl_trainer.config import Config, SearchConfig
from aerl_trainer.learning.network_learner import make_network
from aerl_trainer.network.evaluator import TorchEvaluator
from aerl_trainer.policy.encoding.evaluator import Evaluator, PriorEvaluator
from aerl_trainer.policy.fast import FastPolicy
from aerl_trainer.policy.weights import Weights
from aerl_trainer.tree.alone import search_alone
from aerl_trainer.tree.records import SearchJob
from dagsched_env import Instance, exact
from dagsched_env.kernels.arrays import allocate_state
from dagsched_env.kernels.graph.ranks import order_by_rank
from dagsched_env.kernels.jit import kernel
from dagsched_env.kernels.state.completion import best_processor
from dagsched_env.kernels.state.transitions import place, reset
from dagsched_env.schedulers import heft

PARTS = ("speed", "guided", "actors", "manager", "optimum", "server", "rival")
SIMULATIONS = 4000
SPEED_ROUNDS = 10
GUIDED_SIMULATIONS = 1000
GUIDED_ROUNDS = 5
OPTIMUM_INSTANCES = 40


@kernel
def _decode_many(g, s, order, times):  # type: ignore[no-untyped-def]
    for _ in range(times):
        reset(g, s)
        for t in order:
            place(g, s, t, best_processor(g, s, t, True), True, False)


def decode_rate(instance: Instance, times: int = 20_000) -> float:
    """Complete list schedules a second on one core, without leaving the kernel."""
    order = order_by_rank(instance.rank_u, instance.arrays.topo_position)
    state = allocate_state(*instance.shape)
    _decode_many(instance.arrays, state, order, 1)
    started = time.perf_counter()
    _decode_many(instance.arrays, state, order, times)
    return times / (time.perf_counter() - started)


def search_rate(
    instance: Instance, evaluator: Evaluator, config: SearchConfig, weights: Weights | None = None
) -> float:
    """Simulations a second of one actor, guided by the fast policy if there are weights of it."""
    job = SearchJob(0, instance, 0, weights)
    _, report = search_alone(job, evaluator, config, rollout_weight=1.0, explore=False)
    return report.simulations / report.elapsed_s


def measure_speed() -> None:
    """Simulations in units of list schedules, by the settings of training and of ``solve``."""
    instance, config = draw(30, 4, 1.0), Config()
    settings = {
        "training": config.search,
        "solving": config.search.for_solving(SIMULATIONS),
    }
    evaluators = (PriorEvaluator(), TorchEvaluator(make_network(config)))
    searches = [
        partial(search_rate, instance, evaluator, search)
        for search in settings.values()
        for evaluator in evaluators
    ]
    decodes, *rates = best_in_turn([partial(decode_rate, instance), *searches], SPEED_ROUNDS)
    print("one simulation in list schedules; n = 30 tasks, p = 4 processors, one core")
    print("           no network (at most 18)  network inline (at most 40)")
    for name, prior, inline in zip(settings, rates[::2], rates[1::2], strict=True):
        print(f"{name:9}  {decodes / prior:23.1f}  {decodes / inline:27.1f}")


def measure_guided() -> None:
    """Time of a simulation with the fast policy's prior and rollouts, over one without it."""
    solving = SearchConfig().for_solving(GUIDED_SIMULATIONS)
    training = dataclasses.replace(solving, policy_rollouts=1.0)
    weights = FastPolicy().weights
    print("one simulation guided by the fast policy / one without; solving, no network, one core")
    print("                 it completes half of the leaves  all, as in training")
    for n, p, most in ((30, 4, 2.5), (300, 8, 4)):
        instance, evaluator = draw(n, p, 1.0), PriorEvaluator()
        rates = [partial(search_rate, instance, evaluator, solving)]
        rates += [
            partial(search_rate, instance, evaluator, c, weights) for c in (solving, training)
        ]
        by_hand, half, whole = best_in_turn(rates, GUIDED_ROUNDS)
        print(
            f"n = {n:3d}, p = {p}: {by_hand / half:17.1f} (at most {most:3}) "
            f"{by_hand / whole:20.1f}",
            flush=True,
        )


def measure_gap() -> None:
    """Mean distance to the proved optimum, n ≤ 12, 10 000 simulations."""
    gaps, of_tree, of_heft = [], [], []
    for i in range(OPTIMUM_INSTANCES):
        instance = draw(10 + i % 3, 3, CCR[i % len(CCR)], i)
        best = exact.solve(instance, time_limit_s=60)
        if best.optimal:
            optimum = best.schedule.makespan
            alone = solve(instance, simulations=10_000, anneal=False)
            gaps.append(solve(instance, simulations=10_000).makespan / optimum - 1)
            of_tree.append(alone.makespan / optimum - 1)
            of_heft.append(heft(instance).makespan / optimum - 1)
    print(f"{len(gaps)} proved optima, n = 10 to 12, p = 3, 10 000 simulations:")
    print(
        f"mean gap of solve {100 * np.mean(gaps):z.3f} % (at most 0.5), of its tree alone "
        f"{100 * np.mean(of_tree):.3f} %, of HEFT {100 * np.mean(of_heft):.1f} %"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, metavar="PART")
    parser.add_argument("--picture", type=Path, help="PNG to write of the server's scaling")
    rival.add_arguments(parser)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    measures = {
        "speed": measure_speed,
        "guided": measure_guided,
        "actors": actors.measure,
        "manager": manager_search.measure,
        "optimum": measure_gap,
        "server": lambda: inference.measure(picture=arguments.picture),
        "rival": lambda: rival.measure(
            sizes=arguments.sizes,
            budgets=arguments.budgets,
            instances=arguments.instances,
            jobs=arguments.jobs,
        ),
    }
    for part in PARTS:
        if part in arguments.parts:
            print(f"\n== {part}", flush=True)
            measures[part]()


if __name__ == "__main__":
    main()

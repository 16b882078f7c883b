"""The searches over schedules: how fast they evaluate, and what they reach in equal wall time.

Prints rates beside that of a plain decoding measured in the same run, and mean makespans relative
to HEFT. Run it on an idle machine.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np

from dagsched_env import Instance, Schedule
from dagsched_env.generators import TopcuogluGenerator
from dagsched_env.kernels.arrays import allocate_state
from dagsched_env.kernels.jit import kernel
from dagsched_env.kernels.state.transitions import place, reset
from dagsched_env.schedulers.anytime import execution_order
from dagsched_env.schedulers.genetic import genetic
from dagsched_env.schedulers.heft import heft
from dagsched_env.schedulers.hill_climbing import hill_climbing
from dagsched_env.schedulers.iterated_lists import iterated_lists
from dagsched_env.schedulers.noisy_heft import noisy_heft
from dagsched_env.schedulers.simulated_annealing import annealing

SEARCHES: tuple[Callable[..., Schedule], ...] = (
    annealing,
    genetic,
    hill_climbing,
    iterated_lists,
    noisy_heft,
)
SIZES = ((30, 4), (100, 8), (300, 8))
CCR = (0.1, 0.5, 1.0, 2.0, 5.0)


def draw(n: int, p: int, per_ccr: int) -> list[Instance]:
    """The same instances on every machine."""
    rng = np.random.default_rng(n)
    generators = [TopcuogluGenerator(n_tasks=n, n_processors=p, ccr=ccr, beta=1.0) for ccr in CCR]
    return [generator(rng) for _ in range(per_ccr) for generator in generators]


@kernel
def _decode_many(g, s, order, processor, times):  # type: ignore[no-untyped-def]
    for _ in range(times):
        reset(g, s)
        for t in order:
            place(g, s, t, processor[t], True, False)


def decode_rate(instance: Instance, times: int = 5000) -> float:
    """Whole schedules decoded from an order and an assignment, a second."""
    schedule = heft(instance)
    order, state = execution_order(instance, schedule), allocate_state(*instance.shape)
    _decode_many(instance.arrays, state, order, schedule.processor, 1)
    started = time.perf_counter()
    _decode_many(instance.arrays, state, order, schedule.processor, times)
    return times / (time.perf_counter() - started)


def evaluation_rate(search: Callable[..., Schedule], instance: Instance, evaluations: int) -> float:
    """Candidates evaluated a second, all included."""
    search(instance, max_evaluations=1000)
    started = time.perf_counter()
    search(instance, max_evaluations=evaluations)
    return evaluations / (time.perf_counter() - started)


def quality(search: Callable[..., Schedule], instances: list[Instance], budget_s: float) -> float:
    """Mean makespan relative to HEFT."""
    search(instances[0], max_evaluations=1000)
    ratios = [
        search(instance, budget_s=budget_s).makespan / heft(instance).makespan
        for instance in instances
    ]
    return float(np.mean(ratios))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--per-ccr", type=int, default=4, help="instances for each of five CCRs")
    parser.add_argument("--budgets", type=float, nargs="+", default=[0.1, 1.0], metavar="SECONDS")
    arguments = parser.parse_args()

    print("evaluations a second, one core, CCR 1")
    print("    n  p    decode " + "".join(f"{search.__name__:>14}" for search in SEARCHES))
    for n, p in SIZES:
        instance = draw(n, p, 1)[CCR.index(1.0)]
        rates = [evaluation_rate(search, instance, 6_000_000 // n) for search in SEARCHES]
        row = "".join(f"{rate:14.0f}" for rate in rates)
        print(f"{n:5d}{p:3d}{decode_rate(instance):10.0f} {row}", flush=True)

    print(f"\nmean makespan / HEFT over {arguments.per_ccr * len(CCR)} instances")
    print("    n  p   seconds " + "".join(f"{search.__name__:>14}" for search in SEARCHES))
    for n, p in SIZES:
        instances = draw(n, p, arguments.per_ccr)
        for budget_s in arguments.budgets:
            ratios = [quality(search, instances, budget_s) for search in SEARCHES]
            row = "".join(f"{ratio:14.4f}" for ratio in ratios)
            print(f"{n:5d}{p:3d}{budget_s:10.1f} {row}", flush=True)


if __name__ == "__main__":
    main()

"""Speed and quality of the search, each beside a reference measured in the same run.

    python benchmarks/search.py [--parts speed optimum rival moves]
                                [--sizes 30 100] [--budgets 0.1 1] [--instances 60]

Prints ratios: the machine's own speed cancels out. Run it on an idle machine. ``speed``:
simulations against list schedules. ``optimum``: gap to proved optima. ``rival``: ``solve`` against
the annealing of ``dagsched_env`` with the same wall time, one core each. ``moves``: the same
against annealing by the moves of ``solve``, to show what is due to them alone.
"""

import argparse
import dataclasses
import time
from collections.abc import Callable, Sequence

import numpy as np
import torch
from timing import best_of

from aerl_trainer import solve
from aerl_trainer.config import Config, SearchConfig
from aerl_trainer.learning.learner import make_network
from aerl_trainer.nn.evaluator import TorchEvaluator
from aerl_trainer.records import Task
from aerl_trainer.search.alone import search_alone
from aerl_trainer.search.leaves import Evaluator, PriorEvaluator
from aerl_trainer.solver import END_TEMPERATURE, PROPOSAL, START_TEMPERATURE
from dagsched_env import Instance, exact
from dagsched_env.generators import TopcuogluGenerator
from dagsched_env.kernels.arrays import allocate_state
from dagsched_env.kernels.dispatch import list_schedule
from dagsched_env.kernels.jit import kernel
from dagsched_env.kernels.ranks import order_by_rank
from dagsched_env.kernels.state import reset
from dagsched_env.schedule import Schedule
from dagsched_env.schedulers import annealing, heft

PARTS = ("speed", "optimum", "rival", "moves")
SIMULATIONS = 4000
RIVAL_SIZES = (30, 50, 100, 200, 300)
RIVAL_PROCESSORS = (4, 8)
RIVAL_CCR = (0.1, 0.5, 1.0, 2.0, 5.0)
OPTIMUM_INSTANCES = 40


@kernel
def _decode_many(g, s, order, times):  # type: ignore[no-untyped-def]
    for _ in range(times):
        reset(g, s)
        list_schedule(g, s, order, True)


def decode_rate(instance: Instance, times: int = 20_000) -> float:
    """Complete list schedules a second on one core, without leaving the kernel."""
    order = order_by_rank(instance.rank_u, instance.arrays.topo_position)
    state = allocate_state(*instance.comp.shape)
    _decode_many(instance.arrays, state, order, 1)
    started = time.perf_counter()
    _decode_many(instance.arrays, state, order, times)
    return times / (time.perf_counter() - started)


def search_rate(instance: Instance, evaluator: Evaluator, config: SearchConfig) -> float:
    """Simulations a second of one actor."""
    task = Task(0, 0, instance, 0)
    _, report = search_alone(task, evaluator, config, tail_weight=1.0, explore=False)
    return report.simulations / report.elapsed_s


def draw(n: int, p: int, ccr: float, *key: int) -> Instance:
    """A layered random graph with a seed of its own."""
    generator = TopcuogluGenerator(n_tasks=n, n_processors=p, ccr=ccr, beta=1.0)
    return generator(np.random.default_rng([20261121, n, p, *key]))


def spread(n: int, count: int) -> list[Instance]:
    """Graphs of n tasks that go round the processors and CCR of the comparison."""
    cells = [(p, ccr) for p in RIVAL_PROCESSORS for ccr in RIVAL_CCR]
    return [draw(n, *cells[i % len(cells)], i) for i in range(count)]


def measure_speed() -> None:
    """Simulations in units of list schedules, by the settings of training and of ``solve``."""
    instance, config = draw(30, 4, 1.0), Config()
    settings = {
        "training": dataclasses.replace(config.search, budget=SIMULATIONS),
        "solving": config.search.for_solving(SIMULATIONS),
    }
    network = TorchEvaluator(make_network(config))
    decodes = best_of(lambda: decode_rate(instance))
    print("one simulation in list schedules; n = 30 tasks, p = 4 processors, one core")
    print("           no network (at most 18)  network inline (at most 40)")
    for name, search in settings.items():
        prior = best_of(lambda search=search: search_rate(instance, PriorEvaluator(), search))
        inline = best_of(lambda search=search: search_rate(instance, network, search))
        print(f"{name:9}  {decodes / prior:23.1f}  {decodes / inline:27.1f}")


def measure_gap() -> None:
    """Mean distance to the proved optimum, n ≤ 12, 10 000 simulations."""
    gaps, of_heft = [], []
    for i in range(OPTIMUM_INSTANCES):
        instance = draw(10 + i % 3, 3, RIVAL_CCR[i % len(RIVAL_CCR)], i)
        best = exact.solve(instance, time_limit_s=60)
        if best.optimal:
            gaps.append(solve(instance, simulations=10_000).makespan / best.schedule.makespan - 1)
            of_heft.append(heft(instance).makespan / best.schedule.makespan - 1)
    print(f"{len(gaps)} proved optima, n = 10 to 12, p = 3, 10 000 simulations:")
    print(
        f"mean gap {100 * np.mean(gaps):.3f} % (at most 0.5), HEFT {100 * np.mean(of_heft):.1f} %"
    )


def with_moves_of_solve(instance: Instance, *, budget_s: float) -> Schedule:
    """Annealing alone, by the moves and temperatures that ``solve`` ends with."""
    return annealing(
        instance,
        budget_s=budget_s,
        start_temperature=START_TEMPERATURE,
        end_temperature=END_TEMPERATURE,
        **PROPOSAL._asdict(),
    )


def measure_rival(
    rival: Callable[..., Schedule], sizes: Sequence[int], budgets: Sequence[float], count: int
) -> None:
    """Mean ratio of makespans, ``solve`` / rival, over instances spread on p and CCR.

    The two take turns on each instance, so that a busy machine disturbs both alike.
    """
    print("    n  seconds   ratio  (error)  wins/ties/losses   rival/HEFT  graphs")
    for n in sizes:
        instances = spread(n, count)
        for contestant in (rival, solve):
            contestant(instances[0], budget_s=0.1)  # nothing is compiled or read afterwards
        for budget in budgets:
            theirs, ours = np.array(
                [[made(x, budget_s=budget).makespan for made in (rival, solve)] for x in instances]
            ).T
            ratio, base = ours / theirs, theirs / [heft(x).makespan for x in instances]
            wins, losses = int((ratio < 1 - 1e-9).sum()), int((ratio > 1 + 1e-9).sum())
            counts = f"{wins}/{count - wins - losses}/{losses}"
            print(
                f"{n:5d}  {budget:7g}  {ratio.mean():.4f}   {ratio.std(ddof=1) / count**0.5:.4f}  "
                f"{counts:>16}  {base.mean():11.4f}  {count:6d}",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--budgets", type=float, nargs="+", default=[0.1, 1.0], metavar="SECONDS")
    parser.add_argument("--sizes", type=int, nargs="+", default=RIVAL_SIZES, metavar="TASKS")
    parser.add_argument("--instances", type=int, default=20)
    parser.add_argument(
        "--parts", nargs="+", choices=PARTS, default=["speed", "optimum"], metavar="PART"
    )
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if "speed" in arguments.parts:
        measure_speed()
    if "optimum" in arguments.parts:
        measure_gap()
    comparison = (arguments.sizes, arguments.budgets, arguments.instances)
    if "rival" in arguments.parts:
        print("solve / annealing at equal wall time, one core each")
        measure_rival(annealing, *comparison)
    if "moves" in arguments.parts:
        print("solve / annealing by the moves of solve, at equal wall time")
        measure_rival(with_moves_of_solve, *comparison)


if __name__ == "__main__":
    main()

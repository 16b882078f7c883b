"""Speed of the search, beside a reference measured in the same run; ``env.py``: the environment.

Prints ratios: the machine's own speed cancels out. Run it on an idle machine.
"""

import dataclasses
import time

import numpy as np
import torch
from timing import best_of

import dagsched_env
from aerl_trainer.config import Config
from aerl_trainer.learning.learner import make_network
from aerl_trainer.nn.evaluator import TorchEvaluator
from aerl_trainer.records import Task
from aerl_trainer.search.alone import search_alone
from aerl_trainer.search.leaves import Evaluator, PriorEvaluator
from dagsched_env.generators import TopcuogluGenerator
from dagsched_env.kernels.arrays import allocate_state
from dagsched_env.kernels.dispatch import list_schedule
from dagsched_env.kernels.jit import kernel
from dagsched_env.kernels.ranks import order_by_rank
from dagsched_env.kernels.state import reset

SIMULATIONS = 4000


@kernel
def _decode_many(g, s, order, times):  # type: ignore[no-untyped-def]
    for _ in range(times):
        reset(g, s)
        list_schedule(g, s, order, True)


def decode_rate(instance: dagsched_env.Instance, times: int = 20_000) -> float:
    """Complete list schedules a second on one core, without leaving the kernel."""
    order = order_by_rank(instance.rank_u, instance.arrays.topo_position)
    state = allocate_state(*instance.comp.shape)
    _decode_many(instance.arrays, state, order, 1)
    started = time.perf_counter()
    _decode_many(instance.arrays, state, order, times)
    return times / (time.perf_counter() - started)


def search_rate(instance: dagsched_env.Instance, evaluator: Evaluator, config: Config) -> float:
    """Simulations a second of one actor."""
    task = Task(0, 0, instance, 0)
    _, report = search_alone(task, evaluator, config.search, tail_weight=1.0, explore=False)
    return report.simulations / report.elapsed_s


def main() -> None:
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    instance = TopcuogluGenerator(n_tasks=30, n_processors=4, ccr=1.0, beta=1.0)(rng)
    config = Config()
    search = dataclasses.replace(config.search, budget=SIMULATIONS, best_weight=1.0)
    config = dataclasses.replace(config, search=search)

    decodes = best_of(lambda: decode_rate(instance))
    prior = best_of(lambda: search_rate(instance, PriorEvaluator(), config))
    network = TorchEvaluator(make_network(config))
    inline = best_of(lambda: search_rate(instance, network, config))

    print("n = 30 tasks, p = 4 processors, one core")
    print(f"one simulation, no network, takes {decodes / prior:6.1f} list schedules")
    print(f"one simulation with network takes {decodes / inline:6.1f} list schedules")


if __name__ == "__main__":
    main()

"""What a seed determines: everything with one actor; with several, what counts, but no order."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from torch import nn

from aerl_trainer.network.evaluator import TorchEvaluator, flat_weights
from aerl_trainer.network.network import Network
from aerl_trainer.policy.encoding.evaluator import Evaluator, PriorEvaluator
from aerl_trainer.runtime.pool import Finished
from aerl_trainer.runtime.process_pool import ProcessPool
from aerl_trainer.runtime.processes import Backend
from aerl_trainer.tree.alone import search_alone
from aerl_trainer.tree.records import SearchJob
from aerl_trainer.tree.tree import N_EDGES, N_NODES, TreeArrays
from helpers.faults import check_finished
from helpers.small_runs import eventually, problem, replaced, small_config

CONFIG = replaced(small_config(run={"actors": 1, "trees_in_flight": 1}), "search", budget=400)
N_TASKS = 20
ROLLOUT_WEIGHT: dict[Backend, float] = {"prior": 1.0, "inline": 0.5}  # the prior predicts nothing


def task(number: int = 0) -> SearchJob:
    return SearchJob(number, problem(n=N_TASKS, seed=number), seed=number)


def network() -> Network:
    """With heads that say something."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        made = Network(CONFIG.network)
        nn.init.normal_(made.decoder.policy.weight)
        nn.init.normal_(made.decoder.value.weight)
    return made


def bits(t: TreeArrays) -> dict[str, bytes]:
    """Every array as far as it is in use; what lies behind is left from earlier searches."""
    nodes, edges = (int(t.counters[which]) for which in (N_NODES, N_EDGES))
    used = {t.status.shape[0]: nodes, t.edge_parent.shape[0]: edges, N_TASKS: N_TASKS}
    expanded = t.n_edges[:nodes] > 0  # elsewhere the first edge is not set
    found = {
        name: array[: used.get(array.shape[0], array.shape[0])].tobytes()
        for name, array in t._asdict().items()
        if not name.startswith("journal") and name != "first_edge"
    }
    return found | {"first_edge": t.first_edge[:nodes][expanded].tobytes()}


@contextmanager
def pool_of(backend: Backend, actors: int = 1) -> Iterator[ProcessPool]:
    config = replaced(CONFIG, "run", actors=actors)
    pool = ProcessPool(config, N_TASKS, backend=backend, explore=True)
    try:
        pool.publish(flat_weights(network()))
        yield pool
    finally:
        pool.close()


def search(pool: ProcessPool, rollout_weight: float, number: int = 0) -> Finished:
    pool.submit(task(number), rollout_weight)
    finished: Finished = eventually(lambda: pool.wait(1.0), "a finished tree")
    pool.release(finished)
    return finished


@pytest.mark.parametrize("backend", ["prior", "inline"])
def test_one_actor_grows_the_same_tree_in_every_process(backend: Backend) -> None:
    """To the bit, whatever was searched before; and the same as without any other process."""
    evaluator: Evaluator = PriorEvaluator() if backend == "prior" else TorchEvaluator(network())
    weight = ROLLOUT_WEIGHT[backend]
    alone, report = search_alone(
        task(), evaluator, CONFIG.search, rollout_weight=weight, explore=True
    )
    expected = bits(alone.arrays)
    with pool_of(backend) as pool:
        for number in (0, 3, 1, 0):
            finished = search(pool, weight, number)
            assert (bits(finished.tree.arrays) == expected) == (number == 0)
            if number == 0:
                assert finished.report.best_makespan == report.best_makespan
                assert finished.report.simulations == report.simulations


def test_several_actors_give_the_same_guarantees() -> None:
    """Whoever comes first: a sound tree, the budget kept, and the same root."""
    alone, _ = search_alone(
        task(), PriorEvaluator(), CONFIG.search, rollout_weight=1.0, explore=True
    )
    roots = {alone.arrays.edge_prior[: alone.arrays.n_edges[0]].tobytes()}
    with pool_of("prior", actors=3) as pool:
        for _ in range(4):
            finished = search(pool, 1.0)
            check_finished(finished, CONFIG)
            t = finished.tree.arrays
            assert np.isfinite(t.raw_value[: t.counters[N_NODES]]).all()
            roots.add(t.edge_prior[: t.n_edges[0]].tobytes())
    assert len(roots) == 1

"""Commitment: selection goes on below a prefix, everything else as before."""

import dataclasses
import itertools

import numpy as np
import pytest
from small_runs import empty_tree, problem, search_worker
from tree_invariants import check_tree, path_to

from aerl_trainer.config import ConfigError, SearchConfig
from aerl_trainer.records import Task
from aerl_trainer.search.alone import search_alone
from aerl_trainer.search.commitment import commit, committed_depth
from aerl_trainer.search.leaves import PriorEvaluator
from aerl_trainer.search.tree import (
    EXHAUSTED,
    OUTCOME,
    ROOT,
    SIMS_DONE,
    TOP,
    SharedTree,
    TreeArrays,
)
from dagsched_env import exact
from dagsched_env.instance import Instance

CONFIG = SearchConfig(batch_size=4, max_children=64).for_solving(400)


def prefix_of(t: TreeArrays) -> list[int]:
    """The actions that have been committed."""
    return [int(t.edge_action[edge]) for edge in path_to(t, int(t.counters[TOP]))]


def search(
    instance: Instance, config: SearchConfig, spent: float = 0.0
) -> tuple[SharedTree, list[list[int]]]:
    """A search to its end, and the committed prefix after each mini-batch."""
    tree = empty_tree(instance, config)
    worker = search_worker(tree, 0, Task(0, 0, instance, 0), config)
    prefixes = []
    while not tree.finished:
        worker.run_batch(1.0)
        commit(tree, instance.n_tasks, config, spent)
        prefixes.append(prefix_of(tree.arrays))
    return tree, prefixes


@pytest.mark.parametrize(
    ("every", "depths"),
    [(0, [0, 0, 0, 0, 0]), (10, [0, 0, 10, 20, 20]), (4, [0, 4, 12, 20, 24]), (99, [0] * 5)],
)
def test_what_is_decided_when(every: int, depths: list[int]) -> None:
    """Of 28 placements; the last group stays open."""
    shares = (0.0, 0.24, 0.5, 0.75, 1.0)
    assert [committed_depth(share, 28, every) for share in shares] == depths


def test_the_top_moves_down_one_path_and_the_tree_stays_whole() -> None:
    instance = problem(20, 3)
    tree, prefixes = search(instance, dataclasses.replace(CONFIG, commit_every=5))
    check_tree(tree.arrays)
    assert tree.outcome == "complete"
    depths = [len(prefix) for prefix in prefixes]
    assert depths[0] == 0
    assert depths == sorted(depths)
    assert depths[-1] >= 5
    for shorter, longer in itertools.pairwise(prefixes):
        assert longer[: len(shorter)] == shorter
    simulations = tree.counter(SIMS_DONE)
    root = slice(int(tree.arrays.first_edge[ROOT]), int(tree.arrays.n_edges[ROOT]))
    assert tree.arrays.edge_visits[root].sum() == simulations - 1, "backups reach the root"


def test_the_subtree_keeps_what_is_known_of_it() -> None:
    """The top has been visited when it is committed, and is visited more afterwards."""
    instance = problem(20, 3)
    config = dataclasses.replace(CONFIG, commit_every=5)
    tree, prefixes = search(instance, config)
    t = tree.arrays
    first = next(prefix for prefix in prefixes if prefix)
    edge, node = -1, ROOT
    for action in first:
        edges = np.arange(t.first_edge[node], t.first_edge[node] + t.n_edges[node])
        edge = int(edges[t.edge_action[edges] == action][0])
        node = int(t.edge_child[edge])
    before = prefixes.index(first) * config.batch_size
    assert t.edge_visits[edge] >= tree.counter(SIMS_DONE) - before - config.batch_size


def test_a_solved_subtree_is_left_again() -> None:
    """A small problem is still proved, though its prefix was committed before the proof."""
    for seed in range(6):
        instance = problem(6, 2, seed)
        config = dataclasses.replace(CONFIG.for_solving(20_000), commit_every=1)
        tree, _ = search(instance, config, spent=0.9)
        best = exact.solve(instance, time_limit_s=60)
        assert best.optimal
        assert tree.arrays.counters[OUTCOME] == EXHAUSTED
        assert tree.proved
        assert tree.best_makespan == pytest.approx(best.schedule.makespan)


def test_time_counts_as_well_as_simulations() -> None:
    instance = problem(20, 3)
    config = dataclasses.replace(CONFIG.for_solving(10**6), commit_every=5)
    shares = iter(np.linspace(0.0, 1.0, 60))
    tree, report = search_alone(
        Task(0, 0, instance, 0),
        PriorEvaluator(),
        config,
        tail_weight=1.0,
        explore=False,
        spent=lambda: float(next(shares)),
    )
    assert report.outcome == "running"
    assert tree.arrays.depth[tree.counter(TOP)] >= 5


def test_a_negative_step_is_refused() -> None:
    with pytest.raises(ConfigError, match="commit_every"):
        SearchConfig(commit_every=-1)

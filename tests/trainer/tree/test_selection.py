"""Sequential halving at the root: its schedule, whom it considers, and what it leaves to PUCT."""

import dataclasses
import math
from collections import Counter

import numpy as np
import pytest

from aerl_trainer.config import SearchConfig
from aerl_trainer.tree.records import SearchJob
from aerl_trainer.tree.selection import considered_visits
from aerl_trainer.tree.shared_tree import SharedTree
from aerl_trainer.tree.tree import ROOT, SIMS_DONE
from aerl_trainer.tree.worker import SearchWorker
from dagsched_env.problem.instance import Instance
from helpers.reference_tree import halving_sequence
from helpers.small_runs import empty_tree, search_worker
from helpers.tree_invariants import check_tree, edges_of

CONFIG = SearchConfig(
    budget=49,
    min_trajectories=1,
    cap_factor=1.0,
    batch_size=1,
    root_selection="gumbel",
    considered_actions=8,
    min_prior=0.0,
)


@pytest.fixture(scope="module")
def wide() -> Instance:
    """Eight ready tasks on two processors at the root."""
    edges = [(t, 8 + t // 2) for t in range(8)]
    comp = np.random.default_rng(5).uniform(1, 9, size=(12, 2))
    return Instance(comp, edges, [1.0] * 8)


def tree_and_workers(
    instance: Instance,
    config: SearchConfig,
    *,
    actors: int = 1,
    explore: bool = False,
    seed: int = 0,
) -> tuple[SharedTree, list[SearchWorker]]:
    tree, task = empty_tree(instance, config, actors), SearchJob(0, instance, seed)
    return tree, [
        search_worker(tree, actor, task, config, explore=explore) for actor in range(actors)
    ]


def root_visits(tree: SharedTree) -> list[int]:
    return [int(tree.arrays.edge_visits[e]) for e in edges_of(tree.arrays, ROOT)]


def test_the_published_sequence() -> None:
    """Eight actions and 24 simulations, as in the reference implementation's tests."""
    expected = [0] * 8 + [1] * 4 + [2] * 4 + [3, 3, 4, 4, 5, 5, 6, 6]
    assert [considered_visits(i, 8, 24) for i in range(24)] == expected


@pytest.mark.parametrize("considered", [1, 2, 3, 4, 5, 7, 8, 13, 16])
def test_the_schedule_goes_through_the_motions(considered: int) -> None:
    for simulations in (1, 2, 10, 47, 300):
        expected = halving_sequence(considered, simulations)
        made = [considered_visits(i, considered, simulations) for i in range(simulations)]
        assert made == expected


@pytest.mark.parametrize("considered", [1, 2, 5, 8])
@pytest.mark.parametrize("explore", [False, True])
def test_root_visits_follow_the_schedule(wide: Instance, considered: int, explore: bool) -> None:
    config = dataclasses.replace(CONFIG, considered_actions=considered)
    tree, (one,) = tree_and_workers(wide, config, explore=explore)
    assert one.run_batch(1.0) == 1  # the root itself
    before = root_visits(tree)
    for wanted in halving_sequence(considered, config.budget - 1):
        assert one.run_batch(1.0) == 1
        after = root_visits(tree)
        (chosen,) = np.flatnonzero(np.subtract(after, before))
        assert before[chosen] == wanted
        before = after
    assert tree.finished
    ends = Counter(halving_sequence(considered, config.budget - 1))
    assert sum(visits > 0 for visits in before) == considered == ends[0]
    assert max(before) == max(ends) + 1
    check_tree(tree.arrays)


def test_without_noise_the_highest_priors_are_considered(wide: Instance) -> None:
    tree, (one,) = tree_and_workers(wide, CONFIG)
    for _ in range(9):
        one.run_batch(1.0)
    visits = root_visits(tree)
    assert visits == [1] * 8 + [0] * (len(visits) - 8), "edges are sorted by prior"


def test_the_first_action_is_drawn_from_the_prior(wide: Instance) -> None:
    """The Gumbel-max trick, over the tasks' seeds; the priors themselves bear no noise."""
    draws = 400
    config = dataclasses.replace(CONFIG, budget=2)
    counts, priors = np.zeros(32), np.zeros(32)
    for seed in range(draws):
        tree, (one,) = tree_and_workers(wide, config, explore=True, seed=seed)
        while not tree.finished:
            one.run_batch(1.0)
        edges = edges_of(tree.arrays, ROOT)
        counts[: len(edges)] += root_visits(tree)
        priors[: len(edges)] = tree.arrays.edge_prior[edges.start : edges.stop]
    assert counts.sum() == draws
    assert priors.max() < 0.9, "there is a choice"
    deviation = np.sqrt(draws * priors * (1 - priors))
    assert (np.abs(counts - draws * priors) <= 4 * deviation + 1e-9).all()


def test_actors_share_the_draw_and_the_schedule(wide: Instance) -> None:
    """In batches, two actors in turn: N + O follows the sequence, so all visits come out the same.

    The choice of the halves may differ, as values arrive later.
    """
    config = dataclasses.replace(CONFIG, batch_size=4)
    tree, workers = tree_and_workers(wide, config, actors=2, explore=True)
    while not tree.finished:
        assert sum(one.run_batch(1.0) for one in workers) > 0
    alone, (one,) = tree_and_workers(wide, CONFIG, explore=True)
    while not alone.finished:
        one.run_batch(1.0)
    considered = [np.flatnonzero(root_visits(each)).tolist() for each in (tree, alone)]
    assert considered[0] == considered[1]
    assert tree.counter(SIMS_DONE) >= config.budget
    check_tree(tree.arrays)


def test_past_the_budget_nothing_is_scheduled(wide: Instance) -> None:
    config = dataclasses.replace(CONFIG, budget=10, min_trajectories=6, cap_factor=100.0)
    tree, (one,) = tree_and_workers(wide, config)
    while not tree.finished:
        assert one.run_batch(1.0) == 1
    assert tree.outcome == "complete"
    assert tree.counter(SIMS_DONE) > 10
    assert math.isclose(sum(root_visits(tree)), tree.counter(SIMS_DONE) - 1)


def test_halving_gives_way_where_everything_in_turn_is_finished() -> None:
    """Two tasks in any order on two processors: 8 schedules, all visited within the budget."""
    instance = Instance([[2, 3], [4, 1]], [], [])
    tree, (one,) = tree_and_workers(instance, CONFIG)
    while not tree.finished:
        assert one.run_batch(1.0) == 1
    assert tree.outcome == "exhausted"
    assert root_visits(tree) == [3, 3, 3, 3]
    check_tree(tree.arrays)

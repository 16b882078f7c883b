"""Branch and bound on the search tree: what it proves is so, and nothing better is ever cut off."""

import dataclasses
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aerl_trainer.config import SearchConfig
from aerl_trainer.policy.encoding.evaluator import PriorEvaluator
from aerl_trainer.tree.alone import search_alone
from aerl_trainer.tree.leaves import pruning_bound
from aerl_trainer.tree.problem import SearchProblem, search_problem
from aerl_trainer.tree.records import SearchJob, SearchReport
from aerl_trainer.tree.shared_tree import SharedTree
from aerl_trainer.tree.tree import ROOT, SIMS_DONE, SOLVED, TreeSize
from dagsched_env.generators import TopcuogluGenerator
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.problem.simulator import State
from dagsched_env.schedulers import SCHEDULERS
from helpers.brute_force import optimum
from helpers.small_runs import search_worker
from helpers.strategies import instances
from helpers.tree_invariants import check_tree

CONFIG = SearchConfig(batch_size=4).for_solving(20_000)
WITHOUT_PRUNING = dataclasses.replace(CONFIG, prune=False)
NARROW = dataclasses.replace(CONFIG, max_children=2)
DEMANDING = dataclasses.replace(CONFIG, min_prior=0.2)


def problem(n: int, p: int, seed: int, ccr: float = 1.0) -> Instance:
    generator = TopcuogluGenerator(n_tasks=n, n_processors=p, ccr=ccr)
    return generator(np.random.default_rng([n, p, seed]))


def search(
    instance: Instance, config: SearchConfig = CONFIG, incumbent: Schedule | None = None
) -> tuple[SharedTree, SearchReport]:
    tree, report = search_alone(
        SearchJob(0, instance, 0),
        PriorEvaluator(),
        config,
        rollout_weight=1.0,
        explore=False,
        incumbent=incumbent,
    )
    check_tree(tree.arrays, prune=config.prune)
    assert report.optimal == tree.proved
    return tree, report


@settings(max_examples=60)
@given(
    instances(max_tasks=4, max_processors=3),
    st.sampled_from([CONFIG, WITHOUT_PRUNING, NARROW, DEMANDING]),
)
def test_what_is_proved_is_the_optimum(instance: Instance, config: SearchConfig) -> None:
    """Zero costs, ties, blocked processors and odd links among them."""
    _, report = search(instance, config)
    if config in (CONFIG, WITHOUT_PRUNING):
        assert report.optimal
    if report.optimal:
        assert report.best_makespan == pytest.approx(optimum(instance), rel=1e-8)


def bound_of(c: SearchProblem, state: State) -> float:
    s = state.arrays
    return pruning_bound(c.floor, c.tail, c.least_tail, s.processor, s.bound)


@settings(max_examples=60)
@given(instances(max_tasks=5, max_processors=3), st.integers(0, 2**32 - 1))
def test_no_completion_is_below_the_bound(instance: Instance, seed: int) -> None:
    """Of any state on the way to a random schedule; at the end the bound is its makespan."""
    context, rng, state = search_problem(instance), np.random.default_rng(seed), State(instance)
    bounds = [bound_of(context, state)]
    while not state.terminal:
        state.apply(*rng.choice(np.argwhere(state.legal())).tolist())
        bounds.append(bound_of(context, state))
    assert max(bounds) <= state.makespan * (1 + 1e-12)
    assert bounds[0] >= instance.lower_bound * (1 - 1e-12)


@pytest.mark.parametrize("p", [2, 3])
@pytest.mark.parametrize("n", [5, 6, 7])
def test_proofs_agree_with_cp_sat(n: int, p: int) -> None:
    pytest.importorskip("ortools", reason="needs the extra 'exact'")
    from dagsched_env import exact

    proofs = 0
    for seed, ccr in enumerate((0.1, 0.5, 1.0, 2.0, 5.0)):
        instance = problem(n, p, seed, ccr)
        tree, report = search(instance)
        best = exact.solve(instance, workers=1)
        assert best.optimal
        assert tree.lower_bound <= best.schedule.makespan * (1 + 1e-8)
        if report.optimal:
            assert report.best_makespan == pytest.approx(best.schedule.makespan, rel=1e-8)
            proofs += 1
    assert proofs >= 4


@pytest.mark.parametrize("seed", range(4))
def test_pruning_finds_the_same_optimum_sooner(seed: int) -> None:
    instance = problem(4, 2, seed)
    _, pruned = search(instance)
    _, whole = search(instance, WITHOUT_PRUNING)
    assert pruned.optimal
    assert whole.optimal
    assert whole.outcome == "exhausted"
    assert pruned.best_makespan == pytest.approx(whole.best_makespan, rel=1e-9)
    assert pruned.simulations < whole.simulations


def test_an_exhausted_tree_that_dropped_actions_proves_nothing() -> None:
    """Width 2 misses the optimum of some problems, and never says that it has proved anything."""
    missed = 0
    for seed in range(12):
        instance = problem(5, 3, seed)
        tree, report = search(instance, NARROW)
        assert report.outcome == "exhausted"
        if report.best_makespan > optimum(instance) * (1 + 1e-8):
            assert not report.optimal
            assert tree.lower_bound < report.best_makespan
            missed += 1
    assert missed > 0


def test_a_schedule_as_short_as_the_bound_needs_no_search() -> None:
    """A chain on one processor: HEFT's schedule is offered, and the root's bound proves it."""
    instance = Instance(np.ones((4, 1)), [(0, 1), (1, 2), (2, 3)], [1.0, 1.0, 1.0])
    tree, report = search(instance, CONFIG, SCHEDULERS["heft"](instance))
    assert (report.simulations, report.outcome, report.optimal) == (1, "exhausted", True)
    assert tree.lower_bound == report.best_makespan == 4.0


def test_training_visits_are_not_pruned() -> None:
    """With the optimum known and proved, a search without pruning spends its whole budget."""
    instance = problem(5, 2, 0)
    config = SearchConfig(budget=60, batch_size=4)
    assert not config.prune
    best, _ = search(instance)
    tree, report = search(instance, config, best.incumbent(5, algorithm="known"))
    assert report.simulations >= 60
    assert report.outcome == "complete"
    assert tree.arrays.status[ROOT] != SOLVED


@pytest.mark.parametrize("seed", range(3))
def test_threads_prove_together(seed: int) -> None:
    """Each has its own view of the memory; the lock alone keeps them apart."""
    instance = problem(6, 2, seed, ccr=0.1)
    task, actors = SearchJob(0, instance, seed), 3
    tree = SharedTree.create(TreeSize.for_search(CONFIG, actors, instance.n_tasks))
    try:
        tree.reset()
        views = [SharedTree.attach(tree.handle) for _ in range(actors)]
        done = [0] * actors

        def work(actor: int) -> None:
            worker = search_worker(views[actor], actor, task, CONFIG)
            while not worker.tree.finished:
                done[actor] += worker.run_batch(1.0)

        threads = [threading.Thread(target=work, args=(actor,)) for actor in range(actors)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=60)
        check_tree(tree.arrays, prune=True)
        assert tree.counter(SIMS_DONE) == sum(done)
        assert tree.outcome == "exhausted"
        assert tree.proved
        assert tree.best_makespan == pytest.approx(optimum(instance), rel=1e-8)
        for view in views:
            view.close()
    finally:
        tree.close()

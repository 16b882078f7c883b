"""A fixed prefix: selection goes on below it, everything else as before."""

import dataclasses
import itertools

import numpy as np
import pytest

from aerl_trainer.config import ConfigError, SearchConfig
from aerl_trainer.policy.encoding.evaluator import PriorEvaluator
from aerl_trainer.tree.alone import search_alone
from aerl_trainer.tree.prefix import depth_to_fix, fix_prefix
from aerl_trainer.tree.records import SearchJob
from aerl_trainer.tree.shared_tree import SharedTree
from aerl_trainer.tree.tree import (
    BEST_MAKESPAN,
    EXHAUSTED,
    EXPANDED,
    N_NODES,
    NEW,
    NO_NODE,
    OUTCOME,
    ROOT,
    SEARCH_ROOT,
    SIMS_DONE,
    WRITER,
    TreeArrays,
    TreeSize,
)
from dagsched_env import exact
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.simulator import State
from helpers.small_runs import empty_tree, problem, search_worker
from helpers.tree_invariants import check_tree, path_to

CONFIG = SearchConfig(batch_size=4, max_children=64).for_solving(400)


def prefix_of(t: TreeArrays) -> list[int]:
    """The actions that have been fixed."""
    return [int(t.edge_action[edge]) for edge in path_to(t, int(t.counters[SEARCH_ROOT]))]


def fixed(t: TreeArrays, depth: int, p: int, prune: bool) -> int:
    """Fix a prefix; returns the depth of the search root."""
    fix_prefix(t, depth, p, prune)
    return int(t.depth[t.counters[SEARCH_ROOT]])


def incumbent_of(t: TreeArrays, instance: Instance) -> list[int]:
    """The actions of the best schedule."""
    tasks = t.incumbent_sequence[: instance.n_tasks]
    return (tasks * instance.n_processors + t.incumbent_processor[tasks]).tolist()


def schedule_with(instance: Instance, avoided: set[int]) -> list[int]:
    """Any schedule, as actions, whose first action is none of the ``avoided``."""
    state, p, actions = State(instance), instance.n_processors, []
    while not state.terminal:
        legal = [int(task) * p + int(q) for task, q in np.argwhere(state.legal())]
        actions.append(next(a for a in legal if actions or a not in avoided))
        state.apply(*divmod(actions[-1], p))
    return actions


def make_incumbent(t: TreeArrays, instance: Instance, actions: list[int]) -> None:
    """Whatever its makespan."""
    for i, action in enumerate(actions):
        task, processor = divmod(action, instance.n_processors)
        t.incumbent_sequence[i], t.incumbent_processor[task] = task, processor


def search(
    instance: Instance, config: SearchConfig, *, actors: int = 1, spent: float = 0.0
) -> tuple[SharedTree, list[list[int]]]:
    """A search to its end by actors that take turns, and the prefix after each mini-batch."""
    tree = empty_tree(instance, config, actors)
    task = SearchJob(0, instance, 0)
    workers = [search_worker(tree, actor, task, config) for actor in range(actors)]
    prefixes = []
    for worker in itertools.cycle(workers):
        worker.run_batch(1.0, spent)
        prefixes.append(prefix_of(tree.arrays))
        if tree.finished:
            return tree, prefixes
    raise AssertionError("there is no actor")


def searched(
    instance: Instance, config: SearchConfig, batches: int, size: TreeSize | None = None
) -> SharedTree:
    """A tree after some mini-batches without a fixed prefix."""
    tree = SharedTree.local(size or TreeSize.for_search(config, 1, instance.n_tasks))
    tree.reset()
    worker = search_worker(tree, 0, SearchJob(0, instance, 0), config)
    for _ in range(batches):
        worker.run_batch(1.0)
    return tree


@pytest.mark.parametrize(
    ("every", "depths"),
    [(0, [0] * 6), (10, [0, 0, 0, 10, 20, 20]), (4, [0, 0, 4, 12, 20, 24]), (99, [0] * 6)],
)
def test_what_is_fixed_when(every: int, depths: list[int]) -> None:
    """Of 28 placements: nothing in the first half, and the last group stays open."""
    shares = (0.0, 0.5, 0.62, 0.75, 0.875, 1.0)
    assert [depth_to_fix(share, 28, every) for share in shares] == depths


@pytest.mark.parametrize("actors", [1, 2])
@pytest.mark.parametrize("prune", [False, True])
def test_the_search_root_moves_down_and_the_tree_stays_whole(actors: int, prune: bool) -> None:
    instance = problem(20, 3)
    config = dataclasses.replace(CONFIG, fix_every=5, prune=prune)
    tree, prefixes = search(instance, config, actors=actors)
    check_tree(tree.arrays, prune=prune)
    assert tree.counter(SIMS_DONE) >= config.budget
    half = len(prefixes) // 2 - 2  # mini-batches are not equally large: some end at a collision
    assert not any(prefixes[:half]), "nothing is fixed in the first half"
    if not prune:
        assert len(prefixes[-1]) == 15
    root = slice(int(tree.arrays.first_edge[ROOT]), int(tree.arrays.n_edges[ROOT]))
    visits = tree.arrays.edge_visits[root].sum()
    assert visits == tree.counter(SIMS_DONE) - 1, "backups reach the root"


def test_the_search_goes_as_deep_as_the_schedule_is_long() -> None:
    instance = problem(60, 4)
    depth = {}
    for every in (0, 5):
        tree, _ = search(instance, dataclasses.replace(CONFIG, fix_every=every, prune=False))
        t, nodes = tree.arrays, tree.counter(N_NODES)
        depth[every] = int(t.depth[:nodes][t.status[:nodes] == EXPANDED].max())
    assert depth[0] < 20
    assert depth[5] >= 55


def test_what_is_fixed_is_the_incumbents_prefix() -> None:
    """Also where the tree does not know of it: it grows by one node, which is evaluated next."""
    instance = problem(20, 3)
    tree = searched(instance, CONFIG, 5)
    t = tree.arrays
    worker = search_worker(tree, 0, SearchJob(0, instance, 1), CONFIG)
    wanted = incumbent_of(t, instance)
    for _ in range(12):
        reached = fixed(t, 12, instance.n_processors, False)
        assert prefix_of(t) == wanted[:reached]
        check_tree(t)
        if reached == 12:
            break
        start = t.counters[SEARCH_ROOT]
        assert t.status[start] == NEW
        worker.run_batch(1.0)
        assert t.status[start] == EXPANDED
        wanted = incumbent_of(t, instance)
    assert reached == 12


def test_a_new_incumbent_moves_the_search_root_over() -> None:
    """One that begins in another way, such as another actor comes back with."""
    instance = problem(20, 3)
    tree = searched(instance, CONFIG, 20)
    t = tree.arrays
    assert fixed(t, 3, instance.n_processors, False) >= 1
    other = schedule_with(instance, {prefix_of(t)[0]})
    make_incumbent(t, instance, other)
    assert fixed(t, 3, instance.n_processors, False) >= 1
    assert prefix_of(t) == other[: len(prefix_of(t))]
    check_tree(t)


def test_an_action_that_was_dropped_takes_the_place_of_an_unvisited_one() -> None:
    """A rollout chooses among all actions, a node has the likeliest few."""
    instance = problem(20, 3)
    config = dataclasses.replace(CONFIG, max_children=2)
    tree = searched(instance, config, 1)
    t = tree.arrays
    kept = t.edge_action[:2].tolist()
    second = schedule_with(instance, set(kept))
    third = schedule_with(instance, {*kept, second[0]})
    make_incumbent(t, instance, second)
    assert fixed(t, 3, instance.n_processors, False) == 1
    assert t.edge_action[:2].tolist() == [kept[0], second[0]]
    assert t.dropped[ROOT]
    check_tree(t)
    search_worker(tree, 0, SearchJob(0, instance, 0), config).run_batch(1.0)
    t.counters[SEARCH_ROOT] = ROOT
    search_worker(tree, 0, SearchJob(0, instance, 0), config).run_batch(1.0)
    assert (t.edge_visits[:2] > 0).all()
    make_incumbent(t, instance, third)
    assert fixed(t, 3, instance.n_processors, False) == 0, "no edge is free"
    assert t.edge_action[:2].tolist() == [kept[0], second[0]]
    check_tree(t)


def test_the_search_root_stays_above_what_is_cut_off() -> None:
    instance = problem(20, 3)
    t = searched(instance, CONFIG, 20).arrays
    assert fixed(t, 1, instance.n_processors, True) == 1
    t.pruning_bound[t.counters[SEARCH_ROOT]] = t.scalars[BEST_MAKESPAN]
    assert fixed(t, 3, instance.n_processors, True) == 0


def test_a_full_tree_is_searched_on_above_what_it_has_no_room_for() -> None:
    instance = problem(20, 3)
    size = dataclasses.replace(TreeSize.for_search(CONFIG, 1, 20), nodes=21)
    tree = searched(instance, CONFIG, 12, size)
    t = tree.arrays
    assert t.counters[N_NODES] == 21
    reached = fixed(t, 15, instance.n_processors, False)
    assert reached < 15
    assert t.status[t.counters[SEARCH_ROOT]] == EXPANDED
    assert t.counters[N_NODES] == 21


def test_a_visited_edge_without_a_child_keeps_its_action() -> None:
    """There are such edges where a tree is full."""
    instance = problem(20, 3)
    config = dataclasses.replace(CONFIG, max_children=2)
    size = dataclasses.replace(TreeSize.for_search(config, 1, 20), nodes=2)
    t = searched(instance, config, 12, size).arrays
    kept = t.edge_action[:2].tolist()
    assert t.edge_visits[1] > 0
    assert t.edge_child[1] == NO_NODE
    make_incumbent(t, instance, schedule_with(instance, set(kept)))
    assert fixed(t, 3, instance.n_processors, False) == 0
    assert t.edge_action[:2].tolist() == kept


def test_a_writer_that_died_stops_the_search() -> None:
    instance = problem(20, 3)
    config = dataclasses.replace(CONFIG, fix_every=5)
    tree = searched(instance, config, 5)
    tree.arrays.counters[WRITER] = 1
    assert search_worker(tree, 1, SearchJob(0, instance, 0), config).run_batch(1.0, 0.9) == 0
    assert tree.outcome == "broken"
    assert tree.counter(SEARCH_ROOT) == ROOT
    assert tree.counter(WRITER) == 1, "the mark stays"


@pytest.mark.parametrize("max_children", [64, 3])
def test_a_solved_subtree_is_left_again(max_children: int) -> None:
    """A small problem is still proved, though its prefix was fixed before the proof; and where
    actions are dropped, nothing is proved that is not true."""
    for seed in range(6):
        instance = problem(6, 2, seed)
        config = dataclasses.replace(
            CONFIG.for_solving(20_000), fix_every=1, max_children=max_children
        )
        tree, prefixes = search(instance, config, spent=0.9)
        best = exact.solve(instance, time_limit_s=60)
        assert best.optimal
        assert any(prefixes)
        assert tree.arrays.counters[OUTCOME] == EXHAUSTED
        check_tree(tree.arrays, prune=True)
        if max_children == 64 or tree.proved:
            assert tree.proved
            assert tree.best_makespan == pytest.approx(best.schedule.makespan)
        assert tree.lower_bound <= best.schedule.makespan * (1 + 1e-9)


def test_time_counts_as_well_as_simulations() -> None:
    instance = problem(20, 3)
    config = dataclasses.replace(CONFIG.for_solving(10**6), fix_every=5)
    shares = iter(np.linspace(0.0, 1.0, 60))
    tree, report = search_alone(
        SearchJob(0, instance, 0),
        PriorEvaluator(),
        config,
        rollout_weight=1.0,
        explore=False,
        spent=lambda: float(next(shares)),
    )
    assert report.outcome == "running"
    assert tree.arrays.depth[tree.counter(SEARCH_ROOT)] >= 5


def test_a_negative_step_is_refused() -> None:
    with pytest.raises(ConfigError, match="fix_every"):
        SearchConfig(fix_every=-1)

"""The shared tree: select, expand and back up against a plain-Python model; storage."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aerl_trainer.config import SearchConfig
from aerl_trainer.policy.encoding.states import allocate_states
from aerl_trainer.tree import simulation
from aerl_trainer.tree.leaves import LeafBatch, leaves_around
from aerl_trainer.tree.selection import Rules
from aerl_trainer.tree.shared_tree import BrokenTreeError, SharedTree
from aerl_trainer.tree.tree import (
    BEST_MAKESPAN,
    BROKEN,
    COMPLETE,
    EVALUATING,
    MAX_NODES,
    N_EDGES,
    N_NODES,
    NEW,
    NO_NODE,
    OUTCOME,
    ROOT,
    SEARCH_ROOT,
    SIMS_DONE,
    SOLVED,
    TERMINAL_PATHS,
    WRITER,
    TreeArrays,
    TreeSize,
)
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers import SCHEDULERS
from helpers.reference_tree import Evaluation, ReferenceTree, assert_same_tree
from helpers.tree_invariants import check_tree, edges_of
from helpers.without_jit import WITHOUT_JIT, check_without_jit

ACTORS, BATCH, WIDTH = 3, 4, 3
DEPTH = 3


# -- a made-up game ------------------------------------------------------------------------------


Game = Callable[[int, list[int]], Evaluation]


def random_game(seed: int, path: list[int]) -> Evaluation:
    """A random state at the end of a path; values are multiples of 1/64, so that sums are exact."""
    rng = np.random.default_rng([seed, *path])
    value, extra = rng.integers(-64, 64, size=2) / 64
    count = int(rng.integers(1, WIDTH + 1))
    priors = np.sort(rng.dirichlet(np.ones(count)).astype(np.float32))[::-1]
    terminal = len(path) == DEPTH or (len(path) > 0 and rng.random() < 0.2)
    actions = [] if terminal else rng.permutation(10)[:count].tolist()
    bound, dropped = float(rng.integers(40 + 10 * len(path))), bool(rng.random() < 0.1)
    if terminal:
        return Evaluation([], [], value, value, True, bound)
    best = value + abs(extra)
    return Evaluation(actions, priors.tolist(), value, best, False, bound, dropped)


def two_armed_game(_seed: int, path: list[int]) -> Evaluation:
    """Two actions everywhere and no end; the root is worth 1/8, action 0 is 0, action 1 is 1/4."""
    value = path[0] / 4 if path else 0.125
    return Evaluation([0, 1], [0.625, 0.375], value, value, False)


def write(leaves: LeafBatch, row: int, evaluation: Evaluation) -> None:
    count, states = len(evaluation.actions), leaves.states
    states.terminal[row], states.n_candidates[row] = evaluation.terminal, count
    leaves.value[row], leaves.best_return[row] = evaluation.value, evaluation.best
    leaves.pruning_bound[row], states.dropped[row] = evaluation.bound, evaluation.dropped
    states.candidates[row, :count] = evaluation.actions
    states.policy[row, :count] = evaluation.priors


def rules_of(model: ReferenceTree) -> Rules:
    return Rules(
        model.budget,
        model.min_paths,
        model.cap,
        model.c_puct,
        model.c_puct_base,
        model.best_weight,
        model.prune,
    )


class KernelTree:
    """The tree under test, driven as its model is."""

    def __init__(self, model: ReferenceTree, *, nodes: int, edges: int) -> None:
        self.shared = SharedTree.local(TreeSize(nodes, edges, ACTORS, BATCH, tasks=1))
        self.shared.reset()
        self.t = self.shared.arrays
        self.rules = rules_of(model)
        self.leaves = leaves_around(allocate_states(BATCH, WIDTH, 1))

    def gather(self, actor: int, limit: int) -> list[list[int]]:
        count = simulation.gather(self.t, actor, limit, self.rules)
        return [self.actions(int(edge)) for edge in self.t.journal_edge[actor, :count]]

    def actions(self, edge: int) -> list[int]:
        path = []
        while edge >= 0:
            path.append(int(self.t.edge_action[edge]))
            edge = int(self.t.parent_edge[self.t.edge_parent[edge]])
        return path[::-1]

    def expand_and_back_up(self, actor: int, evaluations: list[Evaluation]) -> None:
        for row, evaluation in enumerate(evaluations):
            write(self.leaves, row, evaluation)
        simulation.expand_and_back_up(self.t, actor, self.leaves, self.rules)

    def forget(self, actor: int) -> None:
        simulation.forget(self.t, actor)


class Pair:
    """The tree and its model side by side; whatever is done to one is done to the other."""

    def __init__(
        self,
        seed: int = 0,
        nodes: int = 1000,
        edges: int = 3000,
        game: Game = random_game,
        **options: float,
    ) -> None:
        settings = {"c_puct": 1.5, "best_weight": 0.5, "budget": 30, "min_paths": 2, "cap": 90}
        self.model = ReferenceTree(**(settings | options), max_nodes=nodes, max_edges=edges)  # type: ignore[arg-type]
        self.tree = KernelTree(self.model, nodes=nodes, edges=edges)
        self.seed, self.game = seed, game
        self.in_flight: dict[int, list[list[int]]] = {}

    def gather(self, actor: int = 0, limit: int = 1) -> list[list[int]]:
        paths = self.model.gather(actor, limit)
        assert self.tree.gather(actor, limit) == paths
        self.in_flight[actor] = paths
        return paths

    def expand_and_back_up(self, actor: int = 0) -> None:
        evaluations = [self.game(self.seed, path) for path in self.in_flight.pop(actor)]
        self.model.expand_and_back_up(actor, evaluations)
        self.tree.expand_and_back_up(actor, evaluations)

    def forget(self, actor: int = 0) -> None:
        del self.in_flight[actor]
        self.model.forget(actor)
        self.tree.forget(actor)

    def offer(self, makespan: float) -> None:
        """A schedule has become known; one that is no better changes nothing."""
        self.model.best_makespan = min(self.model.best_makespan, makespan)
        self.tree.t.scalars[BEST_MAKESPAN] = self.model.best_makespan

    def descend(self) -> None:
        """Select below the first expanded child from now on, if there is one."""
        t, top = self.tree.t, self.model.top
        for e, edge in zip(edges_of(t, int(t.counters[SEARCH_ROOT])), top.edges, strict=True):
            if edge.child is not None and edge.child.status == "expanded":
                t.counters[SEARCH_ROOT], self.model.top = t.edge_child[e], edge.child
                return

    def simulate(self, actor: int = 0, limit: int = 1) -> int:
        count = len(self.gather(actor, limit))
        self.expand_and_back_up(actor)
        return count

    def compare(self) -> None:
        check_tree(self.tree.t, finished=False, width=WIDTH, prune=self.model.prune)
        assert_same_tree(self.tree.t, self.model)

    def finish(self) -> TreeArrays:
        """Commit what is in flight and search on until the end."""
        for actor in list(self.in_flight):
            self.expand_and_back_up(actor)
        while self.model.outcome == "running":
            assert self.simulate() == 1
        return self.tree.t


# -- against the model ---------------------------------------------------------------------------


steps = st.lists(
    st.tuples(st.integers(0, ACTORS - 1), st.integers(1, BATCH), st.integers(0, 9)),
    min_size=5,
    max_size=80,
)


@settings(max_examples=15 if WITHOUT_JIT else 150)
@given(
    steps=steps,
    seed=st.integers(0, 2**32 - 1),
    sizes=st.sampled_from([(1000, 3000), (1000, 3000), (12, 36), (1000, 9), (1, 3)]),
    c_puct=st.sampled_from([0.0, 0.5, 1.5, 8.0]),
    best_weight=st.sampled_from([0.0, 0.25, 0.5, 1.0]),
    budget=st.integers(1, 40),
    min_paths=st.integers(1, 8),
    prune=st.booleans(),
)
def test_any_interleaving_of_actors_grows_the_tree_of_the_model(
    steps: list[tuple[int, int, int]],
    seed: int,
    sizes: tuple[int, int],
    c_puct: float,
    best_weight: float,
    budget: int,
    min_paths: int,
    prune: bool,
) -> None:
    pair = Pair(
        seed,
        *sizes,
        c_puct=c_puct,
        best_weight=best_weight,
        budget=budget,
        min_paths=min_paths,
        cap=2 * budget,
        prune=prune,
    )
    for actor, limit, choice in steps:
        if actor not in pair.in_flight:
            pair.gather(actor, limit)
        elif choice == 0:
            pair.forget(actor)  # its process has died
        elif choice == 1:
            pair.offer(float(10 * limit))
        elif choice == 2:
            pair.descend()
        else:
            pair.expand_and_back_up(actor)
        pair.compare()
    for actor in list(pair.in_flight):
        pair.expand_and_back_up(actor)
    pair.compare()
    check_tree(pair.tree.t, width=WIDTH, prune=prune)


@pytest.mark.parametrize("seed", range(5))
def test_one_simulation_at_a_time(seed: int) -> None:
    pair = Pair(seed, budget=60)
    done = 0
    while pair.model.outcome == "running":
        done += pair.simulate()
        assert pair.tree.t.counters[SIMS_DONE] == done
    pair.compare()


# -- collisions, deaths --------------------------------------------------------------------------


def test_a_leaf_in_flight_stops_the_others() -> None:
    pair = Pair()
    assert pair.gather(0, limit=4) == [[]]  # the root, once
    assert pair.gather(1, limit=4) == []
    pair.expand_and_back_up(1)
    pair.expand_and_back_up(0)
    root_edges = edges_of(pair.tree.t, ROOT)
    first = pair.gather(0, limit=len(root_edges))
    assert [len(path) for path in first] == [1] * len(first)
    pair.gather(1, limit=4)
    pair.compare()
    for actor in (1, 0):
        pair.expand_and_back_up(actor)
    check_tree(pair.finish())


def test_puct_by_hand() -> None:
    """c = 1 and mean values: action 1 has the lower prior and the higher value."""
    pair = Pair(game=two_armed_game, c_puct=1.0, c_puct_base=1e12, best_weight=0.0, budget=20)
    assert pair.simulate() == 1  # the root: Q in [0.125, 0.125]
    # 0: 0.625·1/1, 1: 0.375·1/1; both unvisited, so Q̃ is the same
    assert pair.gather()[0] == [0]
    pair.expand_and_back_up()
    # value 0: Q in [0, 0.125], the unvisited action takes (0.125 + 0)/2, Q̃ = 0.5
    # 0: 0 + 0.625·1/2, 1: 0.5 + 0.375·1/1
    assert pair.gather()[0] == [1]
    pair.expand_and_back_up()  # value 0.25: Q in [0, 0.25]
    # 0: 0 + 0.625·√2/2 = 0.44, 1: 1 + 0.375·√2/2 = 1.27; then on with the prior
    assert pair.gather()[0] == [1, 0]
    pair.expand_and_back_up()
    root = edges_of(pair.tree.t, ROOT)
    assert [int(pair.tree.t.edge_visits[e]) for e in root] == [1, 2]
    assert [float(pair.tree.t.edge_total[e]) for e in root] == [0.0, 0.5]


def test_visits_in_flight_turn_selection_elsewhere() -> None:
    """WU-UCT: O lowers the exploration term, Q stays: 0.625·√1/2 < 0.375·√1/1."""
    pair = Pair(game=two_armed_game, c_puct=1.0, c_puct_base=1e12, best_weight=0.0, budget=20)
    pair.simulate()
    assert pair.gather(0) == [[0]]
    assert pair.gather(1) == [[1]]
    t = pair.tree.t
    assert [int(t.edge_in_flight[e]) for e in edges_of(t, ROOT)] == [1, 1]
    assert not t.edge_visits[: t.counters[N_EDGES]].any()


def test_forgotten_leaves_can_be_selected_again() -> None:
    pair = Pair()
    pair.simulate()
    lost = pair.gather(0, limit=2)
    pair.forget(0)
    assert not pair.tree.t.edge_in_flight.any()
    assert pair.tree.t.counters[SIMS_DONE] == 1
    assert pair.gather(1, limit=2) == lost
    pair.expand_and_back_up(1)
    pair.compare()
    check_tree(pair.finish())


def test_a_forgotten_root_can_be_selected_again() -> None:
    pair = Pair()
    assert pair.gather(0) == [[]]
    pair.forget(0)
    assert pair.gather(1) == [[]]


def test_a_change_that_fails_half_way_leaves_its_mark() -> None:
    shared = Pair().tree.shared
    with pytest.raises(ZeroDivisionError), shared.writing(1):
        raise ZeroDivisionError
    assert shared.counter(WRITER) == 2
    with pytest.raises(BrokenTreeError), shared.writing(0):
        pytest.fail("nobody may write to it")


def test_the_death_of_one_who_was_not_writing_breaks_nothing() -> None:
    pair = Pair()
    pair.simulate()
    pair.gather(1, limit=2)
    with pair.tree.shared.writing(0) as arrays:
        assert arrays.counters[WRITER] == 1
    pair.tree.shared.bury(1)
    assert pair.tree.shared.outcome == "running"
    assert pair.tree.t.journal_count.tolist() == [0] * ACTORS
    assert not pair.tree.t.edge_in_flight.any()


@pytest.mark.parametrize("who", ["another", "the creator"])
def test_a_writer_that_died_breaks_the_tree(who: str) -> None:
    pair = Pair()
    pair.simulate()
    pair.gather(1, limit=2)
    t, shared = pair.tree.t, pair.tree.shared
    t.counters[WRITER] = 1  # actor 0 died in the middle of a change
    before = [array.copy() for array in t]
    if who == "another":
        with pytest.raises(BrokenTreeError), shared.writing(1):
            pytest.fail("nobody may write to it")
    else:
        shared.bury(0)
    assert shared.outcome == "broken"
    assert shared.finished
    assert shared.broken
    for name, array, old in zip(TreeArrays._fields, t, before, strict=True):
        if name != "counters":
            assert np.array_equal(array, old, equal_nan=array.dtype.kind == "f")
    t.counters[WRITER] = 0
    assert pair.tree.gather(2, 1) == [], "it stays broken"
    pair.tree.shared.reset()
    assert pair.tree.gather(2, 1) == [[]]


# -- the end -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_the_budget_and_the_terminal_paths_are_both_needed(seed: int) -> None:
    """No tree finishes on one of the two; the run is cut into single simulations to see it."""
    pair = Pair(seed, budget=12, min_paths=5, cap=10_000)
    t = pair.tree.t
    while pair.model.outcome == "running":
        assert t.counters[SIMS_DONE] < 12 or t.counters[TERMINAL_PATHS] < 5
        pair.simulate()
    if pair.tree.shared.outcome == "complete":
        assert t.counters[SIMS_DONE] >= 12
        assert t.counters[TERMINAL_PATHS] >= 5
    else:
        assert pair.tree.shared.outcome == "exhausted"
        assert t.status[ROOT] == SOLVED
    check_tree(t)


def test_the_cap_ends_a_search_without_terminal_paths() -> None:
    pair = Pair(budget=3, min_paths=1000, cap=10)
    pair.finish()
    assert pair.tree.shared.outcome == "cap"
    assert pair.tree.t.counters[SIMS_DONE] == 10


def test_a_finished_tree_gives_no_leaves_but_takes_those_in_flight() -> None:
    pair = Pair(seed=1, budget=6, min_paths=1)
    pair.simulate()
    pair.gather(1, limit=1)
    while pair.model.outcome == "running":
        if pair.simulate() == 0:  # the last free leaf is in flight
            pair.expand_and_back_up(1)
    assert pair.gather(2, limit=4) == []
    done = int(pair.tree.t.counters[SIMS_DONE])
    late = len(pair.in_flight.get(1, []))
    if late:
        pair.expand_and_back_up(1)
    assert pair.tree.t.counters[SIMS_DONE] == done + late
    assert pair.tree.t.counters[OUTCOME] == COMPLETE
    pair.compare()
    check_tree(pair.tree.t)


def test_a_full_tree_counts_on_without_growing() -> None:
    pair = Pair(game=two_armed_game, nodes=6, edges=18, budget=40, cap=80)
    t = pair.finish()
    pair.compare()
    assert t.counters[N_NODES] == 6
    assert t.counters[SIMS_DONE] == 80
    childless = [e for e in range(12) if t.edge_child[e] == NO_NODE and t.edge_visits[e] > 0]
    assert childless, "simulations went on below the last nodes"
    check_tree(t)


def test_nodes_without_room_for_edges_stay_leaves() -> None:
    pair = Pair(game=two_armed_game, nodes=100, edges=4, budget=30, cap=40)
    t = pair.finish()
    pair.compare()
    visited = [e for e in range(4) if t.edge_visits[e] > 1 and t.status[t.edge_child[e]] == NEW]
    assert visited, "a leaf was evaluated more than once"


# -- storage -------------------------------------------------------------------------------------


def test_size_leaves_room_for_every_simulation() -> None:
    config = SearchConfig(budget=100, cap_factor=3.0, batch_size=8, max_children=5)
    size = TreeSize.for_search(config, actors=2, tasks=7)
    assert size == TreeSize(nodes=324, edges=1620, actors=2, batch=8, tasks=7)
    huge = TreeSize.for_search(SearchConfig(budget=10**9), actors=1, tasks=7)
    assert huge.nodes == MAX_NODES + 8


def test_the_stated_memory_is_what_is_allocated() -> None:
    """The docstring gives bytes a node and an edge."""

    def total(nodes: int, edges: int) -> int:
        specs = TreeSize(nodes, edges, actors=2, batch=4, tasks=7).specs()
        return sum(math.prod(shape) * np.dtype(dtype).itemsize for shape, dtype in specs.values())

    a_node, an_edge = total(101, 1000) - total(100, 1000), total(100, 1001) - total(100, 1000)
    assert TreeSize.__doc__ is not None
    assert f"{a_node} bytes a node and {an_edge} bytes an edge" in TreeSize.__doc__
    assert total(MAX_NODES, 32 * MAX_NODES) == pytest.approx(0.3e9, rel=0.2), "see MAX_NODES"


def test_attached_trees_are_one() -> None:
    tree = SharedTree.create(TreeSize(nodes=10, edges=30, actors=2, batch=4, tasks=3))
    try:
        tree.reset()
        other = SharedTree.attach(tree.handle)
        with other.lock:
            assert simulation.gather(other.arrays, 0, 1, rules_of(Pair().model)) == 1
        assert tree.arrays.status[ROOT] == EVALUATING
        assert tree.arrays.journal_count.tolist() == [1, 0]
        tree.arrays.counters[OUTCOME] = BROKEN
        assert other.outcome == "broken"
        other.close()
        assert tree.outcome == "broken", "closing an attached tree does not remove it"
    finally:
        tree.close()


def test_a_local_tree_has_no_handle() -> None:
    tree = SharedTree.local(TreeSize(nodes=10, edges=30, actors=1, batch=4, tasks=3))
    with pytest.raises(RuntimeError, match="cannot be shared"):
        _ = tree.handle


def test_reset_empties_a_used_tree() -> None:
    """Also of its bounds, which would cut off what has not been looked at yet."""
    pair = Pair(budget=40, prune=True)
    pair.finish()
    pair.tree.shared.reset()
    assert not pair.tree.shared.finished
    assert pair.tree.shared.best_makespan == np.inf
    used, model = pair.tree, Pair(budget=40, prune=True).model
    used.t.scalars[BEST_MAKESPAN] = model.best_makespan = 50.0
    while model.outcome == "running":  # and grows as a fresh one does
        paths = model.gather(0, 1)
        assert used.gather(0, 1) == paths
        evaluations = [random_game(0, path) for path in paths]
        model.expand_and_back_up(0, evaluations)
        used.expand_and_back_up(0, evaluations)
    check_tree(used.t, prune=True)
    assert_same_tree(used.t, model)


def test_a_tree_without_a_schedule_says_so() -> None:
    tree = SharedTree.local(TreeSize(nodes=10, edges=30, actors=1, batch=4, tasks=12))
    tree.reset()
    with pytest.raises(RuntimeError, match="there is no schedule"):
        tree.incumbent(10, algorithm="test")


def test_an_offered_schedule_can_be_followed_through_tasks_of_no_duration() -> None:
    """Their starts alone say nothing about their order."""
    instance = Instance([[0.0], [0.0], [1.0]], [(1, 0), (0, 2)], [0.0, 0.0])
    tree = SharedTree.local(TreeSize(nodes=4, edges=4, actors=1, batch=1, tasks=3))
    tree.reset()
    tree.offer(instance, SCHEDULERS["heft"](instance))
    assert tree.arrays.incumbent_sequence.tolist() == [1, 0, 2]


def test_only_a_shorter_schedule_replaces_the_incumbent(topcuoglu: Instance) -> None:
    tree = SharedTree.local(TreeSize(nodes=10, edges=30, actors=1, batch=4, tasks=12))
    tree.reset()
    heft = SCHEDULERS["heft"](topcuoglu)
    bad = SCHEDULERS["random_order"](topcuoglu)
    assert bad.makespan > heft.makespan == 80
    for schedule in (bad, heft, bad):
        tree.offer(topcuoglu, schedule)
    best = tree.incumbent(topcuoglu.n_tasks, algorithm="test")
    assert best == heft
    assert isinstance(best, Schedule)
    assert best.algorithm == "test"
    assert tree.best_makespan == 80
    order = tree.arrays.incumbent_sequence[: topcuoglu.n_tasks].tolist()
    assert sorted(order) == list(range(10))
    assert all(order.index(u) < order.index(v) for u, v in topcuoglu.edges.tolist())


# -- without the JIT -----------------------------------------------------------------------------


@pytest.mark.skipif(WITHOUT_JIT, reason="this is that run")
def test_everything_above_holds_without_the_jit() -> None:
    check_without_jit(__file__)

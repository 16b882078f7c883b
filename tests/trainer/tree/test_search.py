"""Searches of real problems: the tree they leave, what its values mean, and when they end."""

import dataclasses
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aerl_trainer.config import SearchConfig
from aerl_trainer.config.seeding import generator
from aerl_trainer.policy.encoding.evaluator import Evaluator, PriorEvaluator
from aerl_trainer.policy.encoding.states import EncodedStates
from aerl_trainer.tree.alone import search_alone
from aerl_trainer.tree.problem import search_problem
from aerl_trainer.tree.records import SearchJob, SearchReport
from aerl_trainer.tree.shared_tree import SharedTree
from aerl_trainer.tree.simulation import forget
from aerl_trainer.tree.tree import (
    BEST_MAKESPAN,
    EXPANDED,
    N_NODES,
    NO_NODE,
    Q_MAX,
    ROOT,
    SIMS_DONE,
    SOLVED,
    TERMINAL,
    TERMINAL_PATHS,
    WRITER,
    TreeArrays,
)
from aerl_trainer.tree.worker import NOISE_LENGTH, SearchWorker
from dagsched_env.generators import TopcuogluGenerator
from dagsched_env.problem.bounds import lower_bounds, tails
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.problem.simulator import State, replay
from dagsched_env.schedulers import SCHEDULERS
from helpers import references
from helpers.reference_tree import Evaluation, ReferenceTree, assert_same_tree
from helpers.small_runs import empty_tree, search_worker
from helpers.strategies import instances
from helpers.tree_invariants import check_tree, edges_of, path_to
from helpers.without_jit import WITHOUT_JIT, check_without_jit

CONFIG = SearchConfig(
    budget=12 if WITHOUT_JIT else 120,
    min_trajectories=2 if WITHOUT_JIT else 4,
    cap_factor=4.0,
    batch_size=4,
    c_puct=1.5,
    best_weight=0.5,
    max_children=16,
    min_prior=0.002,
)


class MadeUpNetwork:
    """An ``Evaluator`` whose answers are easy to compute again."""

    def evaluate(self, instance: Instance, leaves: EncodedStates, count: int) -> int:
        leaves.logits[:count] = made_up_logits(leaves.candidates[:count])
        leaves.prediction[:count] = made_up_prediction(leaves.n_candidates[:count])
        return 7


def made_up_logits(actions: np.ndarray) -> np.ndarray:
    return (0.5 * np.sin(actions)).astype(np.float32)


def made_up_prediction(n_candidates: np.ndarray) -> np.ndarray:
    return (0.02 * n_candidates - 0.05).astype(np.float32)


def problem(n: int = 12, p: int = 3, seed: int = 0) -> Instance:
    return TopcuogluGenerator(n_tasks=n, n_processors=p)(np.random.default_rng(seed))


def search(
    instance: Instance,
    config: SearchConfig = CONFIG,
    *,
    evaluator: Evaluator | None = None,
    rollout_weight: float = 1.0,
    seed: int = 0,
    explore: bool = False,
    incumbent: Schedule | None = None,
) -> tuple[SharedTree, SearchReport]:
    return search_alone(
        SearchJob(0, instance, seed),
        evaluator or PriorEvaluator(),
        config,
        rollout_weight=rollout_weight,
        explore=explore,
        incumbent=incumbent,
    )


def worker(
    tree: SharedTree, actor: int, task: SearchJob, config: SearchConfig = CONFIG, **options: Any
) -> SearchWorker:
    return search_worker(tree, actor, task, config, **options)


def state_at(instance: Instance, t: TreeArrays, node: int) -> State:
    """The simulator's state behind a node's path; raises on an illegal action."""
    state = State(instance)
    for edge in path_to(t, node):
        state.apply(*divmod(int(t.edge_action[edge]), instance.n_processors))
    return state


def nodes_of(t: TreeArrays, status: int) -> list[int]:
    return np.flatnonzero(t.status[: t.counters[N_NODES]] == status).tolist()


# -- a finished tree -----------------------------------------------------------------------------


@settings(max_examples=8 if WITHOUT_JIT else 60)
@given(
    instance=instances(max_tasks=4 if WITHOUT_JIT else 8),
    batch_size=st.sampled_from([1, 3, 16]),
    best_weight=st.sampled_from([0.0, 0.5, 1.0]),
    rollout_weight=st.sampled_from([0.0, 0.5, 1.0]),
    explore=st.booleans(),
    min_prior=st.sampled_from([0.0, 0.002, 0.2]),
    prune=st.booleans(),
    seed=st.integers(0, 2**31 - 1),
)
def test_every_search_leaves_a_sound_tree_and_a_valid_schedule(
    instance: Instance,
    batch_size: int,
    best_weight: float,
    rollout_weight: float,
    explore: bool,
    min_prior: float,
    prune: bool,
    seed: int,
) -> None:
    config = dataclasses.replace(
        CONFIG, batch_size=batch_size, best_weight=best_weight, min_prior=min_prior, prune=prune
    )
    heft = SCHEDULERS["heft"](instance)
    tree, report = search(
        instance,
        config,
        evaluator=MadeUpNetwork(),
        rollout_weight=rollout_weight,
        seed=seed,
        explore=explore,
        incumbent=heft,
    )
    t = tree.arrays
    check_tree(t, prune=prune)
    assert report.outcome in ("complete", "exhausted", "cap")
    assert report.simulations == t.counters[SIMS_DONE]
    assert report.terminal_paths == t.counters[TERMINAL_PATHS] == len(nodes_of(t, TERMINAL))
    assert report.nodes == t.counters[N_NODES]
    check_states(instance, t)
    check_incumbent(instance, tree, heft)


def check_states(instance: Instance, t: TreeArrays) -> None:
    """Every path is legal; terminal nodes are complete schedules, worth exactly 1 - SLR."""
    for node in range(int(t.counters[N_NODES])):
        state = state_at(instance, t, node)
        assert t.depth[node] == state.n_scheduled
        for e in edges_of(t, node):
            task, processor = divmod(int(t.edge_action[e]), instance.n_processors)
            assert state.legal()[task, processor]
        if t.status[node] == TERMINAL:
            value = 1.0 - state.schedule().makespan / instance.time_scale
            edge = t.parent_edge[node]
            assert t.raw_value[node] == t.edge_total[edge] == t.edge_best[edge] == value
            assert t.edge_visits[edge] == 1, "N counts although v = 0"
        else:
            assert not state.terminal or t.status[node] not in (EXPANDED, SOLVED)


def check_incumbent(instance: Instance, tree: SharedTree, offered: Schedule) -> None:
    best = tree.incumbent(instance.n_tasks, algorithm="search")
    best.validate(instance)
    assert best.makespan == tree.best_makespan <= offered.makespan
    if best.makespan == offered.makespan:
        return  # it may be the offered one
    order = tree.arrays.incumbent_sequence[: instance.n_tasks]
    pairs = np.stack([order, best.processor[order]], axis=1)
    assert replay(instance, pairs).makespan == best.makespan


@pytest.mark.parametrize("seed", range(3))
def test_the_incumbent_is_the_best_schedule_met(seed: int) -> None:
    instance = problem(seed=seed)
    tree, report = search(instance, seed=seed)
    t = tree.arrays
    assert report.best_makespan == t.scalars[BEST_MAKESPAN]
    best_return = 1.0 - report.best_makespan / instance.time_scale
    assert t.scalars[Q_MAX] == pytest.approx(best_return, rel=1e-12)
    assert max(t.edge_best[e] for e in edges_of(t, ROOT)) <= best_return + 1e-12


def test_a_better_offer_stays_the_incumbent() -> None:
    instance = problem()
    strong, _ = search(instance, dataclasses.replace(CONFIG, budget=10 * CONFIG.budget))
    offer = strong.incumbent(instance.n_tasks, algorithm="offered")
    tree, _ = search(instance, dataclasses.replace(CONFIG, budget=2, min_trajectories=1), seed=5)
    alone = tree.best_makespan
    assert offer.makespan < alone
    tree, report = search(
        instance, dataclasses.replace(CONFIG, budget=2, min_trajectories=1), seed=5, incumbent=offer
    )
    assert report.best_makespan == offer.makespan
    assert tree.incumbent(instance.n_tasks, algorithm="x") == offer


def test_a_death_while_storing_the_incumbent_breaks_the_tree() -> None:
    instance = problem()
    tree = empty_tree(instance, CONFIG, actors=2)
    doomed = worker(tree, 1, SearchJob(0, instance, 0))
    tree.arrays = tree.arrays._replace(incumbent_start=np.zeros(1))  # the copy fails half way
    with pytest.raises(ValueError, match="broadcast"):
        doomed.run_batch(1.0)
    assert tree.counter(WRITER) == 2
    assert worker(tree, 0, SearchJob(0, instance, 0)).run_batch(1.0) == 0
    assert tree.outcome == "broken"


# -- the same tree as a slow search in plain Python ----------------------------------------------


class SlowSearch:
    """One worker's simulations on ``references.Partial`` and ``ReferenceTree``."""

    def __init__(self, instance: Instance, config: SearchConfig, seed: int, weight: float) -> None:
        self.instance, self.config, self.rollout_weight = instance, config, weight
        n, p = instance.comp.shape
        self.tree = ReferenceTree(
            config.c_puct,
            config.best_weight,
            config.budget,
            config.min_trajectories,
            int(config.cap_factor * config.budget),
            prune=config.prune,
            c_puct_base=config.c_puct_base,
        )
        self.rank = np.array(references.rank_u(instance))
        self.oct = np.array(references.oct_table(instance))
        self.rng = generator(seed, "actor", 0)
        self.noise = self.rng.standard_normal(NOISE_LENGTH + n + n * p)
        self.sigma = search_problem(instance).rollout_sigma
        self.floor, self.tail = lower_bounds(instance).best, tails(instance)
        self.rollout_makespans: list[float] = []

    def run_batch(self) -> None:
        paths = self.tree.gather(0, self.config.batch_size)
        if not paths:
            return
        offsets = self.rng.integers(NOISE_LENGTH, size=len(paths))
        evaluations = list(map(self.evaluate, paths, offsets.tolist()))
        self.tree.best_makespan = min(self.rollout_makespans)
        self.tree.expand_and_back_up(0, evaluations)

    def evaluate(self, path: list[int], offset: int) -> Evaluation:
        n, p = self.instance.comp.shape
        rollout = self.complete(path, self.sigma, self.noise[offset : offset + n + n * p])
        cp_min = references.critical_path(self.instance)
        best = 1.0 - rollout / cp_min
        self.rollout_makespans.append(rollout)
        if len(path) == n:
            return Evaluation([], [], best, best, True, rollout)
        actions, priors, dropped = self.policy(self.partial(path))
        prediction = made_up_prediction(np.array(len(actions))).item()
        improved = self.complete(path, 0.0, np.zeros(n + n * p)) - prediction * self.rank.max()
        blend = self.rollout_weight * rollout + (1.0 - self.rollout_weight) * improved
        bound = self.bound(self.partial(path))
        return Evaluation(actions, priors, 1.0 - blend / cp_min, best, False, bound, dropped)

    def bound(self, partial: references.Partial) -> float:
        """Unplaced tasks run at once where that ends first, with free links between each other."""
        g, finish, least = self.instance, {}, self.floor
        for t in g.topological_order.tolist():
            places = np.flatnonzero(np.isfinite(g.comp[t])).tolist()
            if t in partial.placed:
                places, finish[t] = [partial.placed[t][0]], partial.placed[t][2]
            else:
                finish[t] = min(self.arrival(partial, t, q, finish) + g.comp[t, q] for q in places)
            least = max(least, finish[t] + min(self.tail[t, places]))
        return least

    def arrival(
        self, partial: references.Partial, t: int, q: int, finish: dict[int, float]
    ) -> float:
        g, times = self.instance, [0.0]
        for (u, v), data in zip(g.edges.tolist(), g.data.tolist(), strict=True):
            if v == t:
                a = partial.placed[u][0] if u in partial.placed else q
                link = 0.0 if a == q else g.latency[a, q] + data * g.inv_bandwidth[a, q]
                times.append(finish[u] + link)
        return max(times)

    def partial(self, path: list[int]) -> references.Partial:
        partial = references.Partial(self.instance, insertion=True)
        for action in path:
            partial.place(*divmod(action, self.instance.n_processors))
        return partial

    def complete(self, path: list[int], sigma: float, noise: np.ndarray) -> float:
        return references.complete(self.partial(path), self.rank, self.oct, sigma, noise)

    def policy(self, partial: references.Partial) -> tuple[list[int], list[float], bool]:
        """``-10·(EFT + OCT - min)/R - 10·(max rank_u - rank_u)/R``, then the network on top."""
        p, comp = self.instance.n_processors, self.instance.comp
        ready = partial.ready_tasks()
        pairs = [(t, q) for t, q in itertools.product(ready, range(p)) if np.isfinite(comp[t, q])]
        total = {(t, q): partial.start(t, q) + comp[t, q] + self.oct[t, q] for t, q in pairs}
        top = max(self.rank[t] for t in ready)
        logit = {
            t * p + q: -10 * (total[t, q] - min(total.values()) + top - self.rank[t])
            / self.rank.max()
            for t, q in pairs
        }  # fmt: skip
        order = sorted(logit, key=lambda a: (-logit[a], a))
        weights = np.exp([logit[a] for a in order])
        enough = weights >= self.config.min_prior * weights.sum()
        kept = order[: max(1, min(int(enough.sum()), self.config.max_children))]
        weights = np.exp(np.array([logit[a] for a in kept]) + made_up_logits(np.array(kept)))
        prior = dict(zip(kept, (weights / weights.sum()).astype(np.float32).tolist(), strict=True))
        by_prior = sorted(kept, key=lambda a: -prior[a])
        return by_prior, [prior[a] for a in by_prior], len(kept) < len(order)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("batch_size", "rollout_weight", "prune"),
    [(1, 0.25, False), (1, 1.0, False), (3, 0.5, False), (1, 1.0, True), (3, 0.5, True)],
)
def test_same_tree_as_the_slow_search(
    seed: int, batch_size: int, rollout_weight: float, prune: bool
) -> None:
    instance = problem(5, 2, seed)
    config = dataclasses.replace(
        CONFIG,
        batch_size=batch_size,
        budget=40,
        min_trajectories=3,
        max_children=4,
        prune=prune,
    )
    slow = SlowSearch(instance, config, seed, rollout_weight)
    tree = empty_tree(instance, config)
    fast = worker(tree, 0, SearchJob(0, instance, seed), config, evaluator=MadeUpNetwork())
    while not tree.finished:
        fast.run_batch(rollout_weight)
        slow.run_batch()
        assert_same_tree(tree.arrays, slow.tree, rel=1e-5)
    check_tree(tree.arrays, prune=prune)


# -- what is backed up ---------------------------------------------------------------------------


def list_completion(instance: Instance, t: TreeArrays, node: int) -> float:
    partial = references.Partial(instance, insertion=True)
    for edge in path_to(t, node):
        partial.place(*divmod(int(t.edge_action[edge]), instance.n_processors))
    zeros = np.zeros(sum(instance.comp.shape) + instance.comp.size)
    return references.complete(partial, instance.rank_u, instance.oct, 0.0, zeros)


@pytest.mark.parametrize("target", ["return", "rank"])
def test_backup_value_is_the_value_alone(target: str) -> None:
    """The literal form: v, and 0 at terminal states, whatever the rewards on the way were."""
    instance = problem(6, 2)
    config = dataclasses.replace(CONFIG, backup="value", value_target=target)
    tree, _ = search(instance, config, evaluator=MadeUpNetwork(), rollout_weight=0.5)
    t = tree.arrays
    check_tree(t)
    for node in range(int(t.counters[N_NODES])):
        if t.status[node] == TERMINAL:
            edge = t.parent_edge[node]
            assert t.raw_value[node] == t.edge_total[edge] == 0
            assert t.edge_visits[edge] == 1
        elif t.status[node] in (EXPANDED, SOLVED):
            expected = made_up_prediction(t.n_edges[node]).item()
            if target == "return":
                bound = state_at(instance, t, node).lower_bound
                gain = expected * instance.rank_u.max()
                completion = list_completion(instance, t, node)
                expected = (bound - completion + gain) / instance.time_scale
            assert t.raw_value[node] == pytest.approx(expected, rel=1e-6, abs=1e-7)
    assert nodes_of(t, TERMINAL)


def test_without_rollouts_only_complete_leaves_give_schedules() -> None:
    instance = problem(6, 2)
    config = dataclasses.replace(CONFIG, backup="value", rollout="none")
    tree = empty_tree(instance, config)
    one = worker(tree, 0, SearchJob(0, instance, 0), config)
    found = []
    while not tree.finished:
        one.run_batch(1.0)
        ends = nodes_of(tree.arrays, TERMINAL)
        shortest = min(
            (state_at(instance, tree.arrays, node).schedule().makespan for node in ends),
            default=np.inf,
        )
        assert tree.best_makespan == pytest.approx(shortest, rel=1e-12)
        found.append(tree.best_makespan)
    assert found[0] == np.inf
    assert found[-1] < np.inf
    tree.incumbent(instance.n_tasks, algorithm="tree").validate(instance)


def test_without_a_prior_the_network_alone_decides() -> None:
    """Every legal action is an edge; where the network says nothing, all are equal."""
    instance = problem()
    config = dataclasses.replace(CONFIG, prior="none", min_prior=0.0, max_children=64)
    for evaluator in (Silence(), MadeUpNetwork()):
        t = search(instance, config, evaluator=evaluator)[0].arrays
        for node in nodes_of(t, EXPANDED):
            edges = list(edges_of(t, node))
            actions, priors = t.edge_action[edges], t.edge_prior[edges]
            legal = np.flatnonzero(state_at(instance, t, node).legal())
            assert sorted(actions) == legal.tolist()
            if isinstance(evaluator, Silence):
                assert (actions == legal).all(), "nor does the order say anything"
                assert (priors == priors[0]).all()
            else:
                expected = np.exp(made_up_logits(actions))
                assert priors == pytest.approx(expected / expected.sum(), rel=1e-5)


def test_backup_return_adds_the_rewards_on_the_way() -> None:
    """With λ = 0 a node's value is its rewards plus v: 1 - (completion - improvement)/CP_MIN."""
    instance = problem(6, 2)
    tree, _ = search(instance, evaluator=MadeUpNetwork(), rollout_weight=0.0)
    t = tree.arrays
    for node in nodes_of(t, EXPANDED) + nodes_of(t, SOLVED):
        state, v = state_at(instance, t, node), 0.0
        v = state.lower_bound - list_completion(instance, t, node)
        v += made_up_prediction(t.n_edges[node]).item() * instance.rank_u.max()
        rewards = (instance.cp_min - state.lower_bound) / instance.cp_min
        assert t.raw_value[node] == pytest.approx(rewards + v / instance.cp_min, rel=1e-6)


# -- the end -------------------------------------------------------------------------------------


def watch(
    instance: Instance, config: SearchConfig, see: Callable[[TreeArrays], None]
) -> SharedTree:
    """Search simulation by simulation; ``see`` is called while the tree is not finished."""
    config = dataclasses.replace(config, batch_size=1)
    tree = empty_tree(instance, config)
    one = worker(tree, 0, SearchJob(0, instance, 0), config)
    while not tree.finished:
        see(tree.arrays)
        assert one.run_batch(1.0) == 1
    return tree


@pytest.mark.parametrize("backup", ["return", "value"])
def test_values_need_no_network(backup: str) -> None:
    """v is then the return of the list completion, whatever lay in the batch before."""
    instance = problem()
    config = dataclasses.replace(CONFIG, backup=backup)
    task = SearchJob(0, instance, 0)
    with_inputs, _ = search_alone(task, Silence(), config, rollout_weight=0.3, explore=False)
    alone, _ = search_alone(task, PriorEvaluator(), config, rollout_weight=0.3, explore=False)
    for one, other in zip(with_inputs.arrays, alone.arrays, strict=True):
        assert np.array_equal(one, other)


class Silence:
    """A network whose heads say nothing."""

    def evaluate(self, instance: Instance, leaves: EncodedStates, count: int) -> int:
        leaves.logits[:count] = 0.0
        leaves.prediction[:count] = 0.0
        return 1


@pytest.mark.parametrize("field", ["logits", "prediction"])
def test_a_network_that_has_diverged_is_named(field: str) -> None:
    class Diverged(Silence):
        def evaluate(self, instance: Instance, leaves: EncodedStates, count: int) -> int:
            getattr(leaves, field)[count - 1] = np.nan
            return 1

    with pytest.raises(DAGSchedError, match=r"not finite: .* learner\.learning_rate"):
        search_alone(
            SearchJob(0, problem(), 0), Diverged(), CONFIG, rollout_weight=0.5, explore=False
        )


def test_solving_counts_makespans_whatever_the_network_was_trained_to() -> None:
    trained = SearchConfig(backup="value", value_target="rank", rollout="none")
    assert trained.for_solving(10) == SearchConfig().for_solving(10)


def test_the_budget_alone_does_not_end_a_search() -> None:
    """Past the budget it works on complete paths only, until there are enough of them."""
    config = dataclasses.replace(CONFIG, budget=5, min_trajectories=6, cap_factor=100.0)
    over_budget = []

    def see(t: TreeArrays) -> None:
        if t.counters[SIMS_DONE] >= 5:
            over_budget.append(int(t.counters[TERMINAL_PATHS]))

    tree = watch(problem(), config, see)
    assert tree.outcome == "complete"
    assert tree.counter(TERMINAL_PATHS) == 6
    assert tree.counter(SIMS_DONE) >= 5
    assert over_budget
    assert max(over_budget) < 6


def test_enough_paths_alone_do_not_end_a_search() -> None:
    instance = Instance(np.arange(1, 9).reshape(4, 2), [], [])
    config = dataclasses.replace(CONFIG, budget=60, min_trajectories=1, min_prior=0.0)
    early = []

    def see(t: TreeArrays) -> None:
        if t.counters[TERMINAL_PATHS] >= 1:
            early.append(int(t.counters[SIMS_DONE]))

    tree = watch(instance, config, see)
    assert tree.outcome == "complete"
    assert tree.counter(SIMS_DONE) == 60
    assert min(early) < 60


def test_the_cap_is_reported() -> None:
    config = dataclasses.replace(CONFIG, budget=20, min_trajectories=10_000, cap_factor=2.0)
    tree, report = search(problem(), config)
    assert report.outcome == tree.outcome == "cap"
    assert 40 <= report.simulations < 40 + config.batch_size
    assert report.terminal_paths < 10_000
    check_tree(tree.arrays)


def brute_force(state: State) -> tuple[int, int, float]:
    """Nodes, complete sequences and the least makespan below a state."""
    if state.terminal:
        return 1, 1, state.makespan
    nodes, leaves, best = 1, 0, np.inf
    for task, processor in np.argwhere(state.legal()).tolist():
        child = state.clone()
        child.apply(task, processor)
        below = brute_force(child)
        nodes, leaves, best = nodes + below[0], leaves + below[1], min(best, below[2])
    return nodes, leaves, best


@pytest.mark.parametrize("edges", [[], [(0, 1)], [(0, 2), (1, 2)]])
@pytest.mark.parametrize("batch_size", [1, 8])
def test_a_tiny_problem_is_exhausted_and_solved(
    edges: list[tuple[int, int]], batch_size: int
) -> None:
    instance = Instance([[2, 3], [4, 1], [2, 2]], edges, [2.0] * len(edges))
    config = dataclasses.replace(
        CONFIG, budget=10_000, min_trajectories=1000, min_prior=0.0, batch_size=batch_size
    )
    nodes, leaves, best = brute_force(State(instance))
    tree, report = search(instance, config)
    assert report.outcome == "exhausted"
    assert tree.arrays.status[ROOT] == SOLVED
    assert report.simulations == report.nodes == nodes
    assert report.terminal_paths == leaves
    assert report.best_makespan == pytest.approx(best)
    check_tree(tree.arrays)
    check_states(instance, tree.arrays)


def test_a_search_can_be_stopped_at_any_time() -> None:
    instance = problem()
    heft = SCHEDULERS["heft"](instance)
    shares = iter([0.0, 0.4, 0.9])
    tree, report = search_alone(
        SearchJob(0, instance, 0),
        PriorEvaluator(),
        CONFIG,
        rollout_weight=1.0,
        explore=False,
        incumbent=heft,
        spent=lambda: next(shares, 1.0),
    )
    assert report.outcome == "running"
    assert 3 <= report.simulations <= 3 * CONFIG.batch_size
    check_tree(tree.arrays)
    check_incumbent(instance, tree, heft)


# -- several workers, deaths ---------------------------------------------------------------------


class Interrupted:
    """An evaluator that does something else while its worker's leaves are in flight."""

    def __init__(self, meanwhile: Callable[[], None]) -> None:
        self.meanwhile = meanwhile

    def evaluate(self, instance: Instance, leaves: EncodedStates, count: int) -> int:
        self.meanwhile()
        return PriorEvaluator().evaluate(instance, leaves, count)


def test_two_workers_interleaved() -> None:
    """The second runs a batch while the first one's is in flight; at the root it has to wait."""
    instance = problem()
    task = SearchJob(0, instance, 0)
    tree = empty_tree(instance, CONFIG, actors=2)
    counts = []

    def second_at_work() -> None:
        counts.append(second.run_batch(1.0))
        check_tree(tree.arrays, finished=False)

    second = worker(tree, 1, task)
    first = worker(tree, 0, task, evaluator=Interrupted(second_at_work))
    done = 0
    while not tree.finished:
        done += first.run_batch(1.0)
    assert counts[0] == 0
    assert max(counts) > 0
    assert tree.counter(SIMS_DONE) == done + sum(counts)
    assert tree.outcome == "complete"
    check_tree(tree.arrays)
    check_incumbent(instance, tree, SCHEDULERS["random_order"](instance))


def test_the_search_survives_a_worker() -> None:
    instance = problem()
    task = SearchJob(0, instance, 0)
    tree = empty_tree(instance, CONFIG, actors=2)
    survivor = worker(tree, 0, task)
    survivor.run_batch(1.0)
    survivor.run_batch(1.0)

    def die() -> None:
        raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        worker(tree, 1, task, evaluator=Interrupted(die)).run_batch(1.0)
    assert tree.arrays.edge_in_flight.any()
    survivor.run_batch(1.0)
    check_tree(tree.arrays, finished=False)
    forget(tree.arrays, 1)
    assert not tree.arrays.edge_in_flight.any()
    check_tree(tree.arrays)
    successor = worker(tree, 1, task)
    while not tree.finished:
        assert survivor.run_batch(1.0) + successor.run_batch(1.0) > 0
    assert tree.outcome == "complete"
    check_tree(tree.arrays)


# -- randomness ----------------------------------------------------------------------------------


def test_a_search_is_a_function_of_its_seed() -> None:
    instance = problem()
    one, two, other = (
        search(instance, evaluator=MadeUpNetwork(), seed=seed, explore=True)[0].arrays
        for seed in (3, 3, 4)
    )
    for name, left, right in zip(TreeArrays._fields, one, two, strict=True):
        assert np.array_equal(left, right, equal_nan=left.dtype.kind == "f"), name
    assert not np.array_equal(one.raw_value, other.raw_value)


def test_root_noise() -> None:
    """It changes the priors of the root, and nobody else's; all actors draw the same."""
    instance = problem()
    task = SearchJob(0, instance, 11)
    roots = {}
    for explore, actor in [(False, 0), (True, 0), (True, 1)]:
        tree = empty_tree(instance, CONFIG, actors=2)
        one = worker(tree, actor, task, explore=explore)
        for _ in range(6):
            one.run_batch(1.0)
        t = tree.arrays
        roots[explore, actor] = t.edge_prior[list(edges_of(t, ROOT))].copy()
        for e in edges_of(t, ROOT):
            child = int(t.edge_child[e])
            if child != NO_NODE and edges_of(t, child):
                key = "priors", int(t.edge_action[e])
                priors = t.edge_prior[list(edges_of(t, child))].copy()
                assert np.array_equal(roots.setdefault(key, priors), priors)
    plain, noisy = roots[False, 0], roots[True, 0]
    assert np.array_equal(noisy, roots[True, 1])
    assert not np.array_equal(noisy, plain)
    assert noisy.sum() == pytest.approx(1.0, abs=1e-6)
    noise = (noisy - (1 - CONFIG.noise_fraction) * plain) / CONFIG.noise_fraction
    assert (noise > -1e-6).all()
    assert noise.sum() == pytest.approx(1.0, abs=1e-5)


# -- without the JIT -----------------------------------------------------------------------------


@pytest.mark.skipif(WITHOUT_JIT, reason="this is that run")
def test_everything_above_holds_without_the_jit() -> None:
    check_without_jit(__file__)

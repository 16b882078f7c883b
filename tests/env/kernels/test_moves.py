"""Kernels of the searches over order × assignment against slow references."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dagsched_env.generators import TopcuogluGenerator
from dagsched_env.kernels.arrays import InstanceArrays
from dagsched_env.kernels.graph import eligibility
from dagsched_env.kernels.lists import noisy
from dagsched_env.kernels.moves import clusters, metropolis, pairs, single, solution
from dagsched_env.kernels.moves.metropolis import MoveRules
from dagsched_env.kernels.schedules import crossover, decoding
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.problem.simulator import replay
from dagsched_env.schedulers.anytime import execution_order
from dagsched_env.schedulers.heft import heft
from dagsched_env.schedulers.simulated_annealing import SINGLE_TASKS, annealing
from helpers import references
from helpers.candidates import (
    Order,
    assert_consistent,
    is_topological,
    length,
    medium_instance,
    random_candidate,
)
from helpers.strategies import instances

seeds = st.integers(0, 2**32 - 1)


@pytest.fixture(scope="module")
def medium() -> Instance:
    return medium_instance()


# -- decoding ----------------------------------------------------------------------------------


@given(instances(), seeds, st.booleans())
def test_decoding_is_the_replay_of_the_order(
    instance: Instance, seed: int, insertion: bool
) -> None:
    order, processor = random_candidate(instance, np.random.default_rng(seed))
    decoded = Schedule(*decoding.decode(instance.arrays, order, processor, insertion))
    decoded.validate(instance)
    actions = np.stack((order, processor[order]), axis=1)
    assert decoded == replay(instance, actions, insertion=insertion)
    reference = references.Partial(instance, insertion=insertion)
    for task, q in actions.tolist():
        reference.place(task, q)
    assert decoded.makespan == pytest.approx(reference.makespan(), rel=1e-12)


@given(instances(), seeds)
def test_the_order_of_execution_never_lengthens_a_schedule(instance: Instance, seed: int) -> None:
    candidate = random_candidate(instance, np.random.default_rng(seed))
    decoded = Schedule(*decoding.decode(instance.arrays, *candidate, True))
    order = execution_order(instance, decoded)
    assert is_topological(instance, order)
    appended = length(instance, order, decoded.processor, insertion=False)
    assert appended <= decoded.makespan
    assert length(instance, order, decoded.processor, insertion=True) <= appended


# -- neighbourhood -----------------------------------------------------------------------------


def random_move(
    g: InstanceArrays,
    c: eligibility.Eligibility,
    s: solution.Solution,
    rng: np.random.Generator,
) -> tuple[int, int, int, int, float]:
    """Task, processor, position, the node before it there, and the estimate."""
    t = int(rng.integers(g.comp.shape[0]))
    q = int(rng.choice(c.eligible[t, : c.n_eligible[t]]))
    first, last, arrival, tail = single.surroundings(g, s, t, q)
    target = int(rng.integers(first, last + 1))
    previous = single.last_before(s, t, q, target)
    estimate = single.estimate(g, s, t, q, previous, arrival, tail)
    return t, q, target, previous, estimate


def make_solution(
    instance: Instance, order: Order, processor: Order
) -> tuple[eligibility.Eligibility, solution.Solution]:
    arrays = instance.arrays
    return eligibility.eligibility(arrays), solution.solution(arrays, order, processor)


@given(instances(), seeds)
def test_moves_keep_the_schedule_consistent(instance: Instance, seed: int) -> None:
    """After any number of moves all paths are those of a schedule made from scratch."""
    rng = np.random.default_rng(seed)
    g = instance.arrays
    c, s = make_solution(instance, *random_candidate(instance, rng))
    for _ in range(12):
        before = solution.makespan(g, s)
        t, q, target, previous, estimate = random_move(g, c, s, rng)
        single.move(g, s, t, q, target, previous)
        assert (s.position[t], s.processor[t]) == (target, q)
        assert is_topological(instance, s.order)
        assert np.isfinite(instance.comp[np.arange(instance.n_tasks), s.processor]).all()
        after = solution.makespan(g, s)
        assert after == length(instance, s.order, s.processor, insertion=False)
        assert after <= max(before, estimate) * (1 + 1e-12)
        assert_consistent(g, s)


@given(instances(), seeds)
def test_the_estimate_is_exact_where_no_task_is_jumped_over(instance: Instance, seed: int) -> None:
    rng = np.random.default_rng(seed)
    g = instance.arrays
    c, s = make_solution(instance, *random_candidate(instance, rng))
    before = solution.makespan(g, s)
    t = int(rng.integers(instance.n_tasks))
    q = int(rng.choice(c.eligible[t, : c.n_eligible[t]]))
    target = int(s.position[t])
    _, _, arrival, tail = single.surroundings(g, s, t, q)
    previous = single.last_before(s, t, q, target)
    estimate = single.estimate(g, s, t, q, previous, arrival, tail)
    single.move(g, s, t, q, target, previous)
    after = solution.makespan(g, s)
    if estimate > before:
        assert after == pytest.approx(estimate, rel=1e-12)
    else:
        assert after <= before * (1 + 1e-12)


@given(instances(), seeds)
def test_the_cheapest_place_has_the_least_estimate_of_all_positions(
    instance: Instance, seed: int
) -> None:
    """And its targets are exactly the positions at which the task follows the same node."""
    rng = np.random.default_rng(seed)
    g = instance.arrays
    c, s = make_solution(instance, *random_candidate(instance, rng))
    for t in range(instance.n_tasks):
        q = int(rng.choice(c.eligible[t, : c.n_eligible[t]]))
        first, last, arrival, tail = single.surroundings(g, s, t, q)
        followed = {k: single.last_before(s, t, q, k) for k in range(first, last + 1)}
        estimates = {
            node: single.estimate(g, s, t, q, node, arrival, tail) for node in followed.values()
        }
        best = single.cheapest_place(g, s, t, q, first, last, arrival, tail)
        assert best == min(estimates, key=estimates.__getitem__)
        for node in estimates:
            low, high = single.targets(s, t, node, first, last)
            assert [k for k in followed if followed[k] == node] == list(range(low, high + 1))


def longest_paths(instance: Instance, s: solution.Solution) -> tuple[list[float], list[float]]:
    """Finish and rest of every task by repeated relaxation over all arcs."""
    n = instance.n_tasks
    cost = [float(instance.comp[t, s.processor[t]]) for t in range(n)]
    arcs = [
        (u, v, float(instance.latency[a, b] + data * instance.inv_bandwidth[a, b]) * (a != b))
        for (u, v), data in zip(instance.edges.tolist(), instance.data.tolist(), strict=True)
        for a, b in [(s.processor[u], s.processor[v])]
    ]
    for q in range(instance.n_processors):
        own = [t for t in s.order.tolist() if s.processor[t] == q]
        arcs += [(u, v, 0.0) for u, v in itertools.pairwise(own)]
    finish, rest = cost.copy(), cost.copy()
    for _ in range(n):
        for u, v, transfer in arcs:
            finish[v] = max(finish[v], finish[u] + transfer + cost[v])
            rest[u] = max(rest[u], cost[u] + transfer + rest[v])
    return finish, rest


@given(instances(), seeds)
def test_finish_and_bottom_level_are_longest_paths(instance: Instance, seed: int) -> None:
    n = instance.n_tasks
    _, s = make_solution(instance, *random_candidate(instance, np.random.default_rng(seed)))
    finish, rest = longest_paths(instance, s)
    assert s.finish[:n] == pytest.approx(finish, rel=1e-12)
    assert s.bottom_level[:n] == pytest.approx(rest, rel=1e-12)
    assert not s.finish[n:].any()
    assert not s.bottom_level[n:].any()
    assert max(rest) == pytest.approx(solution.makespan(instance.arrays, s), rel=1e-12)


# -- pairs -------------------------------------------------------------------------------------


def place_of_a_pair(
    instance: Instance, s: solution.Solution, rng: np.random.Generator, ceiling: float
) -> tuple[int, int, int, bool]:
    """Try to move the ends of a random edge to a random processor."""
    u, t = instance.edges[rng.integers(instance.n_edges)].tolist()
    q = int(rng.integers(instance.n_processors))
    places = pairs.pair_places(instance.n_tasks)
    length = solution.makespan(instance.arrays, s)
    chance, place = rng.random(2)
    moved = pairs.try_pair(
        instance.arrays, s, places, u, t, q, length, length, ceiling, chance, place
    )
    return u, t, q, moved


@given(instances(), seeds)
def test_pairs_keep_the_schedule_consistent(instance: Instance, seed: int) -> None:
    """And never make it longer than the ceiling, or than it was."""
    assume(instance.n_edges > 0)
    rng = np.random.default_rng(seed)
    g = instance.arrays
    _, s = make_solution(instance, *random_candidate(instance, rng))
    for _ in range(12):
        before = solution.makespan(g, s)
        ceiling = before * rng.uniform(0.5, 3.0)
        kept = [array.copy() for array in s]
        u, t, q, moved = place_of_a_pair(instance, s, rng, ceiling)
        if not moved:
            assert all(map(np.array_equal, s, kept))
            continue
        assert s.processor[u] == s.processor[t] == q
        assert (s.position[t], s.after[u]) == (s.position[u] + 1, t)
        assert is_topological(instance, s.order)
        assert np.isfinite(instance.comp[[u, t], q]).all()
        after = solution.makespan(g, s)
        assert after == length(instance, s.order, s.processor, insertion=False)
        assert after <= max(before, ceiling) * (1 + 1e-12)
        assert_consistent(g, s)


def test_a_pair_leaves_where_neither_task_can_leave_alone() -> None:
    """Both run on the slow processor, with an edge that costs more than it would save."""
    instance = Instance([[5.0, 1.0], [5.0, 1.0]], [(0, 1)], [100.0])
    order, slow = np.array([0, 1]), np.array([0, 0])
    _, s = make_solution(instance, order, slow)
    for t in (0, 1):
        first, last, arrival, tail = single.surroundings(instance.arrays, s, t, 1)
        assert first == last
        previous = single.last_before(s, t, 1, first)
        assert single.estimate(instance.arrays, s, t, 1, previous, arrival, tail) > 100
    places = pairs.pair_places(2)
    assert pairs.try_pair(instance.arrays, s, places, 0, 1, 1, 10.0, 0.0, 10.0, 0.5, 0.5)
    assert solution.makespan(instance.arrays, s) == 2.0


def test_every_place_of_a_pair_is_reached() -> None:
    """The pair may go in front of, between, and behind two tasks of the other processor."""
    comp = [[1.0, 1.0]] * 4
    instance = Instance(comp, [(0, 1)], [1.0])
    found = set()
    for seed in range(200):
        order, processor = np.array([0, 1, 2, 3]), np.array([0, 0, 1, 1])
        _, s = make_solution(instance, order, processor)
        places = pairs.pair_places(4)
        chance, place = np.random.default_rng(seed).random(2)
        assert pairs.try_pair(instance.arrays, s, places, 0, 1, 1, 9.0, 0.0, 9.0, chance, place)
        found.add(tuple(s.order.tolist()))
    assert found == {(0, 1, 2, 3), (2, 0, 1, 3), (2, 3, 0, 1)}


# -- clusters ----------------------------------------------------------------------------------


def connected(instance: Instance, s: solution.Solution, t: int, q: int, kind: int) -> list[int]:
    """The whole cluster of a task, breadth first."""
    home, found = s.processor[t], [int(t)]
    for v in found:
        after = [b for a, b in instance.edges.tolist() if a == v] if kind != 1 else []
        before = [a for a, b in instance.edges.tolist() if b == v] if kind != 0 else []
        for u in after + before:
            if u not in found and s.processor[u] == home and instance.comp[u, q] < math.inf:
                found.append(u)
    return found


@given(instances(), seeds)
def test_clusters_keep_the_schedule_consistent(instance: Instance, seed: int) -> None:
    """And the longest path by the moved part of the order is judged exactly."""
    rng = np.random.default_rng(seed)
    g, (n, p) = instance.arrays, instance.comp.shape
    _, s = make_solution(instance, *random_candidate(instance, rng))
    w = clusters.cluster(n, p)
    for _ in range(8):
        t, q = int(rng.integers(n)), int(rng.integers(p))
        if q == (home := s.processor[t]) or not instance.comp[t, q] < math.inf:
            continue
        before, kept = solution.makespan(g, s), [array.copy() for array in s]
        most, kind = int(rng.integers(1, n + 1)), int(rng.integers(clusters.KINDS))
        expected = set(connected(instance, s, t, q, kind))
        size = clusters.gather(g, s, w, t, q, most, kind)
        members = w.members[:size].tolist()
        assert size == len(set(members)) == min(most, len(expected))
        assert set(members) <= expected
        longest = clusters.longest_through(g, s, w, size, home, math.inf)
        below = longest * (1.0 - 1e-9)
        assert longest == 0.0 or clusters.longest_through(g, s, w, size, home, below) == math.inf
        accepted = bool(rng.random() < 0.5)
        clusters.settle(g, s, w, size, home, accepted)
        if not accepted:
            assert all(map(np.array_equal, s, kept))
            continue
        assert {v for v in range(n) if s.processor[v] != kept[2][v]} == set(members)
        assert np.array_equal(s.order, kept[0])
        assert_consistent(g, s)
        after = solution.makespan(g, s)
        assert after == length(instance, s.order, s.processor, insertion=False)
        assert longest * (1.0 - 1e-12) <= after <= max(before, longest) * (1.0 + 1e-12)


def test_a_chain_leaves_where_no_pair_can_leave() -> None:
    """Three tasks on the slow processor; each edge costs more than the fast one saves."""
    instance = Instance([[5.0, 1.0]] * 3, [(0, 1), (1, 2)], [100.0, 100.0])
    g = instance.arrays
    _, s = make_solution(instance, np.arange(3), np.zeros(3, dtype=np.int64))
    w = clusters.cluster(3, 2)
    for t in range(3):
        for kind in range(clusters.KINDS):
            for most in (1, 2):
                size = clusters.gather(g, s, w, t, 1, most, kind)
                assert (size < 3) == (clusters.longest_through(g, s, w, size, 0, 15.0) == math.inf)
                clusters.settle(g, s, w, size, 0, False)
    rules = SINGLE_TASKS._replace(cluster_share=1.0)
    uniforms = np.random.default_rng(0).random(6000)
    kept = (np.array([15.0]), np.arange(3), np.zeros(3, dtype=np.int64))
    c = eligibility.eligibility(g)
    metropolis.metropolis(g, c, s, *work_space(instance), rules, 0.0, 1000, uniforms, *kept)
    assert solution.makespan(g, s) == 3.0
    assert s.processor.tolist() == [1, 1, 1]


# -- Metropolis --------------------------------------------------------------------------------


def work_space(instance: Instance) -> tuple[pairs.PairPlaces, clusters.Cluster]:
    """Of a walk."""
    n, p = instance.comp.shape
    return pairs.pair_places(n), clusters.cluster(n, p)


def two_machines() -> Instance:
    """One task: 1 on the first processor, 2 on the second."""
    return Instance([[1.0, 2.0]], [], [])


def walk(
    instance: Instance,
    temperature: float,
    moves: int,
    seed: int,
    rules: MoveRules = SINGLE_TASKS,
) -> tuple[solution.Solution, float, int]:
    """The state, the best makespan and the evaluations after a walk from HEFT."""
    schedule = heft(instance)
    order = execution_order(instance, schedule)
    c, s = make_solution(instance, order, schedule.processor)
    uniforms = np.random.default_rng(seed).random(metropolis.UNIFORMS_PER_MOVE * moves)
    work = work_space(instance)
    best = np.array([solution.makespan(instance.arrays, s)])
    kept = (best, order.copy(), schedule.processor.copy())
    g = instance.arrays
    made = metropolis.metropolis(g, c, s, *work, rules, temperature, moves, uniforms, *kept)
    assert best[0] == length(instance, kept[1], kept[2], insertion=False)
    return s, float(best[0]), made


def test_a_worse_schedule_is_accepted_with_the_metropolis_probability() -> None:
    """From makespan 1 to 2 at temperature 1: exp(-1) of the 70 % that change the processor."""
    ends = [walk(two_machines(), 1.0, 1, seed)[0].processor[0] for seed in range(1500)]
    expected = (1 - metropolis.STAY) * math.exp(-1)
    deviation = math.sqrt(expected * (1 - expected) / len(ends))
    assert np.mean(ends) == pytest.approx(expected, abs=4 * deviation)


@pytest.mark.parametrize(
    ("costs", "longer", "heavier"),
    [
        ((1.0, 3.0, math.inf), 0.0, 2.0),
        ((3.0, 1.0, math.inf), 0.0, -2.0),
        ((3.0, math.inf, 1.0), 1.0, -2.0),
        ((1.0, math.inf, 1.0), 1.0, 0.0),
    ],
)
def test_load_counts_beside_the_makespan(
    costs: tuple[float, ...], longer: float, heavier: float
) -> None:
    """Of three processors the last is busy from 0 to 10, the others for 5; task 3 is on the first
    and moves to the only other one that can run it. Load costs a quarter of its length."""
    never, temperature, price = math.inf, 1.5, 0.25
    comp = [[5.0, never, never], [never, 5.0, never], [never, never, 10.0], list(costs)]
    instance = Instance(comp, [], [])
    utilisation = (20.0 + costs[0]) / (3 * 10.0)
    weight = 3 * price / utilisation**metropolis.SHARPNESS
    rules = SINGLE_TASKS._replace(load_weight=weight)
    draws = 2000
    moved = 0
    for seed in range(draws):
        c, s = make_solution(instance, np.arange(4), np.array([0, 1, 2, 0]))
        uniforms = np.random.default_rng(seed).random(metropolis.UNIFORMS_PER_MOVE)
        uniforms[0] = (3 + 0.99) / 4  # task 3, not passed over
        kept = (np.array([99.0]), np.arange(4), s.processor.copy())
        work = work_space(instance)
        metropolis.metropolis(instance.arrays, c, s, *work, rules, temperature, 1, uniforms, *kept)
        moved += s.processor[3] != 0
    worse = longer + price * heavier
    expected = (1 - metropolis.STAY) * math.exp(-max(worse, 0.0) / temperature)
    deviation = math.sqrt(expected * (1 - expected) / draws)
    assert moved / draws == pytest.approx(expected, abs=4 * deviation)


def test_a_task_that_cannot_follow_stays_where_load_counts() -> None:
    """Task 1 cannot run where task 0 might go: its load there is infinite."""
    instance = Instance([[2.0, 1.0], [1.0, math.inf]], [(0, 1)], [5.0])
    rules = SINGLE_TASKS._replace(pair_share=1.0, load_weight=8.0)
    s, _, made = walk(instance, 1e9, 50, 0, rules)
    assert made > 0
    assert s.processor.tolist() == [0, 0]


def test_at_temperature_zero_nothing_gets_longer(medium: Instance) -> None:
    start = heft(medium).makespan
    s, best, made = walk(medium, 0.0, 3000, 1)
    assert made > 1000
    assert best < start
    assert solution.makespan(medium.arrays, s) == pytest.approx(best, rel=1e-9)


def test_a_walk_stops_at_its_limit(medium: Instance) -> None:
    schedule = heft(medium)
    order = execution_order(medium, schedule)
    c, s = make_solution(medium, order, schedule.processor)
    uniforms = np.random.default_rng(0).random(10_000)
    work = work_space(medium)
    kept = (np.zeros(1), order, schedule.processor.copy())
    g = medium.arrays
    made = metropolis.metropolis(g, c, s, *work, SINGLE_TASKS, 1.0, 37, uniforms, *kept)
    assert made == 37


@pytest.mark.parametrize("cost_bias", [1.0, 4.0])
def test_cheap_processors_are_drawn_as_often_as_the_bias_says(cost_bias: float) -> None:
    """From the second cheapest of four: rank r of the other three has probability
    ((r + 1) / 3)^(1/bias) - (r / 3)^(1/bias) of what is not kept.
    """
    instance = Instance([[3.0, 1.0, np.inf, 2.0, 4.0]], [], [])
    assert eligibility.eligibility(instance.arrays).eligible[0, :4].tolist() == [1, 3, 0, 4]
    draws = 20_000
    counts = np.zeros(5)
    for seed in range(draws):
        counts[_drawn(instance, 3, seed, cost_bias)] += 1
    share = np.diff((np.arange(4) / 3) ** (1 / cost_bias)) * (1 - metropolis.STAY)
    expected = np.array([share[1], share[0], 0.0, metropolis.STAY, share[2]])
    deviation = np.sqrt(expected * (1 - expected) / draws)
    assert np.all(np.abs(counts / draws - expected) <= 4 * deviation)


def _drawn(instance: Instance, current: int, seed: int, cost_bias: float) -> int:
    """Where one hot move takes the only task."""
    c, s = make_solution(instance, np.array([0]), np.array([current]))
    uniforms = np.random.default_rng(seed).random(metropolis.UNIFORMS_PER_MOVE)
    kept = (np.array([9.0]), np.array([0]), np.array([0]))
    work = work_space(instance)
    rules = SINGLE_TASKS._replace(cost_bias=cost_bias)
    metropolis.metropolis(instance.arrays, c, s, *work, rules, 1e9, 1, uniforms, *kept)
    return int(s.processor[0])


def test_a_task_alone_takes_the_best_place_on_request() -> None:
    """Task 1 waits until 10 for task 0: there is room for task 3 before it, not behind it.

    On the processor where it is already, a random place is taken: the best is mostly its own.
    """
    never = math.inf
    comp = [[10.0, never], [never, 1.0], [never, 1.0], [5.0, 5.0]]
    instance = Instance(comp, [(0, 1)], [0.0])
    rules = SINGLE_TASKS._replace(best_place=True)
    found: dict[int, set[float]] = {0: set(), 1: set()}
    for seed in range(40):
        for from_q, before in ((0, 15.0), (1, 16.0)):
            order = np.array([2, 0, 1, 3])
            c, s = make_solution(instance, order, np.array([0, 1, 1, from_q]))
            assert solution.makespan(instance.arrays, s) == before
            uniforms = np.random.default_rng(seed).random(metropolis.UNIFORMS_PER_MOVE)
            uniforms[0] = 0.9  # task 3
            uniforms[1] = 0.9 if from_q == 0 else 0.1  # to processor 1
            kept = (np.array([99.0]), order, s.processor.copy())
            work = work_space(instance)
            metropolis.metropolis(instance.arrays, c, s, *work, rules, 1e-9, 1, uniforms, *kept)
            assert s.processor[3] == 1
            found[from_q].add(solution.makespan(instance.arrays, s))
    assert found == {0: {11.0}, 1: {11.0, 16.0}}


@pytest.mark.parametrize(
    ("size", "ccr", "options"),
    [
        ((100, 4), 0.1, {"load_weight": 8.0}),
        ((40, 6), 5.0, {"pair_share": 0.2, "cost_bias": 4.0, "best_place": True}),
        ((40, 6), 5.0, {"cluster_share": 0.1}),
    ],
    ids=[
        "load where no processor is ever idle",
        "pairs where communication is dear",
        "clusters where communication is dear",
    ],
)
def test_other_rules_are_worth_it(
    size: tuple[int, int], ccr: float, options: dict[str, Any]
) -> None:
    """On average over several problems, with equally many moves."""
    n, p = size
    ratios = []
    for seed in range(6):
        draw = TopcuogluGenerator(n_tasks=n, n_processors=p, ccr=ccr, beta=1.0)
        instance = draw(np.random.default_rng(seed))
        plain = annealing(instance, max_evaluations=60_000, seed=seed)
        ours = annealing(instance, max_evaluations=60_000, seed=seed, **options)
        ratios.append(ours.makespan / plain.makespan)
    assert np.mean(ratios) < 0.99


# -- genetic operators -------------------------------------------------------------------------


@given(instances(), seeds)
def test_genetic_operators_keep_precedence_and_eligibility(instance: Instance, seed: int) -> None:
    rng = np.random.default_rng(seed)
    parents = [random_candidate(instance, rng) for _ in range(2)]
    population = crossover.Population(
        np.stack([order for order, _ in parents]),
        np.stack([processor for _, processor in parents]),
        np.zeros(2),
    )
    n = instance.n_tasks
    order, processor = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    cut = int(rng.integers(n + 1))
    crossover.cross(population, 0, 1, cut, order, processor)
    (mother, from_mother), (father, from_father) = parents
    head = mother[:cut].tolist()
    assert order.tolist() == head + [t for t in father.tolist() if t not in head]
    assert processor.tolist() == [from_mother[t] if t in head else from_father[t] for t in range(n)]
    c = eligibility.eligibility(instance.arrays)
    for _ in range(10):
        crossover.mutate(instance.arrays, c, order, processor, rng.random(3))
        assert is_topological(instance, order)
        assert np.isfinite(instance.comp[np.arange(n), processor]).all()


def test_mutation_reaches_every_place_in_the_window() -> None:
    """Task 1 has its predecessor at place 0 and its successor at place 4."""
    instance = Instance(np.ones((5, 2)), [(0, 1), (1, 4)], [1, 1])
    c = eligibility.eligibility(instance.arrays)
    places, processors = set(), set()
    for new in np.linspace(0, 0.999, 30):
        for kind in (0.0, 0.9):
            order, processor = np.array([0, 1, 2, 3, 4]), np.zeros(5, dtype=np.int64)
            uniforms = np.array([0.3, kind, new])
            crossover.mutate(instance.arrays, c, order, processor, uniforms)
            places.add(order.tolist().index(1))
            processors.add(int(processor[1]))
    assert places == {1, 2, 3}
    assert processors == {0, 1}


# -- noisy lists -------------------------------------------------------------------------------


@given(instances(), seeds, st.booleans())
def test_noisy_lists_are_list_schedules(instance: Instance, seed: int, insertion: bool) -> None:
    """The reference takes the highest noisy rank among the ready tasks, and the least noisy sum."""
    n, p = instance.comp.shape
    noise = np.random.default_rng(seed).standard_normal((2, n + n * p))
    sigma = 0.2
    rank = instance.rank_u
    made = noisy.noisy_lists(instance.arrays, rank, instance.oct, sigma, noise, insertion)
    for k, arrays in enumerate(zip(*made, strict=True)):
        schedule = Schedule(*arrays)
        schedule.validate(instance)
        if len(set(rank.tolist())) < n:
            continue  # ties have their own tests
        partial = references.Partial(instance, insertion=insertion)
        while ready := partial.ready_tasks():
            task = max(ready, key=lambda t: rank[t] * (1.0 + sigma * noise[k, t]))
            score = {
                q: partial.start(task, q)
                + instance.comp[task, q]
                + k * instance.oct[task, q]
                + sigma / 10.0 * rank.max() * noise[k, n + task * p + q]
                for q in range(p)
                if instance.comp[task, q] < math.inf
            }
            partial.place(task, min(score, key=score.__getitem__))
        assert schedule.makespan == pytest.approx(partial.makespan(), rel=1e-9)
